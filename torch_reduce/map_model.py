"""Maps in NumPy, as docs/order.md defines them: what the reductions of ``model`` make of a row, and then of each of
its elements."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from .model import MEANING, canonical, round_once
from .model.elementary import exp_of, fused, log_of_normal
from .model.moments import mean_of_two, variance
from .model.rounding import FORMAT, numpy_type


@dataclass
class _Rows:
    """What a map reads, in the compute type: rows in the last axis; a number a row as a column. ``dtype`` is that of
    the elements."""

    x: np.ndarray
    dtype: torch.dtype
    second: np.ndarray
    weight: np.ndarray
    bias: np.ndarray
    mask: np.ndarray
    eps: float
    scale: float

    def masked(self, x: np.ndarray, value: float) -> np.ndarray:
        return np.where(self.mask, x, x.dtype.type(value))

    def scaled(self, x: np.ndarray) -> np.ndarray:
        return x * x.dtype.type(self.scale)

    @property
    def logits(self) -> np.ndarray:
        return self.masked(self.scaled(self.x), -np.inf)

    def reduced(self, x: np.ndarray, op: str) -> np.ndarray:
        lifted = MEANING[op].lift(x, np.arange(x.shape[-1]))
        return canonical(lifted, op)[..., None]

    def sum(self, x: np.ndarray) -> np.ndarray:
        return self.reduced(x, "sum")

    @property
    def n(self) -> np.floating:
        return self.x.dtype.type(self.x.shape[-1])


def _softmax(r: _Rows) -> np.ndarray:
    own, total = MEANING["logsumexp"].lift(r.logits, np.arange(0)), r.reduced(r.logits, "logsumexp")
    reference = total["reference"]
    inverse = 1 / total["sum"] + (reference - reference)
    step = exp_of((own["reference"] - reference) / r.x.dtype.type(2))
    share = own["sum"] * inverse
    share = fused(fused(-total["sum"], share, own["sum"]), inverse, share)
    return np.where(step == 1, share, (own["sum"] * step) * (step * inverse))


def _log_row(r: _Rows, x: np.ndarray) -> list[np.ndarray]:
    """Of each row the logarithm of the sum: a whole number and the rest."""
    total = r.reduced(x, "logsumexp")
    reference, log = total["reference"].astype(np.float64), log_of_normal(total["sum"].astype(np.float64))
    whole = (reference + np.rint(log) + 0.0).astype(x.dtype)
    return [whole, ((reference - whole.astype(np.float64)) + log).astype(x.dtype)]


def _log_softmax(r: _Rows) -> np.ndarray:
    whole, rest = _log_row(r, r.logits)
    result = (r.logits - whole) - rest
    return np.where(result > 0, r.x.dtype.type(0), result)


def _softmax_backward(r: _Rows) -> np.ndarray:
    grad = r.masked(r.x, 0)
    return r.scaled(r.second * (grad - r.sum(grad * r.second)))


def _log_softmax_backward(r: _Rows) -> np.ndarray:
    grad = r.masked(r.x, 0)
    return r.scaled(grad - exp_of(r.second) * r.sum(grad))


def _cross_entropy_backward(r: _Rows) -> np.ndarray:
    """Of rows of logits, and as ``weight`` and ``bias`` a scale and a shift of each row."""
    return exp_of(_log_softmax(r)) * r.weight - r.bias


def _rms_row(r: _Rows, x: np.ndarray) -> list[np.ndarray]:
    """Of each row what the derivative reads: last, one over what it is divided by."""
    return [1 / np.sqrt(r.reduced(x, "sumsq") / r.n + x.dtype.type(r.eps))]


def _rms_normal(r: _Rows, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normalised rows, and one over what they were divided by."""
    (inverse,) = _rms_row(r, x)
    return x * inverse, inverse


def _rms_norm(r: _Rows) -> np.ndarray:
    return _rms_normal(r, r.x)[0] * r.weight


def _add_rms_norm(r: _Rows) -> np.ndarray:
    total = _array(round_once(r.x + r.second, r.dtype), 0.0, _compute_type(r.dtype))
    return _rms_norm(replace(r, x=total.reshape(r.x.shape)))


def _rms_norm_backward(r: _Rows) -> np.ndarray:
    normal, inverse = _rms_normal(r, r.second)
    h = r.x * r.weight
    return (h - normal * (r.sum(h * normal) / r.n)) * inverse


def _layer_row(r: _Rows, x: np.ndarray) -> list[np.ndarray]:
    n, moments = x.shape[-1], r.reduced(x, "var")
    if x.dtype == np.float64:
        high, rest = mean_of_two(moments, n)
        of_row = variance(moments, n, 0)
    else:
        share = 1 / np.float64(n)
        mean = moments["sum"] * share
        mean = fused(fused(-np.float64(n), mean, moments["sum"]), share, mean) + 0.0
        high = mean.astype(np.float32)
        rest = (mean - high).astype(np.float32)
        of_row = np.maximum(moments["squares"] * share - mean * mean, 0.0).astype(np.float32)
    return [high, np.where(np.isnan(rest), x.dtype.type(0), rest), 1 / np.sqrt(of_row + x.dtype.type(r.eps))]


def _layer_normal(r: _Rows, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean, rest, inverse = _layer_row(r, x)
    return ((x - mean) - rest) * inverse, inverse


def _layer_norm(r: _Rows) -> np.ndarray:
    return _layer_normal(r, r.x)[0] * r.weight + r.bias


def _layer_norm_backward(r: _Rows) -> np.ndarray:
    normal, inverse = _layer_normal(r, r.second)
    h = r.x * r.weight
    return ((h - r.sum(h) / r.n) - normal * (r.sum(h * normal) / r.n)) * inverse


def _channel_sums(r: _Rows) -> np.ndarray:
    """Of each row, a channel, whose elements a layer_norm of the row normalises."""
    return np.concatenate([r.sum(r.x), r.sum(r.x * _layer_normal(r, r.second)[0])], -1)


MAPS: dict[str, Callable[[_Rows], np.ndarray]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "softmax_backward": _softmax_backward,
    "log_softmax_backward": _log_softmax_backward,
    "cross_entropy_backward": _cross_entropy_backward,
    "rms_norm": _rms_norm,
    "add_rms_norm": _add_rms_norm,
    "rms_norm_backward": _rms_norm_backward,
    "layer_norm": _layer_norm,
    "layer_norm_backward": _layer_norm_backward,
    "group_norm": _layer_norm,
    "group_norm_backward": _layer_norm_backward,
    "channel_sums": _channel_sums,
}
"""Each map's values, before they are rounded."""

_ROWS = {"log_softmax": _log_row, "rms_norm": _rms_row, "layer_norm": _layer_row, "group_norm": _layer_row}


def map_model(
    x: Tensor,
    *,
    map: str,
    second: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    eps: float = 0.0,
    scale: float = 1.0,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """What a map of the last dim must give, to the bit, as a CPU tensor.

    Args:
        x: of a derivative the gradient.
        map: a name of :data:`MAPS`.
        second: of a derivative what it reads beside the gradient: the result of a softmax, or what a norm was given;
            or what is added to ``x``.
        weight: of each place of a row, or of all places; None: 1.
        bias: likewise; None: nothing is added.
        mask: of a softmax, and of its derivative, which elements take part; None: all.
        eps: what a norm adds before the root.
        scale: by which a softmax multiplies its elements.
        dtype: of the result; by default that of ``x``.
    """
    dtype = dtype or x.dtype
    if x.numel() == 0:
        return torch.empty(x.shape, dtype=dtype)
    compute = torch.float64 if torch.float64 in (x.dtype, dtype) else torch.float32
    with np.errstate(all="ignore"):
        rows = _Rows(
            _array(x, 0.0, compute),
            x.dtype,
            _array(second, 0.0, compute),
            _array(weight, 1.0, compute),
            _array(bias, -0.0, compute),
            np.array(True) if mask is None else mask.detach().cpu().numpy(),
            eps,
            scale,
        )
        return round_once(MAPS[map](rows), dtype).reshape(*x.shape[:-1], -1)


def row_model(x: Tensor, *, map: str, eps: float = 0.0) -> Tensor:
    """What a map of the last dim keeps of each row for a derivative, as a CPU tensor of the compute type."""
    values = _array(x, 0.0, _compute_type(x.dtype))
    with np.errstate(all="ignore"):
        words = _ROWS[map](_Rows(values, x.dtype, values, values, values, np.array(True), eps, 1.0), values)
    return torch.from_numpy(np.concatenate(words, -1))


def norm_weight_gradient(grad: Tensor, x: Tensor, *, map: str, eps: float = 0.0) -> Tensor:
    """What the weight of a norm of the last dim must have as its gradient, to the bit: the sum over all rows, in the
    compute type.

    Args:
        grad: of the result.
        x: what the norm was given.
        map: ``"rms_norm"`` or ``"layer_norm"``.
        eps: what the norm adds before the root.
    """
    g, values = (_array(t.flatten(0, -2), 0.0, _compute_type(x.dtype)) for t in (grad, x))
    normal = {"rms_norm": _rms_normal, "layer_norm": _layer_normal}[map]
    with np.errstate(all="ignore"):
        rows = _Rows(g, x.dtype, values, g, g, np.array(True), eps, 1.0)
        sums = rows.sum((g * normal(rows, values)[0]).T) + g.dtype.type(0)
    return torch.from_numpy(sums[..., 0])


def _compute_type(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _array(t: Tensor | None, missing: float, compute: torch.dtype) -> np.ndarray:
    if t is None:
        return np.array(missing, numpy_type(compute))
    t = t.detach().cpu()
    return (t.float() if t.dtype in FORMAT else t).numpy().astype(numpy_type(compute))
