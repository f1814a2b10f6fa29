"""What the processes of one run share: the first that asks for it makes it, and the others wait."""

import fcntl
from collections.abc import Callable
from pathlib import Path


def once(path: Path, make: Callable[[], object]) -> Path:
    """``path``, by ``make`` where nobody has made it. What fails is tried again by the next that asks."""
    made = Path(f"{path}.made")
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            make()
            made.touch()
    return path
