"""Cases drawn from the combinations of lists: every two values of two lists meet in one of them. That finds what
depends on a value or on two together, in about as many cases as the two longest lists have pairs."""

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest


def pairwise(*lists: Sequence[Any], seed: int = 0) -> list[tuple]:
    """The cases, in the order of the lists: the same ones on every run, others of another ``seed``."""
    sizes = [len(each) for each in lists]
    longest_first = sorted(range(len(lists)), key=lambda i: -sizes[i])
    rng, met = random.Random(seed), Counter()  # a case: the place of a value in its list, by the list

    def meetings(case: dict[int, int], own: int, value: int) -> tuple[int, int]:
        """What decides which value a case gets next: one that is new to most of it, and has met the rest least."""
        counts = [met[i, other, own, value] for i, other in case.items()]
        return -counts.count(0), sum(counts)

    def add(case: dict[int, int], own: int, value: int) -> None:
        met.update((i, other, own, value) for i, other in case.items())
        case[own] = value

    first, second, *others = longest_first
    cases = [{first: i, second: j} for i in range(sizes[first]) for j in range(sizes[second])]
    rng.shuffle(cases)
    for own in others:
        places = range(sizes[own])
        for case in cases:
            add(case, own, min(rng.sample(places, len(places)), key=lambda value: meetings(case, own, value)))
        known = [i for i in cases[0] if i != own]
        for i in known:
            for other, value in itertools.product(range(sizes[i]), places):
                if not met[i, other, own, value]:
                    cases.append({j: rng.randrange(sizes[j]) for j in known} | {i: other})
                    add(cases[-1], own, value)
    in_order = sorted(tuple(case[i] for i in range(len(lists))) for case in cases)
    return [tuple(each[i] for each, i in zip(lists, case, strict=True)) for case in in_order]


def drawn(names: str, *lists: Sequence[Any], seed: int = 0) -> pytest.MarkDecorator:
    """Runs a test on drawn cases; ``names`` are those of its arguments, one for each list."""
    return pytest.mark.parametrize(names, pairwise(*lists, seed=seed), ids=str)
