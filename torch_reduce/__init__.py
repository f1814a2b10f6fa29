"""Reductions with a bit-level contract for PyTorch, on CPU and CUDA.

Importing the package loads the native library and registers the operators ``torch.ops.reduce.*``; the functions
here are thin typed names for them. Three modes, three promises:

``"deterministic"`` (default)
    The bits of a result depend only on the values reduced into it, in their order, and on the compute type.
``"atomic"``
    The usual error bound and no more; faster on CUDA for some shapes.
``"exact"``
    The correctly rounded sum.
"""

from ._library import BuildInfo, __version__, build_info, cmake_prefix_path  # loads the library, so it comes first

# isort: split
from . import functional, results, scans, selection
from . import nn as nn
from .arguments import Mode
from .comparison import Comparison, ComparisonRow, compare
from .exact import exact_accumulate, exact_normalize, exact_round
from .functional import *  # noqa: F403 (the registered operators)
from .nn.patching import Patch, patch, unpatch
from .plan import Plan, explain
from .results import *  # noqa: F403
from .scans import *  # noqa: F403 (the registered scans)
from .selection import *  # noqa: F403
from .vmap import register as _register_vmap

_register_vmap()

__all__ = [
    "BuildInfo",
    "Comparison",
    "ComparisonRow",
    "Mode",
    "Patch",
    "Plan",
    "__version__",
    "build_info",
    "cmake_prefix_path",
    "compare",
    "exact_accumulate",
    "exact_normalize",
    "exact_round",
    "explain",
    "patch",
    "unpatch",
]
__all__ += functional.__all__
__all__ += results.__all__
__all__ += scans.__all__
__all__ += selection.__all__


def __dir__() -> list[str]:
    return [*__all__, "nn"]
