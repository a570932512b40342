"""`tpuwright doctor`: what a stack needs, looked at now, with what to do about each thing that is not right.

An entry point of the group `tpuwright.checks` names a function `(stack or None, project directory) -> checks` that adds
checks of its own; without a stack, those of the machine are meant.
"""
