"""The benchmark's own code, without a GPU: what is asked for, measured in ulps, judged, drawn and written down."""

import json
import sys
from fractions import Fraction
from types import SimpleNamespace

import pytest
import torch

from benchmarks import __main__ as main
from benchmarks import document
from benchmarks.measure import check, contenders
from benchmarks.report import plots, report, targets
from benchmarks.suites import accuracy, host, run_cpu, shapes
from benchmarks.suites.run_cuda import Bench

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


@pytest.fixture
def gpu_rows() -> list[dict]:
    shares = {"exact": 0.96, "torch": 0.9, "torch_fp64": 0.8, "cub": 0.85, "cub_gpu_to_gpu": 0.5}
    sizes = [timed("exact", "float32", 2**e, "uniform", shares) for e in (14, 20, 28)]
    return sizes + [timed("data", "float32", 2**28, kind, shares) for kind in KINDS]


@pytest.fixture(scope="module")
def accuracy_rows() -> list[dict]:
    return list(accuracy.run(accuracy.sums(quick=True), torch.device("cpu")))


# ---- what is asked for --------------------------------------------------------------------------------------------


def test_every_suite_parses_and_has_cases():
    options = main.parse(["--device", "cpu", "--quick"])
    assert set(options.suite) == set(main.SUITES["cpu"]) - {"exact", "accuracy", "scans"}
    options = main.parse(["--device", "cpu", "--quick", "--suite", ",".join(main.SUITES["cpu"])])
    for suite in set(options.suite) - {"host", "accuracy"}:
        assert main.cases_for(suite, options)


@pytest.mark.parametrize("arguments", [["--suite", "nothing"], ["--cccl", "tests"]])
def test_what_is_not_there_is_an_error(arguments, capsys):
    with pytest.raises(SystemExit):
        main.parse(["--device", "cpu", *arguments])
    assert arguments[0] in capsys.readouterr().err


def test_host_times_the_same_call_of_every_contender(device):
    for given in host.CALLS:
        x = torch.arange(64.0, device=device).view(given.shape)
        calls = host.calls(given, x)
        assert ("atomic" in calls) == x.is_cuda
        results = [call() for call in calls.values()]
        assert all(torch.equal(result, results[0]) and result.dtype == results[0].dtype for result in results)
    rows = list(host.run(torch.device(device), 0))
    assert len({(r["label"], r["grad"]) for r in rows}) == len(rows) == host.ROWS
    assert {name for given in host.CALLS for name in given.keywords} == {"dim", "keepdim", "dtype"}


def test_exact_sums_go_from_small_to_a_gibibyte():
    cases = shapes.exact_cuda(quick=False)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        sizes = [case.in_bytes for case in cases if case.dtype == dtype]
        assert (min(sizes), max(sizes)) == (1 << 14, 1 << 30)
    assert all(contenders.modes(case) == ("deterministic", "exact") for case in cases)


def test_full_sums_on_the_cpu_go_from_small_to_large():
    sizes = [case.elements for case in shapes.full_cpu(quick=False) if case.dtype is torch.float32]
    assert (min(sizes), max(sizes)) == (1 << 8, 1 << 28)


def test_where_torch_is_slow_is_measured_and_judged():
    cases = shapes.slow(most=1 << 10)
    assert all(case.elements <= 1 << 10 for case in cases) and {case.to for case in cases} == {None, torch.float32}
    rows = list(run_cpu.run(cases, [1], 0, compile_peer=False))
    for row, case in zip(rows, cases, strict=True):
        assert set(row["contenders"]) == {"deterministic", "torch"}, case.label
        assert row["contenders"]["deterministic"]["error"] <= row["bounds"]["deterministic"], case.label
    for times, met in ((1.9, False), (2.1, True)):
        for row in rows:
            row["contenders"]["deterministic"]["speedup"] = quartiles(times)
        found = {t["what"]: t for t in targets.evaluate(rows)}
        assert found["CPU, slow, 1 thread, against torch"]["met"] == met


def test_random_shapes_are_the_same_every_time():
    cases = shapes.random_shapes(quick=False)
    assert cases == shapes.random_shapes(quick=False) and len(cases) == 200
    assert set(shapes.random_shapes(quick=True)) < set(cases)
    assert {case.dtype for case in cases} == {torch.float32, torch.bfloat16}
    assert all(len(case.shape) <= 5 and case.elements < 1 << 31 for case in cases)


def test_random_shapes_are_views_of_distinct_elements():
    for case in shapes.random_shapes(quick=False):
        if case.memory_elements > 1 << 20:
            continue
        view = case.view(torch.arange(case.memory_elements))
        assert tuple(view.shape) == case.shape
        assert view.unique().numel() == case.elements
        in_memory = sorted(range(view.ndim), key=view.stride, reverse=True)
        reduced = [d for d in in_memory if d in case.dims and case.shape[d] > 1]
        assert case.keeps_order == (reduced == sorted(reduced)), case.label


def test_hard_shapes_begin_between_multiples_of_16_bytes():
    cases = [case for case in shapes.hard() if case.dtype is not torch.bool]
    for case in cases:
        element = case.view(torch.empty(case.memory_elements, dtype=case.dtype, device="meta"))
        places = [element.storage_offset(), *element.stride()[:-1]]
        assert any(place * case.dtype.itemsize % 16 for place in places), case.label
    assert len(cases) == 10


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.int64, torch.float32], ids=str)
def test_every_type_is_filled_and_judged(dtype):
    case = shapes.Case("full", (1 << 12,), None, dtype)
    x = torch.empty(case.elements, dtype=dtype)
    check.fill(x, case)
    assert x.unique().numel() > 1
    expected = check.reference(case, x)
    assert expected.error(x.sum()) <= check.bounds(case)["deterministic"]
    assert expected.error(x.sum() + x.sum().abs() + 1) > check.bounds(case)["deterministic"]


def test_random_shapes_are_judged_by_their_order():
    rows = [
        {"suite": "random", "device": "cuda", "op": "sum", "dtype": "float32", "label": label, "keeps_order": keeps}
        | {"contenders": {"limit": {"us": {"median": 10.0}}, "deterministic": measured(times)}}
        for label, keeps, times in (("a", True, 1.1), ("b", True, 1.3), ("c", False, 3.0))
    ]
    found = {t["what"]: t for t in targets.evaluate(rows)}
    assert found["random, deterministic, geometric mean of 2"]["met"]
    assert found["random, deterministic, worst"]["worst"] == "float32 b"
    assert not found["random, deterministic, memory order not logical order"]["met"]


def measured(times: float) -> dict:
    same = dict.fromkeys(("median", "low", "high"), times)
    return {"us": {key: 10 * value for key, value in same.items()}, "times_limit": same}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_peers_of_exact_sums(dtype):
    case = shapes.Case("exact", (1 << 10,), None, dtype)
    calls = run_cpu.calls_for(case, compile_peer=False)
    assert ("torch_fp64" in calls) == (dtype != torch.float64)
    x = torch.arange(1 << 10, dtype=dtype)
    assert all(call(x).item() == 1023 * 512 for call in calls.values())
    assert "fsum" in calls


@pytest.mark.parametrize(
    "suite, levels", [("exact", contenders.CUB_LEVELS), ("data", contenders.CUB_LEVELS), ("full", ())]
)
def test_peers_of_exact_sums_on_a_gpu(suite, levels):
    cub = SimpleNamespace(covers=lambda case, level="sum": True, call=lambda case, level="sum": level)
    bench = SimpleNamespace(limit=SimpleNamespace(available=False), compile_peer=False, cub=cub)
    calls = Bench._calls(bench, shapes.Case(suite, (1 << 10,), None, torch.float32))
    assert [calls[who] for who in calls if who.startswith("cub")] == ["sum", *levels]
    assert ("torch_fp64" in calls) == (suite != "full")


def test_an_interrupt_keeps_what_was_measured(monkeypatch, capsys, tmp_path):
    def rows(*_):
        yield {
            "device": "cpu",
            "suite": "full",
            "dtype": "float32",
            "label": "2^10 / all",
            "contenders": {},
            "threads": 1,
        }
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "rows_for", rows)
    command = ["benchmarks", "--device", "cpu", "--quick", "--suite", "full", "--json-only", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    assert main.main() == 1
    assert "interrupted after 1 of" in capsys.readouterr().out
    written = json.loads((tmp_path / "cpu.json").read_text())
    assert len(written["rows"]) == 1 and not written["arguments"]["complete"]


@pytest.mark.parametrize("flag, heading", [(None, None), ("--tables", "Full sums, CPU"), ("--targets", "decided by")])
def test_a_run_prints_a_verdict_and_the_rest_when_asked(flag, heading, monkeypatch, capsys, tmp_path):
    case = shapes.Case("full", (1 << 10,), None, torch.float32)
    monkeypatch.setattr(main, "cases_for", lambda *_: [case])
    monkeypatch.setattr(main, "rows_for", lambda *_: run_cpu.run([case], [1], 0, compile_peer=False))
    command = ["benchmarks", "--device", "cpu", "--suite", "full", "--threads", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command + ([flag] if flag else []))
    assert main.main() == 0
    printed = capsys.readouterr().out
    assert [other in printed for other in ("Full sums, CPU", "decided by")].count(True) == bool(flag)
    assert flag or len(printed.splitlines()) == 5
    assert heading is None or heading in printed
    assert "\nCPU, 1 row; bits repeat in 1 of 1 checked\n" in printed
    assert printed.endswith(f"wrote {tmp_path / 'cpu.json'}, cpu_full.png\n")
    assert not {"tables", "targets"} & set(json.loads((tmp_path / "cpu.json").read_text())["arguments"])


# ---- accuracy -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, dtype, true, expected",
    [
        (1.0, torch.float32, Fraction(1), 0),
        (1.0, torch.float32, 1 + Fraction(1, 2**24), 0.5),
        (-1.0, torch.bfloat16, -1 - Fraction(3, 2**7), 3),
        (0.0, torch.float32, Fraction(1, 2**150), 0.5),  # below the smallest subnormal
        (2.0, torch.float64, 2 - Fraction(1, 2**52), 1),  # just below a power of two: the finer unit
        (float("inf"), torch.float32, Fraction(1), float("inf")),
    ],
)
def test_ulps(value, dtype, true, expected):
    assert accuracy.ulps(torch.tensor(value, dtype=dtype), true) == expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("condition", [1.0, 1e4, 1e12])
def test_elements_are_as_wanted(dtype, condition):
    wanted = accuracy.Sum(dtype, 1 << 10, condition)
    x = accuracy.elements(wanted)
    assert x.dtype == dtype and len(x) == wanted.n
    true = sum(map(Fraction, x.tolist()))
    assert accuracy.true_sum(x) == true
    assert 0.8 <= sum(abs(Fraction(v)) for v in x.tolist()) / true / Fraction(condition) <= 1.25
    assert torch.equal(x, accuracy.elements(wanted))


def test_true_sums_of_several_blocks_add_up(monkeypatch):
    x = accuracy.elements(accuracy.Sum(torch.float32, 1 << 10, 1e8))
    monkeypatch.setattr(accuracy, "BLOCK", 100)
    assert accuracy.true_sum(x) == sum(map(Fraction, x.tolist()))


def test_exact_sums_are_the_true_ones_rounded(accuracy_rows):
    assert {r["dtype"] for r in accuracy_rows} == {"float32", "bfloat16"}
    for r in accuracy_rows:
        assert r["contenders"]["exact"]["rounded"] and r["contenders"]["exact"]["ulps"] <= 0.5
    worst = max(r["contenders"]["torch"]["ulps"] for r in accuracy_rows)
    assert worst > 1e6, "a condition number of 1e12 leaves torch.sum in fp32 no digit"


def test_a_sum_rounded_wrongly_breaks_a_promise(accuracy_rows):
    promise = "exact, cpu: the true sum rounded once"
    found = {t["what"]: t for t in targets.evaluate(accuracy_rows)}
    assert found[promise]["met"] and found[promise]["asked"] == "always"
    wrong = [dict(r, contenders=r["contenders"] | {"exact": {"ulps": 0.6, "rounded": False}}) for r in accuracy_rows]
    assert not {t["what"]: t for t in targets.evaluate(wrong)}[promise]["met"]


# ---- what is made of rows -----------------------------------------------------------------------------------------


def test_targets_of_exact_sums(gpu_rows):
    found = {t["what"]: t for t in targets.evaluate(gpu_rows)}
    assert found["full, exact, float32, from 256 MiB up"]["met"]
    assert found["full, exact, from 16 MiB up"]["measured"] == "2 x"
    slow = timed("data", "float32", 2**28, "normal", {"exact": 0.94})
    found = {t["what"]: t for t in targets.evaluate([*gpu_rows, slow])}
    assert not found["full, exact, float32, from 256 MiB up"]["met"]
    cliff = timed("data", "float32", 2**28, "every exponent", {"exact": 0.14})
    found = {t["what"]: t for t in targets.evaluate([*gpu_rows, cliff])}
    assert not found["full, exact, any elements"]["met"]


def test_targets_of_exact_sums_by_shape_on_the_cpu():
    """Every shape against torch's time for it, and the geometric mean of each type."""

    def rows(*speedups):
        base = {"suite": "exact", "device": "cpu", "threads": 1, "op": "sum", "in_bytes": 64, "n": 16}
        for i, speedup in enumerate(speedups):
            exact = {"speedup": {"median": speedup, "high": speedup}, "us": {"median": 1.0}}
            for dtype in ("float32", "float64"):
                yield base | {"dtype": dtype, "label": f"{i}×8 / 1", "contenders": {"exact": exact}}

    by_shape, mean = "CPU, shapes, exact", "CPU, shapes, exact, float64, geometric mean of 2"
    for speedups, met in (((0.26, 1.0), (True, True)), ((0.24, 2.0), (False, True)), ((0.3, 0.3), (True, False))):
        found = {t["what"]: t for t in targets.evaluate(list(rows(*speedups)))}
        assert (found[by_shape]["met"], found[mean]["met"]) == met
        assert found[by_shape]["measured"] == f"{min(speedups):.3g} x" and found[by_shape]["worst"] == "float32 0×8 / 1"


def test_targets_of_single_operators():
    def in_time(times):
        return {"contenders": {"limit": measured(1.0), "deterministic": measured(times)}}

    def rows(prod, floating):
        common = {"suite": "ops", "device": "cuda", "dims": None}
        products = common | {"op": "prod", "dtype": "bfloat16"}
        yield products | {"label": "2^26 / all", "in_bytes": 1 << 27} | in_time(prod)
        yield products | {"label": "2^12 / all", "in_bytes": 1 << 13} | in_time(2.0)
        sums = common | {"op": "sum", "dtype": "int64", "in_bytes": 1 << 15}
        yield sums | {"label": "2^12 / all as int64"} | in_time(2.0)
        yield sums | {"label": "2^12 / all as float64"} | in_time(2.0 * floating)

    for prod, floating in ((1.09, 1.09), (1.11, 1.09), (1.09, 1.11)):
        found = {t["what"]: t for t in targets.evaluate(list(rows(prod, floating)))}
        assert found["prod, from 16 MiB up"]["met"] == (prod < 1.1)
        assert found["int64 with a floating result, full"]["met"] == (floating < 1.1)


def test_plots_are_written(gpu_rows, accuracy_rows, tmp_path):
    made = plots.write(gpu_rows + accuracy_rows, "a machine", "a CPU", tmp_path)
    assert [path.name for path in made] == ["exact_speed.png", "exact_accuracy.png"]
    assert all(path.stat().st_size > 10_000 for path in made)


def test_plots_of_random_shapes_and_of_the_host(tmp_path):
    times = {"limit": measured(1.0), "deterministic": measured(1.2), "torch": measured(2.0)}
    rows = [
        {"suite": "random", "device": "cuda", "dtype": "float32", "keeps_order": keeps, "contenders": times}
        for keeps in (True, True, False)
    ]
    rows += [
        {"suite": "host", "device": device, "grad": grad, "label": "2^6 / all", "contenders": times}
        for device in ("cuda", "cpu")
        for grad in (False, True)
    ]
    made = plots.write(rows, "a machine", "a CPU", tmp_path)
    assert [path.name for path in made] == ["cuda_random.png", "cuda_host.png", "cpu_host.png"]
    assert all(path.stat().st_size > 10_000 for path in made)


def test_no_plot_of_speed_without_a_limit(accuracy_rows, tmp_path):
    made = plots.write(accuracy_rows, "a machine", "a CPU", tmp_path)
    assert [path.name for path in made] == ["exact_accuracy.png"]


def test_a_verdict_counts_the_rows_that_break_a_promise():
    rows = [timed("full", "float32", 2**20, "uniform", {"deterministic": 0.5, "atomic": 0.9}) for _ in range(3)]
    kept = {"distinct": 1, "runs": 9, "equals_cpu": True}
    for row, broken in zip(rows, ({}, {"distinct": 2}, {"equals_cpu": False}), strict=True):
        row["contenders"]["deterministic"] |= kept | broken
        row["contenders"]["atomic"]["distinct"] = 2  # which it may have
    text = report.verdict(rows, [{"met": True}, {"met": False}])
    assert text.splitlines() == [
        "CUDA, 3 rows; bits repeat in 2 of 3 checked; CPU and CUDA agree in 2 of 3 checked",
        "CUDA, deterministic, geometric means: 2.00 x torch's speed over 3 rows, 2.00 x the limit's time over 3 rows",
        "targets: 1 of 2 met; --targets lists them",
    ]


def test_tables(accuracy_rows):
    text = report.tables(accuracy_rows)
    assert "Errors in units in the last place, CPU" in text and "1.0e+00" in text
    assert report.summary(accuracy_rows) == ""


def test_document_shows_what_was_measured(gpu_rows, accuracy_rows):
    results = {"machine": {"cpu": "a CPU", "cores": 1, "torch": "2"}, "rows": accuracy_rows, "targets": []}
    results["arguments"] = {"suite": ["exact", "accuracy"]}
    blocks = document.exact_blocks(results)
    assert blocks["exact by size"] == blocks["exact by data"] == document.NO_GPU
    assert blocks["exact accuracy"].count("\n") == len(accuracy_rows) + 1
    results["rows"] = gpu_rows + accuracy_rows
    blocks = document.exact_blocks(results)
    assert "16 KiB" in blocks["exact by size"] and "0.960" in blocks["exact by size"]
    assert "CUB, gpu_to_gpu" in blocks["exact by size"] and "CUB, not_guaranteed" not in blocks["exact by size"]
    assert all(kind in blocks["exact by data"] for kind in KINDS) and "exact_speed.png" in blocks["exact by data"]
