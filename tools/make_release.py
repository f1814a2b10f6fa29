"""Makes dist/ as a release has it for the active torch, and checks it.

    python tools/make_release.py [--out FOLDER] [sdist] [cpu] [cuda]

A source distribution; a wheel for CPUs, which fits a torch with CUDA too; and one with CUDA code for every architecture
of a release (cmake/Architectures.cmake). Where the torch has no CUDA, or for TORCH_REDUCE_CUDA=0, there is none of the
last, unless it is asked for; where CUDA cannot be built otherwise it is an error. Every file is small enough for a
package index, and its description is one that PyPI shows.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

from make_wheel import list_files, one_at_a_time, run, sdist, tools, wheel
from native_build import ROOT, BuildError, why_without_cuda

PARTS = ("sdist", "cpu", "cuda")
MOST_BYTES = 100_000_000
NOT_OF_A_RELEASE = ("TORCH_CUDA_ARCH_LIST", "CUDAARCHS")  # which would go before the architectures of one


def make(out: Path, parts: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OF_A_RELEASE}
    environment["TORCH_REDUCE_RELEASE"] = "1"
    if "sdist" in parts:
        sdist(out)
    if "cpu" in parts:
        wheel(out, environment | {"TORCH_REDUCE_CUDA": "0"})
    if "cuda" in parts:
        wheel(out, environment | {"TORCH_REDUCE_CUDA": "1"})


def check(out: Path) -> None:
    files = sorted(out.iterdir())
    for path in files:
        if path.stat().st_size > MOST_BYTES:
            raise BuildError(f"release: {path.name} has {path.stat().st_size} bytes; at most {MOST_BYTES} are taken.")
    run([tools() / "twine", "check", "--strict", *files])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the files go")
    parser.add_argument("parts", nargs="*", metavar="PART", help="sdist, cpu or cuda; all of them without")
    arguments = parser.parse_args()
    if wrong := set(arguments.parts) - set(PARTS):
        parser.error(f"a part is one of {', '.join(PARTS)}, got {min(wrong)}")
    out = arguments.out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    with one_at_a_time():
        parts = arguments.parts or list(PARTS)
        if not arguments.parts and (reason := why_without_cuda()):
            print(f"release: no wheel with CUDA code, as {reason}.", file=sys.stderr)
            parts.remove("cuda")
        make(out, parts)
        check(out)
    list_files(out)


if __name__ == "__main__":
    main()
