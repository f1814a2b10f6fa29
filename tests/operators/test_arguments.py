"""What else than an int is a dim, what else than torch's is a dtype, and what is refused, in one sentence."""

import inspect
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import torch

import torch_reduce
from torch_reduce.testing import (
    OPS,
    assert_same_bits,
    fill,
    function_of,
    gives_floating,
    operator_of,
    takes_dtype,
)

every_op = pytest.mark.parametrize("op", OPS)
INTEGERS = [np.int64, np.int32, np.uint8, torch.tensor, lambda d: torch.tensor(d, dtype=torch.int32)]


@every_op
def test_integers_are_dims(op):
    call, x = function_of(op), fill((3, 4, 5), torch.float32, op=op)
    for make in INTEGERS:
        assert_same_bits(call(x, make(1)), call(x, 1))
        assert_same_bits(call(x, [make(0), 2]), call(x, [0, 2]))
        assert torch_reduce.explain(x, make(1), op=op) == torch_reduce.explain(x, 1, op=op)
    for several in (np.array([0, 2]), torch.tensor([0, 2]), range(0, 3, 2), torch.Size([0, 2])):
        assert_same_bits(call(x, several), call(x, [0, 2]))


@every_op
@pytest.mark.parametrize("dim", [2**63, -(2**63) - 1, 10**30, [0, 2**63]], ids=repr)
def test_dims_that_no_tensor_has(op, dim):
    for call in (function_of(op), lambda x, dim: torch_reduce.explain(x, dim, op=op)):
        with pytest.raises(IndexError, match="^reduce: dim -?[0-9]+ is out of range$"):
            call(torch.ones(2, 3), dim)


def test_integers_are_dims_of_accumulators():
    x = fill((3, 4), torch.float32)
    for make in INTEGERS:
        assert torch.equal(torch_reduce.exact_accumulate(x, make(1)), torch_reduce.exact_accumulate(x, 1))


@every_op
@pytest.mark.parametrize(
    "dim",
    [1.0, True, np.float32(1), torch.tensor(1.0), torch.tensor(True), "0", {0: 1}, object]
    + [[1.0], [True], (True,), [None], [[1]], [b"1"], [torch.tensor(1.5)], [torch.tensor(True)], [np.bool_(True)]]
    + [np.array([1.0]), torch.tensor([0.0, 1.0]), torch.tensor([[0, 1]])],
    ids=repr,
)
def test_other_dims_are_refused(op, dim):
    for call in (function_of(op), lambda x, dim: torch_reduce.explain(x, dim, op=op)):
        with pytest.raises(TypeError, match="^reduce: dim is an int or several of them, got ") as caught:
            call(torch.ones(2, 3), dim)
        assert "\n" not in str(caught.value)


@every_op
@pytest.mark.parametrize("x", [[1.0, 2.0], np.ones(3), 1.0], ids=["list", "array", "number"])
def test_no_tensor_is_refused(op, x):
    with pytest.raises(TypeError, match=f"^reduce: x is a tensor, got {type(x).__name__}; torch.as_tensor") as caught:
        function_of(op)(x)
    assert "\n" not in str(caught.value)


def refuses(sentence, call):
    with pytest.raises(TypeError, match=f"^reduce: {sentence}") as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("op", [op for op in OPS if takes_dtype(op)])
def test_dtype_and_mode_of_another_type(op):
    call, x = function_of(op), torch.ones(2, 3)
    for dtype in ("float32", 1, np.float32, complex, torch.strided):
        refuses("dtype is one of torch's, ", lambda: call(x, 1, dtype=dtype))  # noqa: B023
        refuses("dtype is one of torch's, ", lambda: torch_reduce.explain(x, 1, op=op, dtype=dtype))  # noqa: B023
    for mode in (None, 1, b"exact", ["exact"]):
        refuses("mode is 'deterministic', ", lambda: call(x, 1, mode=mode))  # noqa: B023
        refuses("mode is 'deterministic', ", lambda: torch_reduce.explain(x, 1, op=op, mode=mode))  # noqa: B023


NUMBERS = [np.int64, np.uint8, np.float16, np.float32, np.float64, np.bool_, bool, np.array, torch.tensor]
NUMBERS += [partial(torch.tensor, dtype=dtype) for dtype in (torch.float32, torch.float64, torch.int32, torch.bool)]
NO_NUMBERS = ["1", [1], 1j, np.complex64(1), torch.tensor(1j), torch.tensor([1.0]), np.array([1.0]), Fraction(1)]
NO_NUMBERS += [torch.tensor(1.0, requires_grad=True)]  # which would have no gradient


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean", "norm"])
@pytest.mark.parametrize("number", [0, 1])
def test_numbers_are_corrections_and_orders(name, number):
    """As in torch, of NumPy and in 0-d tensors too, and bools."""
    x, function = fill((3, 40), torch.float32), getattr(torch_reduce, name)
    key = "ord" if name == "norm" else "correction"
    expected = function(x, dim=1, **{key: number})
    for make in NUMBERS:
        found = function(x, dim=1, **{key: make(number)})
        for a, b in zip(found, expected, strict=True):
            assert_same_bits(a, b, str(make))
    for make in (float, np.float32, torch.tensor):
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: function(x, dim=1, **{key: make(float(number))}), backend="aot_eager")  # noqa: B023
        for a, b in zip(compiled(x), expected, strict=True):
            assert_same_bits(a, b, f"compiled: {make}")


def test_other_arguments_of_another_type():
    x = torch.ones(2, 3)
    for op in ("var", "std", "var_mean", "std_mean"):
        for correction in NO_NUMBERS:
            refuses("correction is a real number, ", lambda: function_of(op)(x, correction=correction))  # noqa: B023
    for order in (*NO_NUMBERS, None):
        refuses("ord is a real number, ", lambda: torch_reduce.norm(x, order))  # noqa: B023
    for op in (torch_reduce.mean, None):
        refuses("op is the name of ", lambda: torch_reduce.explain(x, op=op))  # noqa: B023
    acc = torch_reduce.exact_accumulate(x)
    for dtype in ("float32", complex):
        refuses("dtype is one of ", lambda: torch_reduce.cumsum(x, 0, dtype=dtype))  # noqa: B023
        refuses("dtype is one of ", lambda: torch_reduce.exact_round(acc, dtype=dtype))  # noqa: B023
    refuses("acc is a tensor, ", lambda: torch_reduce.exact_round("a", dtype=torch.float32))


FUNCTIONS_OF_ROWS = {name: getattr(torch_reduce.nn.functional, name) for name in torch_reduce.nn.functional.__all__}


@pytest.mark.parametrize("name", FUNCTIONS_OF_ROWS)
@pytest.mark.parametrize("input", [[1.0, 2.0], None], ids=["list", "none"])
def test_functions_of_rows_take_tensors(name, input):
    function = FUNCTIONS_OF_ROWS[name]
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    others = {"dim": 0, "normalized_shape": (2,), "num_groups": 1}
    given = [others.get(p.name, torch.ones(1, dtype=torch.int64)) for p in needed[1:]]
    refuses("input", lambda: function(input, *given))


@every_op
@pytest.mark.parametrize("keepdim", [None, 1, "yes", np.True_], ids=repr)
def test_keepdim_is_a_bool(op, keepdim):
    with pytest.raises(TypeError, match="^reduce: keepdim is True or False, got "):
        function_of(op)(torch.ones(2, 3), 1, keepdim=keepdim)


@pytest.mark.parametrize("op", [op for op in OPS if takes_dtype(op)])
@pytest.mark.parametrize(("given", "dtype"), [(float, torch.float64), (int, torch.int64), (bool, torch.bool)], ids=str)
def test_types_of_python(op, given, dtype):
    if gives_floating(op) and given is not float:
        pytest.skip("the result is floating")
    call, x = function_of(op), fill((3, 4), torch.float32, op=op)
    assert_same_bits(call(x, 1, dtype=given), call(x, 1, dtype=dtype))
    assert torch_reduce.explain(x, 1, op=op, dtype=given) == torch_reduce.explain(x, 1, op=op, dtype=dtype)


@pytest.mark.parametrize("op", [op for op in OPS if not takes_dtype(op)])
def test_explain_refuses_a_mode_as_the_operator_does(op):
    with pytest.raises(TypeError, match="mode"):
        function_of(op)(torch.ones(3), mode="atomic")
    with pytest.raises(ValueError, match=f"^reduce: {op} has no mode=, .*'atomic'$"):
        torch_reduce.explain(torch.ones(3), op=op, mode="atomic")


def test_stand_ins_for_tensors():
    """A proxy of torch.fx goes through, as it goes through torch.sum."""
    traced = torch.fx.symbolic_trace(lambda x: torch_reduce.sum(x, 1))
    x = fill((3, 4), torch.float32)
    assert_same_bits(traced(x), torch_reduce.sum(x, 1))


@every_op
def test_other_names_of_arguments(op):
    """torch.sum takes them too."""
    call, x = function_of(op), fill((3, 4), torch.float32, op=op)
    assert_same_bits(call(input=x, axis=1, keepdims=True), call(x, 1, keepdim=True))
    assert_same_bits(call(x, axis=(0, 1)), call(x))
    for keywords in ({"dim": 1, "axis": 1}, {"keepdim": True, "keepdims": True}, {"input": x}):
        with pytest.raises(TypeError, match="are one argument, and both are given$"):
            call(x, **keywords)
    with pytest.raises(TypeError, match="^reduce: there is no argument 'dims'$"):
        call(x, dims=1)
    with pytest.raises(TypeError, match="^reduce: x, a tensor, is missing$"):
        call(axis=1)
    with pytest.raises(TypeError, match="^reduce: x is a tensor, got function$"):
        call(lambda x: x)


def test_other_names_compile():
    x = fill((3, 4), torch.float32)
    compiled = torch.compile(lambda x: torch_reduce.sum(x, axis=1, keepdims=True), backend="eager", fullgraph=True)
    assert_same_bits(compiled(x), torch_reduce.sum(x, 1, True))


@every_op
@pytest.mark.filterwarnings("ignore")  # torch says that its nested and masked tensors are prototypes
def test_other_kinds_of_tensors_are_refused(op):
    call = function_of(op)
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.strided)
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    for refuse in (lambda: call(nested, -1), lambda: operator_of(op)(nested, -1)):
        with pytest.raises(NotImplementedError, match="nested.*unbind") as caught:
            refuse()
        assert "\n" not in str(caught.value).split("\nException raised from")[0]
    with pytest.raises(NotImplementedError, match=op):
        operator_of(op)(jagged, 1)
    with pytest.raises(NotImplementedError, match="^reduce: masked tensors are not supported; .*torch.where$"):
        call(torch.masked.masked_tensor(torch.ones(2, 3), torch.ones(2, 3, dtype=torch.bool)), 1)
    for sparse in (torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()):
        with pytest.raises(NotImplementedError, match="no kernel for a tensor of device cpu, layout Sparse"):
            call(sparse, 1)


ELSEWHERE = {
    "where=": lambda x: torch_reduce.sum(x, -1, where=torch.tensor(True)),
    "explain": lambda x: torch_reduce.explain(x, -1),
    "accumulate": lambda x: torch_reduce.exact_accumulate(x, -1),
    "cumsum": lambda x: torch_reduce.cumsum(x, -1),
    "topk": lambda x: torch_reduce.topk(x, 1),
    "dot": lambda x: torch_reduce.dot(x, x, -1),
    "second of dot": lambda x: torch_reduce.dot(torch.ones(3, 3), x, -1),
    "softmax over tokens": lambda x: torch_reduce.nn.functional.softmax(x, 1),
    "rms_norm of tokens": lambda x: torch_reduce.nn.functional.rms_norm(x, (3, 3)),
    "group_norm": lambda x: torch_reduce.nn.functional.group_norm(x, 1),
    "batch_norm_stats": lambda x: torch_reduce.nn.functional.batch_norm_stats(x),
    "cross_entropy": lambda x: torch_reduce.nn.functional.cross_entropy(x, torch.ones(3, dtype=torch.int64)),
    "logprobs": lambda x: torch_reduce.nn.functional.logprobs(torch.ones(3, 3), x),
}


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.filterwarnings("ignore")  # as above
def test_jagged_and_masked_tensors_are_refused_elsewhere(name):
    """In one sentence each."""
    jagged = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    masked = torch.masked.masked_tensor(torch.ones(3, 3), torch.ones(3, 3, dtype=torch.bool))
    with pytest.raises(NotImplementedError, match="^reduce[:a-z_]*: .*nested.*unbind"):
        ELSEWHERE[name](jagged)
    with pytest.raises(NotImplementedError, match="^reduce: masked tensors are not supported; .*torch.where$"):
        ELSEWHERE[name](masked)


@pytest.mark.filterwarnings("ignore")
def test_masks_and_accumulated_tensors_are_strided():
    x, sparse = torch.ones(3, 3), torch.eye(3).to_sparse()
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.strided)
    with pytest.raises(NotImplementedError, match="^reduce::sum: no where= of layout torch.sparse_coo; "):
        torch_reduce.sum(x, 1, where=sparse.bool())
    with pytest.raises(NotImplementedError, match="^reduce::sum: no where= for nested tensors; "):
        torch_reduce.sum(nested, -1, where=torch.tensor(True))
    with pytest.raises(NotImplementedError, match="^reduce: x is nested, which is not supported here$"):
        torch_reduce.exact_accumulate(nested, -1)
    with pytest.raises(NotImplementedError, match="^reduce: x is of layout torch.sparse_coo, which is not "):
        torch_reduce.exact_accumulate(sparse, 1)


@every_op
@pytest.mark.skipif(not hasattr(torch.Tensor, "rename"), reason="this torch has no named tensors")
@pytest.mark.filterwarnings("ignore")  # torch says that its named tensors are a prototype
def test_named_tensors_are_refused(op):
    call = function_of(op)
    with pytest.raises(RuntimeError, match=r"[Nn]amed tensors.*rename\(None\)"):
        call(torch.ones(2, 3, names=("N", "C")), 1)
    with pytest.raises(TypeError, match="^reduce: dim is an int or several of them, got 'C'$"):
        call(torch.ones(2, 3, names=("N", "C")), "C")
