"""Draws the committed plots anew, from the committed results: `python -m benchmarks.redraw`."""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from .document import RESULTS, load
from .ladder import plots as ladder
from .measure import machine
from .report import plots
from .report.plot_style import save

# The results that each plot is drawn from.
DRAWN = {
    "cuda": ("cuda_full", "cuda_shapes", "cuda_host"),
    "random": ("cuda_random",),
    "cpu": ("cpu_full", "cpu_shapes", "cpu_host"),
    "exact": ("exact_speed", "exact_accuracy"),
    "ladder": ("ladder_speedup", "ladder_share"),
}


def figures() -> dict[str, Figure]:
    found = {}
    for name, wanted in DRAWN.items():
        results = load(name)
        line = machine.line(results["machine"])
        drawn = ladder.figures(results, line) if name == "ladder" else plots.figures(results["rows"], line, line)
        found |= {plot: drawn[plot] for plot in wanted}
    return found


def main() -> int:
    save(figures(), RESULTS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
