"""Rules of losses of rows of logits: a batch is more rows."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch._ops import OpOverload

from .rule import Rule, batched


def loss_rule(op: OpOverload) -> Rule:
    # Of tensors, the logits among them; then the dim of the classes, and numbers.
    arguments = [argument.name for argument in op._schema.arguments]
    count, logits = arguments.index("dim"), arguments.index("self")
    results = len(op._schema.returns)

    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Any, Any]:
        tensors: list[Tensor] = [batched(info, t, d) for t, d in zip(args[:count], in_dims, strict=False)]
        dim, *numbers = args[count:]
        found = op(*tensors, dim % (tensors[logits].dim() - 1) + 1, *numbers)
        return found, 0 if results == 1 else (0,) * results

    return rule
