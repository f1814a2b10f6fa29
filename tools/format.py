"""Formats the sources with clang-format and ruff. With --check it is the project's lint, and changes nothing: it says
what is not well formatted, what ruff warns of and what mypy finds in the package, and fails."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def sources(*patterns: str) -> list[str]:
    """The project's files, those not yet committed included."""
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    cpp, python = sources("*.h", "*.cuh", "*.cpp", "*.cu"), sources("*.py")
    if check:
        commands = [
            ["clang-format", "--dry-run", "-Werror", *cpp],
            ["ruff", "check", "--quiet", *python],
            ["ruff", "format", "--quiet", "--check", "--diff", *python],
            ["mypy", "--no-error-summary", f"--python-executable={sys.executable}"],  # which has the torch
        ]
    else:
        commands = [["clang-format", "-i", *cpp], ["ruff", "check", "--fix", *python], ["ruff", "format", *python]]
    failed = [command[0] for command in commands if subprocess.run(command, cwd=ROOT).returncode != 0]
    words = f"failed: {', '.join(dict.fromkeys(failed))}" if failed else "nothing to mend" if check else "formatted"
    print(f"{len(cpp)} C++ and CUDA files, {len(python)} Python files: {words}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
