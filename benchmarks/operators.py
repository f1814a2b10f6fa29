"""One table of all operators, for docs/operators.md: what each promises, takes, differentiates and costs.

Operators, modes and types come from what is registered: an operator is called, and what it refuses is not in the table.
Errors come from docs/order.md, times from the committed results.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from tabulate import tabulate

from torch_reduce._schemas import REDUCTIONS
from torch_reduce._twins import name_of_twin
from torch_reduce.testing import DTYPES, INTEGERS

from .report.targets import geometric_mean

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
OTHERS = (torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64, torch.complex128)
GROUPS = {"bool": (torch.bool,), "integers": INTEGERS}
MEASURED = ("cuda", "scans", "models", "selections", "family")
"""Files of results, later ones instead of earlier ones."""


def _schema(name: str) -> torch.FunctionSchema:
    return getattr(torch.ops.reduce, name).default._schema


def names() -> list[str]:
    """Every operator that takes the tensor of which it is, private ones left out."""
    registered = [full.partition("::") for full in torch._C._dispatch_get_all_op_names()]
    public = {name.split(".")[0] for library, _, name in registered if library == "reduce" and name[0] != "_"}
    return sorted(name for name in public if _schema(name).arguments[0].name == "self")


def _call(name: str, **options: object) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Of a tensor of two rows, with the least that the schema asks for; every result in a tuple."""
    given = {"dim": 1, "k": 2, "normalized_shape": [3], "num_groups": 1, "target": torch.zeros(2, dtype=torch.int64)}

    def call(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        wanted = [a.name for a in _schema(name).arguments if not a.has_default_value()]
        arguments = [x if argument in ("self", "other", "residual") else given[argument] for argument in wanted]
        found = getattr(torch.ops.reduce, name)(*arguments, **options)
        return found if isinstance(found, tuple) else (found,)

    return call


def _x(dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]).to(dtype)


def _works(call: Callable[[], object]) -> bool:
    try:
        call()
    except (RuntimeError, NotImplementedError, TypeError):
        return False
    return True


def promises(name: str) -> list[str]:
    """By mode; of an operator without modes, the first."""
    if not any(argument.name == "mode" for argument in _schema(name).arguments):
        return ["bits", "", ""]
    return ["bits", "error", "one rounding" if _any_exact(name) else ""]


def _any_exact(name: str) -> bool:
    """Whether mode "exact" is there, of a type at least."""
    exact = _call(name, mode="exact")
    return any(_works(lambda dtype=dtype: exact(_x(dtype))) for dtype in (torch.float64, torch.float32))


def types(name: str) -> str:
    """The types of elements that it takes, on a CPU."""
    accepted = {dtype for dtype in (*DTYPES, *OTHERS) if _works(functools.partial(_call(name), _x(dtype)))}
    found = [group for group, dtypes in GROUPS.items() if accepted >= set(dtypes)]
    left = accepted - {dtype for group in found for dtype in GROUPS[group]}
    return ", ".join([*found, *_short(left)])


def _short(dtypes: Iterable[torch.dtype]) -> list[str]:
    """fp32, bf16, fp8_e5m2, ..., the narrow ones first."""
    named = sorted((dtype.itemsize, str(dtype).removeprefix("torch.")) for dtype in dtypes)
    return [name.replace("bfloat", "bf").replace("float", "fp") for _, name in named]


def derivatives(name: str) -> str:
    """How often it is differentiated backwards, and whether forwards."""
    x = _x().requires_grad_()
    y = _call(name)(x)[0]
    if not y.requires_grad:
        return ""
    found = ["backward"]
    with torch.enable_grad():
        (grad,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    if grad.requires_grad and _works(lambda: torch.autograd.grad(grad.sum(), x)):
        found.append("double")
    if _works(lambda: torch.func.jvp(_call(name), (_x(),), (_x(),))):
        found.append("forward")
    return ", ".join(found)


def errors() -> dict[str, str]:
    """By operator, as docs/order.md has them."""
    section = (ROOT / "docs" / "order.md").read_text().partition("\n## The error\n")[2].partition("\n## ")[0]
    found = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            operators, error = line.strip("| ").split(" | ")
            found.update(dict.fromkeys(operators.replace("`", "").split(", "), error))
    return found


def _times(results: dict) -> Iterable[tuple[str, dict[str, float]]]:
    """Operator and microseconds, of each row."""
    for row in results["rows"]:
        if "us" in row:
            us = row["us"]
            yield row.get("op") or row["name"].split(" /")[0].split(" to ")[0].split(" k=")[0], us
        elif row["suite"] in ("shapes", "ops", "scans"):
            found = {who: entry["us"]["median"] for who, entry in row["contenders"].items()}
            yield row["op"], {("ours" if who == "deterministic" else who): us for who, us in found.items()}


def measured() -> tuple[dict[str, list[str]], list[str]]:
    """By operator: how many cases, and geometric means of our time over that of each peer; and the GPUs."""
    cells, gpus = {}, []
    for file in MEASURED:
        path = RESULTS / f"{file}.json"
        if not path.exists():
            continue
        results = json.loads(path.read_text())
        gpus.append(results["machine"]["gpu"])
        by_name: dict[str, list[dict[str, float]]] = {}
        for name, us in _times(results):
            by_name.setdefault(name, []).append(us)
        for name, rows in by_name.items():
            ratios = [[us["ours"] / us[peer] for us in rows if peer in us] for peer in ("limit", "torch", "inductor")]
            cells[name] = [str(len(rows)), *(f"{geometric_mean(found):.2f}" if found else "" for found in ratios)]
    return cells, list(dict.fromkeys(gpus))


@functools.cache
def table() -> str:
    """All operators, a line each."""
    bounds, (times, gpus) = errors(), measured()
    lines = []
    for name in names():
        twin = name_of_twin(name)
        masked = ", `where=`" if name in REDUCTIONS and REDUCTIONS[name].takes_mask else ""
        cells = [f"`{name}`{masked}", *promises(name), types(name), derivatives(name), bounds.get(name, "")]
        lines.append([*cells, f"`{twin}`" if twin else "", *times.get(name, [""] * 4)])
    header = ["operator", "deterministic", "atomic", "exact", "types", "derivatives", "error", "torch's"]
    header += ["cases", "/ limit", "/ eager", "/ inductor"]
    made = tabulate(lines, header, tablefmt="github", disable_numparse=True)
    return f"Times are those of {' and '.join(gpus)}.\n\n{made}"
