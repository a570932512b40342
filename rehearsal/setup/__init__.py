"""`make setup`: what a rehearsal needs on this machine, found or provided, side by side where possible.

`python_packages` and `package_sources` run before anything is installed, so they use the standard library only.
"""
