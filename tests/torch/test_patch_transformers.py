"""patch() of models of transformers: close to the original, the same bits in every batch, copied and compiled."""

import copy
import pickle

import pytest
import torch
from torch.overrides import TorchFunctionMode

import torch_reduce
from torch_reduce.testing import assert_same_bits


@pytest.fixture
def transformers():
    return pytest.importorskip("transformers", reason="transformers is not installed")


def build(transformers, kind, **options):
    """A small model without trained weights."""
    sizes = {"vocab_size": 50, "attn_implementation": "eager", **options}
    if kind == "GPT2":
        sizes |= {"n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
        sizes |= dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0)
    else:
        sizes |= {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
        sizes |= {"num_key_value_heads": 2, "head_dim": 4}
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}LMHeadModel" if kind == "GPT2" else f"{kind}ForCausalLM")
    return model(getattr(transformers, f"{kind}Config")(**sizes))


def tokens(rows, length, device="cpu"):
    return torch.arange(rows * length, device=device).mul(17).add(3).remainder(47).reshape(rows, length)


KINDS = {"Llama": 5, "Qwen2": 5, "Qwen3": 9, "GPT2": 5}
every_kind = pytest.mark.parametrize("kind", KINDS)


class Products(TorchFunctionMode):
    """Matrix products in a fixed order: each element is a dot product."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.linear:
            x, w, *bias = args
            y = torch_reduce.dot(x.unsqueeze(-2), w, -1)
            return y + bias[0] if bias and bias[0] is not None else y
        if func is torch.matmul:
            a, b = args
            return torch_reduce.dot(a.unsqueeze(-2), b.transpose(-1, -2).unsqueeze(-3), -1)
        return func(*args, **(kwargs or {}))


@every_kind
def test_a_transformer(transformers, kind, device):
    """Norms, softmax and loss of it; outputs and gradients close to those of float64; all of it undone."""
    model = build(transformers, kind).to(device)
    ids = tokens(3, 12, device)
    theirs = model(ids, labels=ids)
    exact = copy.deepcopy(model).double()
    of_exact = exact(ids, labels=ids)
    summary = torch_reduce.patch(model)
    assert len(summary.replaced) == KINDS[kind] + 2 and not summary.left, str(summary)
    assert {"attention", "loss"} <= {name.rpartition(".")[2] for name in summary.replaced}
    ours = model(ids, labels=ids)
    # Of numbers near 1 after some hundred operations a layer, in fp32.
    room = {"rtol": 0, "atol": 500 * torch.finfo(torch.float32).eps}
    torch.testing.assert_close(ours.logits.double(), of_exact.logits, **room)
    torch.testing.assert_close(ours.loss.double(), of_exact.loss.double(), **room)
    ours.loss.backward()
    of_exact.loss.backward()
    for actual, expected in zip(model.parameters(), exact.parameters(), strict=True):
        torch.testing.assert_close(actual.grad.double(), expected.grad, **room)
    torch_reduce.unpatch(model)
    assert model.config._attn_implementation == "eager" and "_loss_function" not in model.__dict__
    again = model(ids, labels=ids)
    assert_same_bits(again.logits, theirs.logits)
    assert_same_bits(again.loss, theirs.loss)
    assert list(model.state_dict()) == list(exact.state_dict())


@pytest.mark.parametrize("kind", ["Llama", "Qwen3"])
def test_a_sequence_has_its_bits_in_every_batch(transformers, kind, device):
    model = build(transformers, kind).to(device)
    torch_reduce.patch(model)
    ids = tokens(6, 10, device)
    with torch.no_grad(), Products():
        whole = model(ids).logits
        for rows in (slice(2, 3), slice(1, 5)):
            assert_same_bits(model(ids[rows]).logits, whole[rows])


def test_the_loss_is_that_of_the_original(transformers, device):
    from transformers.loss.loss_utils import ForCausalLMLoss, ForMaskedLMLoss

    from torch_reduce.nn.of_transformers import LOSSES

    logits = torch.linspace(-3, 3, 2 * 5 * 7, device=device).sin().mul(4).reshape(2, 5, 7).bfloat16()
    labels = tokens(2, 5, device).remainder(7)
    labels[0, 2] = -100
    for theirs in (ForCausalLMLoss, ForMaskedLMLoss):
        for options in ({}, {"num_items_in_batch": 6}, {"num_items_in_batch": torch.tensor(6, device=device)}):
            expected = theirs(logits.double(), labels, 7, **options)
            actual = LOSSES[theirs](logits, labels, 7, **options)
            assert actual.dtype == torch.float32
            # A logarithm and a sum of 10 rows of numbers up to 8.
            torch.testing.assert_close(
                actual.double(), expected.double(), rtol=0, atol=64 * torch.finfo(torch.float32).eps
            )


def test_what_stays_is_said(transformers):
    summary = torch_reduce.patch(build(transformers, "Llama", attn_implementation="sdpa"))
    reason = 'it is part of "sdpa"; with attn_implementation="eager" it is replaced'
    assert summary.left == {"attention": f"attention softmax of LlamaForCausalLM: {reason}"}
    capped = build(transformers, "Gemma2", attn_logit_softcapping=5.0)
    summary = torch_reduce.patch(capped)
    assert "more than a softmax" in summary.left["attention"] and capped.config._attn_implementation == "eager"
    assert len(summary.replaced) == 10  # norms of one more than their weight, and the loss
    classes = transformers.LlamaForSequenceClassification(build(transformers, "Llama").config)
    assert "no cross entropy of tokens" in torch_reduce.patch(classes).left["loss"]
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    bert = transformers.BertForMaskedLM(transformers.BertConfig(vocab_size=50, **sizes))
    assert "without transformers' loss_function" in torch_reduce.patch(bert).left["loss"]
    by_hand = build(transformers, "Llama")
    by_hand.loss_function = lambda **_: torch.zeros(())
    assert torch_reduce.patch(by_hand).left["loss"] == "loss of LlamaForCausalLM: it was set by hand"
    torch_reduce.unpatch(by_hand)
    assert by_hand.loss_function(logits=None) == 0


def test_a_pickled_transformer(transformers):
    model = build(transformers, "Llama").model  # without a head, and so without a loss
    torch_reduce.patch(model)
    twin = pickle.loads(pickle.dumps(model))
    assert_same_bits(twin(tokens(2, 5)).last_hidden_state, model(tokens(2, 5)).last_hidden_state)
    torch_reduce.unpatch(twin)
    assert (twin.config._attn_implementation, model.config._attn_implementation) == ("eager", "torch_reduce")


def test_compiles_whole(transformers, device):
    model = build(transformers, "Llama").to(device)
    torch_reduce.patch(model)
    ids = tokens(2, 8, device)
    run = lambda ids: model(ids, labels=ids, use_cache=False).loss  # noqa: E731
    with torch.no_grad():
        expected = run(ids)
        actual = torch.compile(run, fullgraph=True, backend="aot_eager")(ids)
    torch.testing.assert_close(actual, expected, rtol=0, atol=500 * torch.finfo(torch.float32).eps)
