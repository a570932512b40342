"""Cloud TPU, v2 and v2alpha1."""
