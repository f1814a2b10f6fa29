"""A GPT whose training repeats bit for bit: python gpt.py [cpu|cuda] [--size small|large] [--steps N]

Norms, softmax, loss and the norm of the gradients are torch_reduce's. Matrix products are torch's: of one shape on one
machine they repeat, on a GPU if torch is told to be deterministic; but a row of a product may change with the number of
rows. So sequences are scored twice: by torch's products, and by products whose every element is torch_reduce's dot,
which is slow, and has the same bits for a sequence alone and in a batch.

The large size has ten million parameters, for a GPU; the small one learns on one core of a CPU.
"""

import argparse
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS may not repeat; before torch starts it

import torch
from torch import Tensor, nn

import torch_reduce
from torch_reduce.nn import RMSNorm, functional

SIZES = {"small": {"width": 64, "heads": 2, "layers": 2}, "large": {"width": 320, "heads": 5, "layers": 8}}
LENGTH, BATCH = 32, 64
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
LETTERS = sorted(set("".join(WORDS)) | set(" plus is.\n"))


def product(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b``. Every element in the canonical order, where Model.in_order says so; no products are stored."""
    if Model.in_order:
        return torch_reduce.dot(a.unsqueeze(-2), b.transpose(-1, -2).unsqueeze(-3), -1)
    return a @ b


class Linear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return product(x, self.weight.t())


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.of_attention, self.of_layers = RMSNorm(width), RMSNorm(width)
        self.queries_keys_values, self.merge = Linear(width, 3 * width, False), Linear(width, width, False)
        self.up, self.down = Linear(width, 4 * width, False), Linear(4 * width, width, False)

    def attention(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.queries_keys_values(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = product(query, key.transpose(-1, -2))
        earlier = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        shares = functional.softmax(scores, -1, mask=earlier, scale=(width // self.heads) ** -0.5)
        return self.merge(product(shares, value).transpose(1, 2).reshape(x.shape))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.of_attention(x))
        return x + self.down(nn.functional.gelu(self.up(self.of_layers(x))))


class Model(nn.Module):
    in_order = False

    def __init__(self, width: int, heads: int, layers: int):
        super().__init__()
        self.letters, self.places = nn.Embedding(len(LETTERS), width), nn.Embedding(LENGTH, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.last, self.logits = RMSNorm(width), Linear(width, len(LETTERS), False)

    def forward(self, letters: Tensor) -> Tensor:
        x = self.letters(letters) + self.places.weight[: letters.shape[1]]
        return self.logits(self.last(self.blocks(x)))


def text(letters: int, generator: torch.Generator) -> Tensor:
    """Sums of small numbers in words, as indices of letters."""
    lines = ""
    while len(lines) < letters:
        a, b = torch.randint(7, (2,), generator=generator).tolist()
        lines += f"{WORDS[a]} plus {WORDS[b]} is {WORDS[a + b]}.\n"
    return torch.tensor([LETTERS.index(letter) for letter in lines[:letters]])


def losses(model: Model, sequences: Tensor) -> Tensor:
    """Of every sequence, the mean over its letters."""
    logits = model(sequences[:, :-1])
    return torch_reduce.mean(functional.cross_entropy(logits.mT, sequences[:, 1:], reduction="none"), 1)


def train(size: str, steps: int, device: str) -> tuple[Model, list[float]]:
    """A model, and the loss of every step."""
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(2)
    model = Model(**SIZES[size]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3 if size == "small" else 6e-4)
    history = []
    for _ in range(steps):
        sequences = text(BATCH * (LENGTH + 1), generator).view(BATCH, LENGTH + 1).to(device)
        loss = torch_reduce.mean(losses(model, sequences))
        optimizer.zero_grad()
        loss.backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        norm = torch_reduce.norm2(torch.stack([torch_reduce.norm2(gradient) for gradient in gradients]))
        torch._foreach_div_(gradients, torch.clamp(norm, min=1.0))
        optimizer.step()
        history.append(loss.item())  # of float32, which a float of Python holds to the bit
    return model, history


def differing_alone(model: Model, sequences: Tensor) -> int:
    """How many sequences have another loss alone than in their batch."""
    together = losses(model, sequences)
    return sum(bool(losses(model, sequences[i : i + 1]) != together[i]) for i in range(len(sequences)))


def differing_on_the_cpu(model: Model, sequences: Tensor) -> tuple[int, int]:
    """How many norms and losses have other bits than the CPU's, of the same inputs; and how many there are."""
    seen = []
    norms = [module for module in model.modules() if isinstance(module, RMSNorm)]
    hooks = [norm.register_forward_hook(lambda norm, x, y: seen.append((norm, x[0], y))) for norm in norms]
    logits, targets = model(sequences[:, :-1]), sequences[:, 1:]
    for hook in hooks:
        hook.remove()
    same = [
        torch.equal(functional.rms_norm(x.cpu(), norm.normalized_shape, norm.weight.cpu(), norm.eps), y.cpu())
        for norm, x, y in seen
    ]
    loss = functional.cross_entropy(logits.mT, targets)
    same.append(torch.equal(functional.cross_entropy(logits.mT.cpu(), targets.cpu()), loss.cpu()))
    return same.count(False), len(same)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("device", nargs="?", default="cpu")
    parser.add_argument("--size", choices=SIZES)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    size = options.size or ("small" if options.device == "cpu" else "large")
    if size == "small":
        torch.set_num_threads(1)  # its products are too small to share
    torch.use_deterministic_algorithms(True)

    (model, first), (_, second) = (train(size, options.steps, options.device) for _ in range(2))
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    print(f"loss of the first step {first[0]!r}, of the last {first[-1]!r}")
    print(f"       and once more   {second[0]!r},             {second[-1]!r}")
    print("losses whose bits differ:", sum(a != b for a, b in zip(first, second, strict=True)))
    # prints: losses whose bits differ: 0

    with torch.no_grad():
        sequences = text(BATCH * (LENGTH + 1), torch.Generator().manual_seed(3)).view(BATCH, LENGTH + 1)
        sequences = sequences.to(options.device)
        # What torch's products give depends on the machine.
        print(f"torch's products: the loss of {differing_alone(model, sequences)} of {BATCH} sequences differs alone")
        Model.in_order = True
        print(f"products in order: the loss of {differing_alone(model, sequences)} of {BATCH} sequences differs alone")
        # prints: products in order: the loss of 0 of 64 sequences differs alone
        Model.in_order = False

        if options.device == "cpu":
            print("no GPU: its norms and losses are not recomputed on the CPU")
            return
        differing, count = differing_on_the_cpu(model, sequences)
        print(f"recomputed on the CPU: {differing} of {count} norms and losses differ")
        assert differing == 0


if __name__ == "__main__":
    main()
