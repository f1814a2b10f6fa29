"""Batching rules for ``torch.vmap``: a batch is one more kept dim, so the bits of each result stay what they are.

Here and not in the native library: vmap exists in Python alone, and torch's C++ headers for it are not installed whole.
Operators that are made of others are so under vmap too, by the key FuncTorchBatchedDecomposition, and need none.
"""

import torch

from .._schemas import REDUCTIONS, SCANS
from .losses import loss_rule
from .norms import (
    add_norm_rule,
    batch_norm_gradient_rule,
    batch_norm_rule,
    channel_sums_rule,
    group_norm_gradient_rule,
    group_norm_rule,
    norm_gradient_rule,
    norm_gradients_rule,
    norm_rule,
    norm_weight_rule,
    normal_products_rule,
)
from .reductions import (
    accumulator_rule,
    by_name_rule,
    elementwise_rule,
    reduction_rule,
    rule_of_two,
    scan_rule,
    selection_rule,
    softmax_rule,
)


def register() -> None:
    """Registers the rules of every operator; once, after the native library is loaded."""
    ops = torch.ops.reduce
    for reduction in (*(operator.packet for operator in REDUCTIONS.values()), ops.exact_accumulate):
        torch.library.register_vmap(reduction.default, reduction_rule(reduction.default))
    torch.library.register_vmap(ops._by_name.default, by_name_rule(ops._by_name.default))
    for scan in (*(operator.packet for operator in SCANS.values()), ops._cumargmax, ops._cumargmin):
        torch.library.register_vmap(scan.default, scan_rule(scan.default))
    for rounding in (ops.exact_round, ops.exact_normalize):
        torch.library.register_vmap(rounding.default, accumulator_rule(rounding.default))
    torch.library.register_vmap(ops._topk_indices.default, selection_rule(ops._topk_indices.default))
    torch.library.register_vmap(ops._of_two.default, rule_of_two(ops._of_two.default))
    for softmax in (ops.softmax, ops.log_softmax, ops._softmax_backward, ops._log_softmax_backward):
        torch.library.register_vmap(softmax.default, softmax_rule(softmax.default))
    for loss in (ops._cross_entropy, ops._cross_entropy_backward, ops._logits, ops._logits_backward):
        torch.library.register_vmap(loss.default, loss_rule(loss.default))
    for norm in (ops._rms_norm, ops._layer_norm):
        torch.library.register_vmap(norm.default, norm_rule(norm.default))
    torch.library.register_vmap(ops._add_rms_norm.default, add_norm_rule(ops._add_rms_norm.default))
    for gradient in (ops._rms_norm_backward, ops._layer_norm_backward):
        torch.library.register_vmap(gradient.default, norm_gradient_rule(gradient.default))
    torch.library.register_vmap(ops._group_norm.default, group_norm_rule(ops._group_norm.default))
    of_group = ops._group_norm_backward.default
    torch.library.register_vmap(of_group, group_norm_gradient_rule(of_group))
    torch.library.register_vmap(ops._batch_norm.default, batch_norm_rule(ops._batch_norm.default))
    of_batch = ops._batch_norm_backward.default
    torch.library.register_vmap(of_batch, batch_norm_gradient_rule(of_batch))
    torch.library.register_vmap(ops._normal_products.default, normal_products_rule(ops._normal_products.default))
    torch.library.register_vmap(ops._channel_sums.default, channel_sums_rule(ops._channel_sums.default))
    gradients = ops._norm_gradients.default
    torch.library.register_vmap(gradients, norm_gradients_rule(gradients))
    weight = ops._norm_weight_backward.default
    torch.library.register_vmap(weight, norm_weight_rule(weight))
    for of_gradients in (ops._ties, ops._linear_recurrence, ops._product_of_others):
        torch.library.register_vmap(of_gradients.default, elementwise_rule(of_gradients.default))
