"""Maps and what they read: values that leave the type's range, masked ones, infinities and NaN among them."""

import inspect
import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from torch_reduce.map_model import MAPS, map_model, row_model
from torch_reduce.testing import fill


def of_functions_with(argument: str) -> list[str]:
    """The maps of which torch.nn.functional has the function, with this argument."""
    functions = {name: getattr(torch.nn.functional, name, None) for name in sorted(MAPS)}
    return [name for name, twin in functions.items() if twin and argument in inspect.signature(twin).parameters]


NORMS = [name for name in MAPS if "norm" in name]
SOFTMAXES, NORMS_OF_ROWS = of_functions_with("dim"), of_functions_with("normalized_shape")
DTYPES = [torch.bfloat16, torch.float16, torch.float32, torch.float64]


@dataclass
class Inputs:
    """Of rows, and what the model makes of them."""

    x: Tensor
    second: Tensor | None
    weight: Tensor | None
    bias: Tensor | None
    row: Tensor | None  # what a norm writes of each row, and its derivative reads
    eps: float
    expected: Tensor
    total: Tensor | None = None  # the sum of x and second, which is written too
    mask: Tensor | None = None
    scale: float = 1.0
    channel: int = 1  # places of a row that share weight and bias
    groups: int = 1  # rows that have other channels, one after another

    def of_rows(self, rows: slice, offset: int) -> "Inputs":
        """Some rows, so many elements behind a multiple of 16 bytes."""

        def moved(t: Tensor | None) -> Tensor | None:
            if t is None:
                return None
            t = t[rows]
            flat = torch.empty(t.numel() + offset + 8, dtype=t.dtype)
            begin = -flat.data_ptr() % 16 // t.element_size() + offset
            return flat[begin : begin + t.numel()].view(t.shape).copy_(t)

        def part(t: Tensor | None) -> Tensor | None:
            return None if t is None else t[rows]

        return replace(
            self,
            x=moved(self.x),
            second=moved(self.second),
            row=part(self.row),
            expected=self.expected[rows],
            total=part(self.total),
            mask=moved(self.mask),
        )

    def repeated(self, count: int) -> "Inputs":
        """The rows, so many times."""
        of_rows = {name: getattr(self, name) for name in ("x", "second", "row", "expected", "total", "mask")}
        return replace(self, **{name: None if t is None else t.repeat(count, 1) for name, t in of_rows.items()})


def values(rows: int, n: int, dtype: torch.dtype, start: int = 0) -> Tensor:
    """Near ones and then wide ones, as sums of exponentials have them."""
    return fill((rows, n), dtype, op="logsumexp", start=start)


def special(x: Tensor) -> Tensor:
    """Rows with some masked elements, nothing else, large ones, an infinity, a NaN, zeros of both signs."""
    x = x.clone()
    for i, row in enumerate(x):
        if i % 6 == 0:
            row[::3] = -math.inf
        elif i % 6 == 1:
            row[:] = -math.inf
        elif i % 6 == 2:
            row.add_(torch.finfo(x.dtype).max / 4 if i % 12 == 2 else -200)
        elif i % 6 == 3:
            row[len(row) // 2] = math.inf
        elif i % 6 == 4:
            row[-1] = math.nan
        else:
            row.mul_(0)
            row[::2] = -0.0
    return x


def computed(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def inputs_of(
    name: str, x: Tensor, dtype: torch.dtype | None = None, affine: bool = True, eps: float = 1e-5, groups: int = 1
) -> Inputs:
    """``x`` is what is mapped, and of a derivative what its map was given; ``dtype`` of a softmax's result."""
    rows, n = x.shape
    forward = name.removesuffix("_backward")
    is_norm, is_backward = forward in NORMS, forward != name
    if name == "cross_entropy_backward":
        factors = values(2, rows, torch.float64, start=n).t().to(computed(x))
        kept = torch.cat([row_model(x, map="log_softmax"), factors], -1)
        scale, shift = (factors[:, i : i + 1] for i in (0, 1))
        return Inputs(x, None, None, None, kept, eps, map_model(x, map=name, weight=scale, bias=shift))
    weight = bias = second = row = None
    total = None
    channel = next(size for size in (8, 5, 3, 2, 1) if n % size == 0) if name.startswith("group_norm") else 1
    if name == "channel_sums":
        grad, row = values(rows, n, x.dtype, start=n), row_model(x, map="layer_norm", eps=eps)
        expected = map_model(grad, map=name, second=x, eps=eps, dtype=computed(x))
        return Inputs(grad, x, None, None, row, eps, expected)
    if name == "add_rms_norm":
        second = values(rows, n, x.dtype, start=n + 3)
        total = x + second
    if is_norm:
        row = row_model(x, map=forward, eps=eps) if total is None else row_model(total, map="rms_norm", eps=eps)
        if affine:
            count = groups * n // channel
            weight = values(1, count, x.dtype, start=7)[0]
            bias = values(1, count, x.dtype, start=11)[0] if name in ("layer_norm", "group_norm") else None
    if is_backward:
        second = x if is_norm else map_model(x, map=forward)
        x = values(rows, n, second.dtype, start=n)
    of_places = [
        t if t is None else t.repeat_interleave(channel).view(groups, n).repeat(-(-rows // groups), 1)[:rows]
        for t in (weight, bias)
    ]
    expected = map_model(x, map=name, second=second, weight=of_places[0], bias=of_places[1], eps=eps, dtype=dtype)
    return Inputs(x, second, weight, bias, row, eps, expected, total, channel=channel, groups=groups)


def masked(inputs: Inputs, name: str, mask: Tensor, scale: float) -> Inputs:
    """The same of a softmax, or of its derivative, with a mask and a scale."""
    forward = name.removesuffix("_backward")
    second = None
    if name != forward:
        second = map_model(values(*inputs.x.shape, inputs.x.dtype), map=forward, mask=mask, scale=scale)
    options = {"second": second, "mask": mask, "scale": scale, "dtype": inputs.expected.dtype}
    return replace(inputs, second=second, mask=mask, scale=scale, expected=map_model(inputs.x, map=name, **options))
