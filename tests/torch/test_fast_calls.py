"""Calls that leave Python at once (csrc/python): the operator's bits and errors, and unseen by whoever looks on."""

import inspect
import pickle
import sys
from functools import partial

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import torch_reduce
from torch_reduce import _fast_calls
from torch_reduce._schemas import REDUCTIONS, SCANS
from torch_reduce.scan_model import SCANNED
from torch_reduce.testing import assert_same_bits, fill, has_gradient

OPERATORS = {name: each for name, each in (REDUCTIONS | SCANS).items() if not each.takes_order}
every_operator = pytest.mark.parametrize("name", OPERATORS)
pytestmark = pytest.mark.skipif(_fast_calls._module is None, reason="built without Python's headers")


def function_of(name):
    return getattr(torch_reduce, name)


def input_of(name):
    return fill((3, 4, 5), torch.float32, op=SCANNED.get(name, name))


def tensors(result):
    return result if isinstance(result, tuple) else (result,)


def packet_of(name):
    """The operator of torch.ops that the function calls."""
    return getattr(torch.ops.reduce, name) if name in SCANS else OPERATORS[name].packet


def expected(name, *arguments, **options):
    """By torch.ops."""
    result = packet_of(name)(*arguments, **options)
    if name in SCANS:
        return tensors(result)
    return (result.select(-1, 0), result.select(-1, 1)) if OPERATORS[name].gives_pair else (result,)


def passes_python(name, *arguments, **options):
    """The result, and whether the function of Python ran for it."""
    function, seen = function_of(name), []
    code = function.__wrapped__.__code__
    sys.setprofile(lambda frame, event, _: seen.append(event) if frame.f_code is code else None)
    try:
        result = function(*arguments, **options)
    finally:
        sys.setprofile(None)
    return tensors(result), bool(seen)


def ordinary(name):
    """Arguments and options of calls as programs write them."""
    operator = OPERATORS[name]
    options = [{"dtype": None}, {"dtype": torch.float64}] if operator.takes_dtype else [{}]
    if name in SCANS:
        return [((d,), o) for d in (0, -1) for o in options] + [((), {"dim": 1, **o}) for o in options]
    if operator.takes_dtype:
        options += [{"mode": "atomic"}, {"mode": "".join(["determin", "istic"]), "dtype": torch.float32}]
    if operator.takes_correction:
        options += [{"correction": c} for c in (None, 0, 2, 0.5)]
    dims = [(), (None,), (1,), (-1,), ([0, 2],), ((0, 1),), ([],), ((),)]
    calls = [(d, o) for d in dims for o in options] + [((), {"dim": (1, 2), "keepdim": True, **o}) for o in options]
    return calls if operator.takes_correction else [*calls, ((1, True), {}), ((None, False), {})]


@every_operator
@pytest.mark.parametrize("kind", [torch.Tensor.clone, torch.nn.Parameter], ids=["tensor", "parameter"])
def test_bits_are_the_operators(name, kind, device):
    x = kind(input_of(name).to(device))
    for arguments, options in ordinary(name):
        result, in_python = passes_python(name, x, *arguments, **options)
        assert not in_python, (arguments, options)
        for one, other in zip(result, expected(name, x, *arguments, **options), strict=True):
            assert_same_bits(one, other)
            assert one.requires_grad == other.requires_grad and type(one) is torch.Tensor
    (result, *_), in_python = passes_python(name, x=x, dim=1)
    assert not in_python
    assert_same_bits(result, expected(name, x, 1)[0])


@every_operator
def test_the_unusual_stays_in_python(name):
    x = input_of(name)
    calls = [((x, np.int64(1)), {}), ((), {"input": x, "dim": 1}), ((x,), {"axis": 1})]
    if not OPERATORS[name].gives_pair:
        calls.append(((x, 1), {"out": torch.empty(0, dtype=expected(name, x, 1)[0].dtype)}))
    for arguments, options in calls:
        result, in_python = passes_python(name, *arguments, **options)
        assert in_python, (arguments, options)
        for one, other in zip(result, expected(name, x, 1), strict=True):
            assert_same_bits(one, other)


@every_operator
def test_wrong_arguments_are_refused_as_by_the_function(name):
    x, function = input_of(name), function_of(name)
    many = (x, 2**70), (x, [0, 2**70]), (x, 1, 1), (x, 1, True, 1, 1), (x, 3), (x, "1"), (None, 1), (x.tolist(), 1)
    for given in many:
        found = []
        for call in (function, function.__wrapped__):
            with pytest.raises(Exception) as caught:
                call(*given)
            found.append((caught.type, str(caught.value).split("\nException raised from")[0]))
        assert found[0] == found[1]
    for options in ({"x": x}, {"nothing": 1}, {"dim": 1, "axis": 1}):
        with pytest.raises(TypeError):
            function(x, **options)


@every_operator
def test_it_is_the_function_to_whoever_asks(name):
    function = function_of(name)
    assert inspect.signature(function) == inspect.signature(function.__wrapped__)
    assert function.__doc__ == function.__wrapped__.__doc__ and function.__name__ == name
    assert pickle.loads(pickle.dumps(function)) is function


# ---- who looks on ------------------------------------------------------------------------------------------------


@every_operator
def test_modes_and_subclasses_see_the_operator(name):
    x, seen = input_of(name), []

    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Dispatches(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    class Subclass(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    default = packet_of(name).default
    for mode, operator in ((Functions, default), (Dispatches, OPERATORS[name].packet.default)):
        seen.clear()
        with mode():
            result = tensors(function_of(name)(x, 1))
        assert seen[0] is operator, mode
        assert_same_bits(result[0], expected(name, x, 1)[0])
    seen.clear()
    assert type(tensors(function_of(name)(x.as_subclass(Subclass), 1))[0]) is Subclass
    assert default in seen
    with FakeTensorMode():
        fake = tensors(function_of(name)(torch.empty(3, 4, 5), 1))[0]
    assert isinstance(fake, FakeTensor) and fake.shape == expected(name, x, 1)[0].shape


@every_operator
def test_compilers_see_the_operator(name):
    x, graphs = input_of(name), []

    def backend(module, _):
        graphs.append({node.target for node in module.graph.nodes})
        return module

    function = function_of(name)
    for compiled in (lambda x: function(x, dim=1), partial(function, dim=1)):
        torch._dynamo.reset()
        graphs.clear()
        result = tensors(torch.compile(compiled, backend=backend, fullgraph=True)(x))
        assert_same_bits(result[0], expected(name, x, 1)[0])
        assert packet_of(name).default in graphs[0]

    class Module(torch.nn.Module):
        def forward(self, x):
            return function(x, 1)

    for strict in (False, True):
        program = torch.export.export(Module(), (x,), strict=strict)
        assert packet_of(name).default in {node.target for node in program.graph.nodes}
    traced = torch.jit.trace(lambda x: function(x, 1), x)
    assert f"reduce::{packet_of(name)._qualified_op_name.partition('::')[2]}" in str(traced.graph)


@pytest.mark.parametrize("name", [name for name in OPERATORS if name in SCANS or has_gradient(name)])
def test_gradients_and_transforms(name):
    x, function = input_of(name), function_of(name)

    def loss(x, call):
        return sum(result.square().sum() for result in tensors(call(x, 1)))

    by_ops = partial(expected, name)
    leaf = x.clone().requires_grad_()
    loss(leaf, function).backward()
    other = x.clone().requires_grad_()
    loss(other, by_ops).backward()
    assert_same_bits(leaf.grad, other.grad)
    assert_same_bits(torch.func.grad(loss)(x, function), leaf.grad)
    batched = tensors(torch.vmap(lambda row: function(row, 0))(x))
    assert_same_bits(batched[0], expected(name, x, 1)[0])
    with torch.no_grad():
        assert not tensors(function(leaf, 1))[0].requires_grad
    with torch.inference_mode():
        assert tensors(function(x, 1))[0].is_inference()


def test_norms(device):
    """Of which the order is the second argument."""
    x = fill((3, 4, 5), torch.float32).to(device)
    for order in (2, 1, 0, 3, 0.5, float("inf"), -float("inf")):
        for arguments, options in (((order,), {}), ((order, 1, True), {}), ((), {"ord": order, "dim": [0, 2]})):
            (result,), in_python = passes_python("norm", x, *arguments, **options)
            assert not in_python, (arguments, options)
            names = dict(zip(("ord", "dim", "keepdim"), arguments, strict=False)) | options
            assert_same_bits(result, torch.ops.reduce.norm(x, **names))
    for given in ((x, None), (x, "fro"), (x, 2, "1"), (x, 2, 1, 1), (x, 1j)):
        for call in (torch_reduce.norm, torch_reduce.norm.__wrapped__):
            with pytest.raises(TypeError):
                call(*given)
    (result,), in_python = passes_python("norm", x, np.float64(3))
    assert in_python
    assert_same_bits(result, torch_reduce.norm(x, 3))
