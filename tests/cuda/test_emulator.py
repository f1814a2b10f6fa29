"""The emulator of tests/emulator sees what is wrong with a kernel."""

import ctypes

import pytest
import torch
from emulated import EMULATOR, MEMORY, compile_library, needs_emulator

pytestmark = needs_emulator

KERNELS = {
    "right": None,
    "lacks a barrier": "other results",
    "counts on zeros": "other results",
    "barrier of a part": "threads wait for one another",
    "writes behind": "writes behind the CTA's shared memory",
    "reads between": "reads or writes at an address that is not a multiple of what is there",
    "meets": None,
    "hands over early": "hands something over before the cluster has begun, or when it has come to the end",
    "does not wait": "does not wait for what it is handed",
}


@pytest.fixture(scope="module")
def faults(shared_folder):
    units = [(source, ["-O1"]) for source in (EMULATOR / "faults.cpp", MEMORY)]
    library = compile_library(shared_folder, "faults", units)
    library.emulator_failure.restype = ctypes.c_char_p
    return library


def run(faults, kernel, backward):
    """What is wrong, or None."""
    out = torch.full((64,), 77, dtype=torch.int32)
    status = faults.emulate_fault(list(KERNELS).index(kernel), backward, ctypes.c_void_p(out.data_ptr()))
    if status:
        return faults.emulator_failure().decode()
    return None if torch.equal(out, torch.arange(63, -1, -1, dtype=torch.int32)) else "other results"


@pytest.mark.parametrize("kernel", KERNELS)
def test_faults(faults, kernel):
    """In both orders of threads; a barrier is missed in one at least."""
    assert {run(faults, kernel, backward) for backward in (False, True)} - {None} == {KERNELS[kernel]} - {None}
