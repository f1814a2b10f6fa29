"""Comparing two states of the library: what counts as slower, and what is said where there is nothing to compare."""

import subprocess
import sys

import pytest
from folders import ROOT

from benchmarks import compare


def row(us: float, label: str = "2^20 / all", mode: str = "deterministic") -> dict:
    return {
        "device": "cpu",
        "suite": "full",
        "op": "sum",
        "dtype": "float32",
        "label": label,
        "threads": 1,
        "contenders": {mode: {"us": {"median": us}}, "torch": {"us": {"median": 1.0}}},
    }


def test_ratios_are_of_runs_that_followed_one_another():
    pairs = [(compare.times([row(10)]), compare.times([row(11)])), (compare.times([row(20)]), compare.times([row(21)]))]
    assert list(compare.ratios(pairs).values()) == [[1.1, 1.05]]


def test_cases_that_one_run_lacks_are_left_out():
    pair = (compare.times([row(10), row(1, "2^10 / all")]), compare.times([row(10), row(1, "2^12 / all")]))
    assert [case[4] for case in compare.ratios([pair])] == ["2^20 / all"]


@pytest.mark.parametrize(
    "found, expected",
    [([1.03, 1.2], "slower"), ([1.01, 1.2], ""), ([0.97, 0.9], "faster"), ([0.97, 1.1], ""), ([1.0], "")],
)
def test_verdict_needs_every_pair(found, expected):
    assert compare.verdict(found, margin=0.02) == expected


def test_table_shows_both_times_and_the_range():
    text = compare.table([(compare.times([row(10)]), compare.times([row(12)]))] * 2, margin=0.02)
    assert {"10.00", "12.00", "1.200", "slower"} <= set(text.split())


def test_calls_with_a_gradient_are_told_apart():
    rows = [row(10) | {"suite": "host", "grad": grad} for grad in (False, True)]
    text = compare.table([(compare.times(rows), compare.times(rows))], margin=0.02)
    assert "1 threads, gradient" in text and text.count("1 threads") == 2


def test_unknown_commit_is_one_sentence():
    command = [sys.executable, "-m", "benchmarks.compare", "no-such-commit"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1 and done.stderr.startswith("compare: ")
