"""Whether a sample's result depends on the batch it is in: python batch_invariance.py [cpu|cuda]

Each sample of a batch is reduced among the others and alone. torch chooses how to add by the number of results and the
memory layout, so bits may differ. torch_reduce's do not.
"""

import sys

import torch

import torch_reduce

SAMPLES, FEATURES = 64, 100_000


def differing(reduce, batch: torch.Tensor, dim: int) -> tuple[int, float]:
    """How many samples have other bits alone than in the batch, and the largest difference."""
    together = reduce(batch, dim)
    alone = torch.cat([reduce(sample.unsqueeze(1 - dim).contiguous(), dim) for sample in batch.unbind(1 - dim)])
    return int((together != alone).sum()), float((together - alone).abs().max())


def main(device: str = "cpu") -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(SAMPLES, FEATURES, generator=generator).to(device)
    layouts = {"samples in rows": (rows, 1), "samples in columns": (rows.t().contiguous(), 0)}
    for name, (batch, dim) in layouts.items():
        for library, reduce in {"torch": torch.sum, "torch_reduce": torch_reduce.sum}.items():
            count, largest = differing(reduce, batch, dim)
            print(f"{name}, {library}: {count} of {SAMPLES} differ" + (f", by up to {largest:.1e}" if count else ""))
    # What torch prints depends on the machine.
    # prints: samples in rows, torch_reduce: 0 of 64 differ
    # prints: samples in columns, torch_reduce: 0 of 64 differ

    # The samples have the same bits in both layouts, and in a batch of any size.
    sums = torch_reduce.sum(rows, 1)
    print("layouts agree:", torch.equal(sums, torch_reduce.sum(rows.t().contiguous(), 0)))
    # prints: layouts agree: True
    sizes = (1, 2, 3, 7, 31, 64)
    print("batch sizes agree:", all(torch.equal(torch_reduce.sum(rows[:size], 1), sums[:size]) for size in sizes))
    # prints: batch sizes agree: True


if __name__ == "__main__":
    main(*sys.argv[1:])
