"""The Pulumi program in a test: the real components, with mocks that answer as Google would, by type token."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
import pytest
from good_stack import configuration
from pulumi.runtime.mocks import MockCallArgs, MockResourceArgs, Mocks

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "infra"))  # as the language host does


@dataclass
class Google(Mocks):
    """Fills in what only Google knows; ``hosts`` overrides how many endpoints a node gets."""

    hosts: int | None = None
    made: dict[str, MockResourceArgs] = field(default_factory=dict)

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        self.made[args.name] = args
        outputs = dict(args.inputs)
        name = outputs.get("name", args.name)
        match args.typ:
            case "gcp:compute/network:Network":
                return f"projects/my-project/global/networks/{name}", outputs
            case "gcp:compute/subnetwork:Subnetwork":
                return f"projects/my-project/regions/{outputs['region']}/subnetworks/{name}", outputs
            case "gcp:compute/instance:Instance":
                outputs["networkInterfaces"] = [{**outputs["networkInterfaces"][0], "networkIp": "10.200.112.2"}]
            case "gcp:serviceaccount/account:Account":
                outputs["email"] = f"{outputs['accountId']}@my-project.iam.gserviceaccount.com"
            case "gcp:tpu/v2Vm:V2Vm":
                from tpuwright import accelerators

                count = self.hosts
                if count is None:
                    count = accelerators.lookup(outputs["acceleratorType"]).hosts
                outside = outputs["networkConfig"]["enableExternalIps"]
                outputs["networkEndpoints"] = [
                    {
                        "ipAddress": f"10.200.112.{worker + 3}",
                        "port": 8470,
                        "accessConfigs": [{"externalIp": f"203.0.113.{worker}" if outside else ""}],
                    }
                    for worker in range(count)
                ]
        return f"{name}-id", outputs

    def call(self, args: MockCallArgs) -> dict[Any, Any]:
        raise AssertionError(f"the program calls {args.token}, which needs the provider at preview")


@dataclass
class Run:
    """What one run of the program made, exported and logged."""

    google: Google
    exports: dict[str, Any]
    logged: list[tuple[str, str]]
    options: dict[str, pulumi.ResourceOptions]

    def inputs(self, name: str) -> dict[str, Any]:
        return self.google.made[name].inputs

    def of_type(self, token: str) -> dict[str, MockResourceArgs]:
        return {name: args for name, args in self.google.made.items() if args.typ == token}


@pytest.fixture
def run_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Run]:
    """Runs components and exports as __main__ does; the API's answer is given by ``zones`` (None: no answer)."""

    def run(zones: Any = None, *, hosts: int | None = None, stack: str = "dev", **settings: Any) -> Run:
        google = Google(hosts=hosts)
        exports: dict[str, Any] = {}
        logged: list[tuple[str, str]] = []
        options: dict[str, pulumi.ResourceOptions] = {}
        asyncio.set_event_loop(asyncio.new_event_loop())
        pulumi.runtime.set_mocks(google, project="tpuwright", stack=stack, preview=False)
        monkeypatch.setattr(pulumi, "export", lambda name, value: exports.__setitem__(name, value))
        for level in ("warn", "error", "info"):
            monkeypatch.setattr(pulumi.log, level, lambda text, *_, level=level, **__: logged.append((level, text)))

        import components.explained
        from components.access import Access
        from components.identity import Identity
        from components.network import Network
        from components.pod import Pod
        from exports import export
        from placement import place
        from stack_settings import stack_from

        # The mocks have no engine that calls back: what the hook says is tested by itself.
        monkeypatch.setattr(components.explained, "_hooks", lambda _watch: pulumi.ResourceHookBinding())

        def keep(args: pulumi.ResourceTransformationArgs) -> None:
            options[args.name] = args.opts

        @pulumi.runtime.test
        def program() -> pulumi.Output[Any]:
            pulumi.runtime.register_stack_transformation(keep)
            of_stack = stack_from(configuration(**settings), stack, "tpuwright", tmp_path)
            placements = place(of_stack, zones)
            network = Network(of_stack, placements)
            identity = Identity(of_stack)
            access = Access(of_stack, network)
            export(of_stack, [Pod(of_stack, placement, network, identity) for placement in placements], access)
            return pulumi.Output.all(**exports).apply(lambda values: exports.update(values))

        program()
        return Run(google, exports, logged, options)

    return run
