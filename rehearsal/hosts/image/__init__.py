"""The image of a host: what a fresh TPU VM is, and how it is built (`python -m rehearsal.hosts.image`)."""
