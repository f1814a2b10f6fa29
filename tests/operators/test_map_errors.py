"""What softmax and norms refuse, beside what torch's do."""

import math

import pytest
import torch
from map_cases import NORMS_OF_ROWS, SOFTMAXES

import torch_reduce.nn
from torch_reduce.nn import functional


def refuses_alike(error, ours, theirs, word):
    """Both with the same type of error; ours with the word, too."""
    for run in (ours, theirs):
        with pytest.raises(error) as caught:
            run()
        assert caught.type is error
        if run is ours:
            assert word in str(caught.value)


@pytest.mark.parametrize("where", ["cpu", "meta"])
@pytest.mark.parametrize("name", SOFTMAXES)
def test_softmax_refuses(name, where):
    ours, theirs = getattr(functional, name), getattr(torch.nn.functional, name)
    x = torch.ones(2, 3, device=where)
    y = torch.ones(2, 3)  # torch's meta kernels refuse less
    refuses_alike(IndexError, lambda: ours(x, 2), lambda: theirs(y, 2), "[-2, 1]")
    refuses_alike(NotImplementedError, lambda: ours(x.int(), 0), lambda: theirs(y.int(), 0), "Int")
    wide = torch.complex64
    refuses_alike(NotImplementedError, lambda: ours(x.to(wide), 0), lambda: theirs(y.to(wide), 0), "ComplexFloat")
    integer = {"dtype": torch.int32}
    refuses_alike(NotImplementedError, lambda: ours(x, 0, **integer), lambda: theirs(y, 0, **integer), "Int")
    with pytest.raises(TypeError, match="dim"):
        torch_reduce.nn.Softmax()(x)
    with pytest.raises(TypeError, match="mask must have the dtype bool, got Float"):
        ours(x, 0, mask=x)
    with pytest.raises(RuntimeError, match="size"):
        ours(x, 0, mask=torch.ones(4, dtype=torch.bool, device=where))
    for scale in (0.0, -1.0, math.inf, math.nan, 1e-60):
        with pytest.raises(ValueError, match="scale must be positive and finite in the compute type"):
            ours(x, 0, scale=scale)


@pytest.mark.parametrize("where", ["cpu", "meta"])
@pytest.mark.parametrize("name", NORMS_OF_ROWS)
def test_norms_refuse(name, where):
    ours, theirs = getattr(functional, name), getattr(torch.nn.functional, name)
    x = torch.ones(2, 3, device=where)
    both = lambda *a: (lambda: ours(*a), lambda: theirs(*a))  # noqa: E731
    refuses_alike(RuntimeError, *both(x, (4,)), "Given normalized_shape=[4], expected input with shape [*, 4]")
    error, word = (ValueError, "at least 3 dim") if name == "rms_norm" else (RuntimeError, "input of size[2, 3]")
    refuses_alike(error, *both(x, (1, 2, 3)), word)
    refuses_alike(RuntimeError, *both(x, ()), "at least 1-dimensional")
    wrong = torch.ones(2, device=where)
    refuses_alike(RuntimeError, *both(x, (3,), wrong), "Expected weight to be of same shape as normalized_shape")
    with pytest.raises(RuntimeError, match="need an input of Double"):
        ours(x, (3,), torch.ones(3, dtype=torch.float64, device=where))
    with pytest.raises(NotImplementedError, match="Int"):
        ours(x.int(), (3,))
