"""A model that is trained twice and has the same losses, bit for bit: python repeatable_training.py [cpu|cuda]

The reductions of its norm and its loss are torch_reduce's, and so are those of their gradients. Matrix products are
torch's: for one shape on one machine they repeat, on a GPU if torch is told to be deterministic. Where matplotlib is
installed, both curves are written to repeatable_training.png.
"""

import os
import sys

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # or cuBLAS may not repeat; before torch starts it

import torch
from torch import Tensor, nn

import torch_reduce

CLASSES, FEATURES, WIDTH = 3, 2, 64
STEPS, BATCH = 300, 256


class RMSNorm(nn.Module):
    """x / sqrt(mean(x^2)). No tensor of squares is made."""

    def __init__(self, width: int):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        squares = torch_reduce.sumsq(x, -1, keepdim=True)
        return x * torch.rsqrt(squares / x.shape[-1] + 1e-6) * self.scale


def cross_entropy(logits: Tensor, one_hot: Tensor) -> Tensor:
    right = torch_reduce.sum(logits * one_hot, 1)
    return torch_reduce.mean(torch_reduce.logsumexp(logits, 1) - right)


def spirals(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Points on three arms of a spiral, and which arm as one-hot rows."""
    arm = torch.arange(n) % CLASSES
    radius = torch.rand(n, generator=generator)
    angle = 4 * radius + arm * (2 * torch.pi / CLASSES) + 0.1 * torch.randn(n, generator=generator)
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    return points, nn.functional.one_hot(arm, CLASSES).float()


def train(device: str) -> list[float]:
    """The loss of every step."""
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(2)
    layers = [nn.Linear(FEATURES, WIDTH), nn.GELU(), RMSNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU(), RMSNorm(WIDTH)]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, CLASSES)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(STEPS):
        points, one_hot = (tensor.to(device) for tensor in spirals(BATCH, generator))
        loss = cross_entropy(model(points), one_hot)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # of float32, which a float of Python holds to the bit
    return losses


def plot(runs: list[list[float]], path: str) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")  # no screen is needed
        from matplotlib import pyplot
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    figure, axes = pyplot.subplots(figsize=(6, 4))
    for run, (losses, style) in enumerate(zip(runs, ("-", "--"), strict=True), 1):
        axes.plot(losses, style, label=f"run {run}")
    axes.set(xlabel="step", ylabel="loss", title="Two runs, the same bits", yscale="log")
    axes.legend()
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


def main(device: str = "cpu") -> None:
    torch.use_deterministic_algorithms(True)
    first, second = train(device), train(device)
    print(f"loss of the first step {first[0]:.3f}, of the last {first[-1]:.3f}")
    print("learned:", first[-1] < first[0] / 2)
    # prints: learned: True
    print("losses whose bits differ:", sum(a != b for a, b in zip(first, second, strict=True)))
    # prints: losses whose bits differ: 0
    plot([first, second], "repeatable_training.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
