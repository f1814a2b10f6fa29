"""The operator of tests/emulator/moments.h in the model: three words for each element."""

import numpy as np

from torch_reduce.model import MEANING, Meaning


def lift(x, index):
    words = np.zeros(x.shape, [(name, x.dtype) for name in ("count", "mean", "squares")])
    words["count"], words["mean"] = 1, x
    return words


def combine(a, b):
    both = np.zeros(a.shape, a.dtype)
    n, difference = a["count"] + b["count"], b["mean"] - a["mean"]
    safe = np.maximum(n, 1)
    both["count"] = n
    both["mean"] = (a["count"] * a["mean"] + b["count"] * b["mean"]) / safe
    both["squares"] = (a["squares"] + b["squares"]) + difference * difference * (a["count"] * b["count"] / safe)
    return np.where(a["count"] == 0, b, np.where(b["count"] == 0, a, both))


def finish(words, n):
    return words["squares"] / words["squares"].dtype.type(n)


MOMENTS = Meaning(lift=lift, combine=combine, identity=lambda words: (0, 0, 0), finish=finish)


def add_to_model():
    """As operator "moments"."""
    MEANING["moments"] = MOMENTS
