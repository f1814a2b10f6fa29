"""What else than an int is a dim, what else than torch's is a dtype, and what is refused, in one sentence."""

import numpy as np
import pytest
import torch

import torch_reduce
from torch_reduce.testing import OPS, assert_same_bits, fill, takes_dtype

every_op = pytest.mark.parametrize("op", OPS)
INTEGERS = [np.int64, np.int32, np.uint8, torch.tensor, lambda d: torch.tensor(d, dtype=torch.int32)]


@every_op
def test_integers_are_dims(op):
    call, x = getattr(torch_reduce, op), fill((3, 4, 5), torch.float32, op=op)
    for make in INTEGERS:
        assert_same_bits(call(x, make(1)), call(x, 1))
        assert_same_bits(call(x, [make(0), 2]), call(x, [0, 2]))
        assert torch_reduce.explain(x, make(1), op=op) == torch_reduce.explain(x, 1, op=op)
    for several in (np.array([0, 2]), torch.tensor([0, 2]), range(0, 3, 2), torch.Size([0, 2])):
        assert_same_bits(call(x, several), call(x, [0, 2]))


def test_integers_are_dims_of_accumulators():
    x = fill((3, 4), torch.float32)
    for make in INTEGERS:
        assert torch.equal(torch_reduce.exact_accumulate(x, make(1)), torch_reduce.exact_accumulate(x, 1))


@every_op
@pytest.mark.parametrize("dim", [1.0, True, np.float32(1), torch.tensor(1.0), "0", {0: 1}, object], ids=repr)
def test_other_dims_are_refused(op, dim):
    for call in (getattr(torch_reduce, op), lambda x, dim: torch_reduce.explain(x, dim, op=op)):
        with pytest.raises(TypeError, match="^reduce: dim is an int or several of them, got ") as caught:
            call(torch.ones(2, 3), dim)
        assert "\n" not in str(caught.value)


@every_op
@pytest.mark.parametrize("x", [[1.0, 2.0], np.ones(3), 1.0, None], ids=["list", "array", "number", "none"])
def test_no_tensor_is_refused(op, x):
    with pytest.raises(TypeError, match=f"^reduce: x is a tensor, got {type(x).__name__}; torch.as_tensor") as caught:
        getattr(torch_reduce, op)(x)
    assert "\n" not in str(caught.value)


@every_op
@pytest.mark.parametrize("keepdim", [None, 1, "yes", np.True_], ids=repr)
def test_keepdim_is_a_bool(op, keepdim):
    with pytest.raises(TypeError, match="^reduce: keepdim is True or False, got "):
        getattr(torch_reduce, op)(torch.ones(2, 3), 1, keepdim)


@pytest.mark.parametrize("op", [op for op in OPS if takes_dtype(op)])
@pytest.mark.parametrize(("given", "dtype"), [(float, torch.float64), (int, torch.int64), (bool, torch.bool)], ids=str)
def test_types_of_python(op, given, dtype):
    if op == "mean" and given is not float:
        pytest.skip("a mean is floating")
    call, x = getattr(torch_reduce, op), fill((3, 4), torch.float32, op=op)
    assert_same_bits(call(x, 1, dtype=given), call(x, 1, dtype=dtype))
    assert torch_reduce.explain(x, 1, op=op, dtype=given) == torch_reduce.explain(x, 1, op=op, dtype=dtype)


@pytest.mark.parametrize("op", [op for op in OPS if not takes_dtype(op)])
def test_explain_refuses_a_mode_as_the_operator_does(op):
    with pytest.raises(TypeError, match="mode"):
        getattr(torch_reduce, op)(torch.ones(3), mode="atomic")
    with pytest.raises(ValueError, match=f"^reduce: {op} has no mode=, .*'atomic'$"):
        torch_reduce.explain(torch.ones(3), op=op, mode="atomic")


def test_stand_ins_for_tensors():
    """A proxy of torch.fx goes through, as it goes through torch.sum."""
    traced = torch.fx.symbolic_trace(lambda x: torch_reduce.sum(x, 1))
    x = fill((3, 4), torch.float32)
    assert_same_bits(traced(x), torch_reduce.sum(x, 1))


@every_op
@pytest.mark.filterwarnings("ignore")  # torch says that its nested and masked tensors are prototypes
def test_nested_and_masked_tensors_are_refused(op):
    parts = [torch.ones(2, 3), torch.ones(4, 3)]
    call = getattr(torch_reduce, op)
    for layout in (torch.jagged, torch.strided):
        nested = torch.nested.nested_tensor(parts, layout=layout)
        with pytest.raises(NotImplementedError, match="nested.*unbind") as caught:
            call(nested, -1)
        assert "\n" not in str(caught.value).split("\nException raised from")[0]
    with pytest.raises(NotImplementedError, match="^reduce: masked tensors are not supported; .*torch.where$"):
        call(torch.masked.masked_tensor(torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool)), 1)
