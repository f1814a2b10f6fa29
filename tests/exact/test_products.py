"""mode="exact" of `dot` and `sumsq`: the real-number sum of products, rounded once."""

import math
from fractions import Fraction

import pytest
import torch
from capabilities import assert_bits_of_every_capability
from emulated import data_of
from exact_cases import far_ties, finite_bits

import torch_reduce
from torch_reduce.exact_model import exact_dot_model, round_fraction
from torch_reduce.testing import FLOATING, INTEGERS, assert_same_bits, fill, num_threads

every_dtype = pytest.mark.parametrize("dtype", FLOATING, ids=str)
# Shape, the order of its dims in memory, and the reduced dims.
LAYOUTS = [
    ((), (), None),
    ((200_007,), (0,), None),
    ((3, 5000), (0, 1), 1),
    ((3000, 33), (0, 1), 0),
    ((1050, 64), (1, 0), 0),
    ((300, 7), (1, 0), 1),
    ((2300, 3), (0, 1), 1),  # more outputs than an H200 has warps for: a lane to each
    ((7, 33, 29), (2, 0, 1), (0, 2)),
    ((17, 3, 2, 40), (0, 1, 2, 3), (1,)),
    ((900, 24), (0, 1), 1),
    ((4, 0), (0, 1), 1),
    ((0, 4), (0, 1), 1),
]


def laid_out(x, order):
    """The same elements, with dims in memory in this order, outermost first."""
    return x.permute(order).contiguous().permute([order.index(d) for d in range(x.dim())])


def check(x, other, dim=None, out_types=(None,)):
    for dtype in out_types:
        options = {"dim": dim, "dtype": dtype}
        expected = exact_dot_model(x, other, **options)
        assert_same_bits(torch_reduce.dot(x, other, mode="exact", **options).cpu(), expected, f"dot {dtype}")
        expected = exact_dot_model(x, x, **options)
        assert_same_bits(torch_reduce.sumsq(x, mode="exact", **options).cpu(), expected, f"sumsq {dtype}")


@every_dtype
@pytest.mark.parametrize("shape, order, dim", LAYOUTS, ids=str)
def test_layouts(shape, order, dim, dtype, device):
    """Whatever the bits of the elements are, and however both lie in memory."""
    n = math.prod(shape)
    x = finite_bits(n, dtype, n).view(shape)
    other = finite_bits(n, dtype, n + 1).view(shape)
    x = laid_out(x.to(device), order)
    for second in (other.to(device), laid_out(other.to(device), order)):
        check(x, second, dim)


@every_dtype
@pytest.mark.parametrize("scale", [0, 3, 12])
def test_rounding(scale, dtype, device):
    """To every type, of elements in a few octaves, in many, and in nearly all."""
    torch.manual_seed(scale)
    most = torch.finfo(dtype).max
    wide = (torch.randn(2, 40, 1500) * torch.randn(2, 40, 1500).mul(scale).exp()).double()
    x, other = wide.clamp(-most, most).to(dtype)
    check(x.to(device), other.to(device), 1, FLOATING)
    check(x.to(device), other.to(device), 0, (torch.float32,))


@every_dtype
def test_against_fractions(dtype, device):
    x, other = (finite_bits(300, dtype, seed).view(3, 100) for seed in (1, 2))
    found = torch_reduce.dot(x.to(device), other.to(device), 1, dtype=torch.float64, mode="exact").cpu()
    for a, b, result in zip(x.tolist(), other.tolist(), found, strict=True):
        total = sum((Fraction(p) * Fraction(q) for p, q in zip(a, b, strict=True)), Fraction(0))
        assert_same_bits(result, round_fraction(total, torch.float64))


@every_dtype
def test_cancellation(dtype, device):
    """What the products' roundings, or an overflow on the way, would hide."""
    big, tiny = torch.finfo(dtype).max, torch.finfo(dtype).smallest_normal
    x = torch.tensor([big, tiny, big, 1], dtype=dtype, device=device)
    y = torch.tensor([big, tiny, -big, 1], dtype=dtype, device=device)
    assert torch_reduce.dot(x, y, mode="exact").item() == 1
    expected = round_fraction(1 + Fraction(tiny) ** 2, torch.float64)
    assert_same_bits(torch_reduce.dot(x, y, mode="exact", dtype=torch.float64).cpu(), expected)
    assert torch_reduce.sumsq(x, mode="exact").item() == math.inf  # the result itself overflows
    rows, sums = far_ties(dtype)
    ones = torch.ones((), dtype=dtype, device=device)
    assert_same_bits(torch_reduce.dot(rows.to(device), ones, 1, mode="exact").cpu(), sums)


@every_dtype
def test_special_elements(dtype, device):
    inf, nan = math.inf, math.nan
    for a, b, result in (
        ([inf, 1], [1, 1], inf),
        ([inf, 1], [-1, 1], -inf),
        ([inf, inf], [1, -1], nan),
        ([inf, 1], [0, 1], nan),
        ([-inf, 3], [-inf, inf], inf),
        ([nan, 1], [0, inf], nan),
        ([-0.0, 0.0], [1, -1], 0.0),
    ):
        for n in (2, 1500):
            x, y = (torch.tensor(t + [1.0] * (n - 2), dtype=dtype, device=device) for t in (a, b))
            if n > 2 and result == 0:
                x[2:] = 0
            expected = torch.tensor(result, dtype=dtype)
            assert_same_bits(torch_reduce.dot(x, y, mode="exact").cpu(), expected, f"{a} {b} {n}")
            assert_same_bits(torch_reduce.sumsq(x, mode="exact").cpu(), exact_dot_model(x, x), f"{a} {n}")


def test_order_batch_and_threads_do_not_matter(device):
    x, other = (finite_bits(70_000, torch.float32, seed).view(7, 10_000).to(device) for seed in (3, 4))
    expected = torch_reduce.dot(x, other, 1, mode="exact")
    shuffled = torch.randperm(10_000, generator=torch.Generator().manual_seed(1)).to(device)
    assert_same_bits(torch_reduce.dot(x[:, shuffled], other[:, shuffled], 1, mode="exact"), expected)
    assert_same_bits(torch_reduce.dot(x[2:3], other[2:3], 1, mode="exact"), expected[2:3])
    with num_threads(1):
        assert_same_bits(torch_reduce.dot(x, other, 1, mode="exact"), expected)


def test_integers_are_as_in_deterministic(device):
    for i, dtype in enumerate((*INTEGERS, torch.bool)):
        x, other = (fill((3, 1000), dtype, device=device, start=s + i) for s in (0, 7))
        for options in ({}, {"dtype": torch.float32}):
            for op, tensors in ((torch_reduce.dot, (x, other)), (torch_reduce.sumsq, (x,))):
                found = op(*tensors, dim=1, mode="exact", **options)
                assert_same_bits(found, op(*tensors, dim=1, **options), f"{dtype} {options}")
    x = fill((2000, 6), torch.int32, device=device).t()  # rows that take turns in memory
    options = {"dtype": torch.float32}
    assert_same_bits(torch_reduce.sumsq(x.t(), mode="exact", **options), torch_reduce.sumsq(x.t(), **options))


def test_fp64_near_the_ends(device):
    """Products whose last bits, or which themselves, no double has: below, above, and where both kinds meet."""
    generator = torch.Generator().manual_seed(5)
    for low, high in ((-540, -460), (-1074, -1000), (480, 520), (1000, 1023), (-1074, 1023), (-3, 3)):
        exponents = torch.randint(low, high + 1, (2, 6, 700), generator=generator)
        x, other = torch.ldexp(torch.randn(2, 6, 700, dtype=torch.float64, generator=generator), exponents)
        x, other = (t.nan_to_num(0, 0, 0).to(device) for t in (x, other))
        for second in (other, other.flip(1), torch.ldexp(other, -2 * exponents[1].to(device))):
            check(x, second.nan_to_num(0, 0, 0), 1, (torch.float64, torch.float32))


def test_fp64_cancels(device):
    """Terms far apart, of which the larger ones cancel: what no few doubles hold at once."""
    generator = torch.Generator().manual_seed(6)
    x = torch.ldexp(torch.randn(5000, dtype=torch.float64, generator=generator), torch.arange(5000) % 700 - 350)
    other = torch.randn(5000, dtype=torch.float64, generator=generator)
    order = torch.randperm(10_000, generator=generator)
    both = torch.cat([x, -x])[order], torch.cat([other, other])[order]
    assert torch_reduce.dot(*(t.to(device) for t in both), mode="exact").item() == 0
    tiny = torch.tensor([2.0**-700, 2.0**-700], dtype=torch.float64)
    x, other = (torch.cat([t, one]).to(device) for t, one in zip(both, tiny.split(1), strict=True))
    assert torch_reduce.dot(x, other, mode="exact").item() == 0  # 2^-1400, which rounds to zero
    check(x, other)


@pytest.mark.parametrize("kind", ["normal", "wide", "bits", "special"])
def test_fp64_outputs_of_a_few_products(kind, device):
    """Many of them, which are added up side by side, next to one another in memory and apart."""
    for shape, dim in (((9, 300), 0), ((300, 9), 1), ((200, 33), 0), ((5, 40, 3), 1), ((150, 1), 1)):
        x, other = (data_of(kind, math.prod(shape), torch.float64).roll(by).view(shape).to(device) for by in (0, 100))
        check(x, other, dim, FLOATING)


def test_fp64_ties_are_decided_from_every_distance(device):
    """By what lies a little or far below half a unit, one product or two, of which the smaller one may be the other's
    opposite."""
    signs = [(s, t) for s in (1, -1) for t in (1, -1, 0)]
    below = list(range(54, 190, 3))
    rows = [
        (s * a, s * 2.0**-53, t * 2.0**-k, t * -(2.0**-k)) for s, t in signs for a in (1, 1 + 2.0**-52) for k in below
    ]
    x = torch.tensor(rows, dtype=torch.float64)
    x = torch.cat([x[:, :2], x[:, :3], torch.ldexp(x, torch.tensor([0, 0, 0, -1]))], 1)
    ones = torch.ones_like(x)
    for columns in ([0, 1], [0, 1, 4], [0, 1, 7, 8], list(range(9))):
        own, other = (t[:, columns].contiguous().to(device) for t in (x, ones))
        expected = exact_dot_model(own, other, 1)
        assert_same_bits(torch_reduce.dot(own, other, 1, mode="exact"), expected, f"{columns}")
        assert_same_bits(torch_reduce.dot(own.t(), other.t(), 0, mode="exact"), expected, f"{columns} as columns")


@every_dtype
def test_instruction_sets(dtype):
    """Of vectors of products, of some that no few doubles hold, and of those left over."""
    x, other = (torch.cat([fill((3, 1500), dtype, start=s), finite_bits(213, dtype, s).view(3, 71)], 1) for s in (1, 2))
    expected = exact_dot_model(x, other, 1)
    assert_bits_of_every_capability(lambda: torch_reduce.dot(x, other, 1, mode="exact"), expected, f"{dtype}")
    x, other = (
        torch.cat([fill((90, 60), dtype, start=s), finite_bits(90 * 7, dtype, s).view(90, 7)], 1) for s in (1, 2)
    )
    expected = exact_dot_model(x, other, 0)
    assert_bits_of_every_capability(lambda: torch_reduce.dot(x, other, 0, mode="exact"), expected, f"{dtype} columns")


def test_fp64_and_zeros(device):
    """Most of either are zeros, which cost nothing, and change nothing."""
    x, other = (finite_bits(20_000, torch.float64, seed).view(4, 5000) for seed in (8, 9))
    x, other = x * (torch.arange(5000) % 3 == 0), other * (torch.arange(5000) % 7 != 1)
    check(x.to(device), other.to(device), 1)


def test_mask_is_refused(device):
    x = torch.ones(2, 3, device=device)
    with pytest.raises(NotImplementedError, match="takes no mask"):
        torch_reduce.sumsq(x, 1, where=x > 0, mode="exact")


def test_out(device):
    x, other = (finite_bits(3000, torch.float32, seed).view(3, 1000).to(device) for seed in (5, 6))
    for dtype in FLOATING:
        out = torch.full((6,), math.nan, dtype=dtype, device=device)
        torch_reduce.dot(x, other, 1, mode="exact", out=out[::2])
        assert_same_bits(out[::2].cpu(), exact_dot_model(x, other, 1, dtype=dtype))
        torch_reduce.sumsq(x, 1, mode="exact", out=out[::2])
        assert_same_bits(out[::2].cpu(), exact_dot_model(x, x, 1, dtype=dtype))
        assert out[1::2].isnan().all()


def sumsq_of_first(x, _, *arguments, **options):
    return torch_reduce.sumsq(x, *arguments, **options)


@pytest.mark.parametrize("run", [torch_reduce.dot, sumsq_of_first], ids=["dot", "sumsq"])
def test_gradient_transforms_and_compile(run, device):
    x, other = (fill((5, 300), torch.float32, device=device, start=s).requires_grad_() for s in (0, 9))
    grads = [
        torch.autograd.grad(run(x, other, 1, mode=mode).sum(), (x, other), allow_unused=True)
        for mode in ("exact", "deterministic")
    ]
    for a, b in zip(*grads, strict=True):
        assert (a is None and b is None) or torch.equal(a, b)
    with torch.no_grad():
        expected = run(x, other, 1, mode="exact")
        batched = torch.func.vmap(lambda a, b: run(a, b, 0, mode="exact"))(x, other)
        assert_same_bits(batched, expected)
        torch._dynamo.reset()
        f = lambda a, b: run(a * 1, b, 1, mode="exact")  # noqa: E731
        assert_same_bits(torch.compile(f, fullgraph=True, dynamic=True, backend="aot_eager")(x, other), expected)
    meta = run(x.to("meta"), other.to("meta"), 1, mode="exact")
    assert meta.shape == (5,) and meta.dtype == torch.float32


def test_opcheck(device):
    x = fill((4, 30), torch.float32, device=device)
    torch.library.opcheck(torch.ops.reduce.dot.default, (x.clone().requires_grad_(), x, [1]), {"mode": "exact"})
    torch.library.opcheck(torch.ops.reduce.sumsq.default, (x.clone().requires_grad_(), [1]), {"mode": "exact"})


@pytest.mark.parametrize("shape, dim", [((3000, 40), 0), ((3, 9000), 1), ((500, 12), 1)], ids=str)
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_explain(shape, dim, dtype):
    """For a GPU too, whether there is one or not."""
    x = torch.empty(shape, dtype=dtype)
    for where in ("cpu", "cuda"):
        plan = torch_reduce.explain(x, dim, op="sumsq", mode="exact", device=where)
        assert plan.mode == "exact" and plan.op == "sumsq" and plan.n == shape[dim] and plan.scratch_bytes <= 4 << 20
        assert plan.expected_bytes >= x.nbytes
