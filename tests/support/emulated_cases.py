"""Cases for the emulated kernels, drawn by seed and sorted by what is planned for them."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import torch
from emulated_kernels import Case, plan

from torch_reduce.model import output_dtype
from torch_reduce.testing import FLOAT8, OPS, converts_to_bool, takes_dtype

# Around vectors, warps, leaves and chunks; and several chunks.
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 32, 33, 64, 96, 129, 250, 255, 256, 257, 512, 700, 1023, 1024, 1025, 2047]
LENGTHS += [2048, 3000, 4097, 5000, 9216, 20_001, 40_000]
MOST = 50_000  # elements, mostly
LAYOUTS = ["a few rows", "rows", "rows", "short rows", "rows of segments", "rows of long segments"]
LAYOUTS += ["columns", "columns", "short columns", "short columns", "few columns", "columns in places"]
LAYOUTS += ["columns of segments", "columns of segments", "across memory", "across memory"]
LAYOUTS += ["across memory, of long rows", "any"]
INTEGERS = [torch.bool, torch.uint8, torch.int8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16]
# Operators whose accumulators have several words, and one of the tests.
WORDS = ["moments", "logsumexp", "argmax", "argmin", "var", "std", "var_mean", "std_mean", "nansum", "nanmean"]
WORDS += ["aminmax", "norm1", "norm_inf", "norm_minus_inf", "norm", "prod", "prod"]


class Draw:
    """Random cases; ``words``: of operators whose accumulators have several words."""

    def __init__(self, seed, words):
        self.rng = np.random.default_rng(seed)
        self.words = words

    def of(self, *values):
        return values[self.rng.integers(len(values))]

    def below(self, n):
        return int(self.rng.integers(n))

    def sometimes(self, chance):
        return self.rng.random() < chance

    def length(self, most=MOST):
        return self.of(*[n for n in LENGTHS if n <= most])

    def sizes(self, *most):
        """A size for each of these, of at most MOST elements together: which ones are large is drawn too."""
        sizes, left = [1] * len(most), MOST
        for i in self.rng.permutation(len(most)):
            sizes[i] = self.length(min(left, most[i]))
            left //= sizes[i]
        return sizes

    def layout(self, dtype):
        """Shape, reduced dims, and the order of the dims in memory: such as kernels are made for, and any."""
        v = 16 // dtype.itemsize
        sizes, in_order = self.sizes, [0, 1, 2, 3]
        vectors = lambda n: -(-n // v) * v if self.sometimes(0.6) else n  # noqa: E731
        kind = self.of(*LAYOUTS)
        if kind == "a few rows":
            return [self.of(1, 1, 2, 3), self.of(5000, 20_001, 40_000, 150_000)], [1], in_order[:2]
        if kind == "rows":
            *kept, n = sizes(*[MOST] * self.of(2, 3))
            return [*kept, vectors(n)], [len(kept)], in_order[: len(kept) + 1]
        if kind == "short rows":
            n = self.of(1, 2, 3, 4, 6, 8, 16, 31, 33, 64, 96, 200, 256)
            kept = sizes(*[MOST // n] * self.of(1, 2))
            return [*kept, vectors(n)], [len(kept)], in_order[: len(kept) + 1]
        if kind == "rows of segments":
            a, m, n = sizes(40, 9, MOST)
            return [a, m, vectors(n)], [0, 2], in_order[:3]
        if kind == "rows of long segments":
            return [2, self.of(1, 2), self.of(16_384, 16_391, 20_001)], [0, 2], in_order[:3]
        if kind == "columns":
            n, columns = sizes(MOST, 2000)
            return [n, vectors(columns)], [0], in_order[:2]
        if kind == "short columns":
            return [self.of(1, 2, 3, 4, 5), vectors(self.length(9000))], [0], in_order[:2]
        if kind == "few columns":
            return [self.of(1000, 5000, 20_000), self.of(1, 2, 3, 4, 8)], [0], in_order[:2]
        if kind == "columns in places":
            a, n, columns = sizes(40, MOST, 1200)
            return [a, n, vectors(columns)], self.of([1], [1], [0, 1]), in_order[:3]
        if kind == "columns of segments":
            shape = [self.of(2, 3, 9), self.of(1, 1, 2), self.of(7, 257, 1025, 3000), v * self.of(1, 2, 5)]
            return shape, self.of([0, 2], [0, 2], [2]), in_order
        if kind == "across memory":
            p, q, m = sizes(MOST, MOST, self.of(1, 1, 2, 9, 300))
            return [vectors(p), q, m], [0, 1], self.of([1, 0, 2], [2, 1, 0], [1, 2, 0])
        if kind == "across memory, of long rows":
            shape = [self.of(2, 4, 8, 16, 33), self.of(1024, 1500, 2048), self.of(1, 1, 8, 16)]
            return shape, [0, 1], self.of([1, 0, 2], [1, 0, 2], [1, 2, 0])
        shape = sizes(*[MOST] * self.of(2, 3, 4, 5))
        reduced = [d for d in range(len(shape)) if self.sometimes(0.5)] or [0]
        return shape, reduced, [int(d) for d in self.rng.permutation(len(shape))]

    def types(self):
        """Operator, mode, types, values. Kernels exist for other types; those that are instantiated suffice."""
        if self.words:
            op = self.of(*WORDS)
            dtype = self.of(torch.float16, torch.bfloat16, torch.float32, *FLOAT8)
            if op == "aminmax" and self.sometimes(0.5):
                dtype = self.of(*INTEGERS, torch.uint64)
            typed = takes_dtype(op) if op in OPS else True
            out = self.of(torch.float32, torch.float32 if dtype in FLOAT8 else dtype)
            out = out if typed else output_dtype(op, dtype)
            values = ["normal", "wide" if op == "prod" else "normal", "special", "zeros"]
            return op, "deterministic", dtype, out, self.of(*values)
        op = self.of("sum", "sum", "sum", "mean", "sumsq", "amax", "amin", "count_nonzero", "any", "all")
        if converts_to_bool(op):
            dtype = self.of(*INTEGERS, torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.float64, *FLOAT8)
            return op, "deterministic", dtype, output_dtype(op, dtype), "normal"
        sums, selects = op in ("sum", "mean"), op in ("amax", "amin")
        if sums and self.sometimes(0.35):
            wide = {torch.float16: torch.float32, torch.float32: torch.float32, torch.float64: torch.float64}
            dtype = self.of(*wide)
            return op, "atomic", dtype, wide[dtype], "whole"
        if sums and self.sometimes(0.4):
            dtype = self.of(*INTEGERS)
            out = self.of(torch.int64, torch.int64, torch.int32, torch.bool)
            if op == "mean":
                out = self.of(torch.float32, torch.float16)
            return op, "deterministic", dtype, out, "normal"
        dtype = self.of(torch.float16, torch.bfloat16, torch.float32, torch.float32, self.of(*FLOAT8))
        rounded = torch.bfloat16 if dtype in FLOAT8 else dtype
        out = self.of(torch.float32, torch.float32, torch.float32, rounded)  # a result that is rounded again shows less
        if sums and self.sometimes(0.3):
            dtype, out = self.of(dtype, torch.float64), torch.float64
        values = self.of("normal", "normal", "normal", "special", "zeros")
        return op, "deterministic", dtype, dtype if selects else out, values

    def case(self):
        op, mode, dtype, out, values = self.types()
        shape, reduced, memory = self.layout(dtype)
        v = 16 // dtype.itemsize
        gaps = [0] * len(shape)
        inner = memory[-1]
        gaps[inner] = self.of(0, -shape[inner] % v, v, 1 + self.below(5))
        if self.sometimes(0.3):
            gaps[self.of(*memory)] += self.below(3)
        kept = len(shape) - len(reduced)
        return Case(
            shape,
            reduced,
            memory,
            gaps,
            expanded=[self.below(len(shape))] if self.sometimes(0.05) else [],
            offset=self.of(0, 0, 0, 1, self.below(v)),
            out_memory=[int(d) for d in self.rng.permutation(kept)] if self.sometimes(0.15) else None,
            out_gap=0 if mode == "atomic" else self.of(0, 0, 0, 1, 16),  # additions are to dense outputs
            out_offset=self.of(0, 0, 1),
            op=op,
            mode=mode,
            dtype=dtype,
            out=out,
            values=values,
            sms=self.of(1, 4, 132),
            major=self.of(8, 9),
            family=self.of("", "rows", "short_rows", "columns", "tiles"),
            vector=self.of(-1, 0, 0, 1, 1),
            split=self.of(0, 0, 1, 2, 4, 8, 16, 64),
            backward=self.sometimes(0.5),
            seed=self.below(1000),
        )

    def near(self, case):
        """The same, but for some of its parts."""
        fresh, shape = self.case(), list(case.shape)
        if self.sometimes(0.5):
            shape[self.below(len(shape))] = self.length(9216)
        parts = [("op", "mode", "dtype", "out", "values"), ("sms", "major"), ("family", "vector", "split"), ("offset",)]
        redrawn = [name for part in parts if self.sometimes(0.4) for name in part]
        return replace(
            case,
            shape=shape,
            out_gap=0,
            backward=fresh.backward,
            seed=fresh.seed,
            **{name: getattr(fresh, name) for name in redrawn},
        )


def draw_cases(kernels, seed, kinds, most=16, least=4, draws=12_000, words=False):
    """Cases by kind (a kernel, how memory is read, how units meet), until there are ``most`` of each of these, the
    second half of them small, of which few are alike in operator and type; after so many draws ``least`` are enough.
    What is rare is looked for near what has been found of it."""
    draw, cases, alike = Draw(seed, words), {kind: [] for kind in kinds}, Counter()
    for drawn in range(4 * draws):
        missing = [kind for kind in kinds if len(cases[kind]) < (most if drawn < draws else least)]
        if not missing:
            break
        found = cases[draw.of(*missing)]
        case = draw.near(draw.of(*found)) if found and draw.sometimes(0.5) else draw.case()
        elements = math.prod(case.shape)
        planned = plan(kernels, case) if elements <= 10 * MOST else None
        if planned is None or planned.grid > 1000:  # or would take long
            continue
        small = elements <= MOST and planned.grid <= 100
        kind = planned.kind
        if case.mode == "atomic" and not ("atomic" in kind or "unordered" in kind):
            continue  # as in mode "deterministic", by values that show less
        of_kind = cases.setdefault(kind, [])
        # Bits of these say less of the order.
        free = case.op in ("amax", "amin") or case.dtype in INTEGERS or case.values in ("zeros", "special")
        group = kind, case.op, case.dtype, free
        if len(of_kind) < (most if small else most // 2) and alike[group] < (2 if free else 4):
            alike[group] += 1
            of_kind.append(case)
    return cases
