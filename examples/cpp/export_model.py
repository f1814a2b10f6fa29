"""Compiles a model that uses torch_reduce into a package for infer.cpp: python export_model.py model.pt2 [device]."""

import sys

import torch

import torch_reduce


class Scores(torch.nn.Module):
    """How far each row's total is below the largest, its total in whole numbers, and its mean rounded once. No other
    division: on a GPU inductor's rounds in its own way."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        total = torch_reduce.sum(torch.relu(x - 100), 1, dtype=torch.float64)
        whole = torch_reduce.sum(x, 1, dtype=torch.int64)
        mean = torch_reduce.mean(x, 1, dtype=torch.bfloat16, mode="exact")
        return total - torch_reduce.amax(total), whole, mean


def main(path: str, device: str = "cpu") -> None:
    rows = torch.export.Dim("rows", min=2, max=1 << 20)
    example = (torch.zeros(4, 1000, device=device),)
    exported = torch.export.export(Scores().to(device), example, dynamic_shapes=({0: rows},))
    torch._inductor.aoti_compile_and_package(exported, package_path=path)


if __name__ == "__main__":
    main(*sys.argv[1:])
