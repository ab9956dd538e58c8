"""Draws an episode phase by phase: captioned pictures in order of time, and the openings of parts over time below."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageDraw

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.skills.commands import Phase
from unlatch.skills.mechanism_steps import press_of
from unlatch.tasks.language import PRESS, Manner, fill_in, part_words
from unlatch.workflows.runs.step_progress import StepProgress
from unlatch.workflows.viewing import phase_moments
from unlatch.workflows.viewing.best_view import Subject, choose_best_view, find_acted_part
from unlatch.workflows.viewing.picture import GOOD, INK, PAPER, Font, Rgb, draw_caption, load_font, write_picture
from unlatch.workflows.viewing.scene_picture import RecordedWorld, add_laid_out_state, open_record, whole_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray

TILE_PX = (256, 200)
"""Width and height of one picture [pixels]."""
OVERSAMPLED = 2
"""Pictures are taken this many times larger, then shrunk, which smooths their edges with every renderer."""
PHASE_COLORS: dict[Phase, Rgb] = {
    Phase.idle: (205, 205, 205),
    Phase.transit: (130, 130, 130),
    Phase.approach: (40, 90, 220),
    Phase.grasp: (230, 120, 20),
    Phase.follow: (20, 150, 60),
    Phase.release: (225, 175, 30),
    Phase.retreat: (150, 60, 170),
    Phase.settle: (175, 175, 175),
    Phase.hold: (0, 150, 160),
}
_FAINT, _LINES, _BAD = (120, 120, 120), (215, 215, 215), (190, 25, 25)
_CURVES: tuple[Rgb, ...] = ((30, 60, 150), (160, 80, 20), (90, 30, 130))
_TITLE_PX, _FONT_PX, _LEAST_FONT_PX = 20, 17, 8
_LINE_PX = 24
_CAPTION_PX = 25
_GAP_PX = 4
_MARGIN_PX = 8
_TIMELINE_PX = 140
_SINGLE_PENALTY = 2
"""A single picture in the last row counts like this many empty places."""
_COLORS_KEPT = 256
"""Number of colours, each the mean of the pixels that it stands for: a third of the size of a file with all colours."""


@dataclass(frozen=True)
class Tile:
    """A picture of one moment, with its caption."""

    picture: Array
    """(height, width, 3) uint8 of any size with the aspect ratio of a tile."""
    label: str
    time_s: float
    """Time since the episode began [s]."""
    opening: str
    """How far open the part is, as text with the unit."""
    phase: Phase
    failed: bool = False
    """Whether it is marked as the moment of the failure."""


@dataclass(frozen=True)
class Section:
    """The pictures of one round of a skill."""

    title: str
    tiles: Sequence[Tile]
    failed: bool = False
    """Whether it shows the failure."""


@dataclass(frozen=True)
class Curve:
    """How far open a part is, or how wide the fingers are, over time."""

    label: str
    openings: Array
    """(T,) from closed [rad or m]."""


@dataclass(frozen=True)
class PhaseSheet:
    """Contents of the picture."""

    title: str
    success: bool
    notes: Sequence[str]
    """Lines below the title."""
    sections: Sequence[Section]
    times_s: Array
    """(T,) times of the states since the episode began [s]."""
    phases: Sequence[Phase]
    """(T,) phase of each state."""
    curves: Sequence[Curve]


def write_phases(
    cfg: EpisodeCfg, record: EpisodeRecord, path: Path, *, columns: int = 5, progress: StepProgress | None = None
) -> int:
    """Draws the phases of an episode and writes the picture; returns how many moments it shows.

    Raises:
        RecordingError: The episode has no states, its objects have changed, or the picture cannot be written.
    """
    record = add_laid_out_state(cfg, record)
    if not record.arrays:
        raise phase_moments.nothing_to_show(record)
    rounds = phase_moments.find_rounds(record)
    progress = progress or StepProgress("pictures", is_shown=False)
    with open_record(cfg, record) as recorded:
        progress.begin(sum(len(item.moments) for item in rounds) or 1)
        sheet = take_phase_pictures(recorded, rounds, on_picture=progress.advance)
    write_picture(draw_sheet(sheet, columns=columns), path)
    return sum(len(section.tiles) for section in sheet.sections)


def draw_sheet(sheet: PhaseSheet, *, columns: int) -> Image.Image:
    """Draws a sheet with at most `columns` pictures in a row."""
    across = _choose_row_length([len(section.tiles) for section in sheet.sections], columns)
    width = across * (TILE_PX[0] + _GAP_PX) - _GAP_PX + 2 * _MARGIN_PX
    if sheet.notes:
        # least width of a sheet with the message of a failure: file names of a traceback are long
        width = max(width, 792)
    strips: list[Image.Image | Array] = [_draw_title(sheet, width)]
    number = 1
    for section in sheet.sections:
        for line in _wrap_text(section.title, load_font(_FONT_PX), width - 2 * _MARGIN_PX):
            ink = _BAD if section.failed else INK
            strips.append(draw_caption(line, width, height=_LINE_PX, font_px=_FONT_PX, at=(_MARGIN_PX, 2), color=ink))
        for start in range(0, len(section.tiles), across):
            strips.append(_draw_row(section.tiles[start : start + across], width, first=number + start))
        number += len(section.tiles)
    strips.append(_draw_timeline(sheet, width))
    whole = Image.fromarray(np.concatenate([np.asarray(strip) for strip in strips], axis=0))
    return whole.quantize(_COLORS_KEPT, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)


def _choose_row_length(counts: Sequence[int], columns: int) -> int:
    """Returns the number of pictures in a row: the largest, or one less if that leaves fewer places empty."""
    most = min(max(counts), columns)
    choices = (most, most - 1) if most > 2 and (max(counts) > most or len(counts) > 1) else (most,)
    return min(
        choices, key=lambda across: sum(-count % across + _SINGLE_PENALTY * (count % across == 1) for count in counts)
    )


def _draw_title(sheet: PhaseSheet, width: int) -> Image.Image:
    font, small = load_font(_TITLE_PX), load_font(_FONT_PX)
    color = GOOD if sheet.success else _BAD
    first = _wrap_text(sheet.title, font, width - 2 * _MARGIN_PX)
    rest = [line for note in sheet.notes for line in _wrap_text(note, small, width - 2 * _MARGIN_PX)]
    image = _blank_image(width, _LINE_PX * (len(first) + len(rest)) + 6)
    draw = ImageDraw.Draw(image)
    lines = [*((line, font, 4) for line in first), *((line, small, 5) for line in rest)]
    for index, (line, line_font, top) in enumerate(lines):
        draw.text((_MARGIN_PX, top + _LINE_PX * index), line, fill=color, font=line_font)
    return image


def _draw_row(tiles: Sequence[Tile], width: int, *, first: int) -> Image.Image:
    image = _blank_image(width, _CAPTION_PX + TILE_PX[1] + _GAP_PX)
    draw = ImageDraw.Draw(image)
    for column, tile in enumerate(tiles):
        x = _MARGIN_PX + column * (TILE_PX[0] + _GAP_PX)
        right = x + TILE_PX[0] - 1
        picture = Image.fromarray(tile.picture).resize(TILE_PX, Image.Resampling.LANCZOS)
        image.paste(picture, (x, _CAPTION_PX))
        color = _BAD if tile.failed else PHASE_COLORS[tile.phase]
        frame = 4 if tile.failed else 1
        draw.rectangle([x, _CAPTION_PX, right, _CAPTION_PX + TILE_PX[1] - 1], outline=color, width=frame)
        draw.rectangle([x, _CAPTION_PX - 4, right, _CAPTION_PX], fill=color)
        ink = _BAD if tile.failed else INK
        what, when = f"{first + column}  {tile.label}", f"{tile.time_s:.1f} s   {tile.opening}"
        font = fitting_font(what + "  " + when, TILE_PX[0] - 4)
        draw.text((x + 2, 0), what, fill=ink, font=font)
        draw.text((right - 2, 0), when, fill=ink, font=font, anchor="ra")
    return image


def _draw_timeline(sheet: PhaseSheet, width: int) -> Array:
    """Draws phases, numbers of pictures and openings over time, with a legend above; (height, width, 3) uint8."""
    # imported here: `plan` and `preview` start more quickly
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(width / 100, _TIMELINE_PX / 100), dpi=100)
    canvas: Any = FigureCanvasAgg(figure)
    axes = figure.add_axes((1.5 * _MARGIN_PX / width, 0.17, 1.0 - 3.0 * _MARGIN_PX / width, 0.53))
    end_s = float(sheet.times_s[-1]) or 1.0
    frame = 0
    for phase, members in groupby(sheet.phases):
        last = frame + len(list(members))
        begin, end = (float(sheet.times_s[min(at, len(sheet.times_s) - 1)]) for at in (frame, last))
        axes.axvspan(begin, end, 1.03, 1.15, color=_shade(PHASE_COLORS[phase]), clip_on=False)
        frame = last
    for number, curve in enumerate(sheet.curves):
        most = max(float(np.abs(curve.openings).max()), phase_moments.LEAST_OPENING)
        axes.plot(sheet.times_s, np.maximum(curve.openings, 0.0) / most, color=_shade(_CURVES[number % len(_CURVES)]))
        axes.lines[-1].set_label(curve.label)
    _write_numbers(axes, [tile for section in sheet.sections for tile in section.tiles], 26.0 * end_s / width)
    axes.set(xlim=(0.0, end_s), ylim=(0.0, 1.3), yticks=[])
    axes.xaxis.set_major_locator(MaxNLocator(12, integer=True))
    axes.xaxis.set_major_formatter("{x:g} s")
    axes.tick_params(colors=_shade(_FAINT), labelsize=8)
    axes.spines[["left", "right", "top"]].set_visible(False)
    if sheet.curves:
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.1), ncols=4, frameon=False, fontsize=10, borderaxespad=0.0)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3]


def _write_numbers(axes: Axes, tiles: Sequence[Tile], gap_s: float) -> None:
    """Draws a line with the number of each picture at its time; pictures closer than a gap share a label: `3, 4`."""
    groups: list[list[int]] = []
    for number in sorted(range(len(tiles)), key=lambda number: tiles[number].time_s):
        tile = tiles[number]
        axes.axvline(tile.time_s, color=_shade(_BAD if tile.failed else _LINES), linewidth=3 if tile.failed else 1)
        if groups and tile.time_s - tiles[groups[-1][0]].time_s < gap_s * len(groups[-1]):
            groups[-1].append(number)
        else:
            groups.append([number])
    for group in groups:
        ink = _shade(_BAD if any(tiles[number].failed for number in group) else _FAINT)
        words = ", ".join(str(number + 1) for number in sorted(group))
        place: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": 8}
        axes.annotate(words, (tiles[group[-1]].time_s, 1.3), (-2, -10), color=ink, **place)


def _shade(rgb: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def _wrap_text(text: str, font: Font, width: int) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        if lines and font.getlength(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _blank_image(width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), PAPER)


def fitting_font(text: str, width: int) -> Font:
    """Returns the font of captions, made smaller until a text fits into a width [pixels]."""
    return next(
        (font for size in range(_FONT_PX, _LEAST_FONT_PX, -1) if (font := load_font(size)).getlength(text) <= width),
        load_font(_LEAST_FONT_PX),
    )


_KEY_PHASES = (Phase.grasp, Phase.follow)
"""Phases that the camera is chosen for."""
_MAX_KEY_FRAMES = 4
_SURROUNDINGS_M = 0.18
"""Half extent of the box around the contact point; the picture shows at least what of the part is in this box [m]."""
_NEAR_SURROUNDINGS_M = 0.06
"""The same for the pictures of a failure, which show hand and part from near [m]."""
_DIRECTIONS = {
    (-0.68, -1.05, 0.62): 1.0,
    (-0.68, 1.05, 0.62): 1.0,
    (-0.10, -1.20, 0.45): 0.8,
    (-0.10, 1.20, 0.45): 0.8,
    (-0.55, -0.70, 1.00): 0.8,
    (-0.55, 0.70, 1.00): 0.8,
}
"""Directions of the camera in the world frame with their weights: behind the robot's shoulders, its sides, and above.
The object is recognized best from the shoulders; other pictures use the first direction."""
_FOV_DEG = 30.0
_FAR_M = 0.25
"""A hand this far from the contact point has not reached it: the pictures of its failure show the hand alone [m]."""
_FINGERS_MOVE = (Phase.approach, Phase.grasp, Phase.release)
"""Phases in which a caption says how wide the fingers are open: the part does not move yet."""


def take_phase_pictures(
    shown: RecordedWorld,
    rounds: Sequence[phase_moments.SkillRound],
    *,
    smooth: bool = False,
    on_picture: Callable[[], None] = lambda: None,
) -> PhaseSheet:
    """Takes a picture of every moment and collects what the sheet shows; if no arm moved, one of the last state.

    Args:
        shown: The recorded episode.
        rounds: Its moments, from `find_rounds`.
        smooth: Whether edges are smoothed; the pictures are shown at their size, not shrunk to `TILE_PX`.
        on_picture: Called after each picture.
    """
    record = shown.record
    end = phase_moments.last_finite_frame(record) + 1
    when = "" if record.success else f" at {record.evidence.get('time_s', 0.0):.1f} s"
    instruction = f': "{record.instruction}"' if record.instruction else ""
    views = _choose_cameras(shown, rounds)
    return PhaseSheet(
        title=f"{shown.episode.cfg.task.name}, episode {record.number}, {record.outcome}{when}{instruction}",
        success=record.success,
        notes=phase_moments.failure_notes(record)[1 if rounds else 0 :],  # the title above the failure has the message
        sections=[
            _make_section(shown, item, view, smooth=smooth, on_picture=on_picture)
            for item, view in zip(rounds, views, strict=True)
        ]
        or [_draw_last_state(shown, smooth=smooth)],
        times_s=record.arrays["time"][:end] - record.arrays["time"][0],
        phases=[phase_moments.phase_of(number) for number in record.arrays["skills.phase"][:end].tolist()],
        curves=list(_opening_curves(shown, rounds, end)),
    )


def _choose_cameras(shown: RecordedWorld, rounds: Sequence[phase_moments.SkillRound]) -> list[LookAtCamera]:
    """Returns the camera of each round: one for all rounds of a skill, and a nearer one for a failure."""
    found: dict[tuple[int, bool], LookAtCamera] = {}
    for skill, failed in dict.fromkeys((item.skill, item.failed_phase is not None) for item in rounds):
        moments = [
            moment
            for item in rounds
            if (item.skill, item.failed_phase is not None) == (skill, failed)
            for moment in item.moments
        ]
        found[skill, failed] = _choose_camera(shown, skill, moments, near=failed)
    return [found[item.skill, item.failed_phase is not None] for item in rounds]


def _choose_camera(
    shown: RecordedWorld, skill: int, moments: Sequence[phase_moments.PhaseMoment], *, near: bool
) -> LookAtCamera:
    """Returns the camera that shows the hand at some moments, and the part around the contact point.

    `near`: less of the part, and nothing of a part that the hand is far from.
    """
    record, acted = shown.record, find_acted_part(shown, skill)
    frames = [moment.frame for moment in moments if moment.phase in _KEY_PHASES or moment.failed]
    frames = frames[:_MAX_KEY_FRAMES] or [moments[-1].frame]
    middles = record.arrays[acted.point_key][frames]  # (K, 3)
    around = _NEAR_SURROUNDINGS_M if near else _SURROUNDINGS_M
    corners = []
    for frame, middle in zip(frames, middles, strict=True):
        gap = np.linalg.norm(record.arrays[f"{acted.arm_key}.tcp_position"][frame] - middle)
        if near and gap > _FAR_M:
            continue
        shown.show(frame)
        corners.append(np.clip(acted.item.body.link_aabb(acted.link), middle - around, middle + around))
        corners += [acted.item.body.link_aabb(link) for link in ([] if near else _list_goal_links(shown, skill))]
    points = [
        record.arrays[f"{acted.arm_key}.tcp_position"][[moment.frame for moment in moments]],
        record.arrays[f"{acted.arm_key}.ee_position"][[moment.frame for moment in moments]],
        *corners,
    ]
    return choose_best_view(
        shown.world,
        shown.show,
        subjects=[Subject(frame, acted.fingers, acted.label) for frame in frames],
        points_world=np.concatenate(points),
        directions=_DIRECTIONS,
        fov_deg=_FOV_DEG,
        aspect=TILE_PX[0] / TILE_PX[1],
    )


def _list_goal_links(shown: RecordedWorld, skill: int) -> list[str]:
    """Returns the links of other parts of a skill's object that the goal names: a pedal is pressed to open a lid."""
    entry = shown.record.skills[skill]
    articulation = shown.episode.scene.objects[entry["object"]].asset.articulation
    acted = {(each["object"], each["part"]) for each in shown.record.skills}
    return [
        articulation.part(goal["part"]).link
        for goal in _list_goals_of_parts(shown.record)
        if goal["object"] == entry["object"] and (goal["object"], goal["part"]) not in acted
    ]


def _list_goals_of_parts(record: EpisodeRecord) -> list[Mapping[str, Any]]:
    return [goal for goal in record.goal.get("conditions", []) if "joint_index" in goal]


def _draw_last_state(shown: RecordedWorld, *, smooth: bool) -> Section:
    """Returns a picture of the whole scene as the episode ended, before an arm moved."""
    record, frame = shown.record, phase_moments.last_finite_frame(shown.record)
    shown.show(frame)
    times = record.arrays["time"]
    width, height = (OVERSAMPLED * side for side in TILE_PX)
    picture = take_picture(shown.world, whole_view(shown.episode.scene), width=width, height=height, smooth=smooth)
    tile = Tile(picture, record.outcome, float(times[frame] - times[0]), "", Phase.idle, failed=not record.success)
    return Section("no arm moved", [tile])


def _make_section(
    shown: RecordedWorld,
    skill_round: phase_moments.SkillRound,
    view: LookAtCamera,
    *,
    smooth: bool,
    on_picture: Callable[[], None],
) -> Section:
    record = shown.record
    entry = record.skills[skill_round.skill]
    times = record.arrays["time"]
    width, height = (OVERSAMPLED * side for side in TILE_PX)
    tiles = []
    for moment in skill_round.moments:
        shown.show(moment.frame)
        tiles.append(
            Tile(
                take_picture(shown.world, view, width=width, height=height, smooth=smooth),
                moment.label,
                float(times[moment.frame] - times[0]),
                _describe_opening(shown, skill_round.skill, moment.frame, skill_round.failed_phase),
                moment.phase,
                failed=moment.failed,
            )
        )
        on_picture()
    return Section(_section_title(shown, skill_round, entry), tiles, failed=skill_round.failed_phase is not None)


def _section_title(shown: RecordedWorld, skill_round: phase_moments.SkillRound, entry: Mapping[str, Any]) -> str:
    record = shown.record
    if skill_round.failed_phase is not None:
        phase = "" if skill_round.failed_phase is Phase.idle else f" in phase {skill_round.failed_phase.name}"
        return f"failure{phase}: {record.message}".rstrip(".: ")
    arm = f", {entry['arm']} arm" if "arm" in entry else ""
    if entry.get("goes_home"):
        return f"{entry['name']}{arm}"
    asset = shown.episode.scene.objects[entry["object"]].asset
    name, part = entry["name"], entry["part"]
    if name == "close" and part is not None and asset.articulation.mechanisms:
        opening = abs(entry["s0"] - entry["s_closed"])
        press = press_of(asset, asset.articulation.part(part), opening)
        name, part = (name, part) if press is None else (PRESS, press.at.name)
    words = part_words(asset, part)
    if name == "close" and words.manner is Manner.press:
        name = PRESS
    thing = "{object}" if part is None else "{part} of the {object}"
    if "link" in entry:  # the hand holds a fixed handle while the other arm moves the part
        thing = "handle of the {object}"
    (title,) = fill_in([f"{name}{arm}: {thing}"], words)
    several = f", turn {skill_round.number} of {skill_round.count}" if skill_round.count > 1 else ""
    strategy = f", strategy {entry['strategy']}" if entry.get("strategy") else ""
    # fingertips that drag a part press on it
    forces = [
        f", {key.partition('_')[0]} {entry[key]:.0f} N" for key in ("press_force_n", "grip_force_n") if key in entry
    ]
    return f"{title}{several}{strategy}{''.join(forces[:1])}"


def _describe_opening(shown: RecordedWorld, skill: int, frame: int, failed_phase: Phase | None) -> str:
    """Returns how far the part is open, or what frees it before it moves; of missed fingers, how wide they are."""
    if failed_phase in _FINGERS_MOVE:
        return f"fingers {1e3 * _finger_openings(shown, skill)[frame]:.0f} mm"
    first, *others = phase_moments.with_what_frees(shown.record, [shown.record.skills[skill]], _assets(shown))
    openings, unit = _openings(shown, first)
    if abs(openings[frame]) < phase_moments.LEAST_OPENING:  # the part waits for what frees it
        for entry in others:
            freeing, of = _openings(shown, entry)
            if abs(freeing[frame]) > phase_moments.LEAST_OPENING:
                return f"{entry['part']} {_format_opening(float(freeing[frame]), of)}"
    return _format_opening(float(openings[frame]), unit)


def _assets(shown: RecordedWorld) -> dict[str, ObjectAsset]:
    return {name: item.asset for name, item in shown.episode.scene.objects.items()}


def _finger_openings(shown: RecordedWorld, skill: int) -> Array:
    """Returns how wide the fingers of a skill's arm are open in every frame, (T+1,) [m]."""
    cfg, entry = shown.episode.cfg, shown.record.skills[skill]
    arm = shown.episode.scene.robot.arm(entry.get("arm", cfg.skills[entry.get("entry", skill)].arm))
    openings: Array = shown.record.arrays[f"robots.{cfg.robot.name}.{arm.name}.gripper_opening"].max(axis=1)
    return np.maximum(openings, 0.0)


def _opening_curves(shown: RecordedWorld, rounds: Sequence[phase_moments.SkillRound], end: int) -> Iterator[Curve]:
    """Yields the openings of parts that were acted on, that free them or that the goal names, and of missed fingers."""
    entries = [*(shown.record.skills[item.skill] for item in rounds), *_list_goals_of_parts(shown.record)]
    for entry in phase_moments.with_what_frees(shown.record, entries, _assets(shown)):
        openings, unit = _openings(shown, entry)
        most = _format_opening(float(np.max(openings[:end])), unit)
        words = part_words(shown.episode.scene.objects[entry["object"]].asset, entry["part"])
        what = f"height of the {words.object}" if entry["part"] is None else words.part
        yield Curve(f"{what}, up to {most}", openings[:end])
    for item in rounds:
        if item.failed_phase in _FINGERS_MOVE:
            fingers = _finger_openings(shown, item.skill)[:end]
            yield Curve(f"fingers, up to {1e3 * fingers.max():.0f} mm", fingers)


def _openings(shown: RecordedWorld, entry: Mapping[str, Any]) -> tuple[Array, str]:
    """Returns how far the part of a skill is open in every frame, (T+1,), and the unit."""
    body, openings = shown.episode.scene.objects[entry["object"]].body, phase_moments.part_openings(shown.record, entry)
    if entry["part"] is None:
        return openings, "m"
    joint = shown.episode.scene.objects[entry["object"]].asset.articulation.part(entry["part"]).joint
    return openings, "m" if body.joint(joint).prismatic else "rad"


def _format_opening(opening: float, unit: str) -> str:
    digits = 3 if unit == "m" else 2
    return f"{round(opening, digits) + 0.0:.{digits}f} {unit}"
