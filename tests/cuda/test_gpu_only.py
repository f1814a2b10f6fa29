"""What only a GPU can show: its bits against the CPU's, atomics in every plan, graphs, streams, sizes beyond 2^31."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, like

import torch_reduce
from torch_reduce.testing import (
    DTYPES,
    FLOATING,
    OPS,
    assert_same_bits,
    assert_within,
    error_bound,
    fill,
    function_of,
    gives_floating,
    legal_plans,
    model,
    reference,
    takes_dtype,
    takes_integers,
    wants_elements,
    wants_floating,
)

pytestmark = pytest.mark.cuda
SUMS = [op for op in OPS if takes_dtype(op)]
# Shapes that are legal for different plans: full, rows long and short, columns, middle dims, several dims.
SHAPES = [
    ((1_000_003,), None),
    ((2**20,), None),
    ((5, 2**16), 1),
    ((700, 1000), 1),
    ((300, 2048), 1),
    ((4096, 64), 1),
    ((9001, 8), 1),
    ((5000, 31), 1),
    ((4096, 64), 0),
    ((3001, 77), 0),
    ((20, 5000), 0),
    ((100_000, 4), 0),
    ((8, 64, 28, 28), (0, 2, 3)),
    ((12, 300, 40), (0, 2)),
    ((12, 300, 40), 1),
]
shapes = pytest.mark.parametrize("shape, dim", SHAPES, ids=str)


@pytest.mark.parametrize("op", OPS)
@given(data=st.data())
def test_bits_equal_those_of_the_cpu(op, data):
    x, dim, keepdim = data.draw(cases(op, FLOATING if wants_floating(op) else DTYPES))
    if wants_elements(op) and x.numel() == 0:
        return
    run = function_of(op)
    assert_same_bits(run(like(x, "cuda"), dim, keepdim=keepdim), run(x, dim, keepdim=keepdim))


def output_types(op):
    if not takes_dtype(op):
        return [None]
    return FLOATING if wants_floating(op) else [None, torch.float64, *([] if gives_floating(op) else [torch.int32])]


@shapes
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_op(dtype, shape, dim):
    for op in OPS:
        refused = not takes_integers(op) or (wants_floating(op) and op not in SUMS)
        if refused and not dtype.is_floating_point:
            continue
        x = fill(shape, dtype, op=op)
        for out in output_types(op):
            if dtype.is_floating_point and out == torch.int32:
                x = x.clamp(-100, 100)
            keywords = {"dtype": out} if op in SUMS else {}
            run = function_of(op)
            assert_same_bits(run(x.cuda(), dim, **keywords), run(x, dim, **keywords), f"{op} to {out}")


@shapes
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_atomic_is_within_the_bound_in_every_plan(shape, dim, dtype):
    x = fill(shape, dtype)
    on_gpu = x.cuda()
    true = {op: reference(x, dim, op=op) for op in ("sum", "mean")}
    bounds = {}
    for plan in legal_plans(on_gpu, dim, mode="atomic"):
        parts = torch_reduce.explain(on_gpu, dim, mode="atomic").split
        for op in true:
            if (op, parts) not in bounds:
                bounds[op, parts] = error_bound(x, dim, op=op, atomic_parts=parts)
            actual = function_of(op)(on_gpu, dim, mode="atomic")
            assert_within(actual, true[op], bounds[op, parts], f"{op}: {plan}")


def test_atomic_flushes_subnormals_and_deterministic_does_not():
    """fp32 atomicAdd on global memory flushes subnormal numbers to zero: the documented limit of mode "atomic"."""
    x = torch.full((2**20,), 2.0**-149, device="cuda")
    assert torch_reduce.explain(x, mode="atomic").finish == "atomic"
    assert torch_reduce.sum(x).item() == 2.0**-129
    assert torch_reduce.sum(x, mode="atomic").item() == 0.0


@pytest.mark.parametrize("op", SUMS)
def test_atomic_sees_nan_and_infinity(op):
    for value in (torch.nan, torch.inf, -torch.inf):
        x = torch.ones(2**18, device="cuda")
        x[12_345] = value
        assert_same_bits(function_of(op)(x, mode="atomic"), model(x, op=op))


def poisoned(shape, dtype=torch.float32):
    return torch.full(shape, torch.nan, dtype=dtype, device="cuda")


@shapes
@pytest.mark.parametrize("mode", ["atomic", "deterministic", "exact"])
def test_poisoned_out_and_scratch(shape, dim, mode):
    """Nothing is read before it is written: freed memory full of NaN comes back as scratch and as output."""
    x = (fill(shape, torch.int8) % 16).float()
    expected = torch_reduce.sum(x, dim)
    on_gpu = x.cuda()
    for size in (2**20, 2**18, 2**14, 2**9):
        blocks = [poisoned((size,)) for _ in range(8)]
        del blocks
        assert_same_bits(torch_reduce.sum(on_gpu, dim, mode=mode), expected)
        assert_same_bits(torch_reduce.sum(on_gpu, dim, mode=mode, out=poisoned(expected.shape)), expected)


def capture(x, dim, out, mode):
    """A CUDA graph of one sum into ``out``. Capture fails where the operator would synchronise with the host."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch_reduce.sum(x, dim, mode=mode, out=out)
    return graph


@shapes
@pytest.mark.parametrize("mode", ["atomic", "deterministic", "exact"])
def test_graph_capture_and_replay(shape, dim, mode):
    """Every replay starts from nothing: poisoned outputs, new inputs, the sums of the new inputs."""
    x = torch.zeros(shape, device="cuda")
    torch_reduce.sum(x, dim, mode=mode)
    out = poisoned(torch_reduce.sum(x, dim).shape)
    graph = capture(x, dim, out, mode)
    for start in range(3):
        values = (fill(shape, torch.int8, start=start) % 16).float()
        x.copy_(values)
        out.fill_(torch.nan)
        graph.replay()
        assert_same_bits(out, torch_reduce.sum(values, dim))


@shapes
@pytest.mark.parametrize("mode", ["atomic", "deterministic", "exact"])
def test_one_allocation_at_most_beside_the_result(shape, dim, mode):
    def allocations():
        return torch.cuda.memory_stats()["allocation.all.allocated"]

    for dtype in (torch.float32, torch.bfloat16, torch.int8):
        x = fill(shape, dtype).cuda()
        for of in (x, x.clone().requires_grad_(dtype.is_floating_point)):
            for keywords in ({}, {"dtype": torch.float64}):
                before = allocations()
                result = torch_reduce.sum(of, dim, mode=mode, **keywords)
                assert 1 <= allocations() - before <= 2, f"{dtype} {keywords}, a result of {result.numel()}"


@pytest.mark.parametrize("mode", ["atomic", "deterministic", "exact"])
def test_two_streams_at_once(mode):
    inputs = [(fill((2**20 + i,), torch.int8, start=i) % 16).float() for i in range(2)]
    expected = [torch_reduce.sum(x) for x in inputs]
    on_gpu = [x.cuda() for x in inputs]
    streams = [torch.cuda.Stream() for _ in inputs]
    results = [[], []]
    torch.cuda.synchronize()
    for _ in range(200):
        for x, stream, mine in zip(on_gpu, streams, results, strict=True):
            with torch.cuda.stream(stream):
                mine.append(torch_reduce.sum(x, mode=mode))
    torch.cuda.synchronize()
    for mine, true in zip(results, expected, strict=True):
        assert_same_bits(torch.stack(mine), true.expand(200))


@pytest.mark.parametrize("mode", ["atomic", "deterministic", "exact"])
def test_two_replays_at_once(mode):
    """Two graphs, captured alike, replayed on two streams: they share no ticket and no scratch that is in use."""
    inputs = [(fill((2**20,), torch.int8, start=i) % 16).float() for i in range(2)]
    on_gpu = [x.cuda() for x in inputs]
    outs = [poisoned(()) for _ in inputs]
    torch_reduce.sum(on_gpu[0], mode=mode)
    graphs = [capture(x, None, out, mode) for x, out in zip(on_gpu, outs, strict=True)]
    streams = [torch.cuda.Stream() for _ in inputs]
    for _ in range(50):
        for out in outs:
            out.fill_(torch.nan)
        torch.cuda.synchronize()
        for graph, stream in zip(graphs, streams, strict=True):
            with torch.cuda.stream(stream):
                graph.replay()
        torch.cuda.synchronize()
        for out, x in zip(outs, inputs, strict=True):
            assert_same_bits(out, torch_reduce.sum(x))


@pytest.mark.parametrize("mode", ["atomic", "deterministic", "exact"])
@pytest.mark.parametrize("stride", [1, 2], ids=str)
def test_what_was_written_just_before_is_seen(mode, stride):
    """Kernels that are there before the last one has ended, and caches that hold what was there before: an input that
    another kernel changes between sums, and sums that read the results of sums."""
    sums, totals = [], []
    x = torch.zeros(2048, 256 * stride, device="cuda")[:, ::stride]
    rows = torch.zeros(2048, device="cuda")
    for _ in range(300):
        x += 1
        sums.append(torch_reduce.sum(x, mode=mode))
        torch_reduce.sum(x, 1, mode=mode, out=rows)
        totals.append(torch_reduce.sum(rows, mode=mode))
    expected = torch.arange(1.0, 301) * x.numel()
    assert_same_bits(torch.stack(sums), expected)
    assert_same_bits(torch.stack(totals), expected)


def test_current_stream_is_used():
    """The sum comes after what its stream still has to do, and before what follows."""
    x = torch.zeros(2**22, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.fill_(1.0)
        result = torch_reduce.sum(x)
        x.fill_(7.0)
    stream.synchronize()
    assert result.item() == 2**22


def test_device_guard():
    """A tensor of another device than the current one."""
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    x = fill((1000, 1000), torch.float32)
    with torch.cuda.device(0):
        for dim in (None, 0, 1):
            result = torch_reduce.sum(x.to("cuda:1"), dim)
            assert result.device.index == 1 and torch.cuda.current_device() == 0
            assert_same_bits(result, torch_reduce.sum(x, dim))
