"""Example episodes of every outcome in a report: their curves, pictures and clips, and charts of all attempts as SVG.
The style of the page sets the colours of the charts, for light and dark screens.
"""

from __future__ import annotations

import io
import math
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from PIL import Image

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.errors import RecordingError, UnlatchError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.success_rules import FAILURE_CODES
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.simcore.sim.world import World
from unlatch.workflows.viewing.clip import PageClip, count_clip_frames, take_clip
from unlatch.workflows.viewing.episode_files import view_command
from unlatch.workflows.viewing.phase_moments import (
    LEAST_OPENING,
    failure_notes,
    find_rounds,
    last_finite_frame,
    part_openings,
)
from unlatch.workflows.viewing.phase_sheet import OVERSAMPLED, TILE_PX, take_phase_pictures
from unlatch.workflows.viewing.report_counts import MapPoint, Tally
from unlatch.workflows.viewing.scene_picture import add_laid_out_state, open_record, open_scene, whole_view

Array = np.ndarray

SUCCESSES_IN_CURVES = 6
FAILURES_IN_CURVES = 2
"""Largest number of curves for each failure code."""
MOST_STRIPS = 24
"""Largest number of episodes with pictures on one page."""
_FINGER_FORCE = ".fingers.force_sustained_n"
"""Ending of the keys of the force that decides about `overload`."""


EpisodeCurves = dict[str, Any]
"""Curves of one episode over time, as plain values: `time_s` (T+1,) since it began [s], `opening` (T+1,) from closed,
towards open [rad or m], `finger_force_n` (T,) the largest force that a finger bears for longer than 20 ms [N],
`finger_force_limit_n` of the hand that may bear least, None if the record states none, and `forbidden_n` (T,) the
largest force where nothing may touch: arm on object, robot on its surroundings [N]."""
PictureStrip = dict[str, Any]
"""Pictures of one episode and its clip (a `PageClip` or None: a page has a limited number, or no arm moved). Each of
its `sections` has the pictures of one round of a skill, or those around a failure. The `message` of a failure is empty
if a section has it as its title."""


def choose_strips(tallies: Sequence[Tally], *, pictures: int) -> list[tuple[Tally, int]]:
    """Returns the episodes to draw, `pictures` of each outcome of each data set, at most `MOST_STRIPS`.

    They come from all data sets in turn: of one or two, the successes first; of a sweep, the failures.
    """
    queues = []
    for item in tallies:
        numbers = choose_examples(item, successes=pictures, failures=pictures)
        good = [number for number in numbers if number in item.examples.get(None, [])]
        bad = [number for number in numbers if number not in good]
        queues.append([(item, number) for number in ([*bad, *good] if len(tallies) > 2 else [*good, *bad])])
    return [pair for row in zip_longest(*queues) for pair in row if pair is not None][:MOST_STRIPS]


def choose_examples(tally: Tally, *, successes: int, failures: int) -> list[int]:
    """Returns the first successes, then the first failures of each code, the most frequent code first."""
    codes = [code for code, _ in tally.total.codes.most_common()]
    numbers = tally.examples.get(None, [])[:successes]
    return [*numbers, *(number for code in codes for number in tally.examples[code][:failures])]


def read_curves(tally: Tally) -> list[EpisodeCurves]:
    """Reads the curves of a few examples; attempts that never moved have none.

    Raises:
        RecordingError: An episode cannot be read.
    """
    numbers = choose_examples(tally, successes=SUCCESSES_IN_CURVES, failures=FAILURES_IN_CURVES)
    found = []
    for number in numbers:
        with suppress(RecordingError):  # a damaged episode has no curve; the strips report it
            found.append(_read_episode(tally.data_set.read(number)))
    return [item for item in found if item is not None]


def _read_episode(record: EpisodeRecord) -> EpisodeCurves | None:
    entry = next(
        (skill for skill in record.skills if skill.get("object") and skill.get("frame_start") is not None), None
    )
    if entry is None or record.n_actions == 0:
        return None
    end = last_finite_frame(record) + 1
    times = record.arrays["time"][:end]
    finger = _largest_force(record, (_FINGER_FORCE,), end - 1)
    forbidden = _largest_force(record, (".forbid_collision.force_max_n", ".environment.force_max_n"), end - 1)
    openings = part_openings(record, entry)[:end]
    return {
        "episode": record.number,
        "code": record.code,
        "time_s": (times - times[0]).round(4).tolist(),
        "opening": openings.round(5).tolist(),
        "finger_force_n": finger.round(3).tolist(),
        "finger_force_limit_n": _find_finger_limit(record),
        "forbidden_n": forbidden.round(3).tolist(),
    }


def _find_finger_limit(record: EpisodeRecord) -> float | None:
    return min((float(s["finger_force_limit_n"]) for s in record.skills if "finger_force_limit_n" in s), default=None)


def describe_forces(record: EpisodeRecord) -> str:
    """Returns how hard hands grip, fingertips press, and the largest force on a finger; empty: the record has none."""
    gripping = [skill for skill in record.skills if "press_force_n" not in skill]
    words = [
        f"{name} " + " and ".join(f"{force} N" for force in forces)
        for name, key, skills in (
            ("grip force", "grip_force_n", gripping),
            ("force of the fingertips on a dragged part", "press_force_n", record.skills),
        )
        if (forces := sorted({round(float(skill[key])) for skill in skills if key in skill}))
    ]
    limit_n = _find_finger_limit(record)
    stated = record.code == "overload"  # in the message of the failure
    if limit_n is not None and not stated and any(key.endswith(_FINGER_FORCE) for key in record.arrays):
        most_n = float(np.max(_largest_force(record, (_FINGER_FORCE,), last_finite_frame(record)), initial=0.0))
        words.append(f"largest force on a finger for longer than 20 ms: {most_n:.0f} N (allowed {limit_n:.0f} N)")
    return "; ".join(words)


def _largest_force(record: EpisodeRecord, endings: tuple[str, ...], rows: int) -> Array:
    found = [array[:rows] for key, array in record.arrays.items() if key.endswith(endings)]
    return np.max(found, axis=0) if found else np.zeros(rows)


def count_strip_pictures(tally: Tally, number: int, *, with_clip: bool) -> int:
    """Returns how many pictures are taken for the strip of an episode; 0 if it cannot be read."""
    try:
        record = tally.data_set.read(number)
    except RecordingError:
        return 0
    rounds = find_rounds(record) if record.arrays else []
    return (sum(len(item.moments) for item in rounds) or 1) + (count_clip_frames(record) if with_clip and rounds else 0)


def take_strips(
    tally: Tally,
    cfg: EpisodeCfg,
    numbers: Iterable[int],
    *,
    with_clip: Collection[int],
    on_picture: Callable[[], None] = lambda: None,
) -> Iterator[PictureStrip | str]:
    """Yields a strip for each episode, or a line with the reason why there is none; some episodes have a clip.

    `on_picture` is called after each picture.
    """
    for number in numbers:
        try:
            record = add_laid_out_state(cfg, tally.data_set.read(number))
            sections, clip = _take_sections(cfg, record, with_clip=number in with_clip, on_picture=on_picture)
        except UnlatchError as exc:  # damaged, or with an object that is not on this machine
            yield f"no pictures of episode {number} of {tally.name}: {exc.message}"
            continue
        is_told = any(section["failed"] for section in sections)
        yield {
            "data_set": tally.name,
            "number": number,
            "code": record.code,
            "instruction": record.instruction,
            "message": "" if is_told and record.code != "error" else " ".join(failure_notes(record)),
            "forces": describe_forces(record),
            "command": view_command(tally.data_set, number),
            "sections": sections,
            "clip": clip,
        }


def _take_sections(
    cfg: EpisodeCfg, record: EpisodeRecord, *, with_clip: bool, on_picture: Callable[[], None]
) -> tuple[list[dict[str, Any]], PageClip | None]:
    if not record.arrays:
        with open_scene(cfg, record.number) as scene:
            return _single_picture(scene.world, scene.view, "the layout", None, on_picture), None
    rounds = find_rounds(record)
    with open_record(cfg, record) as shown:
        if not rounds:
            shown.show(0)
            return _single_picture(shown.world, whole_view(shown.episode.scene), "the start", 0.0, on_picture), None
        sheet = take_phase_pictures(shown, rounds, smooth=True, on_picture=on_picture)
        clip = take_clip(shown, on_picture=on_picture) if with_clip else None
    sections = [
        _describe_section(
            section.title,
            [(tile.picture, f"{tile.label}, {tile.opening}", tile.time_s, tile.failed) for tile in section.tiles],
            failed=section.failed,
        )
        for section in sheet.sections
    ]
    return sections, clip


def _describe_section(
    title: str, pictures: Iterable[tuple[Array, str, float | None, bool]], *, failed: bool = False
) -> dict[str, Any]:
    """Returns a section; each picture has a label, its time [s], and whether it shows the moment of the failure."""
    keys = ("jpeg_base64", "label", "time_s", "failed")
    shown = [dict(zip(keys, (_encode_jpeg(picture), *rest), strict=True)) for picture, *rest in pictures]
    return {"title": title, "failed": failed, "pictures": shown}


def _single_picture(
    world: World, view: LookAtCamera, label: str, time_s: float | None, on_picture: Callable[[], None]
) -> list[dict[str, Any]]:
    width, height = (OVERSAMPLED * side for side in TILE_PX)
    picture = take_picture(world, view, width=width, height=height)
    on_picture()
    return [_describe_section("no arm moved", [(picture, label, time_s, False)])]


def _encode_jpeg(picture: Array) -> str:
    """Returns a picture as a JPEG file in base64."""
    image = Image.fromarray(picture).resize((480, 375), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=78, optimize=True)
    return b64encode(buffer.getvalue()).decode()


SIZE_IN = (3.8, 2.9)
"""Width and height [inches]; small, so that text is readable on a phone."""
MOST_POINTS = 1500
"""Largest number of attempts that are drawn one by one; of more, success rates are drawn on a grid."""
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
    varies = max(openings) - min(openings) > LEAST_OPENING
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
        # largest number of intervals between the labels of an axis of a map, whose labels are long
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
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


def episode_curves(series: Sequence[EpisodeCurves]) -> list[str]:
    """Draws how far open the part was, the force on a finger with the allowed one dashed, and forbidden contacts.

    A chart of forces that are all zero is left out.
    """

    def draw_openings(axes: Axes) -> None:
        for item in series:
            axes.plot(item["time_s"], item["opening"], **_line_style(item["code"]))
        axes.set(title="the part's joint, from closed", xlabel="time [s]", ylabel="open by [rad or m]")
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, -LEAST_OPENING / 20), max(high, LEAST_OPENING))

    def draw_forces(axes: Axes, key: str, title: str, label: str) -> None:
        for item in series:
            values, times = item[key], item["time_s"][1:]
            axes.plot(times[: len(values)], values[: len(times)], **_line_style(item["code"]))
        axes.set(title=title, xlabel="time [s]", ylabel=label)
        axes.set_ylim(bottom=0.0, top=None if axes.get_ylim()[1] > 1.0 else 1.0)

    def draw_fingers(axes: Axes) -> None:
        for limit_n in sorted({item["finger_force_limit_n"] for item in series} - {None}):
            axes.axhline(limit_n, color=color("overload"), linewidth=1.0, linestyle="--")
        words = "force on a finger, the limit dashed", "borne for longer than 20 ms [N]"
        draw_forces(axes, "finger_force_n", *words)

    drawn = [_draw_svg(draw_openings, "displacement of the part's joint over time")]
    if any(any(item["finger_force_n"]) for item in series):
        drawn.append(_draw_svg(draw_fingers, "force on a finger over time"))
    if any(any(item["forbidden_n"]) for item in series):
        draw = partial(draw_forces, key="forbidden_n", title="forbidden contacts", label="largest force of a frame [N]")
        drawn.append(_draw_svg(draw, "forbidden contacts"))
    return drawn


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
            shown = np.minimum(values, edges[-1])  # the last bin contains the slowest 1 %
            shares = np.histogram(shown, bins=edges)[0] / len(values)
            axes.stairs(shares, edges, color=shade, alpha=0.25, fill=True)
            axes.stairs(shares, edges, color=shade, linewidth=1.2)
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
