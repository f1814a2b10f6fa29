"""Norms of rows: of the last dims."""

from collections.abc import Sequence

from torch import Tensor

from ...arguments import check_tensor
from ...functional.call import ops
from ...jagged import is_jagged, map_jagged


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Elements over the root of the mean of their squares and ``eps``, times ``weight``.

    Args:
        input: tensor of any strides, of float16, bfloat16, float32 or float64; its last dims are ``normalized_shape``.
            It may be jagged, if the ragged dim is none of these.
        normalized_shape: of a row.
        weight: of that shape, in any floating dtype that is not wider than the compute type; None: 1.
        eps: by default the ``eps`` of the compute type, as in torch.

    Returns:
        Contiguous tensor of the shape and dtype of ``input``.

    Raises:
        RuntimeError: a shape or a device does not fit; ``weight`` is of float64 where ``input`` is not.
        NotImplementedError: the dtype is not one of those accepted, or the ragged dim belongs to a row.
    """
    check_tensor("input", input, takes_jagged=True)
    if type(input) is not Tensor and is_jagged(input):
        call = lambda x, _: ops.rms_norm(x, normalized_shape, weight, eps)  # noqa: E731
        return map_jagged("rms_norm", call, input, _last(input, normalized_shape))
    return ops.rms_norm(input, normalized_shape, weight, eps)


def add_rms_norm(
    input: Tensor,
    residual: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> tuple[Tensor, Tensor]:
    """:func:`rms_norm` of ``input + residual``, and that sum, which is rounded first.

    Args:
        input: as for :func:`rms_norm`.
        residual: of the shape and dtype of ``input``.
        normalized_shape: as for :func:`rms_norm`.
        weight: as for :func:`rms_norm`.
        eps: as for :func:`rms_norm`.

    Returns:
        The norm, and the new residual.

    Raises:
        RuntimeError, NotImplementedError: as for :func:`rms_norm`.
    """
    check_tensor("input", input, takes_jagged=True)
    if type(input) is not Tensor and is_jagged(input):
        call = lambda x, _, residual: ops.add_rms_norm(x, residual, normalized_shape, weight, eps)  # noqa: E731
        return map_jagged("add_rms_norm", call, input, _last(input, normalized_shape), residual)
    check_tensor("residual", residual)
    return ops.add_rms_norm(input, residual, normalized_shape, weight, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Elements less their mean, over the root of their variance and ``eps``, times ``weight``, plus ``bias``.

    Mean and variance are as accurate as two passes in twice the precision, so a large mean costs no digits.

    Args:
        input: as for :func:`rms_norm`.
        normalized_shape: of a row.
        weight: as for :func:`rms_norm`.
        bias: as ``weight``; None: nothing is added.
        eps: added to the variance, in the compute type.

    Returns:
        Contiguous tensor of the shape and dtype of ``input``.

    Raises:
        RuntimeError, NotImplementedError: as for :func:`rms_norm`.
    """
    check_tensor("input", input, takes_jagged=True)
    if type(input) is not Tensor and is_jagged(input):
        call = lambda x, _: ops.layer_norm(x, normalized_shape, weight, bias, eps)  # noqa: E731
        return map_jagged("layer_norm", call, input, _last(input, normalized_shape))
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def _last(x: Tensor, shape: Sequence[int]) -> range:
    """The dims of a row, as far as there are so many."""
    return range(-min(len(shape), x.dim()), 0)
