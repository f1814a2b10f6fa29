"""The ladder: it builds, says what it needs, is described in full, and every rung is right at the edges."""

import fcntl
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from folders import ROOT

from benchmarks.ladder import __main__ as main
from benchmarks.ladder import document, library, measure, profile, rungs, tables
from benchmarks.ladder.tasks import TASKS

SOURCES = ROOT / "benchmarks" / "ladder"
SIZES = (1, 31, 32, 1000, (1 << 20) + 3)
SIDES = (1, 31, 32, 33, 500)
IN_LIBRARY = [rung for rung in rungs.RUNGS if rung.in_library]
ON_GPU = [rung for rung in rungs.RUNGS if not rung.on_cpu]


def ladder_command(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "benchmarks.ladder", *arguments]
    no_gpu = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, cwd=ROOT, env=no_gpu, capture_output=True, text=True)


@pytest.fixture(scope="module")
def ladder() -> library.Library:
    """The built library; built here unless it is newer than its sources."""
    lock = ROOT / "build" / "ladder.lock"  # the processes of a parallel test run would build into one folder
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        newest = max(
            file.stat().st_mtime for file in SOURCES.rglob("*") if file.suffix in (".cu", ".cpp", ".h", ".txt")
        )
        path = library.path()
        if not (path.is_file() and path.stat().st_mtime >= newest):
            command = [sys.executable, "tools/native_build.py", "--target", "ladder"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    if not path.is_file():
        pytest.skip("needs nvcc and a torch with CUDA: the ladder was not built")
    return library.Library()


# ---- without a GPU ------------------------------------------------------------------------------------------------


def test_every_rung_is_in_the_library(ladder: library.Library):
    assert [rung.name for rung in IN_LIBRARY if not ladder.has(rung)] == []


def test_every_file_is_a_rung():
    """What the sources define and what the table of rungs names are the same."""
    text = "\n".join(file.read_text() for folder in ("sum", "combine", "operators", "memory")
                     for file in sorted((SOURCES / folder).iterdir()))  # fmt: skip
    assert set(re.findall(r"\bladder_(\w+)\(const", text)) == {rung.name for rung in IN_LIBRARY}


def test_a_rung_is_compared_with_an_earlier_one():
    names = [rung.name for rung in rungs.RUNGS]
    assert all(rung.below is None or names.index(rung.below) < i for i, rung in enumerate(rungs.RUNGS))


@pytest.mark.parametrize("n", SIZES)
def test_cpu_loop(ladder: library.Library, n: int):
    task, cpu = TASKS["sum"], torch.device("cpu")
    x = task.fill(n, torch.float32, cpu, 2)
    assert task.expected(x).item() == math.fsum(x.tolist())
    assert task.right(ladder.call(rungs.BY_NAME["cpu_loop"], n, cpu)(x), x)


def test_without_a_gpu_it_says_so_in_one_line(ladder: library.Library):
    done = ladder_command()
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        ["The ladder is built. It needs an NVIDIA GPU to run; torch sees none here."],
    )


def test_not_built_is_said_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(library, "path", lambda: tmp_path / "libladder.so")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert main.why_not() == (
        "The ladder is not built, for want of nvcc or of a torch with CUDA. It needs an NVIDIA GPU to run; "
        "torch sees one here."
    )


@pytest.mark.parametrize("argument", ["no_such_rung", "--no-such-option"])
def test_a_bad_argument_lists_the_rungs(argument: str):
    done = ladder_command(argument)
    assert done.returncode == 2
    assert argument in done.stderr.splitlines()[0]
    assert set(done.stderr.split()) >= {rung.name for rung in rungs.RUNGS} | set(rungs.GROUPS)


def test_grades():
    assert [measure.grade(share) for share in (0.39, 0.41, 0.61, 0.76)] == ["poor", "fair", "good", "very good"]


def test_profile_is_read():
    """The separating kernel tells where a rung begins; a rung may have several kernels."""
    head = '"ID","Kernel Name","Metric Name","Metric Value"'
    kernels = [
        "void <unnamed>::read_all<8>(const uint4 *, long)",
        "void <unnamed>::unrolled_all<(int)256>(const float *)",
        "void (anonymous namespace)::read_all<(int)8>(const uint4 *, long)",
        "<unnamed>::two_pass(const float *, float *, int)",
        "two_pass",
    ]
    metrics = {"ns": "1,{}00", "dram": "{}.5"}
    lines = [
        f'"{i}","{kernel}","{profile.METRICS[key]}","{value.format(i)}"'
        for i, kernel in enumerate(kernels)
        for key, value in metrics.items()
    ]
    found = profile.parse("\n".join(["==PROF== words", head, *lines]), [("unrolled_all", 8), ("two_pass", 8)])
    assert [(e["rung"], e["kernel"], e["ns"], e["dram"]) for e in found] == [
        ("unrolled_all", "unrolled_all", 1100, 1.5),
        ("two_pass", "two_pass", 1300, 3.5),
        ("two_pass", "two_pass", 1400, 4.5),
    ]


# ---- the document -------------------------------------------------------------------------------------------------


def test_every_rung_has_a_paragraph():
    text = document.DOCUMENT.read_text()
    missing = [rung.name for rung in rungs.RUNGS if not re.search(rf"^\*\*.*`{rung.name}`.*\*\*", text, re.MULTILINE)]
    assert missing == []


def test_the_figures_are_those_of_the_run():
    result = json.loads(document.RESULT.read_text())
    text = document.DOCUMENT.read_text()
    assert document.fill(text, result) == text
    measured = {row["rung"] for row in result["rows"]}
    assert measured == {rung.name for rung in rungs.RUNGS}
    assert [row["rung"] for row in result["rows"] if row.get("right") is False] == []
    assert all(tables.label(row["rung"]) in text for row in result["rows"])


# ---- on a GPU -----------------------------------------------------------------------------------------------------


def sizes(rung: rungs.Rung) -> list[int]:
    if rung.task == "transpose":
        return [side * side for side in SIDES]
    return [n for n in (*SIZES, 2048) if n <= rung.most]


def call_for(ladder: library.Library, rung: rungs.Rung, n: int):
    return ladder.call(rung, n, torch.device("cuda")) if rung.in_library else library.product(rung)


def input_for(rung: rungs.Rung, n: int) -> torch.Tensor:
    on_host = rung.task in rungs.HOST_TASKS
    x = TASKS[rung.task].fill(n, getattr(torch, rung.dtype), torch.device("cpu" if on_host else "cuda"), n)
    return x.pin_memory() if on_host and rung.name != "copy_pageable" else x


@pytest.mark.cuda
@pytest.mark.parametrize("rung", ON_GPU, ids=lambda rung: f"cuda-{rung.name}")
def test_right_at_the_edges(ladder: library.Library, rung: rungs.Rung):
    if rung.name == "cluster" and torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs a GPU with clusters")
    for n in sizes(rung):
        x, call = input_for(rung, n), call_for(ladder, rung, n)
        before = x.clone()
        for _ in range(2):  # the second call finds scratch as the first one left it
            result = measure.poisoned(call, x)
            torch.cuda.synchronize()
            assert TASKS[rung.task].right(result, x), (rung.name, n, TASKS[rung.task].error(result, x))
        assert torch.equal(x, before)


@pytest.mark.cuda
def test_cuda_three_launches(ladder: library.Library):
    n = (1 << 24) + 5
    x, call = input_for(rungs.BY_NAME["several_launches"], n), call_for(ladder, rungs.BY_NAME["several_launches"], n)
    assert TASKS["sum"].right(call(x), x)


@pytest.mark.cuda
@pytest.mark.parametrize(
    "name", ["several_launches", "two_pass", "last_block_fence", "last_block_acq_rel", "grid_sync", "operator_add"]
)
def test_cuda_bits_repeat(ladder: library.Library, name: str):
    n = (1 << 20) + 3
    x = torch.rand(n, device="cuda")
    assert len(measure.repeats(call_for(ladder, rungs.BY_NAME[name], n), x, 20).unique()) == 1


@pytest.mark.cuda
def test_cuda_what_atomics_do_to_subnormals(ladder: library.Library):
    """atomicAdd on fp32 in global memory flushes them; additions in registers do not."""
    x = torch.full((1 << 20,), 1, dtype=torch.int32, device="cuda").view(torch.float32)
    results = {
        name: call_for(ladder, rungs.BY_NAME[name], x.numel())(x).item() for name in ("two_pass", "atomic_block")
    }
    assert results == {"two_pass": 2.0**-129, "atomic_block": 0}


@pytest.mark.cuda
def test_cuda_where_fp16_ends(ladder: library.Library):
    x = torch.ones(1 << 16, dtype=torch.float16, device="cuda")
    wide, narrow = (call_for(ladder, rungs.BY_NAME[f"half_{how}"], x.numel())(x) for how in ("input", "accumulate"))
    assert (wide.item(), narrow.item()) == (65536, math.inf)


@pytest.mark.cuda
def test_cuda_occupancy(ladder: library.Library):
    blocks = {rung.name: ladder.blocks_per_sm(rung) for rung in ON_GPU}
    assert all(count is None or count >= 1 for count in blocks.values()), blocks
    assert blocks["one_block_shared"] == 2 and blocks["copy_pinned"] is None
