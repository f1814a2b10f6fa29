"""Rows that several of these tests judge, draw and write down."""

import pytest
import torch
from benchmark_rows import KINDS, timed

from benchmarks.suites import accuracy


@pytest.fixture
def gpu_rows() -> list[dict]:
    shares = {"exact": 0.96, "torch": 0.9, "torch_fp64": 0.8, "cub": 0.85, "cub_gpu_to_gpu": 0.5}
    sizes = [timed("exact", "float32", 2**e, "uniform", shares) for e in (14, 20, 28)]
    return sizes + [timed("data", "float32", 2**28, kind, shares) for kind in KINDS]


@pytest.fixture(scope="session")
def accuracy_rows() -> list[dict]:
    return list(accuracy.run(accuracy.sums(quick=True), torch.device("cpu")))
