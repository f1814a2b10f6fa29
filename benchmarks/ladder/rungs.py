"""The rungs in their order: what each works on, which one it is compared with, and figures published for it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

GROUPS = {
    "sum": "Sum, whole array",
    "combine": "Combining blocks",
    "operators": "Operators",
    "memory": "Memory lessons",
    "product": "The product, and torch.sum",
}

ANY = 1 << 29  # the largest number of elements that every rung of any size takes


@dataclass(frozen=True)
class Rung:
    """`below` is the rung that it changes, against which its step is measured. `task` names what it computes, in
    tasks.py. `most` is the largest number of elements that it takes."""

    name: str
    group: str
    task: str
    below: str | None = None
    most: int = ANY
    published: str = ""
    dtype: str = "float32"

    @property
    def on_cpu(self) -> bool:
        return self.name == "cpu_loop"

    @property
    def in_library(self) -> bool:
        return self.group != "product"


_4090 = "RTX 4090 against one CPU core"
_CLASSIC = "a 2^22-class ladder, GPU not named"

RUNGS = [
    Rung("cpu_loop", "sum", "sum"),
    Rung("one_block_increasing", "sum", "sum", "cpu_loop", 2048, f"2.84 x ({_4090}, 2^11)"),
    Rung("one_block_decreasing", "sum", "sum", "one_block_increasing", 2048, f"5.87 x ({_4090}, 2^11)"),
    Rung("one_block_shared", "sum", "sum", "one_block_decreasing", 2048, f"5.87 x ({_4090}, 2^11)"),
    Rung("atomic_each", "sum", "sum", "cpu_loop", published="23.97 ms (A100, 2^23)"),
    Rung("interleaved_modulo", "sum", "sum", "atomic_each", published=f"520 us ({_CLASSIC})"),
    Rung("interleaved_strided", "sum", "sum", "interleaved_modulo", published=f"353 us ({_CLASSIC})"),
    Rung("sequential", "sum", "sum", "interleaved_strided", published=f"333 us ({_CLASSIC})"),
    Rung("first_add", "sum", "sum", "sequential", published=f"186 us ({_CLASSIC})"),
    Rung("unrolled_warp", "sum", "sum", "first_add", published=f"131 us ({_CLASSIC})"),
    Rung("unrolled_all", "sum", "sum", "unrolled_warp", published=f"123 us ({_CLASSIC})"),
    Rung("grid_stride", "sum", "sum", "unrolled_all"),
    Rung("coarsened", "sum", "sum", "grid_stride", published=f"2,200 x ({_4090}, 2^29)"),
    Rung("shuffle", "sum", "sum", "coarsened", published=f"78 us ({_CLASSIC}); 43.97 us, with atomics (A100, 2^23)"),
    Rung("vector", "sum", "sum", "shuffle"),
    Rung("half_input", "sum", "sum", "vector", dtype="float16"),
    Rung("half_accumulate", "sum", "half_sum", "half_input", dtype="float16"),
    Rung(
        "atomic_many",
        "combine",
        "sum",
        "first_add",
        published=f"44.67 us, 51.7 % DRAM (A100, 2^23); 1,449 x ({_4090}, 2^29)",
    ),
    Rung("several_launches", "combine", "sum", "vector"),
    Rung("two_pass", "combine", "sum", "several_launches"),
    Rung("atomic_block", "combine", "sum", "two_pass"),
    Rung("last_block_fence", "combine", "sum", "two_pass"),
    Rung("last_block_acq_rel", "combine", "sum", "last_block_fence"),
    Rung("grid_sync", "combine", "sum", "two_pass"),
    Rung("cluster", "combine", "sum", "atomic_block"),
    Rung("operator_add", "operators", "sum", "last_block_acq_rel"),
    Rung("operator_max", "operators", "max", "operator_add"),
    Rung("operator_min", "operators", "min", "operator_add"),
    Rung("operator_product", "operators", "product", "operator_add"),
    Rung("read_coalesced", "memory", "sum"),
    Rung("read_misaligned", "memory", "sum_but_first", "read_coalesced"),
    Rung("read_strided_2", "memory", "sum", "read_coalesced"),
    Rung("read_strided_8", "memory", "sum", "read_coalesced"),
    Rung("read_strided_32", "memory", "sum", "read_coalesced"),
    Rung("pairs_scalar", "memory", "sum", "read_coalesced"),
    Rung("pairs_float2", "memory", "sum", "pairs_scalar"),
    Rung("transpose_serial", "memory", "transpose", published="28.68 ms (RTX 4080, 1,024^2)"),
    Rung("transpose_rows", "memory", "transpose", "transpose_serial", published="0.468 ms (RTX 4080, 1,024^2)"),
    Rung("transpose_elements", "memory", "transpose", "transpose_rows", published="0.036 ms (RTX 4080, 1,024^2)"),
    Rung("transpose_tiled_8", "memory", "transpose", "transpose_elements"),
    Rung("transpose_tiled_16", "memory", "transpose", "transpose_tiled_8"),
    Rung("transpose_tiled_32", "memory", "transpose", "transpose_tiled_16"),
    Rung("transpose_padded", "memory", "transpose", "transpose_tiled_32"),
    Rung("divergent_lanes", "memory", "cases_by_lane"),
    Rung("divergent_warps", "memory", "cases_by_warp", "divergent_lanes"),
    Rung("constant_double", "memory", "relax"),
    Rung("constant_float", "memory", "relax", "constant_double"),
    Rung("exp_accurate", "memory", "exp"),
    Rung("exp_fast", "memory", "exp_fast", "exp_accurate"),
    Rung("copy_pageable", "memory", "copy"),
    Rung("copy_pinned", "memory", "copy", "copy_pageable"),
    Rung("pieces_serial", "memory", "pieces"),
    Rung("pieces_overlapped", "memory", "pieces", "pieces_serial"),
    Rung("deterministic", "product", "sum", "last_block_acq_rel"),
    Rung("atomic", "product", "sum", "atomic_block"),
    Rung("torch", "product", "sum"),
]

BY_NAME = {rung.name: rung for rung in RUNGS}
HOST_TASKS = ("copy", "pieces")  # their input is host memory


def chosen(words: list[str]) -> list[Rung]:
    """The rungs that names and groups stand for; all without any. ValueError names the first unknown word."""
    for word in words:
        if word not in BY_NAME and word not in GROUPS:
            raise ValueError(f"no rung or group is called {word!r}")
    return [rung for rung in RUNGS if not words or rung.name in words or rung.group in words]


def listing() -> str:
    """Every group with its rungs."""
    lines = ["rungs, by group:"]
    for group in GROUPS:
        names = " ".join(rung.name for rung in RUNGS if rung.group == group)
        lines.append(textwrap.fill(names, 100, initial_indent=f"  {group:11}", subsequent_indent=" " * 13))
    return "\n".join(lines)


def base(rung: Rung, elements: int) -> str:
    """Against which rung the cumulative speed-up counts: the first classic one; in a memory lesson, its first."""
    if rung.group != "memory":
        return "one_block_increasing" if elements <= 2048 else "interleaved_modulo"
    while rung.below is not None:
        rung = BY_NAME[rung.below]
    return rung.name
