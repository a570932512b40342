"""One process of the pod's check: join the others, add a number up over every device, time a step.

Stands alone: it runs with the user's own Python and JAX, on every host at the same time. Each phase that is behind it
is one JSON line in the progress file, so that whoever ends it knows how far it came.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import signal
import statistics
import sys
import time

STEPS = 10
SIZE = 256


def main() -> None:
    """Go through the phases: started, imported, joined, devices, sum, steps, done."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--progress", required=True)
    parser.add_argument("--join-seconds", type=int, required=True)
    given = parser.parse_args()
    begin = time.monotonic()
    # Asked for by the supervisor before it ends this process: says where it is stuck.
    faulthandler.register(signal.SIGUSR1, all_threads=False)

    with open(given.progress, "a", encoding="utf-8") as progress:  # noqa: PTH123 - any Python may run this

        def passed(phase: str, **facts: object) -> None:
            line = {"phase": phase, "seconds": round(time.monotonic() - begin, 3), **facts}
            progress.write(json.dumps(line) + "\n")
            progress.flush()

        passed("started", python=sys.version.split()[0])
        import jax

        passed("imported", jax=jax.__version__)
        jax.distributed.initialize(initialization_timeout=given.join_seconds)
        passed("joined", process=jax.process_index(), processes=jax.process_count())
        devices = jax.devices()
        passed(
            "devices",
            count=len(devices),
            platform=devices[0].platform,
            kind=devices[0].device_kind,
            local=[device.id for device in jax.local_devices()],
        )
        passed("sum", **_global_sum(jax))
        passed("steps", **_steps(jax))
        jax.distributed.shutdown()
        passed("done")


def _mesh(jax):  # type: ignore[no-untyped-def]
    import numpy

    return jax.sharding.Mesh(numpy.array(jax.devices()), ("all",))


def _over_all(jax, body, mesh, inputs, outputs):  # type: ignore[no-untyped-def]
    mapped = getattr(jax, "shard_map", None)
    if mapped is None:  # before JAX 0.6
        from jax.experimental.shard_map import shard_map as mapped
    return jax.jit(mapped(body, mesh=mesh, in_specs=inputs, out_specs=outputs))


def _global_sum(jax):  # type: ignore[no-untyped-def]
    """Device number n of N gives n + 1 and its host's clock; every device must then hold N (N + 1) / 2."""
    import numpy

    mesh = _mesh(jax)
    spec = jax.sharding.PartitionSpec("all")
    count = len(jax.devices())
    numbers = numpy.arange(1, count + 1, dtype=numpy.int32)
    spread = jax.make_array_from_callback(
        numbers.shape, jax.sharding.NamedSharding(mesh, spec), lambda index: numbers[index]
    )
    add = _over_all(jax, lambda x: jax.lax.psum(x, "all"), mesh, spec, jax.sharding.PartitionSpec())
    start = time.monotonic()
    # Every device's copy is looked at, not only the first.
    found = sorted({int(shard.data[0]) for shard in add(spread).addressable_shards})
    return {
        "expected": count * (count + 1) // 2,
        "found": found,
        "compile_seconds": round(time.monotonic() - start, 3),
    }


def _steps(jax):  # type: ignore[no-untyped-def]
    """A matrix product on each device and its mean over all of them, as a step of training has."""
    import numpy

    mesh = _mesh(jax)
    spec = jax.sharding.PartitionSpec("all")
    count = len(jax.devices())
    piece = numpy.full((1, SIZE, SIZE), 1 / SIZE, dtype=numpy.float32)
    batch = jax.make_array_from_callback((count, SIZE, SIZE), jax.sharding.NamedSharding(mesh, spec), lambda _: piece)
    step = _over_all(jax, lambda x: jax.lax.pmean(x @ x, "all"), mesh, spec, jax.sharding.PartitionSpec())
    step(batch).block_until_ready()
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        step(batch).block_until_ready()
        times.append(1000 * (time.perf_counter() - start))
    return {"median_ms": round(statistics.median(times), 3), "worst_ms": round(max(times), 3), "count": STEPS}


if __name__ == "__main__":
    main()
