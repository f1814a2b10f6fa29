"""What is made of rows: plots, a verdict, tables, blocks of the document."""

from benchmark_rows import KINDS, measured, timed

from benchmarks import document
from benchmarks.report import plots, report


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
