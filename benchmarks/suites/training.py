"""A training step of a small GPT of torch.nn, as it is and under torch_reduce.patch, eager and compiled."""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable

import torch
from torch import Tensor, nn

import torch_reduce

WIDTH, HEADS, LAYERS = 320, 5, 8
LETTERS, LENGTH, BATCH = 64, 256, 64


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2))
        self.shares = nn.Softmax(-1)
        self.queries_keys_values, self.merge = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.layers = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def attention(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.queries_keys_values(x).view(batch, length, 3, HEADS, width // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        scores = (query @ key.transpose(-1, -2)) * (width // HEADS) ** -0.5
        shares = self.shares(scores.masked_fill(later, -torch.inf))
        return self.merge((shares @ value).transpose(1, 2).reshape(x.shape))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norms[0](x))
        return x + self.layers(self.norms[1](x))


class Model(nn.Module):
    """The loss of sequences of letters."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.last, self.logits = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, LETTERS)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, sequences: Tensor) -> Tensor:
        x = self.letters(sequences[:, :-1]) + self.places.weight
        logits = self.logits(self.last(self.blocks(x)))
        return self.loss(logits.flatten(0, 1), sequences[:, 1:].flatten())


def step_of(model: nn.Module, sequences: Tensor, *, compiled: bool) -> Callable[[], None]:
    run = torch.compile(model, dynamic=False) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step() -> None:
        loss = run(sequences)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def measure(rounds: int, device: torch.device) -> dict:
    """A row: median microseconds of a step of each contender, which take turns."""
    torch.manual_seed(0)
    model = Model().to(device)
    sequences = torch.randint(LETTERS, (BATCH, LENGTH + 1), device=device)
    steps = {}
    for name, patched in (("torch", False), ("ours", True)):
        for compiled in (False, True):
            own = copy.deepcopy(model)
            if patched:
                torch_reduce.patch(own)
            steps[f"{name} compiled" if compiled else name] = step_of(own, sequences, compiled=compiled)
    for step in steps.values():
        for _ in range(3):
            step()
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            events[0].record()
            step()
            events[1].record()
            torch.cuda.synchronize(device)
            times[name].append(1000 * events[0].elapsed_time(events[1]))
    count = sum(parameter.numel() for parameter in model.parameters())
    return {
        "name": "training step",
        "label": f"{count:,} parameters, {BATCH}×{LENGTH} tokens, float32",
        "us": {name: statistics.median(sample) for name, sample in times.items()},
    }
