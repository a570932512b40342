import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from pod_on_docker import WORKERS

PROGRAM = """
import json
import jax
jax.distributed.initialize()
import jax.numpy as jnp
from jax.experimental import multihost_utils
total = multihost_utils.process_allgather(jnp.array([jax.process_index() + 1])).sum()
print(json.dumps([jax.process_count(), jax.process_index(), jax.device_count(), jax.local_device_count(), int(total)]))
"""
CPU = "JAX_PLATFORMS=cpu XLA_FLAGS=--xla_force_host_platform_device_count=4 PYTHONPATH=/opt/jax"


@pytest.mark.docker
def test_jax_finds_its_pod_with_no_arguments(pod):
    def launch(worker: int) -> list[int]:
        command = f"{CPU} timeout 240 python3 - <<'PROGRAM'\n{PROGRAM}\nPROGRAM"
        done = pod.run(f"w{worker}", command, check=False)
        assert done.returncode == 0, done.stderr
        # Gloo as well writes lines on stdout.
        (answer,) = (line for line in done.stdout.splitlines() if line.startswith("[4, "))
        return json.loads(answer)

    # All at once: each waits for the others.
    with ThreadPoolExecutor(WORKERS) as pool:
        found = list(pool.map(launch, range(WORKERS)))
    assert found == [[4, worker, 16, 4, 10] for worker in range(WORKERS)]
