"""The devices that tests run on, and why there is no GPU."""

import pytest
import torch

import torch_reduce


def why_no_cuda() -> str | None:
    """Why the tests that need a GPU are skipped here, or None."""
    if not torch_reduce.build_info()["cuda"]:
        return "needs a GPU: the library was built without CUDA"
    if not torch.cuda.is_available():
        return "needs a GPU: torch sees none"
    return None


needs_cuda = pytest.mark.skipif(why_no_cuda() is not None, reason=str(why_no_cuda()))
DEVICES = ["cpu", pytest.param("cuda", marks=needs_cuda)]
