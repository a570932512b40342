"""The parts of a stack, one component a file."""
