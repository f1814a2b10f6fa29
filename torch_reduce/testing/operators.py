"""Element types, and what an operator takes and gives, by its registered schema and its meaning."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .. import functional, scans
from .._schemas import REDUCTIONS, SCANS
from ..functional import generic
from ..model import APART, MAGNITUDE, MEANING, TOGETHER

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64)
FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
"""Types of elements alone, and of extremes of them; DTYPES are those of results."""
FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
DTYPES = (torch.bool, *INTEGERS, *FLOATING)
OPS = tuple(REDUCTIONS)
"""Every reduction that is registered, by name."""


def function_of(op: str) -> Callable[..., Tensor]:
    """The function of ``torch_reduce``; of two results, one that gives both in the last dim of one tensor; of an order,
    one that takes it by name."""
    operator = REDUCTIONS[op]
    other = operator.gives_pair or operator.takes_order
    return generic.function_of(operator) if other else getattr(functional, op)


def scan_function(scan: str, module: Any = scans) -> Callable[..., Tensor]:
    """The scan of ``torch_reduce``, or of ``torch``; of one that gives indices too, a function of its values alone."""
    function = getattr(module, scan)
    if not SCANS[scan].gives_pair:
        return function

    def values(*arguments: Any, **options: Any) -> Tensor:
        return function(*arguments, **options)[0]

    return values


def operator_of(op: str) -> torch._ops.OpOverloadPacket:
    """The operator of ``torch.ops.reduce``; of two results, the one that gives both in the last dim of one tensor."""
    return REDUCTIONS[op].packet


def gives_pair(op: str) -> bool:
    """Whether an operator has two results."""
    return REDUCTIONS[op].gives_pair


def takes_dtype(op: str) -> bool:
    """Whether an operator takes ``dtype=`` and ``mode=``."""
    return REDUCTIONS[op].takes_dtype


def wants_elements(op: str) -> bool:
    """Whether an operator has no result for no elements."""
    return MEANING[op].selects


def wants_two_elements(op: str) -> bool:
    """Whether the result for one element is NaN, as that leaves no degree of freedom."""
    return MEANING[op].spread is not None


def gives_index(op: str) -> bool:
    """Whether the result is the index of an element, an int64."""
    return MEANING[op].index


def reduces_none(op: str) -> bool:
    """Whether an empty list of dims means none of them, and not all."""
    return REDUCTIONS[op].reduces_none


def has_gradient(op: str) -> bool:
    """Whether it has one: not where the result is an index, a count or a truth."""
    return not (MEANING[op].index or (MEANING[op].tests and MEANING[op].integers))


def skips_nan(op: str) -> bool:
    """Whether NaN among the elements counts as nothing."""
    return MEANING[op].skips_nan


def converts_to_bool(op: str) -> bool:
    """Whether only matters which elements are zero."""
    return MEANING[op].tests


def wants_floating(op: str) -> bool:
    """Whether an operator has floating results alone, and integers none unless ``dtype=`` names one."""
    return MEANING[op].floating or not MEANING[op].integers


def takes_integers(op: str) -> bool:
    """Whether the elements may be integers."""
    return MEANING[op].integers


def takes_complex(op: str) -> bool:
    """Whether the elements may be complex."""
    return op in APART + TOGETHER + MAGNITUDE


def gives_floating(op: str) -> bool:
    """Whether an operator has floating results alone, of floating elements."""
    return wants_floating(op) or MEANING[op].natural is not None or MEANING[op].skips_nan
