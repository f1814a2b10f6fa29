"""The CUDA kernels of maps on the CPU, to the bit: short rows that share a warp, rows of a warp, of a CTA, of a cluster
and of CTAs that meet in scratch; read and written by 16 bytes or by elements, in both orders of threads."""

import pytest
import torch
from emulated import needs_emulator
from emulated_maps import MAPS, PLACES, Case, build, run
from map_cases import DTYPES, inputs_of, masked, special, values

from torch_reduce.map_model import MAPS as MODELS

pytestmark = needs_emulator
every_map = pytest.mark.parametrize("name", MAPS)
# Two of the four types, others for the next map: kernels of a type differ by conversions alone.
every_map_of_types = pytest.mark.parametrize(
    ("name", "dtype"), [(name, DTYPES[(i + k) % 4]) for i, name in enumerate(MAPS) for k in (0, 2)], ids=str
)


def reduces(name):
    return name != "cross_entropy_backward"


@pytest.fixture(scope="module")
def kernels(shared_folder):
    return build(shared_folder)


def test_every_map_has_a_model():
    assert MAPS == list(MODELS)


@every_map_of_types
def test_rows_of_a_cta(kernels, name, dtype):
    lanes, warps, pieces = set(), set(), set()
    for i, (rows, n) in enumerate(
        ((130, 1), (67, 7), (33, 16), (20, 30), (9, 128), (5, 255), (7, 256), (5, 257), (6, 1500))
    ):
        x = values(rows, n, dtype, start=i)
        inputs = inputs_of(name, special(x) if i % 2 else x, affine=i % 3 > 0)
        case = Case(name, rows, n, i % 3, i % 2, out_offset=i % 4, sms=(i % 3 > 0) * 4, backward=i % 2 == 0)
        planned = run(kernels, case, inputs)
        lanes.add(planned.log_lanes)
        warps.add(planned.log_warps)
        pieces.add(planned.warp_rows * planned.warp_chunks)
        assert planned.units == 1
    assert {0, 5} < lanes and max(warps) == 1 and {1, 2} <= pieces


@every_map_of_types
def test_rows_of_whole_vectors(kernels, name, dtype):
    """Of one load of a lane and of several, in the last of which some lanes have nothing; and the same in pieces."""
    for i, (rows, n) in enumerate(((37, 8), (9, 64), (5, 264), (3, 1024), (2, 1032), (1, 4096 + 512))):
        inputs = inputs_of(name, special(values(rows, n, dtype, start=i)) if i % 2 else values(rows, n, dtype, start=i))
        for sms in (0, 4):
            planned = run(kernels, Case(name, rows, n, sms=sms, backward=sms == 0), inputs)
            assert planned.reads_vectors and planned.writes_vectors


@every_map_of_types
def test_unaligned_rows(kernels, name, dtype):
    """Rows of all lanes of a warp that begin anywhere, as their results do; the last vector of a row is not whole, and
    results of float32 are wider than elements."""
    places = set()
    for i, (rows, n) in enumerate(((5, 257), (3, 1001), (2, 2047), (3, 1024), (1, 5003), (9, 300))):
        x = values(rows, n, dtype, start=i)
        inputs = inputs_of(name, special(x) if i % 3 == 1 else x)
        case = Case(name, rows, n, 1 + i % 3, i % 2, out_offset=i % 4, sms=(i % 2) * 4, backward=i % 3 == 0)
        places.add(PLACES[run(kernels, case, inputs).places])
    assert ("unaligned" in places) == ("softmax" in name or "cross_entropy" in name)


@pytest.mark.parametrize("n", [2048, 2047])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_chunks_of_nothing_but_minus_infinity(kernels, name, n, dtype):
    """In rows whose other elements are far below 0, or far above: a kept exponential of 0 is that of -infinity."""
    x = torch.full((4, n), -torch.inf, dtype=dtype)
    for row, value in enumerate((-200, -153, 3, 300)):
        x[row, 1024:] = value
    planned = run(kernels, Case(name, 4, n), inputs_of(name, x))
    assert PLACES[planned.places] == ("vectors" if n == 2048 else "unaligned")


@every_map_of_types
def test_short_rows_of_whole_vectors(kernels, name, dtype):
    """One load of a lane where rows are few; else up to four, of all lanes or not, and a last warp that is not full."""
    places, loads = set(), set()
    for i, (rows, n) in enumerate(((33, 8), (70, 16), (37, 32), (21, 80), (37, 96), (19, 128), (5, 256))):
        inputs = inputs_of(name, special(values(rows, n, dtype, start=i)) if i % 2 else values(rows, n, dtype, start=i))
        for sms in (0, 4):
            planned = run(kernels, Case(name, rows, n, sms=sms, backward=sms == 0), inputs)
            places.add(PLACES[planned.places])
            loads.add(planned.loads)
    has_short = reduces(name) and dtype != torch.float64
    assert "one_vector" in places and ("short_vectors" in places) == has_short
    assert not has_short or {1, 3, 4} <= loads


@every_map_of_types
def test_rows_of_several_ctas(kernels, name, dtype):
    """They meet in a cluster, or in scratch, or have no need to; read by 16 bytes and not."""
    rows, n = 2, 1024 * 16 * 2 + 900
    inputs = inputs_of(name, values(rows, n, dtype))
    in_cluster = run(kernels, Case(name, rows, n, gap=-n % 8), inputs)
    in_scratch = run(kernels, Case(name, rows, n, offset=1, capability=89, clusters=1, backward=True), inputs)
    meets = reduces(name)
    assert (in_cluster.in_cluster, in_cluster.launches, in_cluster.reads_vectors) == (meets, 1, 1)
    assert (in_scratch.in_cluster, in_scratch.launches, in_scratch.reads_vectors) == (0, 1 + meets, 0)
    assert min(in_cluster.units, in_scratch.units) > 1


def test_more_units_than_lanes(kernels):
    n = 1024 * 16 * 33 + 1
    case = Case("softmax", 1, n, capability=89, clusters=1)
    assert run(kernels, case, inputs_of("softmax", values(1, n, torch.bfloat16))).units > 32


@every_map
def test_elements_apart(kernels, name):
    """As in the map of another dim than the last one."""
    inputs = inputs_of(name, values(5, 700, torch.float32))
    assert not run(kernels, Case(name, 5, 700, apart=3), inputs).reads_vectors


@pytest.mark.parametrize(
    ("name", "dtype", "out"),
    [
        ("log_softmax", torch.bfloat16, torch.float32),
        ("softmax", torch.float16, torch.float32),
        ("softmax", torch.float64, torch.float32),
        ("softmax_backward", torch.float32, torch.bfloat16),
        ("log_softmax_backward", torch.float64, torch.float16),
    ],
    ids=str,
)
def test_results_of_another_type(kernels, name, dtype, out):
    for offset in (0, 1):
        inputs = inputs_of(name, values(3, 1040, dtype), dtype=out)
        assert run(kernels, Case(name, 3, 1040, out_offset=offset), inputs).writes_vectors == (offset == 0)


@pytest.mark.parametrize("name", [n for n in MAPS if "softmax" in n])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masks_and_scales(kernels, name, dtype):
    """Whole vectors, parts, elements apart; a row of which nothing is left, and one of which all is."""
    for i, n in enumerate((7, 264, 1024, 1040, 3000)):
        x = values(5, n, dtype, start=i)
        mask = torch.rand(5, n, generator=torch.Generator().manual_seed(n)) < 0.6
        mask[1], mask[2] = False, True
        inputs = masked(inputs_of(name, x), name, mask, 0.125 if i % 2 else 1.7)
        for case in (Case(name, 5, n), Case(name, 5, n, offset=i % 3, apart=1 + i % 2, sms=1)):
            run(kernels, case, inputs)


@pytest.mark.parametrize("name", ["group_norm", "group_norm_backward"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64], ids=str)
def test_groups_of_channels(kernels, name, dtype):
    """Rows go through the groups, in whole vectors and not, one after the other and side by side."""
    for i, (rows, n, groups) in enumerate(((14, 64, 3), (7, 24, 2), (6, 1040, 3), (9, 1041, 4), (5, 3000, 5))):
        inputs = inputs_of(name, values(rows, n, dtype, start=i), groups=groups)
        for sms in (0, 4):
            run(kernels, Case(name, rows, n, sms=sms, offset=i % 2, backward=sms == 0), inputs)


@pytest.mark.parametrize("name", [n for n in MAPS if "norm" in n])
def test_weights_of_the_compute_type(kernels, name):
    inputs = inputs_of(name, values(3, 1040, torch.bfloat16), affine=True)
    inputs.weight = inputs.weight.float()
    inputs.bias = None if inputs.bias is None else inputs.bias.float()
    run(kernels, Case(name, 3, 1040), inputs)
