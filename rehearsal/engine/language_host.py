"""A language host for Python programs, for machines where Pulumi's own `pulumi-language-python` cannot be had.

The engine starts it, reads the port from its first line of output and calls it over gRPC. Programs run in a process
of their own, with the project's Python, as the official host runs them.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from rehearsal.engine.plugin_messages import use_messages_only

use_messages_only()

import grpc  # type: ignore[import-untyped,unused-ignore]  # noqa: E402
from google.protobuf import empty_pb2  # type: ignore[import-untyped,unused-ignore]  # noqa: E402
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped,unused-ignore]  # noqa: E402
from pulumi.runtime.proto import language_pb2 as messages  # noqa: E402
from pulumi.runtime.proto import language_pb2_grpc, plugin_pb2  # noqa: E402

from rehearsal.engine import language_host_packages  # noqa: E402
from rehearsal.engine.language_host_program import EXIT_SHOWN  # noqa: E402
from rehearsal.engine.language_host_python import Interpreter, OptionError, interpreter_for  # noqa: E402
from rehearsal.engine.plugin_process import serve  # noqa: E402

VERSION = "3.256.0"
_PROGRAM = Path(__file__).with_name("language_host_program.py")
_PACKAGES = Path(language_host_packages.__file__)
_INTERRUPT_SECONDS = 5.0


class PythonHost(language_pb2_grpc.LanguageRuntimeServicer):
    """The calls that preview, up, refresh, destroy, import, about and install make; others answer UNIMPLEMENTED."""

    def __init__(self, engine_address: str) -> None:
        self._engine_address = engine_address
        self._cancelled = threading.Event()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def Handshake(self, request, context):  # type: ignore[no-untyped-def]  # noqa: ARG002
        self._engine_address = request.engine_address
        return messages.LanguageHandshakeResponse()

    def GetPluginInfo(self, request, context):  # type: ignore[no-untyped-def]  # noqa: ARG002
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetRequiredPackages(self, request, context):  # type: ignore[no-untyped-def]
        """The plugins that the program's packages name, so that the engine has them before the program runs."""
        found = self._inventory(self._interpreter(request.info, context), transitive=False)
        return messages.GetRequiredPackagesResponse(
            packages=[plugin_pb2.PackageDependency(kind="resource", **plugin) for plugin in found["plugins"]]
        )

    def GetProgramDependencies(self, request, context):  # type: ignore[no-untyped-def]
        found = self._inventory(self._interpreter(request.info, context), request.transitiveDependencies)
        return messages.GetProgramDependenciesResponse(
            dependencies=[messages.DependencyInfo(name=n, version=v) for n, v in found["packages"]]
        )

    def About(self, request, context):  # type: ignore[no-untyped-def]
        interpreter = self._interpreter(request.info, context)
        said = subprocess.run(
            [interpreter.executable, "-c", "import platform, sys; print(sys.executable, platform.python_version())"],
            env=interpreter.environment(os.environ),
            capture_output=True,
            text=True,
            check=True,
        )
        executable, _, version = said.stdout.strip().rpartition(" ")
        return messages.AboutResponse(executable=executable, version=version, metadata={"toolchain": "Pip"})

    def InstallDependencies(self, request, context):  # type: ignore[no-untyped-def]
        """Create the virtual environment where it is missing, and install requirements.txt into it."""
        yield from self._install(request, context)

    def Run(self, request, context):  # type: ignore[no-untyped-def]
        """Run the program to its end. `bail` says that the user has read the error; `error` is what to show."""
        interpreter = self._interpreter(request.info, context)
        if request.attach_debugger:
            return messages.RunResponse(error="the rehearsal's language host attaches no debugger")
        environment = interpreter.environment(os.environ)
        if request.config:
            environment["PULUMI_CONFIG"] = json.dumps(dict(request.config))
        environment["PULUMI_CONFIG_SECRET_KEYS"] = json.dumps(list(request.configSecretKeys))
        status = self._run([interpreter.executable, "-u", str(_PROGRAM), *self._arguments(request)], environment)
        if status == 0:
            return messages.RunResponse()
        if status == EXIT_SHOWN or self._cancelled.is_set():
            return messages.RunResponse(bail=True)
        return messages.RunResponse(error=f"program exited with non-zero exit code: {status}")

    def Cancel(self, request, context):  # type: ignore[no-untyped-def]  # noqa: ARG002
        self.cancel()
        return empty_pb2.Empty()

    def cancel(self) -> None:
        """Interrupt the programs under way; after a grace time they are killed."""
        self._cancelled.set()
        with self._lock:
            running = list(self._running)
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            try:
                process.wait(_INTERRUPT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

    def _interpreter(self, info: messages.ProgramInfo, context: grpc.ServicerContext) -> Interpreter:
        try:
            return interpreter_for(Path(info.root_directory), MessageToDict(info.options))
        except OptionError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
            raise AssertionError("abort raises") from error

    def _arguments(self, request: messages.RunRequest) -> list[str]:
        options = {
            "monitor": request.monitor_address,
            "engine": self._engine_address,
            "project": request.project,
            "root_directory": request.info.root_directory,
            "stack": request.stack,
            "pwd": request.pwd or request.info.program_directory,
            "dry_run": "true" if request.dryRun else "false",
            "parallel": str(request.parallel),
            "organization": request.organization,
        }
        given = [part for name, value in options.items() if value for part in (f"--{name}", value)]
        return [*given, request.info.entry_point or ".", *request.args]

    def _run(self, command: list[str], environment: dict[str, str]) -> int:
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        with self._lock:
            self._running.add(process)
        try:
            return process.wait()
        finally:
            with self._lock:
                self._running.discard(process)

    def _inventory(self, interpreter: Interpreter, transitive: bool) -> dict[str, list]:  # type: ignore[type-arg]
        if interpreter.is_this_one:
            text = language_host_packages.report(transitive)
        else:
            text = subprocess.run(
                [interpreter.executable, str(_PACKAGES), *(["--transitive"] if transitive else [])],
                env=interpreter.environment(os.environ),
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        found: dict[str, list] = json.loads(text)  # type: ignore[type-arg]
        return found

    def _install(
        self, request: messages.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[messages.InstallDependenciesResponse]:
        root = Path(request.info.root_directory)
        virtualenv = MessageToDict(request.info.options).get("virtualenv")
        requirements = Path(request.info.program_directory) / "requirements.txt"
        if not requirements.is_file():
            requirements = root / "requirements.txt"
        commands = []
        if virtualenv and not (root / str(virtualenv) / "bin" / "python").is_file():
            commands.append([sys.executable, "-m", "venv", str(root / str(virtualenv))])
        python = str(root / str(virtualenv) / "bin" / "python") if virtualenv else sys.executable
        if requirements.is_file():
            commands.append([python, "-m", "pip", "install", "-r", str(requirements)])
        for command in commands:
            yield messages.InstallDependenciesResponse(stdout=f"{' '.join(command)}\n".encode())
            done = subprocess.run(command, capture_output=True, check=False)
            yield messages.InstallDependenciesResponse(stdout=done.stdout, stderr=done.stderr)
            if done.returncode:
                context.abort(grpc.StatusCode.UNKNOWN, f"`{' '.join(command)}` failed with {done.returncode}")


def main() -> None:
    """Serve; the first positional argument, if any, is the engine's address."""
    positional = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    host = PythonHost(positional[0] if positional else "")
    serve(
        lambda server: language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server),
        host.cancel,
        threads=8,
    )


if __name__ == "__main__":
    main()
