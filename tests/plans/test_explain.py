"""What explain() shows beside the plan: a tree, the other legal plans, the time at the peak of a GPU's memory."""

import contextlib
import dataclasses
import re
from types import SimpleNamespace

import pytest
import torch
from devices import needs_cuda

import torch_reduce
from torch_reduce import plan as plan_module
from torch_reduce.testing import constrained_plan


def test_explain_prints_a_tree():
    x = torch.empty(65536, 1000, device="meta")
    plan = torch_reduce.explain(x, 1, device="cuda")
    text, (other, *_) = str(plan), plan.alternatives
    head, *branches = text.splitlines()
    assert head == "sum, deterministic, on cuda"
    assert all(re.match(r"(│  |   )?[├└]─ \S", line) for line in branches), text
    assert {"family", "grid", "split", "shared memory", "memory", "scratch", "estimated", "best other legal plan"} == {
        name for name in re.findall(r"─ ([^:\n]+):", text)
    }
    numbers = (plan.grid, plan.scratch_bytes, plan.expected_bytes, 65536, 1000)
    for value in (plan.family, f"{plan.estimated_us:.1f}", f"{other.estimated_us:.1f}", *(f"{n:,}" for n in numbers)):
        assert value in text, f"{value} is not in\n{text}"
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("shape, dim", [((65536, 1000), 1), ((65536, 100), 0), ((3000, 500, 10), 1)], ids=str)
def test_alternatives_are_the_other_legal_plans(shape, dim):
    x = torch.empty(shape, device="meta")
    chosen = torch_reduce.explain(x, dim, device="cuda")
    legal = []
    for family in ("rows", "short_rows", "columns", "tiles"):
        for vector in (True, False):
            with constrained_plan(family, vector=vector), contextlib.suppress(RuntimeError):
                legal.append(torch_reduce.explain(x, dim, device="cuda"))
    assert chosen in legal
    assert all(plan in chosen.alternatives for plan in legal if plan != chosen)
    assert all(plan in legal and plan != chosen and not plan.alternatives for plan in chosen.alternatives)
    estimates = [plan.estimated_us for plan in chosen.alternatives]
    assert estimates == sorted(estimates) and chosen.estimated_us <= estimates[0]


def test_alternatives_leave_what_is_in_force():
    x = torch.empty(65536, 1000, device="meta")
    free = torch_reduce.explain(x, 1, device="cuda")
    assert torch_reduce.explain(x, 1, device="cuda") == free
    with constrained_plan("rows", vector=False):
        forced = torch_reduce.explain(x, 1, device="cuda")
        assert forced.reads == "elements" and free in forced.alternatives
        with constrained_plan("rows", vector=True):
            assert torch_reduce.explain(x, 1, device="cuda").reads == "16 bytes"
        assert torch_reduce.explain(x, 1, device="cuda") == forced
    assert torch_reduce.explain(x, 1, device="cuda") == free


def test_no_alternatives_where_nothing_is_chosen_by_estimate():
    x = torch.empty(3000, 100, device="meta")
    for keywords in ({"device": "cpu"}, {"device": "cuda", "mode": "exact"}, {"device": "cuda", "op": "cumsum"}):
        plan = torch_reduce.explain(x, 1, **keywords)
        assert plan.alternatives == () and "estimated" not in str(plan), plan


@needs_cuda
def test_time_at_the_peak_of_memory():
    """No sum is faster; its input is many times an L2."""
    x = torch.ones(2**29, device="cuda")
    plan = torch_reduce.explain(x)
    if plan.peak_bandwidth == 0:
        pytest.skip("the driver does not say how fast the memory of this GPU is")
    least = plan.expected_bytes / plan.peak_bandwidth * 1e6
    assert f"at least {least:.1f} us" in str(plan)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch_reduce.sum(x)
    start.record()
    torch_reduce.sum(x)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) * 1e3 >= least


def test_peak_of_memory_by_attributes(monkeypatch):
    """In kilohertz and bits, where PyTorch has them: two transfers of 512 bits at 1 GHz are 128 GB/s."""
    for attributes, peak in (
        ({"memory_clock_rate": 1_000_000, "memory_bus_width": 512}, 128e9),
        ({"memory_clock_rate": 0, "memory_bus_width": 512}, 0),
        ({}, 0),
    ):
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device, a=attributes: SimpleNamespace(**a))
        assert plan_module._peak_bandwidth(torch.empty(0)) == peak
    known = torch_reduce.explain(torch.empty(2**28, device="meta"), device="cuda")
    text = str(dataclasses.replace(known, peak_bandwidth=128e9))
    assert f"at least {known.expected_bytes / 128e3:.1f} us at the 128 GB/s of this GPU's memory" in text


def test_no_time_without_the_gpu():
    plan = torch_reduce.explain(torch.empty(2**28, device="meta"), device="cuda")
    assert plan.peak_bandwidth == 0 and "at least" not in str(plan)


def test_explain_on_the_device_of_the_tensor(device):
    x = torch.ones(100, 30, device=device)
    for op in ("sum", "amax"):
        plan = torch_reduce.explain(x, 0, op=op)
        assert (plan.device, plan.op, plan.outputs, plan.n) == (device, op, 30, 100)
    cpu = torch_reduce.explain(torch.ones(2**20, device="meta"), device="cpu")
    assert cpu.device == "cpu" and cpu.split >= 1


@pytest.mark.parametrize("dim, n, family", [(1, 5000, "rows"), (1, 64, "rows"), (1, 65, "columns"), (0, 64, "columns")])
def test_exact_sums_of_the_cpu_are_explained_as_they_are_read(dim, n, family):
    """Rows where they lie; columns of neighbours, which rows of other lengths are copied to."""
    shape = (300, n) if dim == 1 else (n, 300)
    assert torch_reduce.explain(torch.ones(shape), dim, mode="exact").family == family
