"""`make tune` without a GPU: which problems a value is measured on, which value is chosen, and what is printed."""

import json
import math
import re
import subprocess
import sys

import pytest
import torch
from folders import ROOT

from benchmarks.tune import __main__ as tune
from benchmarks.tune import choices, fit
from torch_reduce.testing import tuning, typical_gpu

NAMES = list(tuning())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("capability, sms", [((9, 0), 132), ((8, 9), 58), ((12, 0), 170)], ids=str)
def test_every_value_has_candidates_and_problems(name, capability, sms):
    with typical_gpu(capability, sms):
        value = tuning()[name]
        others = tune.candidates(name, value)
        assert others and value not in others
        measured = tune.changed(name, value, tune.problems())
    assert 1 <= len(measured) <= tune.MOST_PROBLEMS
    assert {v for _, values in measured for v in values} <= set(others)


def test_problems_fit_the_pool():
    assert max(p.case.in_bytes for p in tune.problems()) <= tune.POOL


def rounds(*times: float) -> list[float]:
    return [time for time in times for _ in range(4)]


@pytest.mark.parametrize(
    "twice, chosen",
    [
        ([rounds(9.0)], 2),  # a tenth better in every round
        ([rounds(9.95)], 1),  # better, but not by a hundredth
        ([rounds(8.0, 9.0, 11.0)], 1),  # better by the median, worse in a third of the rounds
        ([rounds(10.0)], 1),
        ([rounds(11.0)], 1),
        ([rounds(5.0), rounds(10.9)], 1),  # better by the mean, but worse by far for one problem
        ([rounds(8.0), rounds(10.2)], 2),
    ],
    ids=str,
)
def test_a_value_stays_unless_another_is_better(twice, chosen):
    found = tune.judge("rows_ctas_per_sm", 1, [{1: [10.0] * len(times), 2: times} for times in twice])
    assert found.chosen == chosen


def test_the_best_of_several_is_chosen():
    samples = [{4: rounds(10.0), 2: rounds(9.5), 8: rounds(9.0)}, {4: rounds(1.0), 2: rounds(0.9)}]
    found = tune.judge("columns_ctas_per_sm", 4, samples)
    assert found.chosen == 8
    assert found.ratios[2].problems == 2 and found.ratios[2].median == pytest.approx((0.95 * 0.9) ** 0.5)
    assert found.ratios[8].problems == 1


def test_a_drift_that_all_meet_is_no_gain():
    drift = [1.0 + 0.1 * k for k in range(12)]
    found = tune.judge("columns_tile", 256, [{256: drift, 128: [1.001 * us for us in drift]}])
    assert found.chosen == 256 and found.ratios[128].high == pytest.approx(1.001)


def test_a_timer_is_asked_for_what_changes():
    """The table's value first, then those with another plan; the whole way to the printed row."""
    asked = []

    def timer(problem, name, values):
        asked.append((problem, name, values))
        return {value: rounds(1.0 if value == 4 else 0.5) for value in values}

    with typical_gpu((9, 0), 132):
        found = tune.find("columns_uncut_ctas_per_sm", 4, tune.problems(), timer)
    assert asked and all(name == "columns_uncut_ctas_per_sm" and values[0] == 4 for _, name, values in asked)
    assert {p.case.dtype for p, _, _ in asked} == {torch.float32, torch.bfloat16}
    assert found.chosen != 4
    text = tune.report([found])
    assert {"columns_uncut_ctas_per_sm", "chosen", "0.500"} <= set(text.split()) and "kept" not in text


def test_all_of_a_gpu(monkeypatch, capsys):
    """From a GPU that is there to the row to commit, of which one value was found to be better."""

    def timer(problem, name, values):
        return {v: rounds(0.9 if (name, v) == ("columns_tile", 256) else 1.0) for v in values}

    info = {"gpu": "NVIDIA L40S", "driver": "1", "cuda": "13.0", "torch": "2.11", "sms": 142}
    monkeypatch.setattr(tune, "why_not", lambda: None)
    monkeypatch.setattr(tune, "OnGpu", lambda device: timer)
    monkeypatch.setattr(tune.machine, "describe", lambda device: info)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 9))
    assert tune.main([]) == 0
    with typical_gpu((8, 9), 142):
        row = tune.source((8, 9), tuning() | {"columns_tile": 256}, "NVIDIA L40S")
    out = capsys.readouterr().out
    assert row in out and row.splitlines()[1].startswith("    {89, {/*rows*/ 32, ")
    assert all(name in out for name in NAMES) and out.count("chosen") == 1


def test_no_problem_leaves_the_value():
    found = tune.judge("columns_tile", 256, [])
    assert found.chosen == 256 and "kept" in tune.report([found])


def test_the_row_is_that_of_the_source():
    """What is printed for the table's values on an H200 stands in the source, and so can be pasted."""
    row = tune.source((9, 0), tuning(), "NVIDIA H200")
    assert row + "\n" in (ROOT / "csrc" / "core" / "plan" / "tuning" / "gpu.cpp").read_text()
    assert len(re.findall(r"[{ ]\d+(?: << 10)?[,}]", row.split("{", 2)[2])) == len(NAMES)


def test_no_gpu_is_one_sentence():
    if tune.why_not() is None:
        pytest.skip("there is a GPU")
    command = [sys.executable, "-m", "benchmarks.tune"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1 and done.stderr.startswith("tune: it measures a GPU, and ")


def test_unknown_names_are_refused(capsys):
    with pytest.raises(SystemExit):
        tune.main(["columns_width"])
    assert "columns_width" in capsys.readouterr().err


def test_report_of_choices():
    """What another plan than the chosen one would have saved, by suite and by case."""

    def row(suite, *us):
        plans = [
            {"family": family, "reads": "elements", "us": [u, u, 9 * u]}
            for family, u in zip(choices.FAMILIES, us, strict=False)
        ]
        return {
            "chosen": 0,
            "suite": suite,
            "label": f"case {us}",
            "dtype": "float32",
            "op": "sum",
            "mode": "deterministic",
        } | {"plans": plans}

    lines = choices.report([row("a", 4.0, 2.0), row("a", 1.0, 1.01, 7.0), row("b", 3.0)], worst=1).splitlines()
    assert lines[0].split() == "a 1.414 x the best on average, 1 of 2 by more than 2 %".split()
    assert lines[1].split() == "b 1.000 x the best on average, 0 of 1 by more than 2 %".split()
    assert lines[2].startswith("2.00 x  case (4.0, 2.0)") and "short_rows, elements would be faster" in lines[2]
    assert len(lines) == 3


def test_cases_of_choices():
    cases = choices.cases(drawn=60)
    drawn = [case for case in cases if case.suite in ("small", "large", "even")]
    assert 50 < len(drawn) <= 60 and len(cases) > 250
    for case in drawn:
        assert case.suite != "small" or case.elements <= 2**22
        assert all(w >= s for w, s in zip(case.whole or case.shape, case.shape, strict=True))
        assert case.view(torch.empty(case.memory_elements, dtype=case.dtype, device="meta")).shape == case.shape


def test_the_fit_estimates_as_plans_do():
    """By the numbers of cost.h. Efforts are printed by six digits, and an estimate changes by no more than what most
    changes: five of them and the estimate itself, each by half of 1e-5."""
    text = (ROOT / "csrc/core/plan/tuning/cost.h").read_text()
    of_kernels = {k: [float(v) for v in c.split(",")] for k, c in re.findall(r'\{"([^"]+)", ([^}]*)\}', text)}
    constants = {name: float(value) for name, value in re.findall(r"constexpr double k(\w+) = ([\d.e+-]+);", text)}
    finish = [float(v) for v in re.search(r"kFinishUs\[\] = \{([^}]*)\}", text)[1].split(",")]
    shapes = (((4096, 4096), 1), ((4096, 4096), 0), ((2**22,), 0), ((300, 77), 1), ((3, 2**20), 0), ((8193, 515), 0))
    plans = [
        json.loads(torch.ops.reduce._explain(torch.empty(s, device="meta", dtype=dtype), [d], op="sum", device="cuda"))
        for s, d in shapes
        for dtype in (torch.float32, torch.bfloat16, torch.int8)
    ]
    kernels = sorted({plan["kernel"] for plan in plans})
    of = lambda values: torch.tensor(list(values), dtype=torch.float64)  # noqa: E731
    times = fit.Times(
        kernels,
        torch.tensor([kernels.index(plan["kernel"]) for plan in plans]),
        torch.tensor([fit.FINISHES.index(plan["finish"]) for plan in plans]),
        {name: of(float(plan[name]) for plan in plans) for name in fit.FEATURES},
        *(torch.empty(0),) * 4,
        [],
    )
    logs = {name: of(of_kernels[kernel][i] for kernel in kernels).log() for i, name in enumerate(fit.OF_KERNEL)} | {
        name: of([constants["".join(part.title() for part in name.split("_"))]])[0].log()
        for name in fit.BEGIN
        if name not in fit.OF_KERNEL
    }
    logs["finish_us"] = of(finish[1:]).log()
    expected = of(plan["estimated_us"] for plan in plans)
    assert ((fit.estimates(times, logs) - expected).abs() <= 6 * 5e-6 * expected).all()
    assert constants["InstructionsPerUs"] == fit.INSTRUCTIONS_PER_US


def test_the_fit_finds_what_a_gpu_chooses_by(tmp_path):
    """Times of a GPU whose costs are known, and others than those that the fit begins with. Fitted to two thirds of
    some reductions, it chooses among the plans of the last third as that GPU would."""
    torch.manual_seed(0)
    other = lambda value: math.log(value) + torch.empty((), dtype=torch.float64).uniform_(-1, 1)  # noqa: E731
    rows, memory = [], torch.empty(choices.MOST, dtype=torch.uint8)
    for case in choices.cases(drawn=240):
        if case.suite not in ("small", "even") or case.op == "argmax":
            continue
        x = case.view(torch.empty(case.memory_elements, dtype=case.dtype, device="meta"))
        row = {
            "suite": case.suite,
            "label": case.label,
            "dtype": case.dtype_name,
            "op": case.op,
            "to": None if case.to is None else str(case.to).removeprefix("torch."),
            "mode": "deterministic",
            "sizes": list(x.shape),
            "strides": list(x.stride()),
            "dims": list(range(x.ndim)) if case.dims is None else list(case.dims),
            "alignment": 16,
            "chosen": 0,
        }
        plans = [fit.explained(row, memory, family, vector) for family in choices.FAMILIES for vector in (True, False)]
        settled = {tuple(plan[k] for k in choices.SETTLED): plan for plan in plans if plan}
        row["plans"] = [{k: plan[k] for k in choices.SETTLED} | {"us": [1.0]} for plan in settled.values()]
        rows.append(row)
    path = tmp_path / "choices.json"
    path.write_text(json.dumps({"rows": rows}))
    times = fit.read([path])
    assert len(times.rows) == len(rows) > 100

    begin = fit.begin(times)
    true = {name: torch.stack([other(v) for v in log.exp().flatten()]).view(log.shape) for name, log in begin.items()}
    times.us = fit.estimates(times, true)

    unseen = torch.arange(len(rows)) % 3 == 0
    us = fit.of_plans(times, times.us, math.inf)

    def lost(logs):
        """The mean logarithm of the time of the chosen plans over that of the fastest, of reductions not seen."""
        chosen = fit.of_plans(times, fit.estimates(times, logs), math.inf).argmin(1, keepdim=True)
        return (us.gather(1, chosen)[:, 0] / us.min(1).values)[unseen].log().mean().item()

    found = lost(fit.fit(times, 600, ~unseen))
    assert lost(begin) > 0.05 > 0.01 > found
