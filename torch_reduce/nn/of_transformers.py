"""Attention and losses of models of the package transformers, in the forms that it calls. Importing this registers the
attention, so that a model which was patched, pickled and loaded finds it."""

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.loss.loss_utils import ForCausalLMLoss, ForMaskedLMLoss
from transformers.masking_utils import eager_mask

from ..functional import sum as reduce_sum
from . import functional

NAME = "torch_reduce"
"""Of the attention, where a model's config names one."""


def attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """What models call ``eager_attention_forward``, its softmax by :func:`torch_reduce.nn.functional.softmax`."""
    groups = getattr(module, "num_key_value_groups", 1)
    if groups > 1:
        key, value = (t.repeat_interleave(groups, 1) for t in (key, value))
    scores = torch.matmul(query, key.transpose(-1, -2)) * (query.size(-1) ** -0.5 if scaling is None else scaling)
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = functional.softmax(scores, -1).to(query.dtype)
    weights = torch.nn.functional.dropout(weights, p=dropout, training=module.training)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights


AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, eager_mask)


class _Mark:
    """Of a model whose attention is replaced: unpickling it imports this module."""


def patch(model: torch.nn.Module, replaced: dict[str, str], left: dict[str, str]) -> None:
    """Replaces attention and losses of the models of transformers in a module, and says so by their names."""
    seen = set()
    for name, module in model.named_modules():
        if not isinstance(module, PreTrainedModel):
            continue
        if id(module.config) not in seen:  # a model and the one around it share theirs
            seen.add(id(module.config))
            reason = _why_attention_stays(module)
            of_attention = f"{name}.attention".lstrip(".")
            if reason is None:
                module.config._attn_implementation = {"": NAME}  # its own, not that of models inside
                module.__dict__["_torch_reduce"] = _Mark()
                replaced[of_attention] = f"attention softmax of {type(module).__name__} by torch_reduce"
            else:
                left[of_attention] = f"attention softmax of {type(module).__name__}: {reason}"
        if module.loss_type is None and module.get_output_embeddings() is None:  # a model without a head
            continue
        of_loss = f"{name}.loss".lstrip(".")
        reason = _why_loss_stays(module)
        if reason is None:
            module.loss_function = LOSSES.get(module.loss_function, module.loss_function)
            replaced[of_loss] = f"loss of {type(module).__name__} by torch_reduce"
        else:
            left[of_loss] = f"loss of {type(module).__name__}: {reason}"


def unpatch(model: torch.nn.Module) -> None:
    """Undoes that."""
    for module in model.modules():
        if not isinstance(module, PreTrainedModel):
            continue
        if module.config._attn_implementation == NAME:
            module.config._attn_implementation = {"": "eager"}
        module.__dict__.pop("_torch_reduce", None)
        if module.__dict__.get("_loss_function") in LOSSES.values():
            del module._loss_function


def _why_loss_stays(model: PreTrainedModel) -> str | None:
    """The reason not to replace a model's loss; None where there is none."""
    if model.__dict__.get("_loss_function") in LOSSES.values():
        return None
    if "loss_function" not in _names(type(model).forward):
        return "its forward computes it without transformers' loss_function"
    if "_loss_function" in model.__dict__:
        return "it was set by hand"
    return None if model.loss_function in LOSSES else "it is no cross entropy of tokens that is known"


def _why_attention_stays(model: PreTrainedModel) -> str | None:
    """The reason not to replace the attention that a model's own config names; None where there is none."""
    implementation = model.config._attn_implementation
    if implementation == NAME:
        return None
    if implementation != "eager":
        return f'it is part of "{implementation}"; with attn_implementation="eager" it is replaced'
    found = list(_attentions(model))
    if not found:
        return "no module of its own goes through transformers' AttentionInterface"
    if not all(_is_softmax_attention(module, eager) for module, eager in found):
        return "it is more than a softmax of scaled products and a mask"
    return None


def _attentions(model: PreTrainedModel) -> Iterator[tuple[torch.nn.Module, Any]]:
    """The modules that choose their attention by the model's config, each with its eager one."""
    for module in model.modules():
        forward = type(module).forward
        if getattr(module, "config", None) is model.config and "eager_attention_forward" in _names(forward):
            yield module, inspect.unwrap(forward).__globals__["eager_attention_forward"]


def _names(function: Any) -> tuple[str, ...]:
    """What a function names but does not define."""
    inner = inspect.unwrap(function)
    return inner.__code__.co_names if inspect.isfunction(inner) else ()


def _is_softmax_attention(module: torch.nn.Module, eager: Any) -> bool:
    if getattr(module, "reorder_and_upcast_attn", False):  # GPT-2's other one
        return False
    ours = inspect.signature(attention).parameters.values()
    taken = {p.name for p in ours if p.kind != p.VAR_KEYWORD}
    theirs = [p for p in inspect.signature(eager).parameters.values() if p.kind != p.VAR_KEYWORD]
    if not {p.name for p in theirs} <= taken:  # a soft cap, for example
        return False
    heads = getattr(module, "num_key_value_groups", 1)
    query, key, value = (
        torch.linspace(-2, 2, h * rows * 5, dtype=torch.float32, device="cpu").sin().reshape(1, h, rows, 5)
        for h, rows in ((heads, 2), (1, 3), (1, 3))
    )
    mask = torch.tensor([[0.0, 0.0, -torch.inf], [0.0, -torch.inf, 0.0]], dtype=torch.float32, device="cpu")
    try:
        with torch.no_grad():
            expected, actual = (
                f(module, query, key, value, mask, scaling=0.5, dropout=0.0)[0] for f in (eager, attention)
            )
    except Exception:  # whatever an attention raises that reads more than that
        return False
    bound = 32 * torch.finfo(torch.float32).eps  # of numbers up to 1 that some thirty operations make
    return expected.shape == actual.shape and torch.allclose(actual, expected, rtol=0, atol=bound)


def causal_lm_loss(
    logits: Tensor,
    labels: Tensor,
    vocab_size: int,
    num_items_in_batch: Tensor | int | None = None,
    ignore_index: int = -100,
    shift_labels: Tensor | None = None,
    **_: Any,
) -> Tensor:
    """``ForCausalLMLoss`` without a copy of the logits: the loss of every token's successor."""
    if shift_labels is None:
        shift_labels = torch.nn.functional.pad(labels, (0, 1), value=ignore_index)[..., 1:].contiguous()
    return _loss(logits, shift_labels, vocab_size, num_items_in_batch, ignore_index)


def masked_lm_loss(
    logits: Tensor,
    labels: Tensor,
    vocab_size: int,
    num_items_in_batch: Tensor | int | None = None,
    ignore_index: int = -100,
    **_: Any,
) -> Tensor:
    """``ForMaskedLMLoss`` without a copy of the logits."""
    return _loss(logits, labels, vocab_size, num_items_in_batch, ignore_index)


def _loss(logits: Tensor, labels: Tensor, classes: int, items: Tensor | int | None, ignore_index: int) -> Tensor:
    labels = labels.reshape(-1).to(logits.device)
    # In the compute type, as these losses are.
    rows, _ = torch.ops.reduce._cross_entropy(logits.reshape(-1, classes), labels, 1, ignore_index, 0.0, 0.0)
    if items is None:
        items = (labels != ignore_index).sum()
    return reduce_sum(rows) / (items.to(rows.device) if isinstance(items, Tensor) else items)


LOSSES = {ForCausalLMLoss: causal_lm_loss, ForMaskedLMLoss: masked_lm_loss}
"""Of transformers' losses, those that are a cross entropy of tokens, and what takes their place."""
