"""The exact sum of elements that lie in shards, whatever their number and order: python exact_shards.py [cpu|cuda]

A shard, which may be a process, a GPU or a file, adds its elements into an accumulator of int64 words. Words of shards
add as integers, so no order changes a bit. Between processes torch.distributed.all_reduce adds them.
"""

import sys

import torch

import torch_reduce


def shards_of(x: torch.Tensor, generator: torch.Generator) -> list[torch.Tensor]:
    """The elements in another order, cut at random into 2 to 9 pieces."""
    x = x[torch.randperm(len(x), generator=generator).to(x.device)]
    cuts = torch.randint(1, len(x), (int(torch.randint(1, 9, (), generator=generator)),), generator=generator)
    return list(x.tensor_split(cuts.sort().values))


def exact_sum(shards: list[torch.Tensor]) -> torch.Tensor:
    words = torch.stack([torch_reduce.exact_accumulate(shard) for shard in shards]).sum(0)
    # Up to 2**20 accumulators may be added so. For more, torch_reduce.exact_normalize makes room on the way.
    return torch_reduce.exact_round(words, dtype=torch.float32)


def main(device: str = "cpu") -> None:
    generator = torch.Generator().manual_seed(0)
    half = torch.randn(100_000, generator=generator) * torch.exp(8 * torch.randn(100_000, generator=generator))
    x = torch.cat([half, -half, torch.tensor([0.1])]).to(device)  # all cancels but the last
    found = {"torch.sum of shards": set(), "exact sum of shards": set()}
    for _ in range(10):
        shards = shards_of(x, generator)
        found["torch.sum of shards"].add(torch.stack([shard.sum() for shard in shards]).sum().item())
        found["exact sum of shards"].add(exact_sum(shards).item())
    for name, results in found.items():
        print(f"{name}: {len(results)} different results in 10 ways, from {min(results):g} to {max(results):g}")
    # What torch prints depends on the machine.
    # prints: exact sum of shards: 1 different results in 10 ways, from 0.1 to 0.1
    whole = torch_reduce.sum(x, mode="exact")
    print("as in one piece:", found["exact sum of shards"] == {whole.item()})
    # prints: as in one piece: True

    # A mean divides before the one rounding.
    words = torch_reduce.exact_accumulate(x)
    mean = torch_reduce.exact_round(words, dtype=torch.float32, divisor=len(x))
    print("mean as in one piece:", torch.equal(mean, torch_reduce.mean(x, mode="exact")))
    # prints: mean as in one piece: True


if __name__ == "__main__":
    main(*sys.argv[1:])
