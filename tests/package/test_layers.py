"""The house: includes of csrc point down its list of folders, and no folder fills up."""

import os
import re
from pathlib import Path

import pytest
from folders import ROOT

CSRC = ROOT / "csrc"

# A folder includes itself and those before it. Of a tuple, none includes another.
LAYERS = [
    "core/contract",
    "core/problem",
    "core/plan",
    "core/plan/tuning",
    "core/plan/gpu",
    "core/plan/gpu/exact",
    "core/plan/gpu/gradients",
    "core/plan/gpu/select",
    "core/plan/gpu/choose",
    "core/plan/cpu",
    "core/cuda/lane",
    "core/cuda/block",
    "core/cuda/start",
    ("core/cuda/scan", "core/cuda/select"),
    ("core/cuda/rows", "core/cuda/short_rows", "core/cuda/columns", "core/cuda/tiles", "core/cuda/finish"),
    ("core/cuda/exact", "core/cuda/map"),
    "core/cuda/launch",
    "core/cpu/element",
    "core/cpu/simd",
    "core/cpu/tree",
    "core/cpu/job",
    "core/cpu/transposed",
    ("core/cpu/rows", "core/cpu/columns", "core/cpu/short_rows", "core/cpu/partner"),
    ("core/cpu/exact", "core/cpu/scan", "core/cpu/map"),
    "core/cpu/select",
    "core/cpu/dispatch",
    "torch/schema",
    "torch/dispatch",
    "torch/planning",
    "torch/explain",
    "torch/device",
    "torch/maps",
    "torch/autograd",
    "python",
    "api",
]
# Neither device knows the other, nor the core PyTorch.
STRANGERS = [("core/cpu", "core/cuda"), ("core/cuda", "core/cpu"), ("core", "torch"), ("core", "api"), ("api", "torch")]
LEVEL = {
    folder: level for level, entry in enumerate(LAYERS) for folder in ((entry,) if isinstance(entry, str) else entry)
}
SOURCES = sorted(path for path in CSRC.rglob("*") if path.suffix in {".h", ".cuh", ".cpp", ".cu"})


def folder_of(path):
    """The entry of LAYERS that a file belongs to."""
    inside = path.relative_to(CSRC).as_posix()
    return max((folder for folder in LEVEL if inside.startswith(folder + "/")), key=len, default=None)


def includes(path):
    for target in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        near = Path(os.path.normpath(path.parent / target))
        yield target, near if near.is_file() else CSRC / target


def refusal(user, used):
    """Why a folder may not include another, or None."""
    if user == used:
        return None
    for above, below in STRANGERS:
        if user.startswith(above + "/") and (used + "/").startswith(below + "/"):
            return f"{above} knows nothing of {below}"
    if LEVEL[used] >= LEVEL[user]:
        return f"{used} does not come before {user}"
    return None


def test_every_file_has_a_folder_of_the_list():
    assert [str(path.relative_to(CSRC)) for path in SOURCES if folder_of(path) is None] == []


def test_includes_point_down():
    wrong = []
    for path in SOURCES:
        for target, file in includes(path):
            assert file.is_file(), f"{path.relative_to(CSRC)} includes {target}, which is not there"
            why = refusal(folder_of(path), folder_of(file))
            if why:
                wrong.append(f"{path.relative_to(CSRC)} includes {target}: {why}")
    assert wrong == []


@pytest.mark.parametrize(
    ("user", "used", "why"),
    [
        ("core/contract", "core/plan/gpu", "core/plan/gpu does not come before core/contract"),
        ("core/cuda/rows", "core/cuda/columns", "core/cuda/columns does not come before core/cuda/rows"),
        ("core/cpu/rows", "core/cuda/lane", "core/cpu knows nothing of core/cuda"),
        ("core/cpu/dispatch", "torch/schema", "core knows nothing of torch"),
        ("core/cuda/rows", "core/cuda/lane", None),
    ],
)
def test_an_upward_include_is_refused(user, used, why):
    assert refusal(user, used) == why


def test_folders_stay_small():
    """A folder of more than twenty files lacks a level."""
    folders = [folder for folder in CSRC.rglob("*") if folder.is_dir()]
    full = {str(f.relative_to(CSRC)): sum(p.is_file() for p in f.iterdir()) for f in folders}
    assert {folder: count for folder, count in full.items() if count > 20} == {}


def structs_of(file, row):
    found = re.findall(row, (ROOT / file).read_text(), re.MULTILINE)
    assert len(found) >= 3
    return "|".join(found)


OPERATORS = structs_of("include/torch_reduce/operators.def", r"^TORCH_REDUCE_OPERATOR\((\w+),")
MAPS = structs_of("csrc/core/contract/maps/maps.def", r"^TORCH_REDUCE_MAP\((\w+),")
CHANNEL_MAPS = structs_of("csrc/core/contract/maps/channels.h", r"^struct (\w+) {\n  static")
# A struct's members, the struct as a type among others, and its number.
NAMED = r"(?<!::)\b({0})::|[<,] *({0}) *[,>]|\b{1}::({0})\b"
# What names a struct, and where its own code is: everything else asks traits. Complex norms are calls of two operators.
NAMES = {
    "operators": (
        NAMED.format(OPERATORS, "Op") + r"|\bis_same(_v)?<(O|Op|Operator),",
        ("core/contract/", "torch/autograd/", "torch/dispatch/complex.h"),
    ),
    "maps": (NAMED.format(MAPS, "Map"), ("core/contract/", "torch/")),
    "maps of channels": (NAMED.format(CHANNEL_MAPS, "ChannelMap"), ("core/contract/", "torch/")),
}


def names(kind, path):
    pattern, own = NAMES[kind]
    if path.relative_to(CSRC).as_posix().startswith(own):
        return []
    return [line.strip() for line in path.read_text().splitlines() if re.search(pattern, line)]


@pytest.mark.parametrize("kind", NAMES)
def test_none_is_named_elsewhere(kind):
    found = {str(path.relative_to(CSRC)): names(kind, path) for path in SOURCES}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("operators", "x <= LogSumExp::kNear"),
        ("operators", "std::conditional_t<Op::mirrored, Min, Max>;"),
        ("operators", "if (p.op == Op::Sum)"),
        ("operators", "std::is_same<O, Whatever>::value"),
        ("maps", "traits_of(Map::Softmax)"),
        ("maps of channels", "p.map == ChannelMap::BatchNorm"),
    ],
)
def test_a_name_is_seen(kind, line):
    assert re.search(NAMES[kind][0], line)
