"""``python -m torch_reduce``: what this installation is, and whether its bits are right. The status is 0 if they are.

Every operator is compared with the NumPy model of the contract, on the CPU and on the GPU if there is one, and sums
with the bits that the contract has fixed.
"""

import argparse
import platform
import sys
import time
from collections.abc import Iterator

import torch

import torch_reduce

try:
    import numpy  # noqa: F401
except ModuleNotFoundError:
    sys.exit("python -m torch_reduce compares with a model in NumPy, which is missing: pip install numpy.")
from ._schemas import SCANS
from ._twins import Dims
from .scan_model import SCANNED, scan_model
from .testing import OPS, bits, fill, function_of, model, scan_function

# Shapes and dims, by every family of kernels.
CASES: list[tuple[tuple[int, ...], Dims]] = [
    ((40, 1030), 1),
    ((300, 7), 1),
    ((1500, 33), 0),
    ((2, 600, 3), (0, 2)),
    ((70_001,), None),
]
DTYPES = (torch.float32, torch.bfloat16, torch.float64)
# The sum of fill((n,), float32), as bits: tests/data/vectors.json.
SUMS = {1: 0xBC283900, 1_025: 0x43AFBAF7, 65_553: 0xC533F568, 1_000_003: 0xC5E4458A}


def installation() -> Iterator[str]:
    """What is installed, a line each."""
    build = torch_reduce.build_info()
    cuda = f"CUDA {build['cuda_version']} ({' '.join(build['architectures'])})" if build["cuda"] else "CPUs alone"
    yield f"torch_reduce {torch_reduce.__version__}, built for PyTorch {build['torch']} and {cuda}"
    yield f"Python {platform.python_version()}, PyTorch {torch.__version__}, {platform.system()} {platform.machine()}"
    yield f"CPU: {torch.ops.reduce._cpu_capability()}, {torch.get_num_threads()} threads"
    for i in range(torch.cuda.device_count()):
        gpu = torch.cuda.get_device_properties(i)
        yield f"GPU {i}: {gpu.name}, compute capability {gpu.major}.{gpu.minor}, {gpu.multi_processor_count} SMs"


def wrong_bits(device: str) -> Iterator[str]:
    """The cases whose results have other bits than the contract says, in words; after each that is right, nothing."""
    for n, expected in SUMS.items():
        found = int(bits(torch_reduce.sum(fill((n,), torch.float32).to(device))).item()) & 0xFFFFFFFF
        yield "" if found == expected else f"sum of {n} elements: {found:08x}, not {expected:08x}"
    for op in OPS:
        for shape, dim in CASES:
            for dtype in DTYPES:
                x = fill(shape, dtype, op=op)
                same = torch.equal(bits(function_of(op)(x.to(device), dim)), bits(model(x, dim, op=op)))
                yield "" if same else f"{op} of {dtype} {shape} over {dim}"
    for scan in SCANS:
        for shape, dim in CASES:
            if isinstance(dim, int):
                x = fill(shape, torch.float32, op=SCANNED[scan])
                result = scan_function(scan)(x.to(device), dim)
                same = torch.equal(bits(result), bits(scan_model(x, dim, scan=scan)))
                yield "" if same else f"{scan} of {shape} along {dim}"


def main(arguments: list[str] | None = None) -> int:
    argparse.ArgumentParser(prog="python -m torch_reduce", description=__doc__).parse_args(arguments)
    for line in installation():
        print(line)
    failed = 0
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() and torch_reduce.build_info()["cuda"] else [])]
    for device in devices:
        begin = time.perf_counter()
        found = list(wrong_bits(device))
        wrong = [words for words in found if words]
        seconds = time.perf_counter() - begin
        print(f"self-check, {device}: {len(found) - len(wrong)} of {len(found)} cases have their bits, {seconds:.1f} s")
        for words in wrong:
            print(f"  wrong: {words}")
        failed += len(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
