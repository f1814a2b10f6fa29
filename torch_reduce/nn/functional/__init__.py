"""Softmax and norms of rows, as ``torch.nn.functional`` has them.

The bits of a row depend on its own elements and the compute type alone: not on the batch, other rows, strides,
alignment, the device or the number of threads. fp16 and bf16 are computed in fp32, and results are rounded once. The
functions are differentiable, twice with ``create_graph=True``; gradients have the same promise, those of weight and
bias as sums over the rows in their order. They work under ``torch.func``, autocast and ``torch.compile``.
"""

from .channel_norms import batch_norm, batch_norm_stats, group_norm
from .losses import cross_entropy, logprobs
from .norms import add_rms_norm, layer_norm, rms_norm
from .softmaxes import log_softmax, softmax

__all__ = [
    "add_rms_norm",
    "batch_norm",
    "batch_norm_stats",
    "cross_entropy",
    "group_norm",
    "layer_norm",
    "log_softmax",
    "logprobs",
    "rms_norm",
    "softmax",
]
