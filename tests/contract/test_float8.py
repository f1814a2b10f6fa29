"""Elements of one byte: float8 converts to float32 exactly, so results have the bits of such elements in float32."""

import pytest
import torch

import torch_reduce
from torch_reduce._schemas import REDUCTIONS, SCANS
from torch_reduce.model import MEANING
from torch_reduce.scan_model import SCANNED, scan_model
from torch_reduce.testing import (
    DTYPES,
    FLOAT8,
    FLOATING,
    OPS,
    assert_same_bits,
    error_bound,
    fill,
    function_of,
    has_gradient,
    legal_plans,
    model,
    num_threads,
    output_dtype,
    scan_function,
    takes_dtype,
    takes_integers,
    wants_floating,
)

every_op = pytest.mark.parametrize("op", OPS)
every_masked = pytest.mark.parametrize("op", [op for op in OPS if REDUCTIONS[op].takes_mask])
every_exact = pytest.mark.parametrize("op", [op for op in OPS if REDUCTIONS[op].has_exact(torch.float32)])
every_type = pytest.mark.parametrize("dtype", FLOAT8, ids=str)
keeps_type = pytest.mark.parametrize("op", ["amax", "amin", "aminmax"])


def every_value(dtype, device="cpu"):
    """One of each."""
    return torch.arange(256, dtype=torch.uint8, device=device).view(dtype)


def numbers(dtype, device="cpu"):
    """The same without NaN and infinities."""
    x = every_value(dtype)
    return x.view(torch.uint8)[x.float().isfinite()].view(dtype).to(device)


@every_type
def test_every_value(dtype, device):
    """Is that of torch, and an extreme keeps it."""
    x = every_value(dtype, device).reshape(256, 1)
    for dim in (0, 1):
        y = x if dim == 1 else x.mT
        assert_same_bits(torch_reduce.prod(y, dim).cpu(), x.float().flatten().cpu())
        assert_same_bits(torch_reduce.amax(y, dim), x.flatten())
        assert_same_bits(torch_reduce.amin(y, dim), x.flatten())


@every_op
@every_type
def test_bits(op, dtype, device):
    """In every layout over two of the dims, the next ones for the next operator; and with NaN and infinities among the
    elements."""
    x = fill((3, 1100, 5), dtype, op=op)
    special = x.clone()
    special[0, 7, 2] = float("nan")
    special[1, 9, 3] = float("inf")
    x, special = x.to(device), special.to(device)
    dims = [None, 0, 1, -1, [0, 1]]
    for i, y in enumerate((x, special, x.transpose(0, 1), x[:, ::2, 1:], x[:, :1].expand(3, 300, 5), x[:, 0])):
        for dim in (1,) if y is special else [dims[(OPS.index(op) + i + j) % len(dims)] for j in (0, 1)]:
            actual = function_of(op)(y, dim)
            assert actual.dtype == output_dtype(op, dtype)
            assert_same_bits(actual, model(y, dim, op=op), f"{tuple(y.shape)} {y.stride()} {dim}")


@every_op
def test_threads_and_instruction_sets(op, capability):
    x = fill((2, 20_000), FLOAT8[OPS.index(op) % 2], op=op)
    for y, dim in ((x, 1), (x.mT, 0), (x.view(-1), None), (x.view(-1, 8), 0)):
        expected = model(y, dim, op=op)
        for threads in (1, 3):
            with num_threads(threads):
                assert_same_bits(function_of(op)(y, dim), expected)


@pytest.mark.parametrize("op", ["sum", "amax", "argmin", "var"])
def test_forced_plans(op, device):
    if device == "cpu":
        pytest.skip("the emulator runs these without a GPU")
    for shape, dim in (((3, 5000), 1), ((5000, 12), 0), ((300, 20), 1), ((4, 9, 300), (0, 2))):
        x = fill(shape, torch.float8_e5m2, device=device)
        for plan in legal_plans(x, dim, op=op):
            assert_same_bits(function_of(op)(x, dim), model(x, dim, op=op), f"{shape} {plan}")


@pytest.mark.parametrize("op", [op for op in OPS if takes_dtype(op)])
@every_type
def test_output_types(op, dtype, device):
    floating = wants_floating(op) or MEANING[op].skips_nan or MEANING[op].natural
    x = numbers(dtype)[:90].reshape(3, 30)
    for out in FLOATING if floating or not takes_integers(op) else DTYPES:
        y = x.float().abs().to(dtype) if out in (torch.uint8, torch.uint16, torch.uint32, torch.uint64) else x
        expected = model(y, 1, op=op, dtype=out)
        assert_same_bits(function_of(op)(y.to(device), 1, dtype=out), expected, f"{out}")
        written = torch.empty(3, dtype=out, device=device)
        assert_same_bits(function_of(op)(y.to(device), 1, out=written), expected, f"{out}")


@every_type
def test_sums_are_near_the_truth(dtype, device):
    x = fill((4, 3000), dtype)
    assert (
        (torch_reduce.sum(x.to(device), 1).cpu().double() - x.double().sum(1)).abs() <= error_bound(x.float(), 1)
    ).all()
    doubled = torch_reduce.sum(x.to(device), 1, dtype=torch.float64)
    assert_same_bits(doubled.cpu(), torch.tensor([sum(row) for row in x.double().tolist()], dtype=torch.float64))


@keeps_type
@every_type
def test_extremes_have_the_type_of_elements(op, dtype, device):
    x = fill((4, 300), dtype, device=device)
    out = torch.empty_like(function_of(op)(x, 1))
    assert out.dtype == dtype
    assert_same_bits(function_of(op)(x, 1, out=out), model(x, 1, op=op))
    with pytest.raises(RuntimeError, match="out must have the dtype"):
        function_of(op)(x, 1, out=out.float())


@every_type
def test_signs_of_zeros(dtype, device):
    zeros = torch.tensor([0x80, 0, 0x80], dtype=torch.uint8, device=device).view(dtype)
    assert torch_reduce.count_nonzero(zeros) == 0 and not torch_reduce.any(zeros)
    assert torch_reduce.amax(zeros).view(torch.uint8) == 0 and torch_reduce.amin(zeros).view(torch.uint8) == 0x80
    assert not torch_reduce.sum(zeros).signbit() and torch_reduce.prod(zeros[:1]).signbit()
    assert torch_reduce.argmax(zeros) == 0


@pytest.mark.parametrize("op", [op for op in OPS if takes_dtype(op)])
@every_type
def test_no_result(op, dtype, device):
    for x in (torch.ones(2, 3, device=device), torch.ones(2, 3, device=device).to(dtype)):
        for given in ({"dtype": dtype}, {"out": torch.empty(2, device=device).to(dtype)}):
            with pytest.raises(NotImplementedError, match="a result of dtype Float8.* is not supported; accepted are"):
                function_of(op)(x, 1, **given)


@every_type
def test_what_is_refused(dtype, device):
    x = torch.ones(2, 3, device=device).to(dtype)
    with pytest.raises(NotImplementedError, match="Float8"):
        torch_reduce.nn.functional.softmax(x, 1)
    with pytest.raises(RuntimeError, match="both tensors must have one dtype"):
        torch_reduce.dot(x, x.float())


def with_specials(x):
    x = x.clone()
    x[0, 7, 2] = float("nan")
    x[1, 9, 3] = float("inf")
    return x


@every_masked
@every_type
def test_masks(op, dtype, device):
    """Bits of the elements in float32; an extreme has the type of the elements, where one counts."""
    x = with_specials(fill((3, 1100, 5), dtype, op=op)).to(device)
    mask = torch.rand(x.shape, generator=torch.Generator().manual_seed(0)).to(device) > 0.3
    f = function_of(op)
    for dim in (None, 1, [0, 2]):
        actual, wide = f(x, dim, where=mask), f(x.float(), dim, where=mask)
        assert actual.dtype == output_dtype(op, dtype)
        assert_same_bits(actual, wide.to(actual.dtype), f"{dim}")
    leaves = [x[:, 20:40].clone().requires_grad_(), x[:, 20:40].float().requires_grad_()]
    for leaf in leaves:
        f(leaf, 1, where=mask[:, 20:40]).float().sum().backward()
    assert_same_bits(leaves[0].grad, leaves[1].grad.to(dtype))
    assert torch_reduce.explain(x, 1, op=op, where=mask).outputs == 15


@every_type
def test_dot(dtype, device):
    a, b = (with_specials(fill((3, 1100, 5), dtype, start=start)).to(device) for start in (0, 20_000))
    for dim in (None, 1, [0, 2]):
        for mode in ("deterministic", "exact"):
            actual = torch_reduce.dot(a, b, dim, mode=mode)
            assert actual.dtype == torch.float32
            assert_same_bits(actual, torch_reduce.dot(a.float(), b.float(), dim, mode=mode), f"{dim} {mode}")
    leaf = a[:, 20:40].clone().requires_grad_()
    torch_reduce.dot(leaf, b[:, 20:40], 1).sum().backward()
    assert_same_bits(leaf.grad, b[:, 20:40])


@every_exact
@every_type
def test_exact(op, dtype, device):
    """That of the elements in float32, which mode "exact" rounds once."""
    x = fill((3, 1100, 5), dtype, op=op).to(device)
    f = function_of(op)
    for y in (x, with_specials(x), x.transpose(0, 1), x[:, ::2, 1:]):
        for dim in (None, 1, [0, 2]):
            actual = f(y, dim, mode="exact")
            assert actual.dtype == torch.float32
            assert_same_bits(actual, f(y.float(), dim, mode="exact"), f"{dim}")
    out = torch.empty(3, 5, device=device)
    assert_same_bits(f(x, 1, mode="exact", out=out), f(x.float(), 1, mode="exact"))
    assert torch_reduce.explain(x, 1, op=op, mode="exact").outputs == 15


@every_type
def test_exact_accumulators(dtype, device):
    x = fill((4, 3000), dtype).to(device)
    assert torch.equal(torch_reduce.exact_accumulate(x, 1), torch_reduce.exact_accumulate(x.float(), 1))


@pytest.mark.parametrize("scan", sorted(SCANS))
@every_type
def test_scans(scan, dtype, device):
    x = fill((3, 2100, 5), dtype, op=SCANNED[scan])
    x[1, 9, 3] = float("nan")
    x = x.to(device)
    for y in (x, x.transpose(0, 1), x[:, ::2, 1:], x[:, :1].expand(3, 300, 5), x[:, 0]):
        for dim in (0, 1, -1):
            actual, what = scan_function(scan)(y, dim), f"{tuple(y.shape)} {y.stride()} {dim}"
            assert actual.dtype == output_dtype(SCANNED[scan], dtype)
            assert_same_bits(actual, scan_model(y, dim, scan=scan), what)
            wide = getattr(torch_reduce, scan)(y.float(), dim)
            if SCANS[scan].gives_pair:
                assert_same_bits(getattr(torch_reduce, scan)(y, dim)[1], wide[1], what)
            else:
                assert_same_bits(actual, wide, what)
    grads = []
    for leaf in (x[:, 0].contiguous().requires_grad_(), x[:, 0].float().requires_grad_()):
        scan_function(scan)(leaf, 1).float().sum().backward()
        grads.append(leaf.grad.to(dtype))
    assert_same_bits(*grads)


@every_op
@every_type
def test_meta_and_explain(op, dtype):
    x = torch.empty(5, 3000, dtype=dtype, device="meta")
    assert function_of(op)(x, 1).dtype == output_dtype(op, dtype)
    for device in ("cpu", "cuda"):
        assert torch_reduce.explain(x, 1, op=op, device=device).outputs == 5


@pytest.mark.parametrize("op", [op for op in OPS if has_gradient(op)])
def test_gradients(op, device):
    """Those of the elements in float32, rounded."""
    x = fill((3, 40), torch.float8_e5m2, op=op, device=device).requires_grad_()
    wide = x.detach().float().requires_grad_()
    for y in (x, wide):
        results = function_of(op)(y, 1)
        sum(r.float().sum() for r in (results if isinstance(results, tuple) else (results,))).backward()
    assert_same_bits(x.grad, wide.grad.to(x.dtype))
