"""The suite of the operators beside sum, without a GPU: what it measures, and the rows that it makes of times."""

from types import SimpleNamespace

import pytest
import torch

from benchmarks import models
from benchmarks.measure import check, contenders
from benchmarks.suites import family


class CalledOnce:
    """A recording that is no graph."""

    def __init__(self, call, inputs, out_bytes):
        self.x = inputs.tensors[0]
        self.output = call(self.x)


@pytest.fixture
def timed(monkeypatch):
    """Fake times: our calls 2 us, all others 3."""
    found = []

    def interleaved(recordings, inputs, flush, rounds):
        found.append(recordings)
        return {name: [2.0 if name[1] == "ours" else 3.0] * rounds for name in recordings}

    monkeypatch.setattr(family, "POOL", 1)
    monkeypatch.setattr(family, "Recording", CalledOnce)
    monkeypatch.setattr(family, "interleaved", interleaved)
    return found


LIMIT = SimpleNamespace(available=True, call=lambda case: torch.clone)


def test_every_group_is_of_one_tensor_and_begins_with_its_sum():
    groups = family.groups()
    assert len(groups) == 3 * len(family.SHAPES) + 30 and groups == family.groups()
    for total, *others in groups:
        assert total.op == "sum" and others
        for case in others:
            assert (case.shape, case.dims, case.dtype, case.order, case.whole) == (
                (total.shape, total.dims, total.dtype, total.order, total.whole)
            )
    layouts = [group[0] for group in groups if group[0].suite == "layouts"]
    assert {case.dtype for case in layouts} == {torch.float32, torch.bfloat16}
    assert any(not case.keeps_order for case in layouts) and any(case.whole != case.shape for case in layouts)
    assert any(case.ord == 3 for group in groups for case in group)


def test_some_all_or_none_are_compiled():
    cases = [case for group in family.groups() for case in group]
    counts = {which: sum(family.is_compiled(case, which) for case in cases) for which in ("none", "some", "all")}
    of_shapes = len(family.COMPILED) * (len(family.FLOATING) + len(family.TESTS) + 2)
    assert counts == {"none": 0, "some": of_shapes, "all": len(cases)}


def test_both_contenders_compute_the_same(timed):
    """On shapes of few elements, drawn from all."""
    groups = family.groups(most=1 << 10)
    for group in groups[:: len(family.SHAPES)] + groups[-3:]:
        rows = list(family.measure(group, LIMIT, None, 3, device=torch.device("cpu"), compiled="none"))
        assert [row["op"] for row in rows] == [case.op for case in group]
        for row, case in zip(rows, group, strict=True):
            assert row["us"] == {"limit": 3.0, "sum": 2.0, "ours": 2.0, "torch": 3.0}
            expected = check.reference(case, timed[-1][case.op, "ours"].x)
            bound = check.bounds(case)["deterministic"]
            any_order = bound + case.n * torch.finfo(torch.float32).eps
            for who, most in (("ours", bound), ("torch", any_order)):
                y = check.in_one(timed[-1][case.op, who].output)
                assert y.dtype == case.out_dtype, row["label"]
                assert expected.error(y) <= most, (who, row["label"])


def test_who_fails_is_left_out(timed, monkeypatch, capsys):
    def fails(case):
        raise RuntimeError("no triton here")

    monkeypatch.setattr(contenders, "inductor", fails)
    group = family.groups(most=1 << 10)[0][:2]
    rows = list(family.measure(group, LIMIT, None, 1, device=torch.device("cpu"), compiled="all"))
    assert all(set(row["us"]) == {"limit", "sum", "ours", "torch"} for row in rows)
    assert "nansum inductor" in capsys.readouterr().err


def test_a_table_shows_who_was_measured():
    rows = [{"name": "any", "label": "8 bool", "us": {"limit": 1.0, "sum": 2.0, "ours": 3.0, "torch": 6.0}}]
    line = models.table(rows).splitlines()[-1]
    assert [cell.strip() for cell in line.split("|")[3:-1]] == ["1.0", "2.0", "3.0", "6.0", "3.00", "1.50", "0.50"]
    rows.append({"name": "all", "label": "8 bool", "us": {"ours": 3.0, "inductor": 2.0}})
    header, _, first, second = (line.split("|")[1:-1] for line in models.table(rows).splitlines())
    assert [name.strip() for name in header[2:]] == [
        *("limit", "sum", "ours", "torch", "inductor"), *("x limit", "x sum", "x torch", "x inductor")
    ]  # fmt: skip
    assert first[-1].strip() == "" and second[-1].strip() == "1.50"


def test_arguments():
    arguments = models.parse(["--suite", "family", "--compiled", "all"])
    assert (arguments.suite, arguments.compiled) == ("family", "all")
    assert models.parse([]).suite == "models"
