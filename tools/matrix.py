"""Builds and tests the library for several torch releases, Pythons and compilers, and prints a table.

    python tools/matrix.py [--compilers g++ clang++] [--tests ARGUMENTS] PYTHON...

Each PYTHON is an interpreter whose environment has a torch and what the tests import. Those with the same torch share
one build, which the first of them makes: one library for every Python. The first compiler's is tested by all of them,
those of the others by the first. Everything happens in copies of the tree, in build/matrix/.
torch.compile's tests need the compiler's OpenMP headers (of clang: libomp).
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from native_build import ROOT

FOLDER = ROOT / "build" / "matrix"
ASK = "import platform, torch; print(platform.python_version(), torch.__version__)"


def output_of(command: list[object]) -> str:
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, cwd="/").stdout.strip()


def copy_tree(to: Path) -> None:
    """What git knows and does not ignore; build folders of an earlier run stay."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def environment(python: Path, compiler: str) -> dict[str, str]:
    """The interpreter's own tools first, and the compiler for host code and under nvcc."""
    path = os.pathsep.join([str(python.parent), os.environ["PATH"]])
    c = {"g++": "gcc", "clang++": "clang"}.get(compiler, compiler)
    return os.environ | {"PATH": path, "CXX": compiler, "CC": c, "CUDAHOSTCXX": compiler}


def run(log: Path, command: list[object], **options) -> int:
    with open(log, "w") as file:
        return subprocess.run([str(c) for c in command], stdout=file, stderr=subprocess.STDOUT, **options).returncode


def build(python: Path, torch: str, compiler: str) -> tuple[Path, str]:
    """The tree with its library, and what became of the build."""
    tree = FOLDER / f"torch-{torch}-{compiler}"
    copy_tree(tree)
    begin = time.monotonic()
    command = [python, "tools/native_build.py"]
    failed = run(tree / "build.log", command, cwd=tree, env=environment(python, compiler))
    words = re.search(r"torch_reduce: (.*), for torch", (tree / "build.log").read_text())
    what = "did not build" if failed else words[1] if words else "built"
    return tree, f"{what}, {time.monotonic() - begin:.0f} s"


def test(python: Path, tree: Path, compiler: str, arguments: list[str]) -> str:
    log = tree / f"test-{output_of([python, '-c', 'import platform; print(platform.python_version())'])}.log"
    run(log, [python, "-m", "pytest", "-q", *arguments], cwd=tree, env=environment(python, compiler))
    lines = re.findall(r"^(?:=+ )?(\d+ .*(?:passed|failed|error|skipped).*?)(?: =+)?$", log.read_text(), re.MULTILINE)
    return lines[-1] if lines else f"no answer: {log}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="+", type=Path, metavar="PYTHON")
    parser.add_argument("--compilers", nargs="+", default=["g++"])
    parser.add_argument("--tests", default="tests", help="arguments for pytest, in one string")
    arguments = parser.parse_args()
    versions = {python: output_of([python, "-c", ASK]).split() for python in arguments.pythons}
    failures = 0
    for torch in dict.fromkeys(torch for _, torch in versions.values()):
        pythons = [python for python, (_, of_torch) in versions.items() if of_torch == torch]
        for compiler in arguments.compilers:
            tree, built = build(pythons[0], torch, compiler)
            print(f"torch {torch}, {compiler}: {built}", flush=True)
            if "did not build" in built:
                failures += 1
                continue
            for python in pythons if compiler == arguments.compilers[0] else pythons[:1]:
                words = test(python, tree, compiler, shlex.split(arguments.tests))
                failures += "passed" not in words or "failed" in words or "error" in words
                print(f"  Python {versions[python][0]}: {words}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
