"""Functions of two results: a named tuple, as torch's, whoever calls them and however, and both with out=."""

import inspect
import io
import pickle

import pytest
import torch
from torch.utils import _pytree as pytree

import torch_reduce
from torch_reduce._schemas import REDUCTIONS, SCANS
from torch_reduce.testing import assert_same_bits, fill

NAMES = [name for name, each in (REDUCTIONS | SCANS).items() if each.gives_pair] + ["topk"]
every_function = pytest.mark.parametrize("name", NAMES)
# torch's own of these two are tuples without names.
FIELDS = {"var_mean": ("var", "mean"), "std_mean": ("std", "mean")}


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()


def arguments_of(name):
    return {"k": 3} if name == "topk" else {}


def run(name, x, **options):
    return getattr(torch_reduce, name)(x, dim=1, **arguments_of(name), **options)


def of_torch(name, x):
    return getattr(torch, name)(x, dim=1, **arguments_of(name))


def fields_of(name):
    """The names that torch gives the two."""
    if name in FIELDS:
        return FIELDS[name]
    result = of_torch(name, torch.ones(2, 4))
    return tuple(field for field in type(result).__match_args__)


def assert_pair(name, found, x, what=""):
    expected = of_torch(name, x)
    for field, value, of_field in zip(fields_of(name), expected, found, strict=True):
        assert getattr(found, field) is of_field, what
        torch.testing.assert_close(of_field, value, msg=what)


@every_function
def test_results_have_torchs_names(name, device):
    x = fill((3, 40), torch.float32).to(device)
    found = run(name, x)
    assert_pair(name, found, x)
    assert isinstance(found, tuple) and found._fields == fields_of(name)
    assert type(found) is inspect.signature(getattr(torch_reduce, name)).return_annotation
    assert_pair(name, run(name, x.clone().requires_grad_()), x, "of another way to the operator")
    for value, same in zip(found, pickle.loads(pickle.dumps(found)), strict=True):
        assert torch.equal(value, same)


@every_function
@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_without_graph_breaks(name, dynamic, device):
    def names(x):
        pair = run(name, x)
        return pair, getattr(pair, fields_of_name[0]) * 2

    x, fields_of_name = fill((3, 40), torch.float32).to(device), fields_of(name)
    pair, twice = torch.compile(names, fullgraph=True, dynamic=dynamic, backend="aot_eager")(x)
    assert_pair(name, pair, x, "compiled")
    assert_same_bits(twice, pair[0] * 2)


class Module(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        return run(self.name, x)


@every_function
@pytest.mark.parametrize("strict", [False, True])
def test_export(name, strict, device):
    x, file = fill((3, 40), torch.float32).to(device), io.BytesIO()
    torch.export.save(torch.export.export(Module(name), (x,), strict=strict), file)
    file.seek(0)
    assert_pair(name, torch.export.load(file).module()(x), x, "exported")


@every_function
def test_trees_and_transforms(name, device):
    x = fill((3, 4, 40), torch.float32).to(device)
    pair = run(name, x[0])
    leaves, tree = pytree.tree_flatten(pair)
    assert [id(leaf) for leaf in leaves] == [id(value) for value in pair]
    assert type(pytree.tree_unflatten(leaves, tree)) is type(pair)
    assert_pair(name, pytree.tree_map(torch.clone, pair), x[0], "tree_map")
    batch = torch.vmap(lambda x: run(name, x))(x)
    assert batch._fields == fields_of(name)
    for of_batch, of_each in zip(batch, zip(*(run(name, each) for each in x), strict=True), strict=True):
        assert_same_bits(of_batch, torch.stack(of_each), "vmap")


@every_function
def test_out(name, device):
    x = fill((3, 40), torch.float32).to(device)
    expected = run(name, x)
    for make in (torch.empty_like, lambda t: t.new_empty(0)):
        for kind in (tuple, list):
            out = kind(make(value) for value in expected)
            found = run(name, x, out=out)
            assert found._fields == fields_of(name)
            for value, own, result in zip(found, out, expected, strict=True):
                assert value is own
                assert_same_bits(value, result, "out")


@every_function
def test_out_in_a_compiled_program(name, device):
    def into(x):
        first, second = (torch.empty_like(value) for value in like)
        found = run(name, x, out=(first, second))
        return found, first * 2

    x = fill((3, 40), torch.float32).to(device)
    like = run(name, x)
    found, twice = torch.compile(into, fullgraph=True, backend="aot_eager")(x)
    assert_pair(name, found, x, "compiled")
    assert_same_bits(twice, like[0] * 2)


@every_function
def test_an_out_that_is_refused(name, device):
    x = fill((3, 40), torch.float32).to(device)
    first, second = run(name, x)
    memory = torch.zeros(8 * (first.numel() + second.numel()), dtype=torch.uint8, device=device)
    shared = [memory[: t.nbytes].view(t.dtype).view_as(t) for t in (first, second)]
    short = second.new_zeros(second.shape[0] - 1, *second.shape[1:])
    for error, words, out in (
        (TypeError, "out is a tuple of two tensors", first),
        (TypeError, "out is a tuple of two tensors", (first,)),
        (TypeError, "out is a tuple of two tensors", (first, None)),
        (RuntimeError, "out has shape", (first.clone(), short)),
        (RuntimeError, "out .*dtype", (first.clone(), second.to(torch.int32))),
        (RuntimeError, "share memory", tuple(shared)),
        (RuntimeError, "out is on", (first.clone(), second.to("meta"))),
    ):
        before = [t.clone() for t in out if isinstance(t, torch.Tensor)] if isinstance(out, tuple) else []
        with pytest.raises(error, match=words):
            run(name, x, out=out)
        for t, was in zip(out if before else (), before, strict=False):
            assert t.is_meta or torch.equal(t, was)
    out = (first.clone(), second.clone())
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        run(name, x.clone().requires_grad_(), out=out)
    if second.is_floating_point():
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            run(name, x, out=(out[0], out[1].requires_grad_()))
