"""Every plan that is legal for a problem gives the same bits, on every device."""

import pytest
import torch

import torch_reduce
from torch_reduce.testing import OPS, assert_same_bits, constrained_plan, fill, function_of, legal_plans, model

SHAPES = [
    ((100_003,), None),
    ((2**18,), None),
    ((5, 2**14), 1),
    ((70, 1000), 1),
    ((300, 2048), 1),
    ((37, 3072), 1),
    ((4096, 64), 1),
    ((901, 8), 1),
    ((500, 31), 1),
    ((4096, 64), 0),
    ((3001, 77), 0),
    ((20, 500), 0),
    ((50_000, 4), 0),
    ((4, 64, 14, 14), (0, 2, 3)),
    ((12, 300, 40), (0, 2)),
    ((12, 300, 40), 1),
]


@pytest.mark.parametrize("shape, dim", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64, torch.uint8], ids=str)
def test_every_shape_and_type(shape, dim, dtype, device):
    x = fill(shape, dtype).to(device)
    expected = model(x, dim)
    for plan in legal_plans(x, dim):
        assert_same_bits(torch_reduce.sum(x, dim), expected, plan)


@pytest.mark.parametrize("shape, dim", [((2**18,), None), ((70, 1000), 1), ((4096, 64), 0), ((4096, 32), 1)], ids=str)
@pytest.mark.parametrize("op", [op for op in OPS if op != "sum"])
def test_every_op(op, shape, dim, device):
    x = fill(shape, torch.float32, op=op).to(device)
    expected = model(x, dim, op=op)
    for plan in legal_plans(x, dim, op=op):
        assert_same_bits(function_of(op)(x, dim), expected, plan)


def test_nothing_to_reduce(device):
    """Also where an output's neighbour lies at no distance, which is the length of an output of nothing."""
    for x in (torch.empty(5, 0, device=device), torch.empty_strided((5, 0), (0, 1), device=device)):
        for plan in legal_plans(x, 1):
            assert_same_bits(torch_reduce.sum(x, 1).cpu(), torch.zeros(5), plan)


def test_illegal_plans_are_refused(device):
    """In one sentence, by the operator as by explain, with nothing computed."""
    x = torch.ones(3, 5000, device=device)
    for family, split, dim in (("short_rows", 0, 1), ("columns", 0, None), ("rows", 2**20, 1)):
        with constrained_plan(family, split=split):
            for call in (torch_reduce.sum, torch_reduce.explain):
                with pytest.raises(RuntimeError, match="constraint on the plan is not legal"):
                    call(x, dim)
    assert torch_reduce.sum(x).item() == 15_000


def test_unknown_constraints_are_refused():
    with pytest.raises(ValueError, match="power of two"), constrained_plan(split=3):
        pass
    with pytest.raises(ValueError, match="rows, short_rows, columns and tiles"), constrained_plan("diagonals"):
        pass
