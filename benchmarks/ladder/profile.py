"""Durations and DRAM throughput by Nsight Compute. `run` starts ncu on this very module, whose `main` calls every rung
once, with a kernel of the read limit before each: it tells in ncu's list where a rung begins."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from . import library, rungs
from .measure import LONGEST

SIZES = (1 << 23, 1 << 29)
MATRIX = 8192 * 8192
SEPARATOR = "read_all"  # limit.cu's kernel
METRICS = {
    "ns": "gpu__time_duration.sum",
    "dram": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "issue": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
    "instructions": "smsp__inst_executed.sum",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
}


def cases() -> list[tuple[str, int]]:
    """The main rungs, and the lessons about memory, each with a number of elements."""
    found = []
    for n in SIZES:
        main = [r for r in rungs.RUNGS if r.group in ("sum", "combine", "product") and r.most >= n and not r.on_cpu]
        found += [(rung.name, n) for rung in main if n <= LONGEST.get(rung.name, n)]
    found += [(rung.name, SIZES[-1]) for rung in rungs.RUNGS if rung.name.startswith(("read_", "pairs_"))]
    matrices = [rung for rung in rungs.RUNGS if rung.task == "transpose" and MATRIX <= LONGEST.get(rung.name, MATRIX)]
    return found + [(rung.name, MATRIX) for rung in matrices]


def tool() -> str | None:
    return shutil.which("ncu", path=os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"]))


def run() -> list[dict]:
    """One entry for every kernel of the main rungs; none, with a line that says why, where ncu does not work."""
    ncu = tool()
    if ncu is None:
        print("profile: no ncu on PATH")
        return []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        command = [
            ncu,
            "--csv",
            "--log-file",
            str(log),
            "--print-units",
            "base",
            "--metrics",
            ",".join(METRICS.values()),
        ]
        command += ["--profile-from-start", "off", "--clock-control", "none"]  # the GPU's settings stay as they are
        command += [sys.executable, "-m", "benchmarks.ladder.profile"]
        done = subprocess.run(command, cwd=library.ROOT, capture_output=True, text=True)
        text = log.read_text() if log.exists() else ""
    if done.returncode != 0:
        print(f"profile: ncu failed: {(text + done.stdout + done.stderr)[-2000:]}")
        return []
    return parse(text, cases())


def parse(text: str, order: list[tuple[str, int]]) -> list[dict]:
    """ncu's CSV, one line for every kernel and metric, as one entry for every kernel of a rung."""
    kernels: dict[int, dict] = {}
    for line in csv.DictReader(line for line in text.splitlines() if line.startswith('"')):
        kernel = kernels.setdefault(int(line["ID"]), {"kernel": _short(line["Kernel Name"])})
        kernel[line["Metric Name"]] = float(line["Metric Value"].replace(",", ""))
    found, place = [], -1
    for _, kernel in sorted(kernels.items()):
        if kernel["kernel"] == SEPARATOR:
            place += 1
        else:
            name, n = order[place]
            entry = {"rung": name, "elements": n, "kernel": kernel["kernel"]}
            found.append(entry | {key: kernel[metric] for key, metric in METRICS.items() if metric in kernel})
    return found


def _short(name: str) -> str:
    """A kernel's bare name, of `void torch_reduce::cuda::rows<...>(...)`."""
    for nameless in ("<unnamed>::", "(anonymous namespace)::"):
        name = name.replace(nameless, "")
    return re.search(r"(\w+)\s*([<(]|$)", name)[1]


def main() -> None:
    device = torch.device("cuda", torch.cuda.current_device())
    ladder = library.Library()
    x = torch.rand(max(SIZES), device=device)
    inputs = {"float32": x, "float16": x.half()}
    for name, n in cases():
        rung, limit = rungs.BY_NAME[name], ladder.limit(4 * n, 4, device)
        call = ladder.call(rung, n, device) if rung.in_library else library.product(rung)
        data = inputs[rung.dtype][:n]
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        limit(x)
        call(data)
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
