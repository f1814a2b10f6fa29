"""aminmax: the bits of amin and of amax, over any dims."""

import pytest
import torch

import torch_reduce
from torch_reduce.testing import DTYPES, assert_same_bits, fill

SHAPES = [((1,), None), ((2000,), 0), ((5, 300), 1), ((300, 7), 0), ((3, 40, 50), (0, 2)), ((20_000,), None)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_both_have_the_bits_of_each(dtype, device):
    for shape, dim in SHAPES:
        x = fill(shape, dtype).to(device)
        for y in (x, x.t() if x.ndim == 2 else x[::2], x[..., 1:] if shape[-1] > 1 else x):
            for keepdim in (False, True):
                least, largest = torch_reduce.aminmax(y, dim, keepdim)
                assert_same_bits(least, torch_reduce.amin(y, dim, keepdim), f"{shape}")
                assert_same_bits(largest, torch_reduce.amax(y, dim, keepdim), f"{shape}")
                assert least.is_contiguous() and largest.is_contiguous()


def test_ends_of_integers(device):
    """Of unsigned ones beyond int64 too."""
    for dtype in DTYPES:
        if not dtype.is_floating_point and dtype != torch.bool:
            info = torch.iinfo(dtype)
            x = torch.tensor([1, info.max, 0, info.min, 3], dtype=dtype, device=device)
            assert [v.item() for v in torch_reduce.aminmax(x)] == [info.min, info.max]
            assert [v.item() for v in torch_reduce.aminmax(x[1:2])] == [info.max] * 2


def test_beside_torch(device):
    for values in ([3.0, float("nan"), -1.0], [0.0, -0.0], [1.0]):
        x = torch.tensor(values, device=device)
        for ours, theirs in zip(torch_reduce.aminmax(x), torch.aminmax(x), strict=True):
            assert ours == theirs or (ours.isnan() and theirs.isnan())
    least, largest = torch_reduce.aminmax(torch.tensor([0.0, -0.0], device=device))
    assert least.signbit() and not largest.signbit()
    x = torch.tensor([[1.0, 3.0, 3.0], [-2.0, 5.0, -2.0]], device=device, requires_grad=True)
    grads = []
    for least, largest in (torch_reduce.aminmax(x, 1), (torch.amin(x, 1), torch.amax(x, 1))):
        grads.append(torch.autograd.grad((least * 3 + largest.sin()).sum(), x)[0])
    assert torch.equal(*grads)


def test_two_results(device):
    x = torch.randn(4, 33, 5, device=device)
    for run in (torch_reduce.aminmax, torch.ops.reduce.aminmax):
        assert all(y.shape == (4, 1, 5) for y in run(x, [1], keepdim=True))
    batched = torch.vmap(lambda y: torch_reduce.aminmax(y, 0), in_dims=2)(x)
    for one, other in zip(batched, torch_reduce.aminmax(x, 0), strict=True):
        assert_same_bits(one, other.t())
    compiled = torch.compile(lambda y: torch_reduce.aminmax(y * 2, -1), fullgraph=True, backend="aot_eager")
    for one, other in zip(compiled(x), torch_reduce.aminmax(x * 2, -1), strict=True):
        assert_same_bits(one, other)
    for shape, dim, error in (((0,), None, RuntimeError), ((0, 3), 0, IndexError)):
        with pytest.raises(error):
            torch_reduce.aminmax(torch.empty(shape, device=device), dim)
        with pytest.raises(error):
            torch.aminmax(torch.empty(shape, device=device), dim=dim)
    with pytest.raises(TypeError):
        torch_reduce.aminmax(x, out=torch.empty(()))
