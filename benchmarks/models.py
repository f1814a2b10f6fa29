"""Times what models are made of, and reductions of two tensors, beside torch on a GPU: `python -m benchmarks.models`.

With `--suite family`, the operators beside sum instead (suites/family.py); with `--suite selections`, topk; with
`--suite products`, exact dot and sumsq; with `--suite training`, a step of a GPT, which is in no graph
(suites/training.py). All else runs in CUDA graphs on cold inputs, one contender after the other; liger-kernel is one
where it is installed, but for cross_entropy, in which it waits for the GPU. The limit is the time to read the inputs
and write the results once.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from tabulate import tabulate
from tqdm import tqdm

import torch_reduce
from torch_reduce.nn import functional as ours

from .measure import machine
from .measure.limit import Limit
from .measure.timing_cuda import POOL, Flush, Recording, cut, interleaved
from .suites import family, training

try:
    from liger_kernel.transformers import functional as liger
except ImportError:
    liger = None

F = torch.nn.functional
BF16, F32 = torch.bfloat16, torch.float32


@dataclass(frozen=True)
class Work:
    """A call on a tensor, in our words, in torch's and in liger's; with a second one, if there is one, of so many
    bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    ours: Callable[..., torch.Tensor] = field(compare=False)
    torchs: Callable[..., torch.Tensor] = field(compare=False)
    out_bytes: int = 0
    second: Callable[[torch.Tensor], torch.Tensor] | None = field(default=None, compare=False)
    besides: int = 0
    ligers: Callable[..., torch.Tensor] | None = field(default=None, compare=False)

    def with_second(self, call: Callable[..., torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
        second = self.second
        return call if second is None else lambda x: call(x, second(x))

    @property
    def memory_elements(self) -> int:
        return math.prod(self.shape)

    @property
    def in_bytes(self) -> int:
        return self.memory_elements * self.dtype.itemsize + self.besides

    @property
    def label(self) -> str:
        return f"{'×'.join(map(str, self.shape))} {str(self.dtype).removeprefix('torch.')}"

    def view(self, flat: torch.Tensor) -> torch.Tensor:
        return flat.view(self.shape)


class Beside:
    """A second tensor for each first one, by its address: they rotate together."""

    def __init__(self, make: Callable[[torch.Tensor], torch.Tensor]):
        self._make, self._made = make, {}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if x.data_ptr() not in self._made:
            self._made[x.data_ptr()] = self._make(x)
        return self._made[x.data_ptr()]


def some(x: torch.Tensor) -> torch.Tensor:
    """A mask of half of the elements."""
    return torch.rand_like(x, dtype=F32) < 0.5


def add_rms_norm(x: torch.Tensor, residual: torch.Tensor, n: int, weight: torch.Tensor) -> tuple[torch.Tensor, ...]:
    total = x + residual
    return F.rms_norm(total, (n,), weight, 1e-6), total


def of_rows() -> Iterator[Work]:
    """Norms, softmax and losses, as tokens and vocabularies have them."""
    for rows, n in ((1, 4096), (16, 4096), (64, 4096), (16384, 4096)):
        weight, bias = torch.ones(n, dtype=BF16, device="cuda"), torch.zeros(n, dtype=BF16, device="cuda")
        size = rows * n * 2
        yield Work(
            "rms_norm", (rows, n), BF16,
            lambda x, w=weight, n=n: ours.rms_norm(x, (n,), w, 1e-6),
            lambda x, w=weight, n=n: F.rms_norm(x, (n,), w, 1e-6), size,
            ligers=lambda x, w=weight: liger.liger_rms_norm(x, w, 1e-6, in_place=False),
        )  # fmt: skip
        yield Work(
            "add_rms_norm", (rows, n), BF16,
            lambda x, y, w=weight, n=n: ours.add_rms_norm(x, y, (n,), w, 1e-6),
            lambda x, y, w=weight, n=n: add_rms_norm(x, y, n, w), 2 * size, Beside(torch.randn_like), size,
            lambda x, y, w=weight: liger.liger_fused_add_rms_norm(x, y, w, 1e-6, in_place=False),
        )  # fmt: skip
        yield Work(
            "layer_norm", (rows, n), BF16,
            lambda x, w=weight, b=bias, n=n: ours.layer_norm(x, (n,), w, b),
            lambda x, w=weight, b=bias, n=n: F.layer_norm(x, (n,), w, b), size,
            ligers=lambda x, w=weight, b=bias: liger.liger_layer_norm(x, w, b, 1e-5),
        )  # fmt: skip
    for shape in ((16384, 2048), (65536, 128)):
        yield Work(
            "softmax", shape, BF16, lambda x: ours.softmax(x, -1), lambda x: torch.softmax(x, -1),
            math.prod(shape) * 2, ligers=lambda x: liger.liger_softmax(x),
        )  # fmt: skip
        yield Work(
            "softmax mask= scale=", shape, BF16, lambda x, m: ours.softmax(x, -1, mask=m, scale=0.125),
            lambda x, m: torch.softmax((x * 0.125).masked_fill(~m, -math.inf), -1),
            math.prod(shape) * 2, Beside(some), math.prod(shape),
        )  # fmt: skip
    for shape in ((1, 128256), (16, 128256), (256, 151936), (4096, 32000)):
        yield Work(
            "log_softmax to fp32", shape, BF16,
            lambda x: ours.log_softmax(x, -1, dtype=F32), lambda x: torch.log_softmax(x, -1, dtype=F32),
            math.prod(shape) * 4,
        )  # fmt: skip
    for shape in ((16, 128256), (4096, 128256)):
        target = torch.arange(shape[0], device="cuda") * 7919 % shape[1]
        yield Work(
            "cross_entropy", shape, BF16,
            lambda x, t=target: ours.cross_entropy(x, t), lambda x, t=target: F.cross_entropy(x, t), 4,
        )  # fmt: skip


def selections() -> Iterator[Work]:
    """The best of a vocabulary, or of some experts."""
    for shape, k in (
        ((1, 128256), 50),
        ((16, 128256), 50),
        ((4096, 32000), 20),
        ((16384, 64), 8),
        ((1, 1 << 20), 500),
        ((8, 1 << 20), 1000),
    ):
        for dtype in (F32, BF16):
            yield Work(
                f"topk k={k}", shape, dtype, lambda x, k=k: torch_reduce.topk(x, k), lambda x, k=k: torch.topk(x, k),
                shape[0] * k * (dtype.itemsize + 8),
            )  # fmt: skip


SHAPES = [((1 << 20,), None), ((1 << 26,), None), ((16, 128256), (1,)), ((65536, 1024), (1,)), ((65536, 1024), (0,))]
SHAPES += [((64, 256, 56, 56), (0, 2, 3)), ((4096, 64), (0,)), ((1 << 20, 64), (1,))]


def of_two() -> Iterator[Work]:
    """Two tensors of one shape."""
    for shape, dims in SHAPES:
        for dtype in (F32, BF16):
            n = math.prod(shape)
            kept = 1 if dims is None else math.prod(s for d, s in enumerate(shape) if d not in dims)
            where = f"/{'all' if dims is None else ','.join(map(str, dims))}"
            yield Work(
                f"dot {where}", shape, dtype,
                lambda x, y, d=dims: torch_reduce.dot(x, y, d), lambda x, y, d=dims: (x * y).sum(d),
                kept * dtype.itemsize, Beside(torch.randn_like), n * dtype.itemsize,
            )  # fmt: skip
            yield Work(
                f"sum where= {where}", shape, dtype,
                lambda x, m, d=dims: torch_reduce.sum(x, d, where=m), lambda x, m, d=dims: torch.where(m, x, 0).sum(d),
                kept * dtype.itemsize, Beside(some), n,
            )  # fmt: skip


def exact_products() -> Iterator[Work]:
    """Beside torch's in fp64, which round each product of fp64 elements and each addition."""
    shapes = [((1 << 12,), None), *SHAPES, ((1 << 20, 8), (1,))]
    for dtype in (torch.float16, BF16, F32, torch.float64):
        for shape, dims in shapes:
            n = math.prod(shape)
            kept = 1 if dims is None else math.prod(s for d, s in enumerate(shape) if d not in dims)
            where = f"/{'all' if dims is None else ','.join(map(str, dims))}"
            yield Work(
                f"exact dot {where}", shape, dtype,
                lambda x, y, d=dims: torch_reduce.dot(x, y, d, mode="exact"),
                lambda x, y, d=dims: (x.double() * y).sum(d).to(x.dtype),
                kept * dtype.itemsize, Beside(torch.randn_like), n * dtype.itemsize,
            )  # fmt: skip
            if n == 1 << 26:
                yield Work(
                    f"exact sumsq {where}", shape, dtype,
                    lambda x, d=dims: torch_reduce.sumsq(x, d, mode="exact"),
                    lambda x, d=dims: x.double().square().sum(d).to(x.dtype), kept * dtype.itemsize,
                )  # fmt: skip


def measure(work: Work, limit: Limit, flush: Flush, rounds: int) -> dict:
    """A row: median microseconds of each contender."""
    elements = max(POOL // 2 // work.dtype.itemsize, work.memory_elements)
    room = -(-work.besides // work.dtype.itemsize)  # for the limit to read as many bytes
    pool = torch.empty(elements + room, dtype=work.dtype, device="cuda").normal_()
    inputs = cut(pool[:elements], work)
    torch.compiler.reset()
    contenders = {"ours": work.ours, "torch": work.torchs, "inductor": torch.compile(work.torchs, dynamic=False)}
    if liger is not None and work.ligers is not None:
        contenders["liger"] = work.ligers
    calls = {name: work.with_second(call) for name, call in contenders.items()}
    for x in inputs.tensors:
        calls["ours"](x)  # makes the second tensors, outside of any graph
    if limit.available:
        calls["limit"] = limit.call(work)
    recordings = {name: Recording(call, inputs, work.out_bytes) for name, call in calls.items()}
    samples = interleaved(recordings, inputs, flush, rounds)
    return {
        "name": work.name,
        "label": work.label,
        "us": {name: statistics.median(times) for name, times in samples.items()},
    }


NAMES = ("limit", "sum", "ours", "torch", "inductor", "liger", "ours compiled", "torch compiled")


def table(rows: list[dict]) -> str:
    """One line a row, in microseconds."""
    names = [name for name in NAMES if any(name in r["us"] for r in rows)]
    others = [name for name in names if name != "ours"]
    lines = []
    for r in rows:
        us = r["us"]
        times = [f"{us[name]:.1f}" if name in us else "" for name in names]
        ratios = [f"{us['ours'] / us[name]:.2f}" if {"ours", name} <= us.keys() else "" for name in others]
        lines.append([r["name"], r["label"], *times, *ratios])
    header = ["", "", *names, *(f"x {name}" for name in others)]
    return tabulate(lines, header, tablefmt="github", disable_numparse=True)


def each(works: list[Work], limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    for work in tqdm(works, disable=None):
        try:
            yield measure(work, limit, flush, arguments.rounds)
        except RuntimeError as error:
            print(f"{work.name} {work.label}: {str(error).splitlines()[0]}", file=sys.stderr)


def of_models(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    yield from each([*of_two(), *of_rows()], limit, flush, arguments)


def of_selections(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    yield from each(list(selections()), limit, flush, arguments)


def of_products(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    yield from each(list(exact_products()), limit, flush, arguments)


def of_family(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    device = torch.device("cuda")
    for group in tqdm(family.groups(), disable=None):
        yield from family.measure(group, limit, flush, arguments.rounds, device=device, compiled=arguments.compiled)


def of_training(limit: Limit, flush: Flush, arguments: argparse.Namespace) -> Iterator[dict]:
    yield training.measure(max(arguments.rounds, 20), torch.device("cuda"))


SUITES = {
    "models": of_models,
    "selections": of_selections,
    "products": of_products,
    "family": of_family,
    "training": of_training,
}


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__)
    parser.add_argument("--suite", choices=list(SUITES), default="models", help="which (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out"), help="where <suite>.json goes")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--compiled",
        choices=["none", "some", "all"],
        default="some",
        help="which of the family torch.compile is measured on: a second or two for each (default: %(default)s)",
    )
    return parser.parse_args(argv)


def main() -> int:
    arguments = parse()
    if not torch.cuda.is_available():
        print("benchmarks.models: there is no GPU")
        return 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    limit, flush = Limit(arguments.out / "build"), Flush(torch.device("cuda"))
    rows = list(SUITES[arguments.suite](limit, flush, arguments))
    results = {"machine": machine.describe(torch.device("cuda")), "rows": rows}
    (arguments.out / f"{arguments.suite}.json").write_text(json.dumps(results, indent=1) + "\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
