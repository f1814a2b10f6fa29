"""The operators, as the native library has registered them: whoever lists them asks here."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Operator:
    """A reduction or a scan of ``torch.ops.reduce``.

    Attributes:
        name: its name there.
        packet: the callable, ``torch.ops.reduce.<name>``; for a reduction of two results the one that gives both in the
            last dim of one tensor, ``torch.ops.reduce._<name>``, and for a scan of two the one that gives the first.
        takes_dtype: whether it takes ``dtype=`` and ``mode=``; not where the result has one
            type, as an element of ``x``, an index or a count.
        takes_correction: whether it takes ``correction=``.
        gives_pair: whether it has two results.
        takes_order: whether it takes ``ord=``.
    """

    name: str
    packet: torch._ops.OpOverloadPacket
    takes_dtype: bool
    takes_correction: bool
    gives_pair: bool
    takes_order: bool

    @property
    def takes_mask(self) -> bool:
        """Whether it takes ``where=``."""
        return "where" in self.packet.overloads()

    @property
    def reduces_none(self) -> bool:
        """Whether an empty list of dims means none of them, and not all."""
        return reduces_none(self.packet.default)

    def has_exact(self, dtype: torch.dtype) -> bool:
        """Whether it has a mode ``"exact"`` for elements of ``dtype``, which the library refuses otherwise.

        Where it has one for float32, integers have it too."""
        if not self.takes_dtype:
            return False
        x = torch.empty(1, dtype=dtype if dtype.is_floating_point else torch.float32, device="meta")
        try:
            torch.ops.reduce._explain(x, op=self.name, mode="exact", device="cpu")
        except NotImplementedError:
            return False
        return True


def reduces_none(op: torch._ops.OpOverload) -> bool:
    """Whether the overload of a reduction takes an empty list of dims for none of them, and not for all."""
    return op(torch.empty(3, device="meta"), []).shape[:1] == (3,)


def _operators(scans: bool) -> dict[str, Operator]:
    """By name, in the order of names. All have a tensor, ``dim`` and an ``out`` overload; reductions, ``keepdim``."""
    found = {}
    for full in torch._C._dispatch_get_all_op_names():
        registered = full.removeprefix("reduce::").removesuffix(".out")
        if full == f"reduce::{registered}.out":
            packet = getattr(torch.ops.reduce, registered)
            schema = packet.default._schema
            arguments = {argument.name for argument in schema.arguments}
            if scans == ("keepdim" in arguments) or "other" in arguments or len(schema.returns) > 1:
                continue
            name = registered.removeprefix("_")
            if not hasattr(torch.ops.reduce, name):  # a part of another
                continue
            found[name] = Operator(
                name,
                packet,
                takes_dtype="dtype" in arguments,
                takes_correction="correction" in arguments,
                gives_pair=name != registered,
                takes_order="ord" in arguments,
            )
    return dict(sorted(found.items()))


REDUCTIONS: dict[str, Operator] = _operators(scans=False)
"""Every reduction, by name."""

SCANS: dict[str, Operator] = _operators(scans=True)
"""Every scan, by name."""
