"""Instruction sets of the CPU kernels."""

from collections.abc import Callable

import torch

from torch_reduce.testing import assert_same_bits, cpu_capability

CAPABILITIES = ["baseline", "avx2", "avx512"]


def available(name: str) -> bool:
    try:
        with cpu_capability(name):
            return True
    except ValueError:
        return False


def assert_bits_of_every_capability(call: Callable[[], torch.Tensor], expected: torch.Tensor, what: str = "") -> None:
    """Those of ``call()``, with each instruction set that this CPU has. What is expected costs more than the call, and
    is computed once for all."""
    for name in filter(available, CAPABILITIES):
        with cpu_capability(name):
            assert torch.ops.reduce._cpu_capability() == name
            assert_same_bits(call(), expected, f"{name}: {what}")
