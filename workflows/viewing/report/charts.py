"""Draws the charts of a report as SVG; the style of the page sets their colours, for light and dark screens."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from unlatch.simcore.recording.codes import FAILURE_CODES
from unlatch.workflows.viewing.report.examples import EpisodeCurves
from unlatch.workflows.viewing.report.tally import MapPoint

SIZE_IN = (3.8, 2.9)
"""Width and height [inches]; small, so that text is readable on a phone."""
MOST_POINTS = 1500
"""Largest number of attempts that are drawn one by one; of more, success rates are drawn on a grid."""
_LEAST_OPENING = 0.01
"""Least opening at the upper end of its axis [rad or m]: a closed part's motions of micrometres look like nothing."""
_MOST_TICKS = 5
"""Largest number of intervals between the labels of an axis of a map, whose labels are long."""
_CELLS = 18
_BINS = 32
_VARIABLES = ("ink", "faint", "line", "good", "set-a", "set-b", *(f"code-{code}" for code in FAILURE_CODES))
_HEX = {name: f"#0a0b{index:02x}" for index, name in enumerate(_VARIABLES)}
"""Placeholder colours for matplotlib, by the CSS variable that replaces them in the SVG."""
_MARKERS = "X^vsD<>Phd*p8H"
_RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 8.0,
    "axes.edgecolor": _HEX["line"],
    "axes.labelcolor": _HEX["faint"],
    "axes.titlecolor": _HEX["ink"],
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": _HEX["line"],
    "grid.linewidth": 0.5,
    "xtick.color": _HEX["line"],
    "ytick.color": _HEX["line"],
    "xtick.labelcolor": _HEX["faint"],
    "ytick.labelcolor": _HEX["faint"],
    "text.color": _HEX["ink"],
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def color(code: str | None) -> str:
    """Returns the placeholder colour of an outcome; None: success."""
    return _HEX["good"] if code is None else _HEX[f"code-{code}"]


def table_map(places: Sequence[MapPoint]) -> str:
    """Draws where the object stood, seen from above with the robot below, by outcome."""

    def draw(axes: Axes) -> None:
        _draw_outcomes(axes, [(-place.y_m, place.x_m) for place in places], places)
        axes.set(title="on the table, the robot below", xlabel="to the robot's right [m]", ylabel="away from it [m]")
        axes.set_aspect("equal", adjustable="datalim")

    return _draw_svg(draw, "where the object stood on the table, by outcome")


def yaw_map(places: Sequence[MapPoint]) -> str:
    """Draws the yaw of the object and its opening at the start, by outcome; its distance if all start equally open."""
    openings = [place.opening or 0.0 for place in places]
    varies = max(openings) - min(openings) > _LEAST_OPENING
    values = openings if varies else [math.hypot(place.x_m, place.y_m) for place in places]
    points = [(math.degrees(place.yaw_rad), value) for place, value in zip(places, values, strict=True)]
    title, label = ("opening", "open by [rad or m]") if varies else ("distance", "from the origin of the world [m]")

    def draw(axes: Axes) -> None:
        _draw_outcomes(axes, points, places)
        axes.set(title=f"yaw and {title} at the start", xlabel="yaw [deg]", ylabel=label)
        if varies:  # parts that start closed lie at the lower end
            top = 1.05 * max(openings)
            axes.set_ylim(min(-0.05 * top, min(openings)), top)

    return _draw_svg(draw, f"yaw and {title} of the object at the start, by outcome")


def _draw_outcomes(axes: Axes, points: Sequence[tuple[float, float]], places: Sequence[MapPoint]) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(_MOST_TICKS, steps=[1, 2, 5, 10]))
    xy = np.array(points, dtype=float).reshape(-1, 2)
    codes = [place.code for place in places]
    good: np.ndarray = np.array([code is None for code in codes])
    if len(xy) > MOST_POINTS:
        _draw_rates(axes, xy, good.astype(float))
        return
    axes.scatter(xy[good, 0], xy[good, 1], s=10, color=color(None), alpha=0.55, linewidths=0)
    for code in sorted({code for code in codes if code is not None}):
        of_code: np.ndarray = np.array([other == code for other in codes])
        marker = _MARKERS[list(FAILURE_CODES).index(code) % len(_MARKERS)]
        axes.scatter(xy[of_code, 0], xy[of_code, 1], s=26, color=color(code), marker=marker, linewidths=0)


def _draw_rates(axes: Axes, xy: np.ndarray, good: np.ndarray) -> None:
    counts, x_edges, y_edges = np.histogram2d(xy[:, 0], xy[:, 1], bins=_CELLS)
    successes, _, _ = np.histogram2d(xy[:, 0], xy[:, 1], bins=(x_edges, y_edges), weights=good)
    rates = np.ma.masked_where(counts == 0, successes / np.maximum(counts, 1.0))
    mesh = axes.pcolormesh(x_edges, y_edges, rates.T, cmap="RdYlGn", vmin=0.0, vmax=1.0, edgecolors="none")
    bar = axes.figure.colorbar(mesh, ax=axes, label="success rate")
    bar.outline.set_visible(False)


def opening_curves(series: Sequence[EpisodeCurves]) -> str:
    """Draws how far open the part was over time, one line per episode."""

    def draw(axes: Axes) -> None:
        for item in series:
            axes.plot(item.times_s, item.openings, **_line_style(item.code))
        axes.set(title="the part's joint, from closed", xlabel="time [s]", ylabel="open by [rad or m]")
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, -_LEAST_OPENING / 20), max(high, _LEAST_OPENING))

    return _draw_svg(draw, "displacement of the part's joint over time")


def finger_force_curves(series: Sequence[EpisodeCurves]) -> str:
    """Draws the force that a finger bears for longer than 20 ms over time, and the allowed force as a dashed line."""

    def draw(axes: Axes) -> None:
        for limit_n in sorted({item.finger_limit_n for item in series if item.finger_limit_n is not None}):
            axes.axhline(limit_n, color=color("overload"), linewidth=1.0, linestyle="--")
        _draw_forces(axes, series, [item.finger_n for item in series])
        axes.set(title="force on a finger, the limit dashed", ylabel="borne for longer than 20 ms [N]")

    return _draw_svg(draw, "force on a finger over time")


def forbidden_force_curves(series: Sequence[EpisodeCurves]) -> str:
    """Draws the largest force of forbidden contacts in each frame over time."""

    def draw(axes: Axes) -> None:
        _draw_forces(axes, series, [item.forbidden_n for item in series])
        axes.set(title="forbidden contacts", ylabel="largest force of a frame [N]")

    return _draw_svg(draw, "forbidden contacts")


def _draw_forces(axes: Axes, series: Sequence[EpisodeCurves], forces: Sequence[np.ndarray]) -> None:
    for item, values in zip(series, forces, strict=True):
        axes.plot(item.times_s[1 : len(values) + 1], values[: len(item.times_s) - 1], **_line_style(item.code))
    axes.set_xlabel("time [s]")
    axes.set_ylim(bottom=0.0, top=None if axes.get_ylim()[1] > 1.0 else 1.0)


def _line_style(code: str | None) -> dict[str, Any]:
    width = 1.0 if code is None else 1.4
    return {"color": color(code), "linewidth": width, "alpha": 0.75 if code is None else 1.0}


def distribution(title: str, columns: Mapping[str, Sequence[float]]) -> str:
    """Draws the wall times [ms] of one stage as a histogram, one outline per column."""
    every: np.ndarray = np.concatenate([np.asarray(values, dtype=float) for values in columns.values()])
    top = float(np.quantile(every, 0.99)) if len(every) else 1.0
    edges = np.linspace(0.0, max(top, 1e-3) * 1.02, _BINS + 1)
    shades = (_HEX["set-a"], _HEX["set-b"])

    def draw(axes: Axes) -> None:
        for shade, values in zip(shades, columns.values(), strict=False):
            if not len(values):
                continue
            weights = np.full(len(values), 1.0 / len(values))
            shown = np.minimum(values, edges[-1])  # the last bin contains the slowest 1 %
            axes.hist(shown, bins=edges, weights=weights, color=shade, alpha=0.25)
            axes.hist(shown, bins=edges, weights=weights, color=shade, histtype="step", linewidth=1.2)
            axes.axvline(float(np.median(values)), color=shade, linewidth=1.2, linestyle="--")
        axes.set(title=title, xlabel="wall time [ms], the median dashed", ylabel="share of episodes")

    return _draw_svg(draw, f"wall time: {title}", height_in=2.1)


def _draw_svg(draw: Callable[[Axes], None], alt: str, *, height_in: float = SIZE_IN[1]) -> str:
    """Returns a chart as inline SVG; CSS variables replace its placeholder colours."""
    with mpl.rc_context({**_RC, "svg.hashsalt": alt}):
        figure = Figure(figsize=(SIZE_IN[0], height_in))
        FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r' id="\w+_\d+"', "", text)  # ids of groups are equal in all charts of a page
    text = re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', rf'<svg viewBox="\1" role="img" aria-label="{alt}">', text, count=1
    )
    for name, placeholder in _HEX.items():
        text = text.replace(placeholder, f"var(--{name})")
    return text
