"""What is measured: the lists of cases."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace

import torch

from torch_reduce._schemas import REDUCTIONS, SCANS
from torch_reduce.model import output_dtype
from torch_reduce.scan_model import SCANNED

MiB = 1 << 20

# Shape and reduced dims; between them they have every way of lying in memory that a dense reduction can have.
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((1, 67108864), (1,)),
    ((16, 4194304), (1,)),
    ((256, 262144), (1,)),
    ((1024, 65536), (1,)),
    ((32768, 2048), (1,)),
    ((65536, 1000), (1,)),
    ((1048576, 64), (1,)),
    ((8388608, 8), (1,)),
    ((4096, 4096), (1,)),
    ((128, 4096), (1,)),
    ((1, 4096), (1,)),
    ((67108864, 1), (0,)),
    ((8388608, 8), (0,)),
    ((1048576, 64), (0,)),
    ((65536, 1000), (0,)),
    ((65536, 1024), (0,)),
    ((32768, 2048), (0,)),
    ((4096, 16384), (0,)),
    ((64, 1048576), (0,)),
    ((8, 8388608), (0,)),
    ((4096, 4096), (0,)),
    ((512, 768), (0,)),
    ((8192, 768), (0,)),
    ((128, 4096), (0,)),
    ((64, 256, 56, 56), (0, 2, 3)),
    ((128, 1024, 512), (0, 2)),
    ((128, 1024, 512), (1,)),
    ((32, 128, 64, 64), (2, 3)),
    ((8, 2048, 4096), (0, 1)),
    ((3, 16777216), (0,)),
]


@dataclass(frozen=True)
class Case:
    """One reduction: an input's shape, dtype and layout, the reduced dims (all of them if None) and the operator; or a
    scan along a dim."""

    suite: str
    shape: tuple[int, ...]
    dims: tuple[int, ...] | None
    dtype: torch.dtype
    op: str = "sum"
    layout: str = "contiguous"  # or "transposed" (the last two dims), "channels_last" or "strided"
    data: str = "uniform"  # the distribution of the elements: one of check.DATA
    # Strided: the dims from the outermost in memory to the innermost, and the sizes of the tensor of which this is the
    # last corner.
    order: tuple[int, ...] = ()
    whole: tuple[int, ...] = ()
    to: torch.dtype | None = None  # dtype=, if it is given
    ord: float | None = None  # the same of ord=

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def memory_elements(self) -> int:
        """Elements of the memory that holds the case's own."""
        return math.prod(self.whole) if self.layout == "strided" else self.elements

    @property
    def keeps_order(self) -> bool:
        """Whether the reduced dims lie in memory in the order of the shape."""
        dims = range(len(self.shape)) if self.dims is None else self.dims
        reduced = [d for d in self.order if d in dims and self.shape[d] > 1]
        return self.layout in ("contiguous", "strided") and reduced == sorted(reduced)

    @property
    def n(self) -> int:
        """Elements per output."""
        return math.prod(self.shape if self.dims is None else [self.shape[d] for d in self.dims])

    @property
    def scans(self) -> bool:
        return self.op in SCANNED

    @property
    def reduces_by(self) -> str:
        """The operator, of a scan that whose results of all prefixes it gives."""
        return SCANNED.get(self.op, self.op)

    @property
    def outputs(self) -> int:
        return self.elements if self.scans else self.elements // self.n

    @property
    def in_bytes(self) -> int:
        return self.elements * self.dtype.itemsize

    @property
    def out_dtype(self) -> torch.dtype:
        if self.to is not None:
            return self.to
        return output_dtype(self.reduces_by, self.dtype)

    @property
    def keywords(self) -> dict:
        """What a call is given beside its dims, in our words and in torch's."""
        return {name: value for name, value in (("dtype", self.to), ("ord", self.ord)) if value is not None}

    @property
    def out_bytes(self) -> int:
        each = self.out_dtype.itemsize
        if self.scans:
            each += torch.int64.itemsize if SCANS[self.op].gives_pair else 0
        elif REDUCTIONS[self.op].gives_pair:
            each *= 2
        return self.outputs * each

    @property
    def label(self) -> str:
        dims = "all" if self.dims is None else ",".join(map(str, self.dims))
        shape = "×".join(map(str, self.shape))
        if len(self.shape) == 1 and self.elements & (self.elements - 1) == 0:
            shape = f"2^{self.elements.bit_length() - 1}"
        layout = "" if self.layout == "contiguous" else f" {self.layout.replace('_', ' ')}"
        if self.layout == "strided":
            layout = f" of {'×'.join(str(self.whole[d]) for d in self.order)} as {','.join(map(str, self.order))}"
        data = "" if self.data == "uniform" else f" {self.data}"
        to = "" if self.to is None else f" as {str(self.to).removeprefix('torch.')}"
        return f"{shape} / {dims}{layout}{data}{to}"

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")

    def view(self, flat: torch.Tensor) -> torch.Tensor:
        """The case's input over `memory_elements` contiguous elements, as a view."""
        if self.layout == "strided":
            memory = flat.view([self.whole[d] for d in self.order])
            corner = memory[tuple(slice(self.whole[d] - self.shape[d], None) for d in self.order)]
            return corner.permute([self.order.index(d) for d in range(len(self.shape))])
        if self.layout == "transposed":
            return flat.view(*self.shape[:-2], self.shape[-1], self.shape[-2]).transpose(-1, -2)
        if self.layout == "channels_last":
            n, c, h, w = self.shape
            return flat.view(n, h, w, c).permute(0, 3, 1, 2)
        return flat.view(self.shape)


def full_cuda(quick: bool) -> list[Case]:
    exponents = {
        torch.float32: range(10, 31, 2),
        torch.bfloat16: range(10, 31, 2),
        torch.float16: range(12, 31, 4 if quick else 2),
    }
    rest = (torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.float64)
    exponents |= dict.fromkeys(rest, (16, 20, 24, 28))
    if quick:
        exponents = {torch.float32: range(12, 29, 4), torch.bfloat16: range(12, 29, 4)}
    return [Case("full", (2**e,), None, dtype) for dtype, es in exponents.items() for e in es]


def full_cpu(quick: bool) -> list[Case]:
    exponents = {
        torch.float32: range(8, 25, 4) if quick else range(8, 29, 2),
        torch.bfloat16: (12, 20) if quick else (12, 16, 20, 24),
    }
    return [Case("full", (2**e,), None, dtype) for dtype, es in exponents.items() for e in es]


def slow(most: int | None = None) -> list[Case]:
    """Sums for which torch.sum is known to be slow: a few elements an output, bytes, a dtype to convert to, elements
    with gaps between them."""
    f32 = torch.float32
    cases = [Case("slow", scaled(shape, most), (1,), f32) for shape in ((4194304, 2), (7840000, 4))]
    cases += [Case("slow", scaled((1 << 24,), most), None, dtype) for dtype in (torch.int8, torch.bool)]
    cases.append(Case("slow", scaled((1 << 24,), most), None, torch.bool, to=f32))
    rows = scaled((4096, 1024, 1), most)
    gaps = {"layout": "strided", "order": (0, 1, 2), "whole": (*rows[:2], 2)}
    return cases + [Case("slow", rows, dims, f32, **gaps) for dims in ((1,), (0,))]


def shapes(dtypes: list[torch.dtype], quick: bool, most: int | None = None) -> list[Case]:
    """The 30 shapes, every third one if quick, each with at most `most` elements; those that then coincide once."""
    chosen = dict.fromkeys((scaled(shape, most), dims) for shape, dims in (SHAPES[::3] if quick else SHAPES))
    return [Case("shapes", shape, dims, dtype) for dtype in dtypes for shape, dims in chosen]


def scaled(shape: tuple[int, ...], most: int | None) -> tuple[int, ...]:
    """The shape with its largest dim halved until it has at most `most` elements."""
    sizes = list(shape)
    while most is not None and math.prod(sizes) > most:
        sizes[sizes.index(max(sizes))] //= 2
    return tuple(sizes)


def hard() -> list[Case]:
    """Where loads of 16 bytes do not fit, and masks: rows of odd length, and the last corner of a larger tensor, whose
    rows begin between two multiples of 16 bytes."""
    cases = []
    for dtype in (torch.float32, torch.bfloat16):
        cases += [Case("hard", (8192, 4097), (dim,), dtype) for dim in (1, 0)]
        for shape, dims, whole in (
            ((1 << 26,), None, ((1 << 26) + 1,)),
            ((65536, 1000), (1,), (65536, 1001)),
            ((65536, 1000), (0,), (65536, 1001)),
        ):
            order = tuple(range(len(shape)))
            cases.append(Case("hard", shape, dims, dtype, layout="strided", order=order, whole=whole))
    return cases + [Case("hard", (4096, 8192), (dim,), torch.bool) for dim in (1, 0)]


def drawn(suite: str, count: int, largest: int, seed: int) -> list[Case]:
    """Shapes of 2^10 to 2^largest elements in 1 to 5 dims: a third contiguous, a third permuted, a third cut out of a
    larger tensor and permuted."""
    draw = random.Random(seed)
    cases = []
    for i in range(count):
        dims = draw.randint(1, 5)
        cuts = sorted(draw.random() for _ in range(dims - 1))
        parts = [high - low for low, high in itertools.pairwise([0.0, *cuts, 1.0])]
        log_elements = draw.uniform(10, largest)
        shape = tuple(max(round(2 ** (log_elements * part)), 1) for part in parts)
        reduced = tuple(sorted(draw.sample(range(dims), draw.randint(1, dims))))
        order = draw.sample(range(dims), dims) if i % 3 > 0 else range(dims)
        whole = tuple(size + (draw.randint(0, max(size // 8, 1)) if i % 3 > 1 else 0) for size in shape)
        dtype = (torch.float32, torch.bfloat16)[i // 3 % 2]
        cases.append(Case(suite, shape, reduced, dtype, layout="strided", order=tuple(order), whole=whole))
    return cases


def random_shapes(quick: bool, seed: int = 7) -> list[Case]:
    cases = drawn("random", 200, 30, seed)
    return cases[::10] if quick else cases


def ops(most: int | None = None) -> list[Case]:
    """The other operators, on a full reduction, rows, columns and a middle dim; and sums of 64-bit integers, which take
    128 bits where the result is floating."""
    chosen = [
        ((67108864,), None),
        ((32768, 2048), (1,)),
        ((32768, 2048), (0,)),
        ((128, 1024, 512), (1,)),
    ]
    others = [
        Case("ops", scaled(shape, most), dims, dtype, op)
        for dtype in (torch.float32, torch.bfloat16)
        for op in REDUCTIONS
        if op != "sum"
        for shape, dims in chosen
    ]
    small = [((1 << e,), None) for e in (12, 16, 20)]
    integers = [
        Case("ops", scaled(shape, most), dims, torch.int64, to=to)
        for to in (torch.int64, torch.float64)
        for shape, dims in small + chosen
    ]
    return others + integers


def scans(most: int | None = None) -> list[Case]:
    """Scans of one row by size, of some long rows, of many rows, and of columns."""
    chosen = [
        ((1 << 12,), 0),
        ((1 << 20,), 0),
        ((1 << 26,), 0),
        ((16, 128256), 1),
        ((65536, 1024), 1),
        ((65536, 1024), 0),
    ]
    return [
        Case("scans", scaled(shape, most), (dim,), dtype, op)
        for op in SCANS
        for dtype in (torch.float32, torch.bfloat16)
        for shape, dim in chosen
    ]


EXACT_DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def exact_cuda(quick: bool) -> list[Case]:
    """Full sums from 16 KiB to 1 GiB of every type that exact takes."""
    return [
        Case("exact", (2**e // dtype.itemsize,), None, dtype)
        for dtype in EXACT_DTYPES
        for e in range(14, 31, 8 if quick else 2)
    ]


def exact_cpu(quick: bool) -> list[Case]:
    return [Case("exact", (2**e,), None, dtype) for dtype in EXACT_DTYPES for e in ((16,) if quick else (16, 20, 24))]


def exact_shapes(quick: bool, most: int) -> list[Case]:
    """The shapes in every type that exact takes, on the CPU."""
    return [replace(case, suite="exact") for case in shapes(list(EXACT_DTYPES), quick, most)]


def data(most: int | None = None) -> list[Case]:
    """Full sums of elements that are hard for exact sums, to see that there is no cliff."""
    chosen = ("uniform", "normal", "gradient", "log-normal 6", "two extremes", "every exponent")
    return [
        Case("data", scaled(((256 * MiB) // dtype.itemsize,), most), None, dtype, data=kind)
        for dtype in EXACT_DTYPES
        for kind in chosen
    ]


def layouts(most: int | None = None) -> list[Case]:
    """Reductions whose order of elements differs from their order in memory, and one where it does not."""
    chosen = [
        ((16384, 4096), None, "transposed"),
        ((32, 1024, 2048), (1, 2), "transposed"),
        ((64, 256, 56, 56), None, "channels_last"),
        ((64, 256, 56, 56), (0, 2, 3), "channels_last"),
    ]
    return [
        Case("layouts", scaled(shape, most), dims, dtype, layout=layout)
        for dtype in (torch.float32, torch.bfloat16)
        for shape, dims, layout in chosen
    ]
