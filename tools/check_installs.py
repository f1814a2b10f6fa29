"""Installs the package from the tree in every way that docs/quick_start.md names, as a user types it, and checks what
comes of it: its version, where it is imported from, a sum; or the one sentence that says what is missing.

    python tools/check_installs.py [--only WORDS_OF_A_COMMAND]

The environments are made anew in build/installs: with the torch of the Python that runs this and a new setuptools, with
that torch and the setuptools of an older Python's venv, and with a new setuptools alone; with CMake where the machine
has none. The tree's build folder serves all installations, and TORCH_REDUCE_CUDA counts as in any build.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

from native_build import ROOT, find_torch, missing_tools

FOLDER = ROOT / "build" / "installs"
UV = "uv==0.13.9"
PIP, EDITABLE, UV_PIP = "pip install .", "pip install -e .", "uv pip install ."
BARE, UV_BARE = "pip install --no-build-isolation .", "uv pip install --no-build-isolation ."
COMMANDS = [PIP, BARE, EDITABLE, UV_PIP, UV_BARE]
ENVIRONMENTS = {
    "new": ["setuptools>=77,<82"],  # as docs/quick_start.md has it
    "old": ["setuptools==65.5.0"],  # of a venv of Python 3.11
    "no torch": ["setuptools>=77,<82"],
}
NO_TORCH = r"torch_reduce is built for the torch of the environment, and \S+ has none: install torch >= 2\.11 first.*"
OLD_SETUPTOOLS = r"torch_reduce is built by setuptools >= 77, and \S+ has 65\.5\.0: install .*"

CHECK = """
import importlib.metadata, json, torch, torch_reduce
print(json.dumps({
    "version": torch_reduce.__version__,
    "metadata": importlib.metadata.version("torch_reduce"),
    "requires": importlib.metadata.requires("torch_reduce"),
    "folder": torch_reduce.__path__[0],
    "cuda": torch_reduce.build_info()["cuda"],
    "sum": torch_reduce.sum(torch.arange(1001.0)).item(),
}))
"""


def run(*command: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """Without what the caller's environment says of Python and of the environment that is installed into."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "TORCH_REDUCE_TORCH_DIR")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    words = [str(word) for word in command]
    return subprocess.run(
        words, cwd=cwd, env=kept | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def must(*command: object) -> str:
    done = run(*command)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\ninstallations: {' '.join(map(str, command))} failed; its output is above.")
    return done.stdout


# ---- environments ------------------------------------------------------------------------------------------------


def distributions(name: str, found: dict[str, metadata.Distribution]) -> dict[str, metadata.Distribution]:
    """A distribution of this Python and those that it requires and that are here, but setuptools."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key == "setuptools" or key in found:
        return found
    try:
        found[key] = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return found
    for requirement in found[key].requires or []:
        distributions(re.match(r"[\w.-]+", requirement)[0], found)
    return found


def give_torch(site: Path) -> None:
    """The torch itself from where it is, so that the tree's build folder fits it, and what installers know of it: uv
    looks for that in the environment's own folder alone."""
    folders = set()
    for distribution in distributions("torch", {}).values():
        (known,) = {file.parts[0] for file in distribution.files if file.parts[0].endswith(".dist-info")}
        shutil.copytree(distribution.locate_file(known), site / known, dirs_exist_ok=True)
        folders.add(str(distribution.locate_file("")))
    (site / "torch.pth").write_text("\n".join(sorted(folders)))


def make_environment(name: str) -> Path:
    """A venv, and its Python."""
    folder = FOLDER / name.replace(" ", "-")
    must(sys.executable, "-m", "venv", "--clear", folder)
    python = folder / "bin" / "python"
    must(python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *ENVIRONMENTS[name], *missing_tools())
    if name != "no torch":
        give_torch(site_of(python))
    return python


def site_of(python: Path) -> Path:
    return Path(must(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


# ---- installations -----------------------------------------------------------------------------------------------


def refusal(command: str, environment: str) -> str | None:
    """The sentence that is expected instead of an installation."""
    if environment == "no torch":
        return NO_TORCH
    return OLD_SETUPTOOLS if environment == "old" and command not in (PIP, EDITABLE) else None


def install(command: str, python: Path, uv: Path) -> subprocess.CompletedProcess:
    """Typed in the tree, with the environment activated. uv, which does not read pip's settings, may know no index: all
    that it needs is installed."""
    path = os.pathsep.join([str(python.parent), str(uv.parent), os.environ["PATH"]])
    words = command.split()
    words[0] = str(uv if words[0] == "uv" else python.with_name("pip"))
    return run(*words, VIRTUAL_ENV=str(python.parent.parent), PATH=path, UV_OFFLINE="1")


def what_is_wrong(command: str, environment: str, python: Path, done: subprocess.CompletedProcess) -> list[str]:
    site = site_of(python)
    installed = sorted(path.name for path in site.glob("*torch_reduce*"))
    if sentence := refusal(command, environment):
        said = re.findall(rf"^[\s│╰─▶]*{sentence}$", done.stdout, re.MULTILINE)
        return [
            *(["it was not refused"] if done.returncode == 0 else []),
            *([f"the sentence came {len(said)} times"] if len(said) != 1 else []),
            *(["a traceback came"] if "Traceback" in done.stdout else []),
            *([f"installed: {installed}"] if installed else []),
        ]
    if done.returncode != 0:
        return ["it failed"]
    used = run(python, "-I", "-c", CHECK, cwd=FOLDER)
    if used.returncode != 0:
        return ["it does not work:\n" + used.stdout]
    found = json.loads(used.stdout.splitlines()[-1])
    (written,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    torch = find_torch()[1].partition("+")[0]
    demanded = {"0": False, "1": True}.get(os.environ.get("TORCH_REDUCE_CUDA", ""), found["cuda"])
    device = "cu" if demanded else "cpu"
    home = ROOT if command == EDITABLE else site
    print(f"    {found['version']} from {found['folder']}")
    expected = {
        "metadata": found["version"],
        "requires": [f"torch=={torch}"],
        "folder": str(home / "torch_reduce"),
        "cuda": demanded,
        "sum": 500500,
    }
    wrong = [f"{name} is {found[name]}, not {value}" for name, value in expected.items() if found[name] != value]
    if not found["version"].startswith(f"{written}+torch{torch}.{device}"):
        wrong.append(f"the version is {found['version']}")
    must(python, "-m", "pip", "uninstall", "-qq", "--yes", "torch_reduce")
    if left := sorted(path.name for path in site.glob("*torch_reduce*")):
        wrong.append(f"left after pip uninstall: {left}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="COMMAND", choices=COMMANDS, help="this command alone, where it installs")
    only = parser.parse_args().only
    shutil.rmtree(FOLDER, ignore_errors=True)
    must(sys.executable, "-m", "venv", FOLDER / "tools")
    uv = FOLDER / "tools" / "bin" / "uv"
    must(uv.with_name("python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check", UV)
    failed = 0
    for name in ["new"] if only else ENVIRONMENTS:
        for command in [only] if only else COMMANDS:
            python = make_environment(name)  # for each, since an installation may bring other packages
            begin = time.monotonic()
            done = install(command, python, uv)
            print(f"{command}  ({name}, {time.monotonic() - begin:.0f} s)", flush=True)
            if wrong := what_is_wrong(command, name, python, done):
                failed += 1
                print(done.stdout, *wrong, sep="\n    wrong: ", flush=True)
    sys.exit(f"installations: {failed} failed" if failed else 0)


if __name__ == "__main__":
    main()
