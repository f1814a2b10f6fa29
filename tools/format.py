"""Formats the sources with clang-format and ruff; with --check it only says what is not well formatted, and fails."""

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
        ]
    else:
        commands = [["clang-format", "-i", *cpp], ["ruff", "check", "--fix", *python], ["ruff", "format", *python]]
    failed = [command[0] for command in commands if subprocess.run(command, cwd=ROOT).returncode != 0]
    print(f"{'not ' if failed else ''}well formatted: {len(cpp)} C++ and CUDA files, {len(python)} Python files")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
