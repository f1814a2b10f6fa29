"""A run of the benchmark: what is asked for, an interrupt, and what it prints."""

import json
import sys

import pytest
import torch

from benchmarks import __main__ as main
from benchmarks.suites import run_cpu, shapes


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
