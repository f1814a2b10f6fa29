"""Changes one constant of the exact method at a time and shows that a test fails for each.

    python tools/mutate_exact.py [cpu] [kernels] [products] [--only WORDS ...]

Works in a copy of the tree, build/mutants. `cpu` mutates the CPU's blocks, builds the library each time and runs
test_sums.py, test_rounding.py, test_layouts.py, test_side_by_side.py and test_accumulator.py of tests/exact; `kernels`
mutates the format, the rounding and the CUDA kernels, and runs these on the CPU by test_emulated*.py there; `products`
mutates the CUDA kernels of products. Ends with 1 if a mutant survives.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "mutants"

FORMAT = "csrc/core/contract/exact/format.h"
ROUND = "csrc/core/contract/exact/round.h"
TUNING = "csrc/core/plan/tuning/exact.h"
CPU_SUMS = "csrc/core/cpu/exact/sums.h"
CPU_PARTS = "csrc/core/cpu/exact/parts.h"
CPU_SLICES = "csrc/core/cpu/exact/slices.h"
DEVICE = "csrc/core/cuda/lane/device.cuh"
SLICES = "csrc/core/cuda/exact/slices.cuh"
DIGITS = "csrc/core/cuda/exact/digits.cuh"
FINISH = "csrc/core/cuda/exact/finish.cuh"
TILE = "csrc/core/cuda/exact/tile.cuh"
SUMS = "csrc/core/cuda/exact/sums.cuh"
ROW_TILE = "csrc/core/cuda/exact/row_tile.cuh"
WARP_ROWS = "csrc/core/cuda/exact/warp_rows.cuh"
COLUMNS = "csrc/core/cuda/exact/columns.cuh"
SHORT_COLUMNS = "csrc/core/cuda/exact/short_columns.cuh"
SHORT_ROWS = "csrc/core/cuda/exact/short_rows.cuh"
PRODUCT_SLICES = "csrc/core/cuda/exact/product_slices.cuh"
ELEMENT_PRODUCTS = "csrc/core/cuda/exact/element_products.cuh"
# The file, what to replace, by what, and what that is.
MUTANTS = {
    "cpu": [
        (CPU_SUMS, "kDigits = std::numeric_limits<double>::digits", "kDigits = 55", "the width of a double"),
        (
            CPU_SUMS,
            "top - bottom + kFraction + 1 + log_n;",
            "top - bottom + kFraction + 1;",
            "the room for a block's sum",
        ),
        (
            CPU_SUMS,
            "(zero_first(low_[j] & kOrdered) >> kFraction), 1)",
            "(zero_first(low_[j] & kOrdered) >> kFraction), 1) + 24",
            "low units",
        ),
        (CPU_SUMS, "(bits + larger(log_n, kLogBelow)", "(bits + log_n", "the errors of sums that begin large"),
        (CPU_SUMS, "larger(log_n, kLogBelow + 1)", "larger(log_n, kLogBelow)", "the end of their octave"),
        (CPU_PARTS, "kMovedScale = 0x1p-896", "kMovedScale = 0x1p-895", "the scale of bf16's bits"),
        (CPU_SUMS, "(high_[j] < kInf)", "(high_[j] <= kInf)", "infinite elements of a block"),
        (CPU_SLICES, "digits - kLogExactBlock - 1", "digits - kLogExactBlock + 4", "the width of a slice"),
        (
            CPU_SLICES,
            "1023 - std::numeric_limits<double>::digits;",
            "1023;",
            "the largest number that is cut into slices",
        ),
    ],
    "kernels": [
        (FORMAT, "using Single = Format<10, -149>", "using Single = Format<10, -148>", "the lowest bit of fp32"),
        (FORMAT, "using Double = Format<67, -1074>", "using Double = Format<67, -1073>", "the lowest bit of fp64"),
        (FORMAT, "high = (magnitude >> 1) >> (63 - shift)", "high = 0", "the third digit of a number"),
        (FORMAT, "biased == 0 ? 1 : biased", "biased", "the exponent of subnormals"),
        (FORMAT, "+ (low >> kDigitBits)", "", "a carry of a normalisation"),
        (ROUND, "(w >> kDigitBits) + (low >> kDigitBits)", "w >> kDigitBits", "a carry of a rounding"),
        (ROUND, "uint64_t borrow = 1;", "uint64_t borrow = 0;", "two's complement"),
        (ROUND, "d < highest - 4", "d < highest - 6", "the lowest digits' part in a tie"),
        (ROUND, "inexact |= q * d", "inexact &= q * d", "the remainder of a quotient"),
        (ROUND, "d >> 32 == 0", "d >> 33 == 0", "the largest divisor for digits of 32 bits"),
        (ROUND, "(inexact || (kept & 1) != 0)", "inexact", "ties to even"),
        (ROUND, "return {24, -126,", "return {24, -125,", "the range of fp32 results"),
        (TUNING, "kSliceBits = 50", "kSliceBits = 53", "the width of a slice"),
        (TUNING, "kMostAdds = 1 << 12", "kMostAdds = 1 << 20", "the flush interval"),
        (TUNING, "kShortBits = 44", "kShortBits = 50", "the window of short rows"),
        (ROW_TILE, "kBits = 53 - log2", "kBits = 57 - log2", "the window of rows of one tile"),
        (ROW_TILE, "(i > 0 || first_is_whole) && ", "", "the elements before a row"),
        (SLICES, "kNarrowBits = 60", "kNarrowBits = 62", "the room for sums of 64 bits"),
        (TUNING, "kMostAddsOfWarp = 1 << 15", "kMostAddsOfWarp = 1 << 24", "the flush interval of columns"),
        (TUNING, "kSlack = 4", "kSlack = -4", "the window's top"),
        (SLICES, "w.unit - kSliceBits + 52", "w.unit - kSliceBits + 55", "the second slice's unit"),
        (SLICES, "kHighestUnit = 1022 - 52", "kHighestUnit = 1022 - 40", "the highest window"),
        (SLICES, "kLowestUnit = F::kLowest + kSliceBits", "kLowestUnit = F::kLowest + 9", "the lowest window"),
        (DEVICE, "kPiece = 27", "kPiece = 28", "the pieces of a warp's sum"),
        (SLICES, "field <= 1 ? 0 :", "field <= 9 ? 0 :", "what is a multiple of a unit"),
        (SLICES, "kFraction = 23, kBias = 127", "kFraction = 21, kBias = 127", "fp32's last place"),
        (SLICES, "kFraction = 7, kBias = 127", "kFraction = 5, kBias = 127", "bf16's last place"),
        (SLICES, "kFraction = 52, kBias = 1023", "kFraction = 50, kBias = 1023", "fp64's last place"),
        (SLICES, "min(static_cast<uint32_t>(__double2loint(x)), 1u)", "0u", "the magnitude of tiny fp64 numbers"),
        (DIGITS, "+ (before + low < low)", "", "the carry between the halves of a word"),
        (DIGITS, "uint64_t{limb(i)} << 32 | limb(i - 1)", "uint64_t{limb(i)} << 32", "a digit's lower part"),
        (DIGITS, "| (cut ? 1 : 0)", "", "what is cut off a sum of more than 64 bits"),
        (DIGITS, "shift = 65 -", "shift = 63 -", "the leading 64 bits of a sum"),
        (DIGITS, "(toward_zero) | cut)", "(toward_zero))", "what is cut off a sum"),
        (DIGITS, "kOddDivisorBits = 27", "kOddDivisorBits = 28", "the largest divisor of a sum rounded to odd"),
        (TUNING, "bits = 127 - 2 * kSliceBits - 1", "bits = 127 - kSliceBits", "how far apart windows may be"),
        (TILE, "kTopBits = 3, kTogether = 1 << kTopBits", "kTopBits = 3, kTogether = 64", "how many add in a double"),
        (FINISH, "((from + through) ^ through)", "from", "a carry through digits of ones"),
        (FINISH, "up[i] = carry[i] > 0;", "up[i] = 0;", "a carry between digits"),
        (FINISH, "down[i] = carry[i] < 0;", "down[i] = 0;", "a borrow between digits"),
        (
            FINISH,
            "d.first() + i < highest - 4",
            "d.first() + i < highest - 5",
            "the lowest digits' part in a warp's tie",
        ),
        (SHORT_COLUMNS, "!is_beyond<In>(range.most, a.bits) &&", "", "the largest number in a short column"),
        (SHORT_COLUMNS, "&& range.is_multiple(window.unit - kSliceBits)", "", "what a short column's slices hold"),
        (SHORT_COLUMNS, "adds += Loads", "adds += 1", "the bits of M in a short column"),
        (SHORT_ROWS, "!row.is_multiple(unit)", "false", "what a short row's slices hold"),
        (SHORT_ROWS, "sums.second += exchange(sums.second, mask);", "", "the second slice of a short row"),
        (ROW_TILE, "upper = lower;", "upper = lower / 2;", "the border between windows of a tile"),
        (SLICES, "kFloatSliceBits = 22", "kFloatSliceBits = 24", "the width of a float slice"),
        (
            TILE,
            "if constexpr (N > 1) column[c].first +=",
            "if constexpr (N > 2) column[c].first +=",
            "the second float slice",
        ),
        (SUMS, "kRoom = 126 - 8", "kRoom = 126 + 50", "what 128 bits hold"),
        (SUMS, "v.value << (v.exponent - exponent)", "v.value", "the exponents of partial sums"),
        (FINISH, "if (p.has_words != 0) any_words = true;", "", "the words of partial sums"),
        (SUMS, "kBits = 22, kPieces = 6", "kBits = 27, kPieces = 5", "how many numbers add up in pieces of 32 bits"),
        (WARP_ROWS, "slices.clear();", "", "the end of a row"),
        (COLUMNS, "kWords : octaves}", "kWords : 0}", "the highest window of a column's CTA"),
        (COLUMNS, ".second -= carry[v] << kSliceBits;", ".second;", "the carry between slices"),
        (COLUMNS, "if (magnitude(x) < least) {", "if (magnitude(x) < least / 2) {", "what a column's slices hold"),
    ],
    "products": [
        (TUNING, "kMostAdds = 1 << 12", "kMostAdds = 1 << 20", "the flush interval"),
        (TUNING, "kSlack = 4", "kSlack = -4", "the window's top"),
        (PRODUCT_SLICES, "m[i] = 1.5 * power_of_two(unit - i * kSliceBits + 52)", "m[i] = 0", "the slices' units"),
        (PRODUCT_SLICES, "Rests ? 2 * products", "Rests ? products", "the bits of M"),
        (PRODUCT_SLICES, "left |= __double_as_longlong(product[i]);", "", "what is left of a product"),
        (PRODUCT_SLICES, "kRoom = 126 - kSliceBits", "kRoom = 126", "what 128 bits hold of a sum"),
        (PRODUCT_SLICES, "} else if (below != 0) {", "} else if (false) {", "what is below 128 bits of a sum"),
        (PRODUCT_SLICES, "(slice[2] >> kSliceBits)", "0", "the carry between slices"),
        (PRODUCT_SLICES, "while (__ballot_sync", "if (__ballot_sync", "how many windows products may have"),
        (PRODUCT_SLICES, "mask = Across; mask < kWarp", "mask = Across; mask < kWarp / 2", "lanes of a column"),
        (ELEMENT_PRODUCTS, "(1023 - 960) << 20", "(1023 - 1000) << 20", "the smallest product of two doubles"),
        (ELEMENT_PRODUCTS, "(1023 + 990) << 20", "(1023 + 1023) << 20", "the largest product of two doubles"),
        (ELEMENT_PRODUCTS, "words[d - 1] >> exact::kDigitBits : 0", "0 : 0", "a carry between words"),
        (ELEMENT_PRODUCTS, "fit &= ", "fit |= ", "products that a lane's slices do not hold"),
        (ELEMENT_PRODUCTS, "if (is_anything(left)) return", "if (false) return", "what is left of a lane's products"),
    ],
}


EMULATED = "tests/exact/test_emulated"
FIRST = (
    "_ranges.py::test_rows_fill_a_double",
    "_ranges.py::test_elements_of_eight_loads_fill_doubles",
    "_ranges.py::test_warps_of_a_column_fill_64_bits",
    "_ranges.py::test_windows_of_shared_columns_lie_apart",
    "_ranges.py::test_many_ctas_share_columns",
    ".py::test_rows_begin_anywhere",
    "_rounding.py::test_ties_are_decided_from_every_distance",
    "_ranges.py::test_slices_are_closed_in_time",
    ".py::test_short_columns_of_infinities",
    ".py::test_words",
    "_rounding.py::test_ties",
    ".py::test_tiny_elements",
    "_ranges.py::test_largest_fractions",
    "_ranges.py::test_ranges_around_the_windows",
    ".py::test_rows_are_shared",
    "_rounding.py::test_quotients_that_are_ties_or_nearly",
)
CPU_TESTS = ("sums", "rounding", "layouts", "side_by_side", "accumulator")
# Arguments for pytest, one run after the other until one fails: the tests that see most come first.
TESTS = {
    "cpu": [[f"tests/exact/test_{name}.py" for name in CPU_TESTS] + ["-k", "cpu"]],
    "kernels": [[EMULATED + test for test in FIRST], [f"{EMULATED}{part}.py" for part in ("", "_ranges", "_rounding")]],
    "products": [[EMULATED + "_products.py"]],
}


def missing_texts() -> list[str]:
    """A sentence for each mutant whose file does not hold what it replaces."""
    return [
        f"{what}: {name} does not hold {old!r}"
        for mutants in MUTANTS.values()
        for name, old, _, what in mutants
        if not (ROOT / name).is_file() or old not in (ROOT / name).read_text()
    ]


def copy_tree() -> None:
    COPY.mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source, target = ROOT / name, COPY / name
        if not source.is_file():
            continue
        if not target.is_file() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def run(command: list[str], **options) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=COPY, capture_output=True, text=True, **options)


def test(runs: list[list[str]]) -> str | None:
    """The first test that fails on the copy, or None."""
    return next(filter(None, map(first_failure, runs)), None)


def first_failure(tests: list[str]) -> str | None:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = run(command, env=dict(os.environ, PYTHONPATH=str(COPY)))
    failed = re.search(r"^(?:FAILED|ERROR) \S+::(.+?)(?: - |$)", done.stdout, re.MULTILINE)
    if failed is None and done.returncode != 0 and "Fatal Python error" not in done.stderr:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])
    return failed[1] if failed else "a crash" if done.returncode != 0 else None


def build() -> None:
    done = run([sys.executable, "tools/native_build.py"], env=dict(os.environ, TORCH_REDUCE_CUDA="0"))
    if done.returncode != 0:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="cpu, kernels, products; all if not given")
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORDS", help="mutants whose description holds any")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(MUTANTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are cpu, kernels and products")
    survived = 0
    if missing := missing_texts():
        sys.exit("\n".join(missing))
    for part in arguments.parts or MUTANTS:
        tests = TESTS[part]
        copy_tree()
        build()  # tests of the emulator import the package too
        if failed := test(tests):
            sys.exit(f"without a mutation {failed} fails already")
        for name, old, new, what in MUTANTS[part]:
            if not any(words in what for words in arguments.only):
                continue
            copy_tree()
            text = (COPY / name).read_text()
            (COPY / name).write_text(text.replace(old, new))
            if part == "cpu":
                build()
            failed = test(tests)
            survived += failed is None
            print(f"{part}: {what}: {f'caught by {failed}' if failed else 'SURVIVED'}", flush=True)
        copy_tree()
    print(f"{survived} survived")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
