"""Where and with what a run was made."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path

import torch


def _output(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, cwd=Path(__file__).parent)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def describe(device: torch.device) -> dict:
    """The machine, the versions and the commit; None for what cannot be known here."""
    commit = _output("git", "rev-parse", "HEAD")
    info = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit,
        "modified": bool(_output("git", "status", "--porcelain")) if commit else None,
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.ops.reduce._cpu_capability(),
        "torch_cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "build": json.loads(torch.ops.reduce._build_info()),
    }
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        info |= {
            "gpu": properties.name,
            "sms": properties.multi_processor_count,
            "l2_bytes": properties.L2_cache_size,
            "capability": f"{properties.major}.{properties.minor}",
            "memory_bytes": properties.total_memory,
            "cuda": torch.version.cuda,
            "driver": _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        }
        info["driver"] = info["driver"].splitlines()[0] if info["driver"] else None
    return info


def line(info: dict) -> str:
    """One line for headings and plots."""
    if "gpu" in info:
        return f"{info['gpu']}, driver {info['driver']}, CUDA {info['cuda']}, PyTorch {info['torch']}"
    return f"{info['cpu']}, {info['cores']} cores, PyTorch {info['torch']}"
