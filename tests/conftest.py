"""Devices, profiles and fixtures of the tests. A test with an argument ``device`` runs on every device; where there is
no GPU, its runs there are skipped, with the reason."""

import os
import platform

import hypothesis
import pytest
import torch
from capabilities import CAPABILITIES
from devices import DEVICES, needs_cuda, why_no_cuda

import torch_reduce
from torch_reduce.testing import cpu_capability

# The same examples on every run; HYPOTHESIS_PROFILE=long looks further.
common = {"deadline": None, "derandomize": True, "database": None}
hypothesis.settings.register_profile("default", max_examples=60, **common)
hypothesis.settings.register_profile("long", max_examples=1000, **(common | {"derandomize": False}))
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", DEVICES)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips tests marked ``cuda``, those of cuda/, where there is no GPU."""
    for item in items:
        if item.get_closest_marker("cuda"):
            item.add_marker(needs_cuda)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "cuda: needs a GPU")
    # For the processes that this one starts: they share the cores, and a thread that spins would hold another's.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Random elements are the same on every run, whichever tests a process has had before."""
    torch.manual_seed(0)


def pytest_report_header() -> str:
    build = torch_reduce.build_info()
    gpu = torch.cuda.get_device_name() if why_no_cuda() is None else why_no_cuda()
    return (
        f"torch {torch.__version__}, library for {build['torch']}, CPU {torch.ops.reduce._cpu_capability()}, GPU: {gpu}"
    )


@pytest.fixture(params=CAPABILITIES)
def capability(request):
    """Every instruction set of the CPU kernels, in force for one test; those that this CPU lacks are skipped."""
    try:
        with cpu_capability(request.param):
            yield request.param
    except ValueError:
        pytest.skip(f"this CPU has no {request.param}")


@pytest.fixture
def vectors(capability):
    """The same of those that have vectors, as the kernels of an x86 without AVX2 have not."""
    if capability == "baseline" and platform.machine() == "x86_64":
        pytest.skip("has no vectors")
    return capability


@pytest.fixture
def deterministic_algorithms():
    """torch.use_deterministic_algorithms(True) for one test."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """One folder for all processes of a run, for what support/once.py makes."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def emulated_library(shared_folder):
    """The exact CUDA kernels as a library for the CPU: support/emulated.py."""
    from emulated import build

    return build(shared_folder)


@pytest.fixture(scope="session")
def emulator(emulated_library):
    return emulated_library.emulate
