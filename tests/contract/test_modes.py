"""What each mode promises, and what it refuses."""

import pytest
import torch

import torch_reduce
from torch_reduce.testing import FLOATING, assert_same_bits, assert_within, error_bound, fill, model, reference

sums = pytest.mark.parametrize("op", ["sum", "mean", "prod"])
SHAPES = [((1, 200_000), 1), ((2000, 129), 1), ((5000, 40), 0), ((70, 30, 50), (0, 2)), ((100_001,), None), ((9, 5), 1)]
shapes = pytest.mark.parametrize("shape, dim", SHAPES, ids=str)


@sums
def test_deterministic_is_the_default(op, device):
    x = fill((7, 5000), torch.float32, op=op).to(device)
    run = getattr(torch_reduce, op)
    assert_same_bits(run(x, 1), run(x, 1, mode="deterministic"))
    assert_same_bits(getattr(torch.ops.reduce, op)(x, 1), run(x, 1))


@shapes
def test_deterministic_repeats(shape, dim, device):
    x = fill(shape, torch.float32).to(device)
    first = torch_reduce.sum(x, dim)
    for _ in range(5):
        assert_same_bits(torch_reduce.sum(x, dim), first)


@sums
@shapes
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize("mode", ["atomic", "deterministic"])
def test_error_is_within_the_bound(op, shape, dim, dtype, mode, device):
    x = fill(shape, dtype, op=op)
    if op == "prod":  # few factors, near 1: the bound holds where nothing underflows
        x = x.narrow(0, 0, min(shape[0], 600)) if dim in (0, None) else x.narrow(1, 0, min(shape[1], 600))[:50]
        x = 1 + x.sign() * 2.0**-7
    run = getattr(torch_reduce, op)
    y = x.to(device)
    parts = torch_reduce.explain(y, dim, op=op, mode=mode).split if mode == "atomic" else 0
    assert_within(run(y, dim, mode=mode), reference(x, dim, op=op), error_bound(x, dim, op=op, atomic_parts=parts))


@shapes
def test_atomic_is_exact_on_representable_sums(shape, dim, device):
    """Small integers in any floating type add without rounding, so every order gives the same bits."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = (fill(shape, torch.int8) % 16).to(dtype)
        expected = torch.sum(x.double(), dim)
        for mode in ("atomic", "deterministic"):
            assert torch.equal(
                torch_reduce.sum(x.to(device), dim, dtype=torch.float32, mode=mode).cpu().double(), expected
            )


@sums
@shapes
def test_integers_have_one_result(op, shape, dim, device):
    for dtype in (torch.int32, torch.uint8, torch.bool):
        x = fill(shape, dtype)
        out_type = torch.float32 if op == "mean" else None
        expected = model(x, dim, op=op, dtype=out_type)
        for mode in ("atomic", "deterministic"):
            actual = getattr(torch_reduce, op)(x.to(device), dim, dtype=out_type, mode=mode)
            assert_same_bits(actual, expected, f"{mode} {dtype}")


def test_atomic_accumulates_halves_in_fp32(device):
    """In half precision 2048 + 1 is 2048, so an accumulator of that type would stop there."""
    for dtype, count in ((torch.float16, 60_000), (torch.bfloat16, 65_536)):
        x = torch.ones(count, dtype=dtype, device=device)
        assert torch_reduce.sum(x, mode="atomic").item() == torch.tensor(float(count)).to(dtype).item()
        wide = x[:, None].expand(count, 3).contiguous()
        assert torch_reduce.sum(wide, 0, mode="atomic").tolist() == [torch.tensor(float(count)).to(dtype).item()] * 3


@pytest.mark.parametrize("mode", ["atomic", "deterministic"])
def test_zero_sums_are_positive(mode, device):
    for shape, dim in (((100_000,), 0), ((3, 40), 1), ((40, 3), 0)):
        x = torch.full(shape, -0.0, device=device)
        for op in (torch_reduce.sum, torch_reduce.mean):
            result = op(x, dim, mode=mode)
            assert torch.equal(result, torch.zeros_like(result)) and not result.signbit().any()


@sums
@pytest.mark.parametrize("mode", ["", "Deterministic", "fast", "atomic "])
def test_unknown_mode_names_the_three(op, mode, device):
    with pytest.raises(ValueError, match="atomic.*deterministic.*exact") as caught:
        getattr(torch_reduce, op)(torch.ones(3, device=device), mode=mode)
    assert repr(mode).strip("'") in str(caught.value)


@sums
def test_only_atomic_floats_on_cuda_alert(op, device, deterministic_algorithms):
    run = getattr(torch_reduce, op)
    x = torch.ones(100_000, device=device)
    run(x)
    run(torch.ones(10, dtype=torch.int64, device=device), dtype=torch.float64 if op == "mean" else None, mode="atomic")
    if device == "cpu":
        run(x, mode="atomic")
    else:
        with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
            run(x, mode="atomic")


def test_warn_only_warns(device, deterministic_algorithms, capfd):
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch_reduce.sum(torch.ones(100, device=device), mode="atomic")
    # Operators called through torch.ops warn on the C++ side: torch turns warnings into Python's for its own alone.
    assert ("does not have a deterministic implementation" in capfd.readouterr().err) == (device == "cuda")
