"""Scans on a GPU: many CTAs at once, which the emulator has not."""

import pytest
import torch

import torch_reduce
from torch_reduce._schemas import SCANS
from torch_reduce.scan_model import SCANNED
from torch_reduce.testing import assert_same_bits, fill

pytestmark = pytest.mark.cuda
every_scan = pytest.mark.parametrize("scan", sorted(SCANS))
SHAPES = [((5_000_003,), 0), ((16, 128_256), 1), ((70_000, 40), 0), ((40_000, 9), 1), ((3, 50_000, 6), 1)]


def results(scan, x, dim):
    result = getattr(torch_reduce, scan)(x, dim)
    return result if isinstance(result, tuple) else (result,)


@every_scan
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_equals_cpu(scan, dtype):
    """Again and again: who comes first changes nothing."""
    for shape, dim in SHAPES:
        x = fill(shape, dtype, op=SCANNED[scan])
        expected, on_gpu = results(scan, x, dim), x.cuda()
        for i in range(5):
            for actual, wanted in zip(results(scan, on_gpu, dim), expected, strict=True):
                assert_same_bits(actual, wanted, f"{shape}/{dim}, call {i}")


@every_scan
def test_graphs_and_streams(scan):
    """Two replays, and calls on other streams meanwhile, share nothing."""
    x = fill((3, 300_000), torch.float32, op=SCANNED[scan]).cuda()
    expected = results(scan, x, 1)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = results(scan, x, 1)
    streams = [torch.cuda.Stream() for _ in range(4)]
    written = []
    for stream in streams:
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            written.append(results(scan, x, 1))
    for _ in range(3):
        for result in captured:
            result.fill_(0)
        graph.replay()
    torch.cuda.synchronize()
    for each in (captured, *written):
        for actual, wanted in zip(each, expected, strict=True):
            assert_same_bits(actual, wanted)


@every_scan
def test_more_than_2_31_elements(scan):
    if torch.cuda.mem_get_info()[0] < 40 << 30:
        pytest.skip("needs 40 GiB of GPU memory")
    n = (1 << 31) + 12_345
    x = torch.ones(n, dtype=torch.bfloat16, device="cuda")
    if scan == "logcumsumexp":
        x.zero_()
    result, *indices = results(scan, x, 0)
    for i in (0, 1024, n // 2, n - 1):
        assert all(of_all[i] == i for of_all in indices)  # the last of equal elements
        assert_same_bits(result[i], getattr(torch_reduce, SCANNED[scan])(x[: i + 1]), f"{i}")
