"""Rows of a benchmark, as they come of given times."""

KINDS = ("uniform", "normal", "gradient", "log-normal 6", "two extremes", "every exponent")


def timed(suite: str, dtype: str, in_bytes: int, data: str, shares: dict[str, float], speedup: float = 2) -> dict:
    """A row as a GPU's, from the share of the limit that each contender reaches."""
    times = {"limit": 1.0} | shares
    return {
        "suite": suite,
        "device": "cuda",
        "op": "sum",
        "data": data,
        "dtype": dtype,
        "label": f"{in_bytes} {data}",
        "in_bytes": in_bytes,
        "contenders": {
            who: {"us": quartiles(10 / share), "times_limit": quartiles(1 / share), "speedup": quartiles(speedup)}
            for who, share in times.items()
        },
    }


def quartiles(value: float) -> dict:
    return {"median": value, "low": value, "high": value}


def measured(times: float) -> dict:
    same = dict.fromkeys(("median", "low", "high"), times)
    return {"us": {key: 10 * value for key, value in same.items()}, "times_limit": same}
