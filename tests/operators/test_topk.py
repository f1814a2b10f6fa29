"""The largest and the smallest elements: those of a stable sort, whatever the layout, the rows beside, the threads and
the instruction set."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import like, permuted_slices, strided

import torch_reduce
from torch_reduce.scan_model import BITS
from torch_reduce.testing import DTYPES, FLOAT8, FLOATING, assert_same_bits, fill, num_threads


def ordered(x, dim, largest):
    """Indices of all elements in the order in which they are selected, by Python's stable sort."""
    rows = x.movedim(dim, -1).cpu() if x.ndim else x.reshape(1).cpu()
    flat = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    order = []
    for row in (flat.double() if flat.is_floating_point() else flat).tolist():
        key = [(v != v, 0 if v != v else v) for v in row]
        sign = -1 if largest else 1
        order.append(sorted(range(len(row)), key=lambda i: (sign * key[i][0], sign * key[i][1])))
    result = torch.tensor(order, dtype=torch.int64).reshape(rows.shape)
    return result.movedim(-1, dim) if x.ndim else result[0]


def check(x, k, dim=-1, largest=True, what=""):
    values, indices = torch_reduce.topk(x, k, dim, largest)
    what = f"{tuple(x.shape)} {x.stride()} {x.dtype} {k} {dim} {largest} {what}"
    expected = ordered(x, dim, largest)
    expected = expected.narrow(dim, 0, k) if x.ndim else expected
    assert_same_bits(indices.cpu(), expected, what)
    bits = BITS[x.dtype.itemsize]
    gathered = x.cpu().contiguous().view(bits).gather(dim, expected).view(x.dtype)
    assert_same_bits(values.cpu(), gathered, what)


@given(data=st.data())
def test_layouts(device, data):
    """Any dtype, strides, alignment and dim."""
    dtype = data.draw(st.sampled_from(DTYPES))
    x = like(data.draw(st.one_of(permuted_slices(dtype, "argmax"), strided(dtype, "argmax"))), device)
    dim = data.draw(st.integers(-max(1, x.ndim), max(1, x.ndim) - 1))
    n = x.shape[dim] if x.ndim else 1
    k = data.draw(st.integers(1, n)) if x.ndim == 0 else data.draw(st.integers(0, n))
    check(x, k, dim, data.draw(st.booleans()))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lengths(device, dtype):
    for n, k in ((1, 1), (2, 1), (33, 7), (128, 8), (1000, 1000), (2048, 50), (2049, 50), (5000, 1024), (30_000, 300)):
        x = fill((2, n), dtype, op="argmax", start=n).to(device)
        check(x, k, largest=n % 2 == 0)
        check(x[:, 1:], min(k, n - 1), largest=n % 2 == 1, what="unaligned")


def test_more_than_a_kernel_selects(device):
    for dtype in (torch.float32, torch.bfloat16, torch.int16):
        x = fill((2, 4000), dtype, op="argmax").to(device)
        check(x, 1500)
        check(x.t().contiguous(), 4000, 0, largest=False)


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize("largest", [True, False])
def test_ties(device, dtype, largest):
    """Elements that are all equal, of a few values, zeros of both signs, NaN and infinities."""
    choice = torch.tensor([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, -math.nan, -1.0])
    for n in (3, 100, 3000, 10_000):
        drawn = fill((3, n), torch.int64, op="argmax", start=n) % torch.tensor([[2], [5], [8]])
        x = choice[drawn].to(device, dtype)
        check(x, min(n, 700), largest=largest)
        check(torch.zeros(2, n, dtype=dtype, device=device), min(n, 40), largest=largest)


def test_what_one_thread_of_a_gpu_reads(device):
    """Large elements a fixed number of places apart, and in one stretch: more than a kernel has room for."""
    n = 100_000
    for apart in (1, 8, 1024, 8192):
        x = fill((1, n), torch.float32, op="argmax")
        x[0, 5::apart][:12_000] += 1e6
        for dtype in (torch.float32, torch.int64):
            check(x.to(device, dtype), 60)
    check(torch.arange(n, device=device).float()[None], 1000)
    check(torch.arange(n, device=device).float()[None], 1000, largest=False)


def test_threads_and_instruction_sets(capability):
    for threads in (1, 3):
        with num_threads(threads):
            for dtype in (torch.float32, torch.float16, torch.int32, torch.float64):
                check(fill((70, 700), dtype, op="argmax"), 13, what=f"{capability} {threads}")
                check(fill((2, 9000), dtype, op="argmax"), 200, largest=False, what=f"{capability} {threads}")


def test_rows_alone(device):
    """Have the bits that they have in a batch."""
    x = fill((300, 3000), torch.bfloat16, op="argmax").to(device)
    values, indices = torch_reduce.topk(x, 50)
    for row in (0, 7, 299):
        alone = torch_reduce.topk(x[row], 50)
        assert_same_bits(alone[0], values[row])
        assert_same_bits(alone[1], indices[row])
    assert_same_bits(torch_reduce.topk(x, 1)[1].squeeze(1), torch_reduce.argmax(x, 1))


def test_near_torch(device):
    """The same values, and indices where no elements are equal."""
    x = torch.randperm(6 * 5000).float().reshape(6, 5000).to(device)
    for largest in (True, False):
        for ours, theirs in zip(torch_reduce.topk(x, 30, 1, largest), torch.topk(x, 30, 1, largest), strict=True):
            assert_same_bits(ours, theirs)


def test_scalars_and_empty_tensors(device):
    one = torch.tensor(2.0, device=device)
    assert torch_reduce.topk(one, 1) == (one, torch.tensor(0, device=device))
    for shape, k, dim in (((3, 0), 0, 1), ((0, 3), 2, 1), ((4, 5), 0, 0)):
        assert torch_reduce.topk(torch.empty(shape, device=device), k, dim)[1].shape == torch.Size(
            [k if d == dim else s for d, s in enumerate(shape)]
        )


def test_counts_of_numpy_and_in_tensors(device):
    x = fill((3, 40), torch.float32).to(device)
    for k in (np.int64(5), np.array(5), torch.tensor(5)):
        for found, expected in zip(torch_reduce.topk(x, k), torch_reduce.topk(x, 5), strict=True):
            assert_same_bits(found, expected)
    for k in (True, np.float32(5), torch.tensor(5.0), torch.tensor([5]), "5"):
        with pytest.raises(TypeError, match="k is an int, got "):
            torch_reduce.topk(x, k)


def test_errors(device):
    x = torch.ones(2, 3, device=device)
    for k in (-1, 4):
        with pytest.raises(RuntimeError, match=f"reduce::topk: k is 0 to the size of dim 1, which is 3, got {k}"):
            torch_reduce.topk(x, k)
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch_reduce.topk(x, 1, 2)
    with pytest.raises(TypeError, match="k is an int, got None"):
        torch_reduce.topk(x)
    with pytest.raises(TypeError, match="k is an int, got 1.5"):
        torch_reduce.topk(x, 1.5)
    with pytest.raises(NotImplementedError, match="reduce::topk: the dtype .* of the input is not supported"):
        torch_reduce.topk(x.to(torch.complex64), 1)
    for call in (torch_reduce.topk(input=x, k=2, axis=1), torch_reduce.topk(x, 2, 1, True, False)):
        assert_same_bits(call[1], torch_reduce.topk(x, 2, 1)[1])
    with pytest.raises(TypeError, match="there is no argument 'keepdims'"):
        torch_reduce.topk(x, 2, keepdims=True)


@pytest.mark.parametrize("dtype", FLOAT8, ids=str)
def test_float8(device, dtype):
    """Those of the elements in float32, and their gradients, rounded."""
    x = fill((5, 700), dtype, op="argmax")
    x[2, 9] = math.nan
    leaf, wide = (t.to(device).requires_grad_() for t in (x, x.float()))
    for k, largest in ((1, True), (30, False), (700, True)):
        (values, indices), expected = (torch_reduce.topk(t, k, 1, largest) for t in (leaf, wide))
        assert_same_bits(indices, expected[1])
        assert_same_bits(values, expected[0].to(dtype))
    values.float().sum().backward()
    expected[0].sum().backward()
    assert_same_bits(leaf.grad, wide.grad.to(dtype))


def test_out(device):
    x = fill((3, 300), torch.float32, op="argmax").to(device)
    expected = torch_reduce.topk(x, 7, 1)
    fitting = torch.empty(7, 3, device=device).t(), torch.empty(3, 7, dtype=torch.int64, device=device)
    empty = torch.empty(0, device=device), torch.empty(0, dtype=torch.int64, device=device)
    for out in (fitting, empty):
        results = torch_reduce.topk(x, 7, 1, out=out)
        for result, written, right in zip(results, out, expected, strict=True):
            assert result is written
            assert_same_bits(result, right)
    for wrong, what in (
        ((fitting[0], torch.empty(3, 7, device=device)), "out has dtype Float but the result has Long"),
        ((fitting[0], fitting[1][:2]), r"out has shape \[2, 7\] but the result has \[3, 7\]"),
        ((fitting[0].double(), fitting[1]), "out has dtype Double but the result has Float"),
    ):
        before = [t.clone() for t in wrong]
        with pytest.raises(RuntimeError, match=what):
            torch_reduce.topk(-x, 7, 1, out=wrong)
        for now, then in zip(wrong, before, strict=True):
            assert_same_bits(now, then)
    bits = torch.empty(3, 7, dtype=torch.int64, device=device)
    with pytest.raises(RuntimeError, match="values and indices share memory"):
        torch_reduce.topk(x.long(), 7, 1, out=(bits, bits))
    with pytest.raises(TypeError, match="out is a tuple of two tensors, got Tensor"):
        torch_reduce.topk(x, 7, 1, out=fitting[0])


def test_gradients(device):
    x = fill((3, 40), torch.float64, op="argmax").to(device).requires_grad_()
    run = lambda x: torch_reduce.topk(x, 5, 1)[0]  # noqa: E731
    assert torch.autograd.gradcheck(run, x, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(run, x)


def test_vmap(device):
    x = fill((3, 300, 4), torch.float32, op="argmax").to(device)
    for batch in (0, 1, 2):
        for dim in (0, -1):
            batched = torch.vmap(lambda x: torch_reduce.topk(x, 2, dim), in_dims=batch)(x)  # noqa: B023
            for i, result in enumerate(batched):
                alone = torch.stack([torch_reduce.topk(one, 2, dim)[i] for one in x.unbind(batch)])
                assert_same_bits(result, alone)
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 2"):
        torch.vmap(lambda x: torch_reduce.topk(x, 2, 2))(x)


def test_graphs(device):
    torch._dynamo.reset()
    x = fill((3, 300), torch.float32, op="argmax").to(device)
    torch.library.opcheck(torch.ops.reduce._topk_indices.default, (x, 5, 1, True))
    torch.library.opcheck(torch.ops.reduce.topk.default, (x.clone().requires_grad_(), 5))
    run = lambda x, k: torch_reduce.topk(x * 1, k)  # noqa: E731
    for actual, expected in zip(torch.compile(run, fullgraph=True, dynamic=True)(x, 7), run(x, 7), strict=True):
        assert_same_bits(actual, expected)
    meta = torch_reduce.topk(torch.empty(3, 4, device="meta", dtype=torch.bfloat16), 2, 0)
    assert [(t.shape, t.dtype) for t in meta] == [((2, 4), torch.bfloat16), ((2, 4), torch.int64)]
