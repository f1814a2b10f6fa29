"""Runs tests under sanitizers: the CPU part under ASan and UBSan, the CUDA kernels under compute-sanitizer.

Without a GPU the second half says so and is left out. Arguments go to pytest in place of the default choice of tests.
"""

import os
import shutil
import subprocess
import sys

from native_build import ROOT, BuildError, build

# What runs kernels of every family and type. Left out are tests of compilers and of the build, which start programs of
# their own, and gradients, which run the same kernels again.
SUBSET = [f"tests/contract/test_{name}.py" for name in ("order", "dtypes", "edges")]
SUBSET += ["tests/layouts/test_strides.py", "tests/operators/test_scans.py", "tests/operators/test_scan_outputs.py"]


def compiler_library(name: str) -> str:
    command = [os.environ.get("CXX", "c++"), f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def cpu(arguments: list[str]) -> int:
    """Runs on a copy of the package that holds the instrumented library."""
    site = ROOT / "build" / "sanitize"
    shutil.rmtree(site, ignore_errors=True)
    for folder in ("torch_reduce", "tests"):
        skip = shutil.ignore_patterns("__pycache__", "lib", "include")
        shutil.copytree(ROOT / folder, site / folder, ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", site)
    build(site / "torch_reduce", sanitize=True)
    environment = dict(
        os.environ,
        # Python itself is not instrumented, so the runtimes come first by force. libstdc++ too: ASan looks up
        # __cxa_throw as it starts, and would not find what torch loads later.
        LD_PRELOAD=" ".join(map(compiler_library, ("libasan.so", "libubsan.so", "libstdc++.so"))),
        # Python frees little before it exits, so every object of it would be a leak. Where stack frames live on the
        # heap, GCC 12 misaligns vectors of 64 bytes: https://gcc.gnu.org/bugzilla/show_bug.cgi?id=110027.
        ASAN_OPTIONS="detect_leaks=0:strict_string_checks=1:detect_stack_use_after_return=0",
        UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
    )
    print("sanitize: CPU part under ASan and UBSan", flush=True)
    # The end of a process by a sanitizer would take the report along, if pytest had captured it.
    command = [sys.executable, "-m", "pytest", "--capture=sys", *arguments]
    return subprocess.run(command, cwd=site, env=environment).returncode


def cuda(arguments: list[str]) -> int:
    gpu = shutil.which("nvidia-smi") and subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
    if not gpu:
        print("sanitize: compute-sanitizer not run, no GPU here")
        return 0
    sanitizer = shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ["PATH"], "/usr/local/cuda/bin"]))
    if sanitizer is None:
        print("sanitize: there is a GPU, but no compute-sanitizer on PATH")
        return 1
    build(ROOT / "torch_reduce")
    # Each tensor is an allocation of its own, so that a read past its end is one past an allocation.
    environment = dict(os.environ, PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    ours = ["--kernel-name", "kns=torch_reduce"]
    # initcheck has to see torch's kernels too, as they write the inputs.
    runs = [("memcheck", ours, arguments), ("racecheck", ours, arguments), ("initcheck", [], arguments)]
    if arguments == SUBSET:
        build(None, target="ladder")
        # The ladder's kernels share no namespace; torch's do, and are left out.
        not_torch = ["--kernel-name-exclude", "kns=native"]
        runs += [(tool, not_torch, ["tests/benchmarks/test_ladder.py"]) for tool in ("memcheck", "racecheck")]
    failed = []
    for tool, options, tests in runs:
        print(f"sanitize: CUDA kernels of {' '.join(tests)} under {tool}", flush=True)
        command = [sanitizer, "--tool", tool, "--error-exitcode", "9", *options]
        command += [sys.executable, "-m", "pytest", "-k", "cuda", *tests]
        if subprocess.run(command, cwd=ROOT, env=environment).returncode != 0:
            failed.append(tool)
    if failed:
        print(f"sanitize: {', '.join(failed)} failed")
    return 1 if failed else 0


def main() -> int:
    arguments = sys.argv[1:] or SUBSET
    try:
        failed = [part.__name__ for part in (cpu, cuda) if part(arguments) != 0]
    except BuildError as error:
        sys.exit(str(error))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
