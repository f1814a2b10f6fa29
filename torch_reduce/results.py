"""Two results of one function, by name as in torch. Any other use of a tuple is as good."""

from typing import NamedTuple

from torch import Tensor
from torch.utils import _pytree

__all__ = ["DeviationAndMean", "MinAndMax", "ValuesAndIndices", "VarianceAndMean"]


class ValuesAndIndices(NamedTuple):
    """Elements, and where they stand, of ``cummax``, ``cummin`` and ``topk``."""

    values: Tensor
    indices: Tensor


class MinAndMax(NamedTuple):
    """The smallest and the largest elements, of ``aminmax``."""

    min: Tensor
    max: Tensor


class VarianceAndMean(NamedTuple):
    """Of ``var_mean``."""

    var: Tensor
    mean: Tensor


class DeviationAndMean(NamedTuple):
    """Of ``std_mean``."""

    std: Tensor
    mean: Tensor


for _kind in (ValuesAndIndices, MinAndMax, VarianceAndMean, DeviationAndMean):
    # So that torch.export.save writes programs that return them.
    _pytree._register_namedtuple(_kind, serialized_type_name=f"torch_reduce.{_kind.__name__}")
