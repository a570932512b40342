"""The commands of `tpuwright`, one module each, found through the entry point group `tpuwright.commands`.

An entry point `NAME = "package.module:app"` names a `typer.Typer` called `app`: with one command in it, that
command is `tpuwright NAME`; with several, they are `tpuwright NAME SUBCOMMAND`. The module is imported only
when its command runs; its docstring's first line is the command's line in `tpuwright --help`.
"""
