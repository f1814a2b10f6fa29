"""Maps by their model, to the bit: whatever the layout, the rows beside a row, the threads and the instruction set; and
beside torch's own: samples, types, errors."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from map_cases import DTYPES, NORMS, NORMS_OF_ROWS, SOFTMAXES, inputs_of, masked, special, values
from strategies import like, permuted_slices, strided

import torch_reduce.nn
from torch_reduce.map_model import MAPS, map_model
from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits, num_threads

every_map = pytest.mark.parametrize("name", sorted(MAPS))
every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


def run(name, inputs, device="cpu"):
    """The operator that has the map's kernel, on rows."""
    names = {"cross_entropy_backward": "_logits_backward"} | {softmax: softmax for softmax in SOFTMAXES}
    op = getattr(torch.ops.reduce, names.get(name, f"_{name}"))
    x, second, weight, bias, row, mask = (
        t if t is None else t.to(device)
        for t in (inputs.x, inputs.second, inputs.weight, inputs.bias, inputs.row, inputs.mask)
    )
    if name in SOFTMAXES:
        return op(x, 1, inputs.expected.dtype, mask, inputs.scale)
    if name == "cross_entropy_backward":
        return op(x, row, 1)
    if name == "channel_sums":  # a channel is a row
        return op(x.unsqueeze(1), second.unsqueeze(1), row.unsqueeze(1), 1).squeeze(1)
    if name == "group_norm_backward":
        return op(x.unsqueeze(1), second.unsqueeze(1), row.unsqueeze(1), weight).squeeze(1)
    if name == "group_norm":
        result, written = op(x.unsqueeze(1), weight, bias, inputs.eps)
        assert_same_bits(written.squeeze(1), inputs.row, name)
        return result.squeeze(1)
    if name not in NORMS:
        return op(x, second, 1, inputs.expected.dtype, mask, inputs.scale)
    if name == "add_rms_norm":
        result, total, written = op(x, second, 1, weight, inputs.eps)
        assert_same_bits(total, inputs.total, name)
        assert_same_bits(written, inputs.row, name)
        return result
    if second is not None:
        return op(x, second, row, 1, weight)
    parameters = (weight,) if name == "rms_norm" else (weight, bias)
    result, written = op(x, 1, *parameters, inputs.eps)
    assert_same_bits(written, inputs.row, name)
    return result


@every_map
@every_dtype
def test_lengths(device, name, dtype):
    for n in (1, 2, 8, 15, 17, 64, 255, 256, 257, 1023, 1024, 1025, 2049, 5000):
        x = values(4, n, dtype, start=n)
        inputs = inputs_of(name, x, affine=n % 2 > 0)
        assert_same_bits(run(name, inputs, device), inputs.expected, f"{name} {n}")


@every_map
def test_long_rows(device, name):
    """On a GPU, of CTAs that meet in a cluster of 2 and of 9, and in scratch; on a CPU one of these lengths, the next
    for the next map."""
    cases = [(20_000, torch.float32), (140_001, torch.bfloat16), (300_000, torch.float16)]
    for n, dtype in cases if device != "cpu" else [cases[sorted(MAPS).index(name) % 3]]:
        inputs = inputs_of(name, values(2, n, dtype, start=n))
        assert_same_bits(run(name, inputs, device), inputs.expected, f"{name} {n}")


@every_map
@every_dtype
def test_special_values(device, name, dtype):
    for n in (1, 3, 300, 2100):
        inputs = inputs_of(name, special(values(12, n, dtype, start=n)))
        assert_same_bits(run(name, inputs, device), inputs.expected, f"{name} {n}")


@every_map
def test_a_row_has_its_bits_in_every_batch(device, name):
    """At every alignment, contiguous or not, with other rows or alone."""
    for count, n in ((5000, 40), (300, 1030)):
        inputs = inputs_of(name, values(count, n, torch.bfloat16))
        whole = run(name, inputs, device)
        assert_same_bits(whole, inputs.expected, f"{name}, rows of {n}")
        for batch in (1, 7, 255, 256, 257):
            first = (batch * 37) % (count - batch)
            rows = slice(first, first + batch)
            part = inputs.of_rows(rows, offset=batch % 8)
            assert_same_bits(run(name, part, device), whole[rows], f"{name}, {batch} rows of {n}")


@every_map
def test_many_short_rows(device, name):
    """Which have other lanes of a GPU than few have."""
    for n, dtype in ((24, torch.bfloat16), (96, torch.float16), (128, torch.bfloat16), (256, torch.float32)):
        inputs = inputs_of(name, special(values(100, n, dtype, start=n)))
        assert_same_bits(run(name, inputs, device), inputs.expected, f"{name} {n}")
        inputs = inputs.repeated(250)
        assert_same_bits(run(name, inputs, device), inputs.expected, f"{name}, many rows of {n}")


@pytest.mark.parametrize("name", SOFTMAXES)
@given(data=st.data())
def test_softmax_of_any_layout(device, name, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(st.one_of(permuted_slices(dtype, "logsumexp"), strided(dtype, "logsumexp")))
    dim = data.draw(st.integers(-max(1, x.ndim), max(1, x.ndim) - 1))
    out = data.draw(st.sampled_from([None, *DTYPES]))
    actual = getattr(functional, name)(like(x, device), dim, dtype=out)
    moved = x.reshape(1, 1) if x.ndim == 0 else x.movedim(dim, -1)
    expected = map_model(moved, map=name, dtype=out)
    assert actual.is_contiguous() and actual.shape == x.shape
    assert_same_bits(actual, expected.reshape(()) if x.ndim == 0 else expected.movedim(-1, dim))


@pytest.mark.parametrize("name", [name for name in sorted(MAPS) if "softmax" in name])
@every_dtype
def test_masks_and_scales(device, name, dtype):
    """A mask of elements, of places, of rows, apart in memory; of all, and of none."""
    for i, n in enumerate((1, 40, 257, 1024, 5000)):
        keep = torch.rand(6, 2 * n, generator=torch.Generator().manual_seed(n)) < 0.6
        keep[1], keep[2] = False, True
        masks = (keep[:, :n], keep[:, ::2], keep[3, 1 : n + 1], keep[:, :1], torch.tensor(True))
        for mask in (masks[i], masks[i - 1]):
            inputs = inputs_of(name, values(6, n, dtype, start=n))
            inputs = masked(inputs, name, mask, (0.125, 1.0, 3.7)[i % 3])
            assert_same_bits(run(name, inputs, device), inputs.expected, f"{name} {n} {tuple(mask.shape)}")


@pytest.mark.parametrize("name", SOFTMAXES)
@given(data=st.data())
def test_masked_softmax_of_any_layout(device, name, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(permuted_slices(dtype, "logsumexp").filter(lambda x: x.ndim > 0))
    dim = data.draw(st.integers(-x.ndim, x.ndim - 1))
    x = x[tuple(slice(None if d == dim % x.ndim else 8) for d in range(x.ndim))]  # the model takes long for many rows
    sizes = [size if data.draw(st.booleans()) else 1 for size in x.shape]
    mask = values(1, math.prod(sizes), dtype, start=3).reshape(sizes) > -0.2
    actual = getattr(functional, name)(like(x, device), dim, mask=mask.to(device), scale=0.3)
    whole = mask.expand(x.shape).movedim(dim, -1)
    expected = map_model(x.movedim(dim, -1), map=name, mask=whole, scale=0.3)
    assert_same_bits(actual, expected.movedim(-1, dim))


@pytest.mark.parametrize("name", NORMS_OF_ROWS)
@given(data=st.data())
def test_norms_of_any_layout(device, name, data):
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(st.one_of(permuted_slices(dtype, "sum"), strided(dtype, "sum")).filter(lambda x: x.ndim > 0))
    dims = data.draw(st.integers(1, x.ndim))
    shape = x.shape[-dims:]
    n = math.prod(shape)
    weight = values(1, n, dtype, start=3).reshape(shape) if data.draw(st.booleans()) else None
    bias = values(1, n, dtype, start=5).reshape(shape) if name == "layer_norm" and data.draw(st.booleans()) else None
    parameters = [weight] if name == "rms_norm" else [weight, bias]
    given = [None if p is None else p.to(device) for p in parameters]
    actual = getattr(functional, name)(like(x, device), shape, *given, eps=1e-3)
    flat = [None if p is None else p.flatten() for p in (weight, bias)]
    expected = map_model(x.flatten(-dims), map=name, weight=flat[0], bias=flat[1], eps=1e-3)
    assert_same_bits(actual, expected.reshape(x.shape))


@every_map
def test_capabilities(capability, name):
    for dtype in DTYPES:
        for n in (9, 257, 3001):
            inputs = inputs_of(name, values(3, n, dtype, start=n))
            assert_same_bits(run(name, inputs), inputs.expected, f"{name} {dtype} {n} {capability}")


@every_map
@pytest.mark.parametrize("threads", [1, 3])
def test_threads(name, threads):
    inputs = inputs_of(name, values(300, 400, torch.float32))
    with num_threads(threads):
        assert_same_bits(run(name, inputs), inputs.expected)


@pytest.mark.parametrize("name", SOFTMAXES)
def test_types_of_results(device, name):
    """A wider one computes in it; a narrower one is rounded once, at the end; integers are converted first."""
    for dtype in DTYPES:
        x = values(3, 1030, dtype)
        for out in DTYPES:
            actual = getattr(functional, name)(x.to(device), 1, dtype=out)
            assert_same_bits(actual, map_model(x, map=name, dtype=out), f"{dtype} to {out}")
    x = torch.arange(12, device=device).view(3, 4)
    assert_same_bits(getattr(functional, name)(x, 1, dtype=torch.float32), getattr(functional, name)(x.float(), 1))


@pytest.mark.parametrize("name", NORMS)
def test_parameters_of_the_compute_type(device, name):
    inputs = inputs_of(name, values(3, 1030, torch.bfloat16))
    inputs.weight = inputs.weight.float()
    assert_same_bits(run(name, inputs, device), inputs.expected)


OPINFO = {name: name for name in SOFTMAXES} | {name: f"nn.functional.{name}" for name in NORMS_OF_ROWS}


@pytest.mark.parametrize("name", sorted(OPINFO))
def test_samples(device, name):
    """PyTorch's own (OpInfo): types and shapes as torch's, values near torch's in float64: its own log_softmax rounds
    the logarithm to bfloat16 on a CPU."""
    pytest.importorskip("expecttest", reason="torch.testing._internal, the source of these samples, needs expecttest")
    from torch.testing._internal.common_methods_invocations import op_db

    found = [info for info in op_db if info.name == OPINFO[name]]
    count = 0
    for info in found:
        for dtype in DTYPES:
            for sample in info.sample_inputs(device, dtype):
                x, arguments, keywords = sample.input, sample.args, dict(sample.kwargs)
                keywords.pop("_stacklevel", None)
                expected = info.op(x, *sample.args, **sample.kwargs)
                actual = getattr(functional, name)(x, *arguments, **keywords)
                assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
                exact = [a.double() if isinstance(a, torch.Tensor) else a for a in arguments]
                kept = {
                    k: v.double() if isinstance(v, torch.Tensor) else v for k, v in keywords.items() if k != "dtype"
                }
                if name == "rms_norm":
                    kept.setdefault("eps", torch.finfo(torch.float64 if dtype == torch.float64 else torch.float32).eps)
                near = getattr(torch.nn.functional, name)(x.double(), *exact, **kept).to(expected.dtype)
                torch.testing.assert_close(actual, near, equal_nan=True)
                count += 1
    assert count >= 10


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_that_counts_has_it_all(device, dtype):
    for value in (-70.0, -0.3, 0.0, 1.7, 3.0, 300.0):
        x = torch.tensor([[value, -math.inf, value - 1000], [value, -math.inf, -math.inf]], dtype=dtype, device=device)
        assert torch.equal(functional.softmax(x, 1), torch.eye(3, dtype=dtype, device=device)[[0, 0]])
        assert functional.log_softmax(x, 1)[:, 0].abs().max() <= torch.finfo(torch.float32).eps
        assert torch.equal(functional.softmax(x[:, :1], 1), torch.ones(2, 1, dtype=dtype, device=device))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_equal_elements_have_no_deviation(device, dtype):
    """Whatever their number: 1 / 98 is rounded, their mean is not."""
    for n in (1, 49, 98, 196, 1000):
        x, bias = torch.full((2, n), 1000.3, dtype=dtype, device=device), torch.ones(n, dtype=dtype, device=device)
        assert_same_bits(functional.layer_norm(x, (n,), None, bias), bias.expand(2, n))
        assert functional.layer_norm(x, (n,)).count_nonzero() == 0


def test_modules_take_torchs_state(device):
    torch.manual_seed(0)
    x = torch.randn(4, 6, 10, device=device)
    for name, arguments in (("RMSNorm", (10,)), ("LayerNorm", ((6, 10),)), ("Softmax", (1,)), ("LogSoftmax", (-1,))):
        theirs = getattr(torch.nn, name)(*arguments).to(device)
        ours = getattr(torch_reduce.nn, name)(*arguments).to(device)
        for parameter in theirs.parameters():
            torch.nn.init.normal_(parameter)
        ours.load_state_dict(theirs.state_dict())
        assert repr(ours) == repr(theirs)
        torch.testing.assert_close(ours(x), theirs(x))


def test_empty(device):
    for shape in ((0, 3), (3, 0), (0,), (2, 0, 4)):
        x = torch.ones(shape, device=device)
        assert functional.softmax(x, -1).shape == functional.log_softmax(x, 0).shape == x.shape
        assert functional.rms_norm(x, shape[-1:]).shape == functional.layer_norm(x, shape[-1:]).shape == x.shape
