"""The operators as Python functions: thin typed names for ``torch.ops.reduce.*``.

In every function ``dim`` names the dims to reduce; None or an empty list means all of them, but as in torch an empty
list means none to :func:`any` and :func:`all`. Negative dims count from the end. A dim may also be an integer of NumPy
or a 0-d tensor, and ``ord`` or ``correction`` a number there, but for those under ``torch.compile(fullgraph=True)``.
The result has the shape of ``x`` without these dims, or with size 1 in their place where ``keepdim`` is true. As in
torch, ``input``, ``axis`` and ``keepdims`` are other names of ``x``, ``dim`` and ``keepdim``. Accepted are tensors of
bool, every integer type, float8_e4m3fn, float8_e5m2, float16, bfloat16, float32 and float64, with any strides and any
alignment, 0-d and empty ones too, and jagged tensors of these, without ``where=``; on CUDA, with at most 32 dims that
are not one dim in memory. :func:`sum`, :func:`mean`, :func:`sumsq` and norms take complex64 and complex128 too. No copy
of the input is made, but of a lazily conjugated or negated one, of a float8 one in mode ``"exact"`` and beside a second
tensor, and of the magnitudes of a complex one for norms of other orders than 2. The functions are differentiable
(twice) and work under ``torch.func``, ``torch.compile`` and ``torch.export``; with ``out=`` they are not
differentiable.

In the modes ``"deterministic"`` and ``"atomic"`` finite sums may overflow on the way: the sum of
``[3e38, 3e38, -3e38, -3e38]`` in float32 is NaN. Mode ``"exact"`` gives 0, its real value. What is promised of bits
begins at ``x``: an ``x`` that ``torch.compile`` fuses from other operations may have other elements than in eager mode,
unless, on CUDA, ``torch._inductor.config.emulate_precision_casts`` is set (docs/order.md).
"""

from .._fast_calls import fast
from .._schemas import REDUCTIONS
from .extremes import amax, amin, aminmax, argmax, argmin
from .generic import function_of
from .logical import all, any, count_nonzero
from .moments import std, std_mean, var, var_mean
from .norms import norm, norm0, norm1, norm2, norm_inf, norm_minus_inf
from .products import dot, prod, sumsq
from .sums import logsumexp, mean, nanmean, nansum, sum

# By name, for those who check types; and what else is registered.
__all__ = [
    "all",
    "amax",
    "amin",
    "aminmax",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "dot",
    "logsumexp",
    "mean",
    "nanmean",
    "nansum",
    "norm",
    "norm0",
    "norm1",
    "norm2",
    "norm_inf",
    "norm_minus_inf",
    "prod",
    "std",
    "std_mean",
    "sum",
    "sumsq",
    "var",
    "var_mean",
]
for _name in sorted(REDUCTIONS.keys() - set(__all__)):
    globals()[_name] = fast(function_of(REDUCTIONS[_name]))
    __all__.append(_name)
