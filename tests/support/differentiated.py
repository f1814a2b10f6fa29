"""Calls of every operator that is registered, and of every function of torch_reduce.nn.functional, by what their
signatures ask for: functions of one vector, which holds all tensors that have a derivative."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from torch_reduce.nn import functional

SHAPE = (2, 3, 4)
"""Of the input: for norms of channels a batch, channels and the rest."""

MASK = (torch.arange(24).reshape(SHAPE) + torch.arange(3)[:, None]) % 3 > 0
"""What where= gets unless a test gives it another: of three elements along dim 1, two count."""

CHANNELS = ("num_groups", "running_mean")
"""Arguments of those whose weight and bias are of channels."""


@dataclass(frozen=True)
class Call:
    """Of an operator or a function.

    Attributes:
        name: its name, for tests.
        run: from the tensors and the mask to all results, in a tuple.
        shapes: those of the tensors that have a derivative, by argument.
        mask: by what argument it takes a mask, if it does.
    """

    name: str
    run: Callable[..., tuple[Tensor, ...]]
    shapes: dict[str, tuple[int, ...]]
    mask: str | None

    def __str__(self) -> str:
        return self.name

    def values(self) -> Tensor:
        """A vector of all tensors, no two elements equal, fp64."""
        size = sum(torch.Size(shape).numel() for shape in self.shapes.values())
        order = torch.randperm(size, generator=torch.Generator().manual_seed(0))
        return 0.5 + order.double() / size

    def results(self, vector: Tensor, mask: Tensor | None = None) -> tuple[Tensor, ...]:
        """Those that are floating."""
        sizes = [torch.Size(shape).numel() for shape in self.shapes.values()]
        parts = zip(self.shapes.items(), vector.split(sizes), strict=True)
        given = {name: part.reshape(shape) for (name, shape), part in parts}
        found = self.run(**given, **({} if mask is None else {self.mask: mask}))
        return tuple(t for t in found if t.is_floating_point())

    def loss(self, vector: Tensor, mask: Tensor | None = None) -> Tensor:
        return torch.stack([t.pow(3).mul(_weights(t)).sum() for t in self.results(vector, mask)]).sum()


def _weights(t: Tensor) -> Tensor:
    return torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype, device=t.device).reshape(t.shape)


def calls() -> list[Call]:
    """All that are differentiable. Those with parameters stand there twice: with and without them."""
    found = []
    for full in sorted(torch._C._dispatch_get_all_op_names()):
        name = full.removeprefix("reduce::")
        if name != full and not name.startswith("_") and not name.endswith("out"):
            packet, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.reduce, packet), overload or "default")
            found += _both(full, op, {a.name: a.has_default_value() for a in op._schema.arguments})
    for name in functional.__all__:
        function = getattr(functional, name)
        parameters = inspect.signature(function).parameters.values()
        found += _both(f"functional.{name}", function, {p.name: p.default is not p.empty for p in parameters})
    return [call for call in found if call.shapes and _is_differentiable(call)]


def _both(name: str, function: Callable, arguments: dict[str, bool]) -> list[Call]:
    plain = _call(name, function, arguments, optional=False)
    more = _call(f"{name} with parameters", function, arguments, optional=True)
    return [plain] if plain.shapes.keys() == more.shapes.keys() else [plain, more]


def _call(name: str, function: Callable, arguments: dict[str, bool], *, optional: bool) -> Call:
    of_channels = any(a in arguments for a in CHANNELS)
    parameter = SHAPE[1:2] if of_channels else SHAPE[2:]
    takes_list = "." not in name and ("keepdim" in arguments)
    has_dim_1 = name.endswith("cross_entropy")  # its classes
    target = torch.tensor([[0, 2, 1, 2], [1, 0, 2, 0]]) if has_dim_1 else torch.tensor([[0, 2, 1], [3, 0, 2]])
    given = {
        "dim": [1] if takes_list else 1,
        "k": 2,
        "normalized_shape": SHAPE[2:],
        "num_groups": 1,
        "target": target,
        "training": True,
        "running_mean": None,
        "running_var": None,
    }
    tensors = {"self": SHAPE, "input": SHAPE, "other": SHAPE, "residual": SHAPE, "weight": parameter, "bias": parameter}
    shapes, fixed = {}, {}
    for argument, has_default in arguments.items():
        if argument in tensors and (optional or not has_default):
            shapes[argument] = tensors[argument]
        elif argument in given and (not has_default or argument in ("dim", "training")):
            fixed[argument] = given[argument]
    mask = next((a for a in ("mask", "where") if a in arguments), None)

    def run(**tensors: Tensor) -> tuple[Tensor, ...]:
        device = next(iter(tensors.values())).device
        everything = {a: v.to(device) if isinstance(v, Tensor) else v for a, v in fixed.items()} | tensors
        if mask == "where":
            everything.setdefault("where", MASK.to(device))
        found = function(**everything)
        return found if isinstance(found, tuple) else (found,)

    return Call(name, run, shapes, mask)


def _is_differentiable(call: Call) -> bool:
    return any(t.requires_grad for t in call.results(call.values().requires_grad_()))
