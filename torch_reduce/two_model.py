"""The model of the operators of two tensors, by that of one (:mod:`torch_reduce.model`)."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ._twins import Dims
from .model import MEANING, compute_dtype, model, output_dtype
from .model.rounding import numpy_type


def identity_of(op: str, dtype: torch.dtype) -> float | bool:
    """An element that changes no result of ``op``."""
    if MEANING[op].extremes:
        (extreme,) = MEANING[op].extremes
        if dtype == torch.bool:
            return extreme is np.minimum
        if dtype.is_floating_point:
            return -np.inf if extreme is np.maximum else np.inf
        return torch.iinfo(dtype).min if extreme is np.maximum else torch.iinfo(dtype).max
    return {"sum": -0.0, "mean": -0.0, "prod": 1, "logsumexp": -np.inf}.get(op, 0.0)


def model_of_masked(
    x: Tensor, where: Tensor, dim: Dims = None, keepdim: bool = False, *, op: str, **options: Any
) -> Tensor:
    """What ``op`` with ``where=`` must give, to the bit."""
    where = where.cpu().expand(x.shape)
    if not x.dtype.is_floating_point and op == "logsumexp":  # no integer is the identity
        options.setdefault("dtype", output_dtype(op, x.dtype))
        x = x.double()
    if x.dtype in (torch.uint16, torch.uint32, torch.uint64):  # which torch.where does not take
        numbers = np.where(where.numpy(), x.cpu().numpy(), numpy_type(x.dtype).type(identity_of(op, x.dtype)))
        counted = torch.from_numpy(numbers)
    else:
        counted = torch.where(where, x.cpu(), torch.tensor(identity_of(op, x.dtype), dtype=x.dtype))
    counts = MEANING[op].floating or MEANING[op].spread is not None
    count = model(where, dim, op="count_nonzero") if counts else None
    return model(counted, dim, keepdim, op=op, count=count, **options)


def model_of_dot(
    x: Tensor, other: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Tensor:
    """What ``dot`` must give, to the bit."""
    x, other = torch.broadcast_tensors(x.cpu(), other.cpu())
    result = output_dtype("sum", x.dtype, dtype)
    if result == torch.bool:
        return model((x != 0) & (other != 0), dim, keepdim, dtype=result)
    compute = numpy_type(compute_dtype("prod", x.dtype, result))  # that of integers with a floating result too
    with np.errstate(all="ignore"):
        a, b = (
            (t.float() if t.dtype in (torch.float16, torch.bfloat16) else t).numpy().astype(compute) for t in (x, other)
        )
        return model(torch.from_numpy(np.asarray(a * b)), dim, keepdim, dtype=result)
