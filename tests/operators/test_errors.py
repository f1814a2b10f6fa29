"""Bad input: the type of the error, a sentence that says what was given and what is accepted, and an out left alone."""

import re

import pytest
import torch

import torch_reduce
from torch_reduce._twins import twin_of
from torch_reduce.testing import (
    OPS,
    function_of,
    gives_index,
    gives_pair,
    output_dtype,
    result_shape,
    takes_complex,
    takes_dtype,
    wants_elements,
)

SUMS = [op for op in OPS if takes_dtype(op)]
EXTREMES = [op for op in OPS if wants_elements(op)]
every_op = pytest.mark.parametrize("op", OPS)
every_sum = pytest.mark.parametrize("op", SUMS)
every_extreme = pytest.mark.parametrize("op", EXTREMES)
ACCEPTED = ["bool", "int64", "float16", "bfloat16", "float32", "float64"]


def refuses(error, words, run, *args, **kwargs):
    """Checks that the call raises exactly ``error``, that its first line holds every one of ``words``, and that an
    ``out`` keeps shape and values."""
    out = kwargs.get("out")
    before = None if out is None or out.is_meta else out.clone()
    with pytest.raises(error) as caught:
        run(*args, **kwargs)
    assert caught.type is error
    sentence = str(caught.value).split("\nException raised from")[0]
    for word in words:
        assert re.search(re.escape(str(word)), sentence, re.IGNORECASE), f"{word!r} is not in: {sentence}"
    if before is not None:
        assert out.shape == before.shape and values(out).equal(values(before)), "something was written to out"


def values(x):
    """``x``, as real numbers: torch does not compare complex32."""
    return torch.view_as_real(x) if x.is_complex() else x


def both(op, error, words, *args, device="cpu", out=None, **kwargs):
    """The functional call, the overload with out=, and the meta kernel all refuse in the same way."""
    run = function_of(op)
    refuses(error, words, run, *args, **kwargs)
    out = torch.full((3,), 7.0, device=args[0].device) if out is None else out
    refuses(error, words, run, *args, **kwargs, out=out)
    refuses(error, words, run, args[0].to("meta"), *args[1:], **kwargs)


@every_op
@pytest.mark.parametrize("dim", [2, -3, [0, 5], [-7]], ids=str)
def test_dim_out_of_range(op, dim, device):
    given = [d for d in ([dim] if isinstance(dim, int) else dim) if not -2 <= d < 2][0]
    both(op, IndexError, ["out of range", "[-2, 1]", given], torch.ones(2, 3, device=device), dim)


@every_op
def test_dim_out_of_range_of_0d(op, device):
    both(op, IndexError, ["out of range", "[-1, 0]", "1"], torch.tensor(1.0, device=device), 1)


@every_op
@pytest.mark.parametrize("dim", [[0, 0], [1, -1], [0, 1, -2]], ids=str)
def test_dim_repeated(op, dim, device):
    both(op, RuntimeError, ["appears multiple times", dim[0] % 2], torch.ones(2, 3, device=device), dim)


@every_op
def test_dim_repeated_of_0d(op, device):
    both(op, RuntimeError, ["appears multiple times"], torch.tensor(1.0, device=device), [0, -1])


@every_sum
@pytest.mark.parametrize("mode", ["", "fast", "DETERMINISTIC"])
def test_unknown_mode(op, mode, device):
    words = [mode, "atomic", "deterministic", "exact"]
    both(op, ValueError, words, torch.ones(2, 3, device=device), 0, mode=mode)


def test_exact_prod(device):
    words = ["prod", "exact", "sum, mean, sumsq and dot", "deterministic", "atomic"]
    both("prod", NotImplementedError, words, torch.ones(2, 3, device=device), 0, mode="exact")


@every_op
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.complex32], ids=str)
def test_complex(op, dtype, device):
    if takes_complex(op) and dtype != torch.complex32:
        pytest.skip("takes them: test_complex.py")
    x = torch.ones(2, 3, device=device).to(dtype)
    both(op, NotImplementedError, [*ACCEPTED, "Complex"], x, 0, out=torch.ones(3, dtype=dtype, device=device))


@every_op
@pytest.mark.parametrize("dtype", [torch.float8_e4m3fnuz, torch.float8_e5m2fnuz], ids=str)
def test_other_float8(op, dtype, device):
    x = torch.ones(2, 3, device=device).to(dtype)
    both(op, NotImplementedError, [*ACCEPTED, "Float8"], x, 0)


@every_op
def test_quantised(op):
    x = torch.quantize_per_tensor(torch.ones(2, 3), 0.5, 0, torch.quint8)
    run = function_of(op)
    refuses(NotImplementedError, ["reduce::" + op, "a tensor", "QUInt8", "not quantised"], run, x, 0)
    refuses(NotImplementedError, ["an out", "QUInt8"], run, torch.ones(2, 3), 0, out=x[0])


@every_sum
@pytest.mark.parametrize("dtype", [torch.complex64, torch.float8_e5m2], ids=str)
def test_unsupported_output_type(op, dtype, device):
    x = torch.ones(2, 3, device=device)
    both(op, NotImplementedError, ACCEPTED, x, 0, dtype=dtype, out=torch.ones(3, device=device).to(dtype))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.bool, torch.uint8], ids=str)
def test_mean_of_integers_without_dtype(dtype, device):
    x = torch.ones(2, 3, dtype=dtype, device=device)
    words = ["mean", "floating"]
    refuses(RuntimeError, words, torch_reduce.mean, x, 0)
    refuses(RuntimeError, words, torch_reduce.mean, x, 0, out=torch.ones(3, dtype=torch.int64, device=device))
    refuses(RuntimeError, words, torch_reduce.mean, x.to("meta"), 0)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.bool, torch.uint16], ids=str)
def test_mean_to_integers(dtype, device):
    x = torch.ones(2, 3, device=device)
    words = ["mean", "floating"]
    both("mean", RuntimeError, words, x, 0, dtype=dtype, out=torch.ones(3, dtype=dtype, device=device))


@every_extreme
@pytest.mark.parametrize("shape, dim", [((0, 3), 0), ((3, 0), -1), ((2, 0, 3), [0, 1]), ((0,), [0])], ids=str)
def test_extreme_over_an_empty_dim(op, shape, dim, device):
    x = torch.empty(shape, device=device)
    kept = [s for d, s in enumerate(shape) if d not in (dim if isinstance(dim, list) else [dim % 2])]
    out = torch.ones(kept, dtype=output_dtype(op, x.dtype), device=device)
    error = RuntimeError if takes_dtype(op) else IndexError  # of norms, as torch's
    both(op, error, [op, "size 0", "at least one element"], x, dim, out=out)


@every_extreme
@pytest.mark.parametrize("dim", [None, []], ids=str)
def test_extreme_of_nothing(op, dim, device):
    x = torch.empty(0, 3, device=device)
    out = torch.tensor(7, dtype=output_dtype(op, x.dtype), device=device)
    error = IndexError if gives_index(op) else RuntimeError  # as torch's
    both(op, error, [op, "dim"], x, dim, out=out)
    with pytest.raises(error) as caught:
        getattr(torch, op, twin_of(op))(x)
    assert caught.type is error


@every_op
@pytest.mark.parametrize("shape", [(2,), (4,), (1, 3), (3, 1), ()], ids=str)
def test_out_of_the_wrong_shape(op, shape, device):
    x = torch.ones(2, 3, device=device)
    for keepdim in (False, True):
        if (1, 3)[1 - keepdim :] != shape:
            out = torch.full(shape, 7, dtype=output_dtype(op, x.dtype), device=device)
            words = ["out", "shape", list(shape)]
            refuses(RuntimeError, words, function_of(op), x, 0, keepdim=keepdim, out=out)


@every_op
def test_empty_out_is_resized(op, device):
    x = torch.ones(2, 3, device=device)
    for shape in ((0,), (5, 0)):
        out = torch.empty(shape, dtype=output_dtype(op, x.dtype), device=device)
        function_of(op)(x, 0, keepdim=True, out=out)
        assert torch.equal(out, function_of(op)(x, 0, keepdim=True))


@every_sum
def test_out_and_dtype_differ(op, device):
    x = torch.ones(2, 3, device=device)
    for dtype, other in ((torch.float32, torch.float64), (torch.float64, torch.float16), (torch.float16, torch.int64)):
        out = torch.full((3,), 7, dtype=other, device=device)
        refuses(RuntimeError, ["out", "dtype"], function_of(op), x, 0, dtype=dtype, out=out)


@pytest.mark.parametrize("op", [op for op in EXTREMES if not takes_dtype(op)])
def test_extreme_out_needs_the_type_of_the_result(op, device):
    x = torch.ones(2, 3, device=device)
    for dtype in {torch.float64, torch.float16, torch.int32, torch.int64, torch.float32} - {output_dtype(op, x.dtype)}:
        out = torch.full((3,), 7, dtype=dtype, device=device)
        refuses(RuntimeError, ["out", "dtype"], function_of(op), x, 0, out=out)


@every_op
def test_out_on_another_device(op, device):
    x = torch.ones(2, 3, device=device)
    others = ["meta"] + (["cpu"] if device == "cuda" else ["cuda"] if torch.cuda.is_available() else [])
    for other in others:
        out = torch.full((3,), 7, dtype=output_dtype(op, x.dtype), device=other)
        refuses(RuntimeError, ["out", device, other], function_of(op), x, 0, out=out)


@every_op
def test_out_overlaps_self(op, device):
    before = torch.arange(16, device=device).to(output_dtype(op, torch.float32))
    x = before.clone().view(4, 4)
    for out in (
        (x[:2].view(4, 2), x[2:].view(4, 2), x.view(-1)[6:14].view(4, 2), x[:, 1:3], x.view(-1)[::2].view(4, 2))
        if gives_pair(op)
        else (x[0], x[3], x.view(-1)[6:10], x[:, 1], x.view(-1)[::5])
    ):
        refuses(RuntimeError, ["out", "shares memory"], function_of(op), x, 0, out=out)
    empty = x[0][:0]  # would be resized over x
    refuses(RuntimeError, ["out", "shares memory"], function_of(op), x, 0, out=empty)
    assert empty.shape == (0,)
    assert torch.equal(x.flatten(), before)


@every_op
def test_out_overlaps_itself(op, device):
    x = torch.ones(2, 3, device=device)
    out = torch.full((), 7, dtype=output_dtype(op, x.dtype), device=device).expand(result_shape(x.shape, 0, op=op))
    refuses(RuntimeError, ["out", "share one place"], function_of(op), x, 0, out=out)


@every_op
def test_out_needs_no_gradient(op, device):
    x = torch.ones(2, 3, device=device, requires_grad=True)
    out = torch.full(result_shape(x.shape, 0, op=op), 7.0, device=device)
    refuses(RuntimeError, ["out"], function_of(op), x, 0, out=out)


@every_op
def test_device_without_a_kernel(op):
    """One sentence names what has no kernel, the tensor or the out, and what is accepted."""
    x, run = torch.eye(3), function_of(op)
    refuses(NotImplementedError, ["reduce::" + op, "a tensor", "layout Sparse", "strided"], run, x.to_sparse(), 0)
    with pytest.raises(NotImplementedError, match="an out of device cpu, layout Sparse"):
        run(x, 0, out=torch.zeros(3).to_sparse())
    with pytest.raises(NotImplementedError, match="layout Sparse cannot be explained"):
        torch_reduce.explain(x.to_sparse(), op=op)


def test_explain_refuses_as_the_operator_does(device):
    x = torch.ones(2, 3, device=device)
    refuses(IndexError, ["out of range"], torch_reduce.explain, x, 2)
    refuses(RuntimeError, ["appears multiple times"], torch_reduce.explain, x, [0, 0])
    refuses(ValueError, ["atomic", "deterministic", "exact"], torch_reduce.explain, x, mode="fast")
    refuses(ValueError, ["median", "sum", "mean", "prod", "amax", "amin"], torch_reduce.explain, x, op="median")
    refuses(NotImplementedError, ACCEPTED, torch_reduce.explain, x.to(torch.complex64), op="prod")
