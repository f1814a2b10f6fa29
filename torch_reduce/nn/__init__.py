"""What ``torch.nn`` has of normalised rows, with the bits of a contract: :mod:`torch_reduce.nn.functional`, and modules
that take torch's state dicts."""

from . import functional, modules
from .modules import *  # noqa: F403 (torch's names)

__all__ = [*modules.__all__, "functional"]
