"""The reductions of a whole model by those of this package, and back."""

import functools
import sys
from collections import Counter
from dataclasses import dataclass

import torch
from torch import nn

from . import modules
from .forms import apply_rms_norm, rms_norm_form

_TORCHS = tuple(getattr(nn, name) for name in modules.__all__)


def _cross_entropy(module: nn.CrossEntropyLoss, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Ours, but torch's of what ours refuses: probabilities of classes, and weights that a module was given later."""
    if target.is_floating_point() or module.weight is not None:
        return nn.CrossEntropyLoss.forward(module, input, target)
    return modules.CrossEntropyLoss.forward(module, input, target)  # type: ignore[arg-type]


def _ours_of(kind: type[nn.Module]) -> type[nn.Module]:
    return getattr(modules, kind.__name__)


_OWN = {kind.forward: _ours_of(kind).forward for kind in _TORCHS} | {nn.CrossEntropyLoss.forward: _cross_entropy}
"""By what torch's module calls: what is called instead. A subclass that keeps the one has the other too."""


@dataclass(frozen=True)
class Patch:
    """What of a model :func:`patch` has replaced; ``print`` shows it."""

    replaced: dict[str, str]
    """By the name of a module: what computes its reductions."""
    left: dict[str, str]
    """By the name of a module: why its reductions are as they were."""

    def __str__(self) -> str:
        lines = [f"{count} x {what}" for what, count in Counter(self.replaced.values()).items()]
        lines += [f"left: {count} x {what}" for what, count in Counter(self.left.values()).items()]
        return "\n".join(lines) or "no reductions"


def patch(model: nn.Module) -> Patch:
    """Has the reductions of a model computed by :mod:`torch_reduce.nn.functional`, in place.

    Modules, parameters, hooks and the state dict stay what they are and where they are; only what ``forward`` computes
    changes. Replaced are

    - ``torch.nn.RMSNorm``, ``LayerNorm``, ``GroupNorm``, ``BatchNorm1d`` to ``3d``, ``Softmax``, ``LogSoftmax`` and
      ``CrossEntropyLoss``, and subclasses that keep their ``forward``; of class probabilities a loss stays torch's;
    - every module that computes an RMS norm of its last dim, such as ``LlamaRMSNorm`` and ``Qwen3RMSNorm``, or
      ``GemmaRMSNorm`` with its weight of one more;
    - in a model of the package transformers, the softmax of the attention if that is the eager one, and the loss if the
      model's ``loss_function`` is ``ForCausalLMLoss`` or ``ForMaskedLMLoss``.

    A function that ``forward`` itself calls, such as ``torch.nn.functional.softmax``, is not seen, and stays.

    What is an RMS norm is found by calling modules that look like one, up to four times, with their parameters
    replaced. In transformers, models that share a config share its attention, and so this change of it.

    A patched model can be copied by ``copy.deepcopy``, pickled and compiled, but not replicated by
    ``torch.nn.DataParallel``: what is replaced keeps the module that it belongs to. Patching it again replaces what it
    has got since.

    Args:
        model: any module, of any floating dtypes, on any devices.

    Returns:
        What is replaced, by this call or an earlier one, and which modules that reduce were left.

    Raises:
        TypeError: ``model`` is not a module.
    """
    _check(model, "patch")
    summary = Patch({}, {})
    for name, module in model.named_modules():
        kind = type(module).__name__
        if "forward" not in module.__dict__ and (forward := _forward_of(module)):
            module.forward = forward
        if _is_ours(module):
            summary.replaced[name] = f"{kind} by torch_reduce"
        elif reason := _why_left(module):
            summary.left[name] = f"{kind}: {reason}"
    if _transformers_of(model):
        from . import of_transformers

        of_transformers.patch(model, summary.replaced, summary.left)
    return summary


def unpatch(model: nn.Module) -> None:
    """Gives a model its own reductions back: undoes every :func:`patch`, and does nothing to a model without one.

    Args:
        model: any module.

    Raises:
        TypeError: ``model`` is not a module.
    """
    _check(model, "unpatch")
    for module in model.modules():
        if _is_ours(module):
            del module.forward
    if _transformers_of(model):
        from . import of_transformers

        of_transformers.unpatch(model)


def _check(model: nn.Module, name: str) -> None:
    if not isinstance(model, nn.Module):
        raise TypeError(f"torch_reduce: {name}() takes a torch.nn.Module, not {type(model).__name__}")


def _forward_of(module: nn.Module) -> functools.partial | None:
    """What replaces a module's ``forward``. A partial, which is copied and pickled with the module that it holds."""
    if isinstance(module, torch.jit.ScriptModule):
        return None
    own = _OWN.get(type(module).forward)
    if own is not None:
        return None if _why_not(module) else functools.partial(own, module)
    form = rms_norm_form(module)
    return None if form is None else functools.partial(apply_rms_norm, form, module)


def _is_ours(module: nn.Module) -> bool:
    forward = module.__dict__.get("forward")
    return isinstance(forward, functools.partial) and forward.func in (apply_rms_norm, *_OWN.values())


def _why_not(module: nn.Module) -> str | None:
    """Why a module of torch's cannot be replaced."""
    if isinstance(module, nn.CrossEntropyLoss) and module.weight is not None:
        return "it has weights of classes"
    if isinstance(module, nn.Softmax | nn.LogSoftmax) and module.dim is None:
        return "it has no dim"
    return None


def _why_left(module: nn.Module) -> str | None:
    """Why a module that reduces was left; None of one that does not, or that is the package's own."""
    kind = type(module)
    if isinstance(module, torch.jit.ScriptModule):
        return "TorchScript has compiled it"
    if kind in map(_ours_of, _TORCHS):
        return None
    if kind.forward in _OWN:
        return _why_not(module) or "it has a forward of its own"
    if isinstance(module, nn.MultiheadAttention):
        return "its softmax is part of torch's attention"
    reduces = isinstance(module, _TORCHS) or "Norm" in kind.__name__
    return "its forward is not one that is known" if reduces else None


def _transformers_of(model: nn.Module) -> bool:
    """Whether there is a model of the package transformers in it."""
    package = sys.modules.get("transformers.modeling_utils")
    return package is not None and any(isinstance(module, package.PreTrainedModel) for module in model.modules())


__all__ = ["Patch", "patch", "unpatch"]
