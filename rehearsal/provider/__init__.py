"""A stand-in for the official gcp plugin, for rehearsals on a machine that cannot download it.

Same type tokens, same property names and, as far as recordings of it show, the same requests in the same order. It
talks to the rehearsal's emulator on loopback and to nothing else. A further resource type is an entry in `kinds_*.py`.
"""
