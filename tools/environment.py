"""Runs Python with all that a task needs: `python3 tools/environment.py [--tests] [--lint] [--docs] ARGUMENTS...`.

The torch of the Python that runs this is used where it is a supported one, and whatever else that Python has. What is
missing is installed into .venv, which sees that Python's packages; without a torch, .venv gets a pinned one and stands
alone. Where nothing is missing, nothing is installed and no network is needed. The answer is kept in
build/environment.json for as long as the active Python, its torch, PATH and the requirements stay the same; .venv, for
as long as the Python that it was made over and its torch do.

Written so that a Python too old for the rest still gets as far as the sentence that says so.
"""

import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
MADE_OVER = os.path.join(VENV, "made_over.json")  # the identity of the Python that was active
ANSWER = os.path.join(ROOT, "build", "environment.json")

OLDEST_PYTHON, OLDEST_TORCH, OLDEST_CMAKE = (3, 10), (2, 11), (3, 20)
PINNED_TORCH = "torch==2.11.0"
GROUPS = ("bench", "test", "lint", "docs")  # of pyproject.toml
MODULES = {"pytest-xdist": "xdist", "pyyaml": "yaml"}  # of packages that have another name


def say(line):
    print("environment: " + line, file=sys.stderr, flush=True)


def welcome():
    """Installed along where something is installed anyway. torch.testing._internal imports expecttest, and its samples
    of inputs are one more source of test cases. Make does where ninja is not. Of two releases of ninja each builds anew
    what the other has built, and pip's isolated builds see the machine's."""
    return ["expecttest", *([] if shutil.which("ninja") else ["ninja"])]


def group(name):
    """The requirements of a dependency group of pyproject.toml. By their form: Python 3.10 has no tomllib."""
    with open(os.path.join(ROOT, "pyproject.toml")) as file:
        groups = file.read().partition("[dependency-groups]")[2]
    array = re.search(rf"^{name} = \[(.*?)\]$", groups, re.MULTILINE | re.DOTALL).group(1)
    found = []
    for included, requirement in re.findall(r'{ include-group = "(.+?)" }|"(.+?)"', array):
        found += group(included) if included else [requirement]
    return found


def numbers(version):
    """The leading major and minor number of a version, (0, 0) where there is none."""
    found = re.search(r"(\d+)\.(\d+)", version or "")
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def answer_of(command):
    """What a command prints, or an empty string where it is missing or fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def dotted(version):
    return ".".join(map(str, version))


def scripts_of(python):
    return os.path.dirname(python)


def has_tool(python, name, fits):
    for command in (os.path.join(scripts_of(python), name), shutil.which(name)):
        if command and fits(answer_of([command, "--version"])):
            return True
    return False


def torch_of(python):
    """The version of a Python's torch, None where it has none. A real import: a broken torch is none."""
    return answer_of([python, "-c", "import torch; print(torch.__version__)"]).strip() or None


def missing_in(python, kinds):
    """The requirements that a Python lacks, torch apart: of "tests", "lint" and "docs" for those among the kinds."""
    code = "import sys, importlib.util as u; print(*[n for n in sys.argv[1:] if u.find_spec(n) is None])"
    needed = {MODULES.get(name, name): name for name in group("test" if "tests" in kinds else "bench")}
    missing = [needed[module] for module in answer_of([python, "-c", code] + list(needed)).split()]
    if not has_tool(python, "cmake", lambda version: numbers(version) >= OLDEST_CMAKE):
        missing.append("cmake>=" + dotted(OLDEST_CMAKE))
    if "lint" in kinds:
        for requirement in group("lint"):
            name, version = requirement.split("==")
            if not has_tool(python, name, lambda text, version=version: version in text.split()):
                missing.append(requirement)
    if "docs" in kinds:
        code = "import sys, importlib.metadata as m; has = {(d.name.lower(), d.version) for d in m.distributions()}; "
        code += "print(*[r for r in sys.argv[1:] if tuple(r.split('==')) not in has])"
        missing += [r for r in answer_of([python, "-c", code] + group("docs")).split() if r not in missing]
    return missing


def pip_install(python, requirements):
    say("installing " + ", ".join(requirements) + " into .venv")
    command = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"] + requirements
    if subprocess.run(command).returncode != 0:
        sys.exit(
            f"environment: pip could not install these. Install them into the active environment, {sys.executable}, "
            "by other means, or make a package index reachable."
        )


def make_venv(sees_active):
    """Makes .venv anew. With `sees_active` it also imports what the active Python can.

    --system-site-packages would show the base installation's packages only, and the active Python may itself be that
    of a venv. A .pth file that adds its folders shows both, and what .venv has itself still comes first.
    """
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV])
    if made.returncode != 0:
        sys.exit(f"environment: {sys.executable} -m venv failed; its venv module is needed (Debian: python3-venv).")
    if sees_active:
        folders = [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages")]
        (own,) = glob.glob(os.path.join(VENV, "lib", "python*", "site-packages"))
        with open(os.path.join(own, "active_environment.pth"), "w") as file:
            file.writelines(f"import site; site.addsitedir({folder!r})\n" for folder in folders)
    with open(MADE_OVER, "w") as file:
        json.dump(identity(sys.executable), file)


def prepare(active, kinds):
    """Finds or makes the Python to use and returns its path."""
    venv_python = os.path.join(VENV, "bin", "python")
    in_venv = os.path.realpath(sys.prefix) == os.path.realpath(VENV)
    torch = torch_of(active)
    usable = numbers(torch) >= OLDEST_TORCH
    if torch and not usable:
        say(f"the active torch {torch} is older than {dotted(OLDEST_TORCH)} and left aside")
    if usable and not missing_in(active, kinds):
        say(f"torch {torch} of {active}")
        return active

    venv_is_current = kept(MADE_OVER) == identity(active) and os.access(venv_python, os.X_OK)
    if not in_venv and not venv_is_current:
        say(f"making .venv over {active}, for its torch {torch}" if usable else f"making .venv with {PINNED_TORCH}")
        make_venv(sees_active=usable)
    wanted = missing_in(venv_python, kinds)
    if numbers(torch_of(venv_python)) < OLDEST_TORCH:
        wanted.insert(0, PINNED_TORCH)
    if wanted:
        pip_install(venv_python, wanted + welcome())
    torch, still = torch_of(venv_python), missing_in(venv_python, kinds)
    if numbers(torch) < OLDEST_TORCH or still:
        sys.exit(f"environment: .venv still lacks {', '.join(still) or PINNED_TORCH}.")
    say(f"torch {torch} of .venv")
    return venv_python


def kept(path):
    """What a JSON file holds, None where there is none."""
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def identity(active):
    """Changes whenever another Python or another torch becomes the active one."""
    spec = importlib.util.find_spec("torch")
    origin = spec.origin if spec else None
    version = origin and os.path.join(os.path.dirname(origin), "version.py")
    return [active, sys.version, origin, os.path.getmtime(version) if version and os.path.exists(version) else None]


def python_for(kinds):
    active = sys.executable
    with open(__file__, "rb") as file:
        key = identity(active) + [zlib.crc32(file.read()), [group(name) for name in GROUPS], os.environ.get("PATH")]
    last = kept(ANSWER) or {}
    same = last.get("key") == key and os.access(last["python"], os.X_OK)
    if same and kinds <= set(last["kinds"]):
        return last["python"]
    if same:
        kinds = kinds | set(last["kinds"])
    python = prepare(active, kinds)
    os.makedirs(os.path.dirname(ANSWER), exist_ok=True)
    with open(ANSWER, "w") as file:
        json.dump({"key": key, "python": python, "kinds": sorted(kinds)}, file)
    return python


def main():
    arguments = sys.argv[1:]
    kinds = set()
    while arguments[:1] in (["--tests"], ["--lint"], ["--docs"]):
        kinds.add(arguments.pop(0)[2:])
    if sys.version_info < OLDEST_PYTHON:
        found, oldest = dotted(sys.version_info[:2]), dotted(OLDEST_PYTHON)
        sys.exit(f"environment: {sys.executable} is Python {found}; {oldest} or newer is needed (make PYTHON=...).")
    python = python_for(kinds)
    # Its tools (cmake, ninja, ruff) are reachable by name; the active Python's folder goes last, so that it shadows
    # nothing that the user has put before it.
    path = os.environ.get("PATH", "").split(os.pathsep)
    own = scripts_of(python)
    path = [own] + path if python != sys.executable else path + [own] if own not in path else path
    environment = dict(os.environ, PATH=os.pathsep.join(path))
    sys.stderr.flush()
    os.execve(python, [python] + arguments, environment)


if __name__ == "__main__":
    main()
