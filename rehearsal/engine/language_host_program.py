"""Runs a user's Pulumi program, in a process and an environment of its own, and shows its errors as Pulumi does.

The language host starts this file with the Python of the project; the arguments are those of Pulumi's own launcher
(`pulumi-language-python-exec`), the configuration comes in PULUMI_CONFIG and PULUMI_CONFIG_SECRET_KEYS.
"""

import argparse
import asyncio
import logging
import os
import runpy
import signal
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Tells the language host that the user has already read what is wrong.
EXIT_SHOWN = 32


def main() -> int:
    """Run the program; the exit status is 0, or EXIT_SHOWN after an error that was shown."""
    # This file's directory is not the program's business.
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    arguments = _arguments()
    # The engine interrupts a program when an update failed elsewhere: that is no error of the program's.
    signal.signal(signal.SIGINT, _end_quietly)
    try:
        import pulumi
        import pulumi.runtime
    except ImportError:
        traceback.print_exc()
        print("The Pulumi SDK is not installed in this environment; run `pulumi install`.", file=sys.stderr)
        return 1
    pulumi.runtime.set_all_config(pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env())
    pulumi.runtime.configure(
        pulumi.runtime.Settings(
            project=arguments.project,
            stack=arguments.stack,
            organization=arguments.organization,
            root_directory=arguments.root_directory,
            monitor=arguments.monitor,
            engine=arguments.engine,
            parallel=arguments.parallel,
            dry_run=arguments.dry_run == "true",
        )
    )
    os.chdir(arguments.pwd)
    sys.argv = [arguments.program, *arguments.arguments]
    program = Path(arguments.program).resolve()
    # A failed program leaves futures that nobody awaits; asyncio's complaints about them would bury the error.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    workers = ThreadPoolExecutor(max_workers=max(arguments.parallel, 1) * 4)
    loop.set_default_executor(workers)
    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(lambda: _run(arguments.program, program)))
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return EXIT_SHOWN
    except Exception as error:  # noqa: BLE001 whatever a user's program raises is shown to that user
        pulumi.log.error("Program failed with an unhandled exception:\n" + _traceback(error, program))
        return EXIT_SHOWN
    finally:
        workers.shutdown(wait=True)
        loop.close()
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _end_quietly(*_: object) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(EXIT_SHOWN)


def _run(path: str, program: Path) -> None:
    if program.is_dir() and not (program / "__main__.py").is_file():
        import pulumi

        raise pulumi.RunError(f"unable to find main python program `__main__.py` in `{program}`")
    runpy.run_path(path, run_name="__main__")


def _traceback(error: BaseException, program: Path) -> str:
    """The traceback from the user's program on, without the frames of Pulumi and of this file above it."""
    main_module = program / "__main__.py" if program.is_dir() else program
    frames = traceback.extract_tb(error.__traceback__)
    for index, frame in enumerate(frames):
        if Path(frame.filename).resolve() == main_module:
            return "".join(traceback.format_exception(error, limit=index - len(frames)))
    return "".join(traceback.format_exception(error))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("project", "stack", "organization", "root_directory", "monitor", "engine", "dry_run", "tracing"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--pwd", default=".")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs="*")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
