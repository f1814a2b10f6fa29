"""The suites of the benchmark: what they measure, how it is filled and judged."""

from types import SimpleNamespace

import pytest
import torch
from benchmark_rows import quartiles

from benchmarks.measure import check, contenders
from benchmarks.report import targets
from benchmarks.suites import host, run_cpu, shapes
from benchmarks.suites.run_cuda import Bench


def test_host_times_the_same_call_of_every_contender(device):
    for given in host.CALLS:
        x = torch.arange(64.0, device=device).view(given.shape)
        calls = host.calls(given, x)
        assert ("atomic" in calls) == x.is_cuda
        results = [call() for call in calls.values()]
        assert all(torch.equal(result, results[0]) and result.dtype == results[0].dtype for result in results)
    rows = list(host.run(torch.device(device), 0))
    assert len({(r["label"], r["grad"]) for r in rows}) == len(rows) == host.ROWS
    assert {name for given in host.CALLS for name in given.keywords} == {"dim", "keepdim", "dtype"}


def test_exact_sums_go_from_small_to_a_gibibyte():
    cases = shapes.exact_cuda(quick=False)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        sizes = [case.in_bytes for case in cases if case.dtype == dtype]
        assert (min(sizes), max(sizes)) == (1 << 14, 1 << 30)
    assert all(contenders.modes(case) == ("deterministic", "exact") for case in cases)


def test_full_sums_on_the_cpu_go_from_small_to_large():
    sizes = [case.elements for case in shapes.full_cpu(quick=False) if case.dtype is torch.float32]
    assert (min(sizes), max(sizes)) == (1 << 8, 1 << 28)


def test_where_torch_is_slow_is_measured_and_judged():
    cases = shapes.slow(most=1 << 10)
    assert all(case.elements <= 1 << 10 for case in cases) and {case.to for case in cases} == {None, torch.float32}
    rows = list(run_cpu.run(cases, [1], 0, compile_peer=False))
    for row, case in zip(rows, cases, strict=True):
        assert set(row["contenders"]) == {"deterministic", "torch"}, case.label
        assert row["contenders"]["deterministic"]["error"] <= row["bounds"]["deterministic"], case.label
    for times, met in ((1.9, False), (2.1, True)):
        for row in rows:
            row["contenders"]["deterministic"]["speedup"] = quartiles(times)
        found = {t["what"]: t for t in targets.evaluate(rows)}
        assert found["CPU, slow, 1 thread, against torch"]["met"] == met


def test_random_shapes_are_the_same_every_time():
    cases = shapes.random_shapes(quick=False)
    assert cases == shapes.random_shapes(quick=False) and len(cases) == 200
    assert set(shapes.random_shapes(quick=True)) < set(cases)
    assert {case.dtype for case in cases} == {torch.float32, torch.bfloat16}
    assert all(len(case.shape) <= 5 and case.elements < 1 << 31 for case in cases)


def test_random_shapes_are_views_of_distinct_elements():
    for case in shapes.random_shapes(quick=False):
        if case.memory_elements > 1 << 20:
            continue
        view = case.view(torch.arange(case.memory_elements))
        assert tuple(view.shape) == case.shape
        assert view.unique().numel() == case.elements
        in_memory = sorted(range(view.ndim), key=view.stride, reverse=True)
        reduced = [d for d in in_memory if d in case.dims and case.shape[d] > 1]
        assert case.keeps_order == (reduced == sorted(reduced)), case.label


def test_hard_shapes_begin_between_multiples_of_16_bytes():
    cases = [case for case in shapes.hard() if case.dtype is not torch.bool]
    for case in cases:
        element = case.view(torch.empty(case.memory_elements, dtype=case.dtype, device="meta"))
        places = [element.storage_offset(), *element.stride()[:-1]]
        assert any(place * case.dtype.itemsize % 16 for place in places), case.label
    assert len(cases) == 10


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.int64, torch.float32], ids=str)
def test_every_type_is_filled_and_judged(dtype):
    case = shapes.Case("full", (1 << 12,), None, dtype)
    x = torch.empty(case.elements, dtype=dtype)
    check.fill(x, case)
    assert x.unique().numel() > 1
    expected = check.reference(case, x)
    assert expected.error(x.sum()) <= check.bounds(case)["deterministic"]
    assert expected.error(x.sum() + x.sum().abs() + 1) > check.bounds(case)["deterministic"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_peers_of_exact_sums(dtype):
    case = shapes.Case("exact", (1 << 10,), None, dtype)
    calls = run_cpu.calls_for(case, compile_peer=False)
    assert ("torch_fp64" in calls) == (dtype != torch.float64)
    x = torch.arange(1 << 10, dtype=dtype)
    assert all(call(x).item() == 1023 * 512 for call in calls.values())
    assert "fsum" in calls


@pytest.mark.parametrize(
    "suite, levels", [("exact", contenders.CUB_LEVELS), ("data", contenders.CUB_LEVELS), ("full", ())]
)
def test_peers_of_exact_sums_on_a_gpu(suite, levels):
    cub = SimpleNamespace(covers=lambda case, level="sum": True, call=lambda case, level="sum": level)
    bench = SimpleNamespace(limit=SimpleNamespace(available=False), compile_peer=False, cub=cub)
    calls = Bench._calls(bench, shapes.Case(suite, (1 << 10,), None, torch.float32))
    assert [calls[who] for who in calls if who.startswith("cub")] == ["sum", *levels]
    assert ("torch_fp64" in calls) == (suite != "full")
