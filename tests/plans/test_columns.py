"""Plans of columns: how many CTAs run at once, and what the second kernel keeps."""

import json

import pytest
import torch

import torch_reduce
from torch_reduce.testing import constrained_plan, typical_gpu


@pytest.mark.parametrize("capability, kib", [((9, 0), 228), ((10, 0), 228), ((12, 0), 100)], ids=str)
def test_the_second_kernel_keeps_the_split_of_memory(capability, kib):
    """In percent of an SM's: what the CTAs of the first one have, as many as there are registers for."""

    def carveout(shape, dtype):
        x = torch.empty(shape, dtype=dtype, device="meta")
        with typical_gpu(capability, 132), constrained_plan("columns", vector=True):
            plan = json.loads(torch.ops.reduce._explain(x, [0], device="cuda"))
        assert plan["finish"] == "partials", plan
        return plan, plan["carveout"]

    for dtype, ctas in ((torch.int8, 4), (torch.float64, 4), (torch.int16, 3)):  # of 256 threads, at once
        plan, percent = carveout((16384, 16384 // dtype.itemsize), dtype)
        needed = ctas * 256 // plan["block"] * (plan["shared_bytes"] + 1024)
        assert needed <= percent * kib * 1024 / 100 < needed + kib * 1024 / 100, plan
    # Few outputs; columns that begin anywhere; sums of 32 bits.
    for shape, dtype in (((2**20, 64), torch.int8), ((32768, 515), torch.int8), ((16384, 8192), torch.bfloat16)):
        assert carveout(shape, dtype)[1] == -1


@pytest.mark.parametrize("op, threads", [("sum", 4 * 256), ("prod", 2 * 256), ("amax", 4 * 256)])
@pytest.mark.parametrize("rows", [300, 700, 1000])
def test_uncut_columns_run_at_once_where_they_fill_the_gpu(op, threads, rows):
    """As many threads as all SMs have registers for, or up to a tenth less. Tiles of half as many columns more do not
    come near that."""
    for columns, at_once in ((65536, True), (98304, False)):
        x = torch.empty(rows, columns, dtype=torch.bfloat16, device="meta")
        with typical_gpu((9, 0), 132), constrained_plan("columns", vector=True):
            plan = torch_reduce.explain(x, 0, op=op, device="cuda")
        share = plan.grid * plan.block / (132 * threads)
        assert plan.split == 1 and (0.9 <= share <= 1) == at_once, plan
