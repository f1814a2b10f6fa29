"""rms_norm of a sum, which is given too."""

import pytest
from map_cases import DTYPES, values

from torch_reduce.nn import functional
from torch_reduce.testing import assert_same_bits

every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)


@every_dtype
def test_add_rms_norm(device, dtype):
    x, residual = values(10, 300, dtype).to(device), values(10, 300, dtype, start=3).to(device)
    weight = values(1, 300, dtype, start=9)[0].to(device)
    y, total = functional.add_rms_norm(x, residual, (300,), weight)
    assert_same_bits(total, x + residual)
    assert_same_bits(y, functional.rms_norm(x + residual, (300,), weight))
    with pytest.raises(RuntimeError, match="the residual has shape"):
        functional.add_rms_norm(x, residual[:3], (300,))
