"""Says whether two builds hold the same machine code for the GPU: `python tools/compare_sass.py BEFORE.so AFTER.so`.

Compares what `cuobjdump -sass` shows of every kernel, instruction by instruction, without addresses and encodings. A
kernel that has a new name but the old code counts as renamed. Ends with 1 if a kernel's code changed, came or went.
"""

import importlib.util
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;?\s*/\* 0x[0-9a-f]+ \*/")
# The mark of a source file in the names of its anonymous namespace.
ANONYMOUS = re.compile(r"\d*_GLOBAL__N__[0-9a-f]+_\d+_\w+?_cu_[0-9a-f]+(_\d+)?")


def parse(listing: str) -> dict[str, str]:
    """The code of each kernel of a listing, by its name; of kernels of several architectures, one after the other."""
    kernels: dict[str, list[str]] = {}
    code: list[str] = []
    for line in listing.splitlines():
        if line.lstrip().startswith("Function :"):
            code = kernels.setdefault(ANONYMOUS.sub("", line.split(":", 1)[1].strip()), [])
        elif found := INSTRUCTION.match(line):
            code.append(found.group(1))
    return {name: "\n".join(code) for name, code in kernels.items()}


def compare(before: dict[str, str], after: dict[str, str]) -> dict[str, list[str]]:
    """Names of kernels by what became of them: same, renamed, changed, new, gone."""
    common = before.keys() & after.keys()
    said = {
        "same": [n for n in common if before[n] == after[n]],
        "changed": [n for n in common if before[n] != after[n]],
    }
    gone = Counter(before[n] for n in before.keys() - common)
    said["renamed"], said["new"] = [], []
    for name in after.keys() - common:
        known = gone[after[name]] > 0
        gone[after[name]] -= known
        said["renamed" if known else "new"].append(name)
    said["gone"] = []
    for name in before.keys() - common:
        if gone[before[name]] > 0:
            gone[before[name]] -= 1
            said["gone"].append(name)
    return {what: sorted(names) for what, names in said.items()}


def cuobjdump() -> str | None:
    """CUDA's own, else the one that comes with Triton."""
    triton = importlib.util.find_spec("triton")
    beside = Path(triton.origin).parent / "backends" / "nvidia" / "bin" if triton and triton.origin else None
    return shutil.which("cuobjdump") or (shutil.which("cuobjdump", path=beside) if beside else None)


def kernels_of(library: str) -> dict[str, str]:
    tool = cuobjdump()
    if tool is None:
        sys.exit("cuobjdump is neither on PATH nor beside Triton: install CUDA's toolkit or triton.")
    done = subprocess.run([tool, "-sass", library], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cuobjdump {library}: {done.stderr.strip()}")
    return parse(done.stdout)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        sys.exit(__doc__.splitlines()[0])
    before, after = map(kernels_of, arguments)
    said = compare(before, after)
    for what in ("changed", "new", "gone"):
        for name in said[what]:
            sizes = " and ".join(str(of[name].count("\n") + 1) for of in (before, after) if name in of)
            print(f"{what}: {name} ({sizes} instructions)")
    print(", ".join(f"{len(names)} {what}" for what, names in said.items()) + f"; {len(before)} kernels before")
    return 1 if said["changed"] or said["new"] or said["gone"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
