"""The table of accelerator types: against figures that Google publishes, and against itself."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpuwright import accelerators
from tpuwright.accelerators import GENERATIONS, UnknownAcceleratorError, lookup, meant, nearest, table

ANY = st.sampled_from(list(table().values()))


@given(ANY)
def test_hosts_times_chips_per_host_is_chips_and_so_is_the_product_of_the_sides(accelerator):
    assert accelerator.hosts * accelerator.chips_per_host == accelerator.chips
    sides = [int(side) for side in accelerator.topology.split("x")]
    assert prod(sides) == accelerator.chips
    assert len(sides) == accelerator.generation.dimensions


@given(ANY)
def test_from_a_cube_on_sides_of_a_torus_are_multiples_of_four_in_rising_order(accelerator):
    sides = [int(side) for side in accelerator.topology.split("x")]
    if accelerator.generation.dimensions == 3 and accelerator.chips >= 64:
        assert sides == sorted(sides)
        assert all(side % 4 == 0 and side <= 256 for side in sides)


@given(ANY)
def test_the_number_in_a_name_counts_cores_or_chips_as_its_generation_does(accelerator):
    number = int(accelerator.name.rsplit("-", 1)[1])
    assert accelerator.chips * (2 if accelerator.generation.counted_in == "cores" else 1) == number


@given(ANY)
def test_a_slice_of_several_hosts_has_four_chips_on_each(accelerator):
    assert accelerator.hosts == 1 or accelerator.chips_per_host == 4


@given(ANY)
def test_larger_names_of_a_generation_never_have_fewer_hosts(accelerator):
    sizes = accelerator.generation.sizes
    hosts = [table()[f"{accelerator.generation.prefix}-{size}"].hosts for size in sizes]
    assert list(sizes) == sorted(set(sizes))
    assert hosts == sorted(hosts)


@pytest.mark.parametrize(
    ("name", "chips", "hosts", "devices", "topology"),
    [  # from Google's documentation and the project's facts, not from the rule that fills the table
        ("v2-8", 4, 1, 8, "2x2"),
        ("v2-512", 256, 64, 512, "16x16"),
        ("v3-8", 4, 1, 8, "2x2"),
        ("v3-32", 16, 4, 32, "4x4"),
        ("v3-2048", 1024, 256, 2048, "32x32"),
        ("v4-8", 4, 1, 4, "2x2x1"),
        ("v4-32", 16, 4, 16, "2x2x4"),
        ("v4-512", 256, 64, 256, "4x8x8"),
        ("v4-1536", 768, 192, 768, "8x8x12"),
        ("v4-2048", 1024, 256, 1024, "8x8x16"),
        ("v4-4096", 2048, 512, 2048, "8x16x16"),
        ("v5litepod-1", 1, 1, 1, "1x1"),
        ("v5litepod-4", 4, 1, 4, "2x2"),
        ("v5litepod-8", 8, 1, 8, "2x4"),
        ("v5litepod-16", 16, 4, 16, "4x4"),
        ("v5litepod-256", 256, 64, 256, "16x16"),
        ("v5p-8", 4, 1, 4, "2x2x1"),
        ("v5p-16", 8, 2, 8, "2x2x2"),
        ("v5p-64", 32, 8, 32, "2x4x4"),
        ("v5p-128", 64, 16, 64, "4x4x4"),
        ("v5p-384", 192, 48, 192, "4x4x12"),
        ("v5p-1152", 576, 144, 576, "4x12x12"),
        ("v5p-4096", 2048, 512, 2048, "8x16x16"),
        ("v5p-11904", 5952, 1488, 5952, "4x12x124"),
        ("v5p-12288", 6144, 1536, 6144, "16x16x24"),
        ("v6e-1", 1, 1, 1, "1x1"),
        ("v6e-8", 8, 1, 8, "2x4"),
        ("v6e-16", 16, 4, 16, "4x4"),
        ("v6e-256", 256, 64, 256, "16x16"),
    ],
)
def test_published_types_are_as_published(name, chips, hosts, devices, topology):
    accelerator = lookup(name)
    assert (accelerator.chips, accelerator.hosts, accelerator.devices, accelerator.topology) == (
        chips,
        hosts,
        devices,
        topology,
    )


def test_sizes_that_no_shape_can_hold_are_not_offered():
    # 67 and 71 cubes are primes too large for any side: SkyPilot's list from the API leaves them out too.
    assert "v5p-8576" not in table()
    assert "v5p-9088" not in table()


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda generation: generation.name)
def test_every_generation_says_where_its_figures_come_from(generation):
    assert {"jax:hardware_utils", "docs:regions", "docs:runtimes"} < set(generation.sources)
    assert f"docs:{generation.name}" in generation.sources


def test_only_v2_and_v3_share_a_pci_device_id():
    by_id = {}
    for generation in GENERATIONS:
        by_id.setdefault(generation.pci_device_id, []).append(generation.name)
    assert [names for names in by_id.values() if len(names) > 1] == [["v2", "v3"]]


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("v5e-16", "v5litepod-16"),
        ("v5lite-16", "v5litepod-16"),
        ("v5-lite-16", "v5litepod-16"),
        ("V5LITEPOD-16", "v5litepod-16"),
        ("v5litepod16", "v5litepod-16"),
        ("tpu-v4-8", "v4-8"),
        ("tpu-v5-litepod-4", "v5litepod-4"),
        ("v6-8", "v6e-8"),
        ("trillium-8", "v6e-8"),
        (" v5p-8", "v5p-8"),
    ],
)
def test_an_alias_is_refused_with_the_name_meant(alias, name):
    assert meant(alias).name == name
    with pytest.raises(UnknownAcceleratorError, match=f"it means {name} "):
        lookup(alias)


def test_a_size_between_two_is_refused_with_both():
    with pytest.raises(UnknownAcceleratorError) as refusal:
        lookup("v5p-12")
    assert str(refusal.value) == "'v5p-12' does not exist; nearest: v5p-8 (1 host, 4 chips), v5p-16 (2 hosts, 8 chips)"


def test_a_misspelt_name_is_refused_with_the_one_spelt_most_like_it():
    assert nearest("v5litpod-16")[0].name == "v5litepod-16"


@pytest.mark.parametrize("name", ["tpu7x-8", "v7x-8", "ironwood-16"])
def test_tpu7x_is_known_by_name_and_refused_with_the_reason(name):
    with pytest.raises(UnknownAcceleratorError, match=r"Compute Engine and not by the Cloud TPU API"):
        lookup(name)


@given(st.text(max_size=40))
def test_any_other_text_is_refused_in_one_line_that_begins_with_it(text):
    if text not in table():
        with pytest.raises(UnknownAcceleratorError) as refusal:
            lookup(text)
        assert str(refusal.value).startswith(f"'{text}' ")
        assert refusal.value.reason.count("\n") == 0


def test_the_table_imports_nothing_heavy():
    import subprocess
    import sys

    code = "import sys, tpuwright.accelerators; print([m for m in ('pydantic', 'pulumi', 'yaml') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
    assert accelerators.PCI_VENDOR_ID == "0x1ae0"
