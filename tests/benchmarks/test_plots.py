"""The committed plots, drawn anew from the committed results, without being written."""

import itertools
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from folders import ROOT
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb

from benchmarks import redraw
from benchmarks.ladder.__main__ import IN_SWEEP
from benchmarks.report.plot_style import HIGHER, LOWER, OTHER, STYLE

PLOTS = sorted(name for names in redraw.DRAWN.values() for name in names)
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(scope="module")
def figures():
    found = redraw.figures()
    for figure in found.values():
        figure.draw_without_rendering()
    yield found
    plt.close("all")


@pytest.fixture(params=PLOTS)
def figure(request, figures):
    return figures[request.param]


def points(axis) -> list:
    """All measurements that are drawn, in pixels. A reference line is none: it is not in data coordinates alone."""
    lines = [line for line in axis.lines if line.get_transform() == axis.transData]
    found = [axis.transData.transform(line.get_xydata()) for line in lines]
    for collection in axis.collections:
        if isinstance(collection, PathCollection):  # of scatter()
            found.append(axis.transData.transform(collection.get_offsets()))
        else:
            found += [axis.transData.transform(path.vertices) for path in collection.get_paths()]
    found += [bar.get_window_extent().get_points() for bar in axis.patches]
    return [point for pairs in found for point in pairs]


def test_every_committed_plot_is_drawn_anew():
    assert {path.stem for path in redraw.RESULTS.glob("*.png")} == set(PLOTS)


def test_no_panel_is_empty_and_none_clips(figure):
    for axis in figure.axes:
        within = axis.get_window_extent().padded(0.5)
        assert points(axis)
        assert all(within.contains(*point) for point in points(axis)), axis.get_title()


def test_tick_labels_do_not_overlap(figure):
    renderer = figure.canvas.get_renderer()
    for axis in figure.axes:
        for line in (axis.xaxis, axis.yaxis):
            ticks = [t for t in line.get_major_ticks() + line.get_minor_ticks() if t.label1.get_visible()]
            low, high = sorted(line.get_view_interval())
            labels = [t.label1 for t in ticks if t.label1.get_text() and low <= t.get_loc() <= high]
            boxes = [label.get_window_extent(renderer) for label in labels]
            for (a, left), (b, right) in itertools.combinations(zip(labels, boxes, strict=True), 2):
                assert not left.overlaps(right), (a.get_text(), b.get_text())


def test_axes_say_which_end_is_better(figure):
    for axis in figure.axes:
        shared = axis.get_shared_y_axes().get_siblings(axis)
        labels = [axis.get_xlabel(), *(other.get_ylabel() for other in shared)]
        assert any(HIGHER in label or LOWER in label.replace("\n", " ") for label in labels), axis.get_title()


def test_a_contender_looks_the_same_in_all_plots(figures):
    seen = set()
    for figure in figures.values():
        for artist in (a for axis in figure.axes for a in (*axis.lines, *axis.collections, *axis.patches)):
            if (who := artist.get_gid()) is None:
                continue
            seen.add(who)
            colour = artist.get_color() if hasattr(artist, "get_color") else artist.get_facecolor()
            assert to_rgb(np.ravel(colour)[:3] if not isinstance(colour, str) else colour) == to_rgb(STYLE[who][0])
            if hasattr(artist, "get_marker") and artist.get_marker() not in ("", "None"):
                assert artist.get_marker() == STYLE[who][1]
    assert {"deterministic", "atomic", "exact", "torch", "cub", "cluster"} <= seen


def test_no_two_contenders_look_alike():
    colours = [colour for colour, _ in (*STYLE.values(), *OTHER)]
    assert len(set(colours)) == len(colours)
    assert set(IN_SWEEP) <= set(STYLE)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_alternative_texts_say_what_the_axis_says(path, figures):
    for text, name in re.findall(r"!\[([^\]]+)\]\(\S*/(\w+)\.png\)", path.read_text()):
        labels = " ".join(label for axis in figures[name].axes for label in (axis.get_xlabel(), axis.get_ylabel()))
        for direction in (HIGHER, LOWER):
            assert (direction in text) == (direction in labels), text
        for ratio in ("limit / time", "time / limit", "time / torch.sum's time"):
            assert (ratio in text.lower().replace("time/limit", "time / limit")) == (ratio in labels), text
