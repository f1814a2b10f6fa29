"""The CUDA kernels of maps of elements by channel on the CPU, to the bit: vectors of one channel, of two, of several,
and of neighbouring ones; the last vector, whole or not; in both orders of threads."""

import ctypes

import numpy as np
import pytest
import torch
from emulated import EMULATOR, MEMORY, compile_library, needs_emulator
from emulated_kernels import POISON, TYPES, at_16_bytes
from map_cases import DTYPES, computed, values

from torch_reduce.testing import assert_same_bits

pytestmark = needs_emulator
MAPS = ["batch_norm", "batch_norm_backward", "normal_products"]
# Channels, neighbours in memory of one of them, and how often all follow one another.
LAYOUTS = [
    (3, 64, 5),
    (2, 4096, 1),
    (5, 49, 3),
    (4, 13, 40),
    (16, 1, 9),
    (64, 1, 70),
    (3, 1, 50),
    (7, 5, 11),
    (1, 9, 4),
]


@pytest.fixture(scope="module")
def kernels(shared_folder):
    library = compile_library(shared_folder, "channels", [(EMULATOR / "channels.cpp", []), (MEMORY, ["-O1"])])
    library.emulator_failure.restype = ctypes.c_char_p
    return library


def expected_of(name, x, second, words):
    """In the compute type; words are of each element."""
    mean, inverse, weight, bias, of_gradient, slope = words
    normal = ((x if name == "batch_norm" else second) - mean) * inverse
    if name == "batch_norm":
        return normal * weight + bias
    if name == "normal_products":
        return x * normal
    along = torch.where(slope == 0, torch.zeros_like(slope), normal * slope)
    return ((x - of_gradient) - along) * inverse * weight


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_bits(kernels, name, dtype):
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    for i, (channels, neighbours, times) in enumerate(LAYOUTS):
        n = channels * neighbours * times
        x, second = (values(1, n, dtype, start=i + k)[0] for k in (0, 3))
        mean, variance, weight, bias = (values(1, channels, wide, start=i + k)[0] for k in range(4))
        variance = variance.abs()
        sums = None if i % 3 == 0 else values(2, channels, wide, start=i + 5).t().contiguous()
        if sums is not None:
            sums[0, 1] = 0
        root = torch.from_numpy(np.sqrt((variance + 0.5).numpy()))  # IEEE's, as torch's is not everywhere
        row = torch.stack([mean, torch.zeros_like(mean), 1 / root])
        is_norm = name == "batch_norm"
        out_type = wide if name == "normal_products" else dtype
        given = at_16_bytes(n, dtype, 0xFF)[:n].copy_(x), at_16_bytes(n, dtype, 0xFF)[:n].copy_(second)
        memory = at_16_bytes(n + 16, out_type, POISON)
        kept = torch.full_like(row, 77) if is_norm else row.clone()
        affine = (weight, bias) if i % 2 else (None, None)
        pointers = [*given, mean, variance, affine[0], affine[1] if is_norm else None, sums, kept, memory]
        status = kernels.emulate_channel_map(
            MAPS.index(name),
            TYPES.index(str(dtype).removeprefix("torch.")),
            *(ctypes.c_int64(size) for size in (n, channels, neighbours)),
            ctypes.c_double(0.5),
            *(ctypes.c_void_p(None if t is None else t.data_ptr()) for t in pointers),
            i % 2 == 0,
        )
        case = f"{name} {dtype} {channels} {neighbours} {times}"
        assert status == 0, f"{case}: {kernels.emulator_failure().decode()}"
        means = torch.zeros(channels, 2, dtype=wide) if sums is None else sums / (n // channels)
        ones, nothing = torch.ones_like(mean), torch.full_like(mean, -0.0)
        words = [mean, row[2], *((weight, bias) if i % 2 else (ones, nothing)), *means.unbind(1)]
        of_elements = [t.repeat_interleave(neighbours).repeat(times) for t in words]
        expected = expected_of(name, x.to(computed(x)), second.to(computed(x)), of_elements).to(out_type)
        assert_same_bits(memory[:n].clone(), expected, case)
        assert_same_bits(kept, row, case)
        assert bool((memory[n:].view(torch.uint8) == POISON).all()), f"beside its results: {case}"
