"""Bring a stack whose command was killed back to work: release a dead owner's lock, settle what was pending."""
