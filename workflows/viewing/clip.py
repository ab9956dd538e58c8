"""Writes a recorded episode as a moving picture: a file of its own, or a short clip in a page."""

from __future__ import annotations

import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from unlatch.configs.cameras import read_render_settings, with_cameras
from unlatch.configs.composition import Request
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.group_files import camera_names, option_names
from unlatch.configs.named_sensors import split_arm
from unlatch.configs.schema import EpisodeCfg, Scenery
from unlatch.simcore.catalogs import AUTO, RENDERERS
from unlatch.simcore.errors import ConfigError, check_range, unknown_name
from unlatch.simcore.files import open_draft, report_unwritable
from unlatch.simcore.ranges import Range, Ranged
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.frame_video import Encoding, FrameVideoWriter
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.sim.renderers.auto import choose_renderer
from unlatch.simcore.sim.sensors.camera import CameraCfg
from unlatch.simcore.sim.world import World
from unlatch.workflows.runs.recorded_config import config_of_record
from unlatch.workflows.viewing.best_view import CLOSE, OVERVIEW, VIEWS, view_taker
from unlatch.workflows.viewing.phase_moments import failure_frame, last_finite_frame, nothing_to_show
from unlatch.workflows.viewing.picture import BAD, check_suffix, output_path
from unlatch.workflows.viewing.scene_picture import (
    RecordedWorld,
    add_laid_out_state,
    make_picture_renderer,
    open_record,
)

Array = np.ndarray

CLIP_ENCODINGS = {
    # H.264 with a quarter of the colours is what every browser plays; `faststart` lets it begin while it loads
    "mp4": Encoding(
        "mp4",
        "libx264",
        "yuv420p",
        "rgb24",
        {"crf": "20", "preset": "veryfast", "mbtree": "0"},
        file_options={"movflags": "+faststart"},
    ),
    "webp": Encoding("webp", "libwebp_anim", "yuv420p", "rgb24", {"quality": "75"}, file_options={"loop": "0"}),
    "gif": Encoding("gif", "gif", "pal8", "rgb24", palette=True, file_options={"loop": "0"}),
}
"""Encodings of clips by the ending of the file; `loop` 0 plays it again and again."""
HELD_S = 1.0
"""Time for which the last picture is shown before the clip begins again [s]."""


def frame_numbers(record: EpisodeRecord, *, fps: float, speed: float) -> list[int]:
    """Returns the state frames that a clip shows, at equal time steps; the last one is the last state.

    Args:
        record: The episode, with its arrays.
        fps: Pictures per second of the clip.
        speed: How many times as fast as the episode it plays.
    """
    last = last_finite_frame(record)
    times = record.arrays["time"][: last + 1] - record.arrays["time"][0]
    count = int(np.ceil(float(times[last]) / speed * fps - 1e-6)) + 1
    wanted: Array = np.minimum(np.arange(count) * speed / fps, times[last])
    middles: Array = (times[1:] + times[:-1]) / 2
    frames: Array = np.asarray(np.searchsorted(middles, wanted))
    return frames.tolist()


def take_frames(
    shown: RecordedWorld,
    numbers: Iterable[int],
    take: Callable[[], Array],
    *,
    on_picture: Callable[[], None] = lambda: None,
) -> Iterator[Array]:
    """Yields a picture (height, width, 3) uint8 of each state frame; a red border marks the failure and what follows.

    Args:
        shown: The recorded episode.
        numbers: State frames.
        take: Takes a picture of the shown state.
        on_picture: Called when a picture is taken.
    """
    record = shown.record
    failed_from = record.n_actions + 1 if record.success else failure_frame(record)
    before, picture = None, None
    for frame in numbers:
        if picture is None or frame != before:
            shown.show(frame)
            picture = take()
        before = frame
        on_picture()
        yield _add_border(picture) if frame >= failed_from else picture


def write_frames(path: Path, encoding: Encoding, pictures: Iterator[Array], *, fps: int) -> int:
    """Writes pictures one by one as they are made, and the last one for `HELD_S`; returns how many.

    Args:
        path: A file that does not exist yet.
        encoding: One of `CLIP_ENCODINGS`.
        pictures: At least one, (height, width, 3) uint8, all of one size.
        fps: Pictures per second.
    """
    picture = next(pictures)
    count, held = 1, round(HELD_S * fps)
    with FrameVideoWriter(path, encoding, width=picture.shape[1], height=picture.shape[0], rate_hz=fps) as writer:
        writer.add(picture)
        for picture in pictures:
            writer.add(picture)
            count += 1
        for _ in range(held):
            writer.add(picture)
    return count + held


def _add_border(picture: Array) -> Array:
    """Returns a picture (height, width, 3) uint8 with a red border."""
    width = max(2, round(0.01 * picture.shape[0]))  # width of the red border as a share of the picture's height
    inner = slice(width, -width)
    marked: Array = np.empty_like(picture)
    marked[:] = BAD
    marked[inner, inner] = picture[inner, inner]
    return marked


CLIP_PX = (480, 384)
"""Width and height of a clip [pixels]."""
MOST_CLIP_FRAMES = 32
"""Largest number of different frames; a longer episode is shown faster than it was."""
CLIP_RATE_HZ = 8
"""Frames per second of a clip."""


@dataclass(frozen=True)
class PageClip:
    """A clip of one episode."""

    mp4_base64: str
    """The file as text for a page."""
    frames: int
    """Number of frames, with those that repeat the last one."""
    speed: float
    """How many times as fast as the episode it plays."""


def count_clip_frames(record: EpisodeRecord) -> int:
    """Returns how many pictures `take_clip` takes of an episode."""
    return len(frame_numbers(record, fps=CLIP_RATE_HZ, speed=_choose_speed(record)))


def _choose_speed(record: EpisodeRecord) -> float:
    times = record.arrays["time"]
    length_s = float(times[last_finite_frame(record)] - times[0])
    return max(1.0, length_s * CLIP_RATE_HZ / (MOST_CLIP_FRAMES - 1))


def take_clip(shown: RecordedWorld, *, on_picture: Callable[[], None] = lambda: None) -> PageClip:
    """Takes a clip of a whole episode; a red border marks the failure and what comes after it.

    `on_picture` is called after each picture.
    """
    speed = _choose_speed(shown.record)
    numbers = frame_numbers(shown.record, fps=CLIP_RATE_HZ, speed=speed)
    take = view_taker(shown, CLOSE, width=CLIP_PX[0], height=CLIP_PX[1])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "clip.mp4")
        pictures = take_frames(shown, numbers, take, on_picture=on_picture)
        frames = write_frames(path, CLIP_ENCODINGS["mp4"], pictures, fps=CLIP_RATE_HZ)
        return PageClip(b64encode(path.read_bytes()).decode(), frames, speed)


SIZE_PX = (640, 480)
"""Default width and height of the views [pixels]."""
_LEAST_PX, _MOST_PX = 16, 4096

OnFrame = Callable[[int, int], None]
"""Called after each picture with how many are done, and how many there are."""


@dataclass
class ClipCfg(Ranged):
    """How a clip looks."""

    camera: str = OVERVIEW
    """`overview`, `close`, a camera of the records, or the name of a YAML file of the group `sensor`."""
    width: Annotated[int, Range(_LEAST_PX, _MOST_PX, unit="pixels")] | None = None
    """Of the pictures [pixels]; null: 640, or that of the camera."""
    height: Annotated[int, Range(_LEAST_PX, _MOST_PX, unit="pixels")] | None = None
    """Of the pictures [pixels]; null: 480, or that of the camera."""
    fps: Annotated[int, Range(1, 60)] = 15
    """Pictures per second."""
    speed: Annotated[float, Range(0.05, 100.0)] = 1.0
    """How many times as fast as the episode it plays."""
    scenery: Scenery | None = None
    """The room; null: that of the episode."""
    renderer: str = AUTO
    """Name in the catalog of renderers, or `auto`."""


@dataclass(frozen=True)
class WrittenClip:
    """A clip that was written."""

    path: Path
    frames: int
    """Number of pictures, with those that repeat the last one."""
    length_s: float
    """How long it plays [s]."""
    renderer: str
    """Name of the renderer."""


def clip(
    record: EpisodeRecord,
    out: str | Path,
    *,
    cfg: EpisodeCfg | None = None,
    config_dirs: Sequence[str] = (),
    on_frame: OnFrame | None = None,
    **options: Any,
) -> Path:
    """Writes a recorded episode as a moving picture; a red border marks a failure and what comes after it.

    Args:
        record: The record, with its arrays.
        out: File to write: `.mp4`, `.webp` or `.gif`.
        cfg: Configuration of the episode; None: that of the data set that the record was read from.
        config_dirs: Further folders of YAML files.
        on_frame: Called after each picture with how many are done, and how many there are.
        **options: Fields of `ClipCfg`, such as `camera="wrist"`, `scenery="kitchen"` or `speed=2`.

    Returns:
        The absolute path of the file.

    Raises:
        ConfigError: An option or the ending of the file is wrong. Nothing is written.
        PluginError: The renderer is unknown. Nothing is written.
        RecordingError: The episode has no states, its objects have changed, or the file cannot be written.
        WorldError: The renderer does not work here, or draws no colours. Nothing is written.

    Example:
        >>> unlatch.clip(data[3], "clip.mp4", scenery="kitchen")
        PosixPath('/home/me/clip.mp4')
    """
    used = read_dataclass(ClipCfg, plain(options), where="")
    cfg = cfg or config_of_record(record)
    return write_clip(cfg, record, used, str(out), config_dirs=config_dirs, on_frame=on_frame).path


def check_clip_file(out: str | None, cfg: ClipCfg) -> None:
    """Raises unless the file has an ending that is known, and fits the options.

    Raises:
        ConfigError: It does not.
    """
    check_suffix(out, *(f".{ending}" for ending in CLIP_ENCODINGS))
    if out is not None and out.endswith(".gif"):
        # a GIF counts time in hundredths of a second, and viewers slow a picture down that is shown for one of them
        check_range("fps", cfg.fps, 1, 50, unit="in a .gif")


def write_clip(
    cfg: EpisodeCfg,
    record: EpisodeRecord,
    options: ClipCfg,
    out: str,
    *,
    config_dirs: Sequence[str] = (),
    on_frame: OnFrame | None = None,
) -> WrittenClip:
    """Writes a clip, see `clip`. It is written completely or not at all.

    Raises:
        UnlatchError: The input is wrong, or the renderer does not work here. Nothing is written.
    """
    check_clip_file(out, options)
    path = output_path(out, Path(f"clip-{record.number}.mp4"))
    name = choose_renderer(options.renderer)
    RENDERERS.entry(name)
    shown_cfg = replace(cfg, scenery=options.scenery or cfg.scenery)
    width, height = options.width or SIZE_PX[0], options.height or SIZE_PX[1]
    if options.camera not in VIEWS:
        camera = _read_camera(shown_cfg, options, config_dirs)
        shown_cfg, width, height = with_cameras(shown_cfg, [camera]), camera.width, camera.height
    if path.suffix == ".mp4" and (width % 2 or height % 2):
        raise ConfigError(
            f"A picture of {width} x {height} pixels does not fit a .mp4: H.264 needs even sides. Change width and "
            "height, or write a .webp.",
            key="width" if width % 2 else "height",
        )
    record = add_laid_out_state(cfg, record)
    if not record.arrays:
        raise nothing_to_show(record)
    numbers = frame_numbers(record, fps=options.fps, speed=options.speed)
    report = on_frame or (lambda done, total: None)
    with (
        World(cfg.world, visuals=True, renderer=make_picture_renderer(name)) as world,
        open_record(shown_cfg, record, world=world) as shown,
    ):
        shown.show(0)
        take = view_taker(shown, options.camera, width=width, height=height)
        done = count(1)
        pictures = take_frames(shown, numbers, take, on_picture=lambda: report(next(done), len(numbers)))
        first = next(pictures)  # an error of the renderer comes before any file
        with report_unwritable(path.parent), open_draft(path) as draft:
            frames = write_frames(draft, CLIP_ENCODINGS[path.suffix[1:]], chain([first], pictures), fps=options.fps)
    return WrittenClip(path, frames, frames / options.fps, name)


def _read_camera(cfg: EpisodeCfg, options: ClipCfg, config_dirs: Sequence[str]) -> CameraCfg:
    """Returns the named camera with the size of the options."""
    own = [sensor.name for sensor in cfg.all_sensors().values() if isinstance(sensor, CameraCfg)]
    if not config_dirs and not {options.camera, split_arm(options.camera, cfg.robot.arms)[0]} & {
        *VIEWS,
        *own,
        *option_names("sensor"),
    }:
        known = list(dict.fromkeys([*VIEWS, *own, *camera_names()]))
        raise unknown_name(options.camera, "a known view or camera", where="camera", known=known)
    sizes = {"width": options.width, "height": options.height}
    overrides = [f"cameras.0.{key}={value}" for key, value in sizes.items() if value is not None]
    try:
        settings = read_render_settings(cfg, [options.camera], request=Request(overrides, list(config_dirs)))
    except ConfigError as exc:
        raise ConfigError(exc.message.replace("cameras[0]", f"camera={options.camera}"), key="camera") from exc
    return settings.cameras[0]
