"""What ``torch.nn`` has of normalised rows, with the bits of a contract: :mod:`torch_reduce.nn.functional`, and modules
that take torch's state dicts."""

from . import functional
from .modules import CrossEntropyLoss, LayerNorm, LogSoftmax, RMSNorm, Softmax

__all__ = ["CrossEntropyLoss", "LayerNorm", "LogSoftmax", "RMSNorm", "Softmax", "functional"]
