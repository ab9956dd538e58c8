"""`unlatch render`: images of recorded episodes, made from the records."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.recording.images.modality import MODALITIES
from unlatch.simcore.recording.images.rendered_annotations import ANNOTATIONS
from unlatch.workflows.cli.camera_arguments import camera_command
from unlatch.workflows.cli.console import FAILED, INTERRUPTED, OK, banner_hidden, cores, note, say, shown
from unlatch.workflows.images.render_config import AUTO, RenderCfg
from unlatch.workflows.runs.executors.executor import WorkerLimits

if TYPE_CHECKING:
    from unlatch.configs.cameras import Looks
    from unlatch.configs.schema import EpisodeCfg
    from unlatch.simcore.recording.data_set.data_set import DataSet
    from unlatch.simcore.recording.images.renders import RenderSet
    from unlatch.workflows.images.render_job import RenderJob, RenderOutcome

HELP = f"""usage: unlatch render DATA [cameras=[front,wrist]] [modalities=[rgb]] [name=default] [key=value ...]

Makes images of recorded episodes, whatever sensors they were made with: one image of each camera and kind for every
recorded state, into DATA/renders/<name>/. The same command again makes what is missing; several sets stand beside each
other.

  cameras=[front,wrist]  names of sensors of the records, of YAML files of the group `sensor`, or entries;
                         cameras.0.width=640 changes one; default: the cameras of the records, else these two
  modalities=[rgb]       images: {", ".join(MODALITIES)};
                         point_cloud, which `distance` is kept for;
                         annotations (docs/annotators.md): {", ".join(ANNOTATIONS)}
  semantic_types=[class,part]      what is annotated: class, body, part, link
  leave_out=[]           classes that are not annotated, such as table
  camera_rotation_deg=[0,0,0]      the camera frame of poses, from ours
  name=default           name of the render set
  renderer=auto          `unlatch list renderers` tells which there are
  rgb=h264               or lossless
  randomization=NAME     visual rules of that file drawn anew; default: everything looks as it did
  all=true               failed episodes too; default: only successes
  only=[3,17]            just these, whatever came of them
  workers=2              processes; default: one a CPU core
  executor=process       or serial: in this process; episode_timeout_s=null, max_retries=1
  --config-dir DIR       look for YAML files in DIR too
"""
MAX_SHOWN = 20
"""Episodes that are named one by one where many cannot be rendered."""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return camera_command("render", argv, HELP, RenderCfg, render)


def render(data_set: DataSet, cfg: RenderCfg, request: Any = None) -> int:
    """Makes the missing images of a render set and says what came of it.

    Args:
        data_set: The data set.
        cfg: What is rendered.
        request: Overrides of cameras, and folders of YAML files; see `unlatch.configs.cameras.read_looks`.

    Returns:
        The exit code: 0, 1 if an episode could not be rendered, or 130 after Ctrl-C.

    Raises:
        SimCoreError: The input is at fault.
    """
    from unlatch.simcore.recording.images.renders import RenderSet
    from unlatch.workflows.runs.recorded import config_of

    _check_names(data_set, cfg)
    episode_cfg = config_of(data_set)
    with banner_hidden():  # cameras are code that loads the engine
        from unlatch.configs.cameras import read_looks, with_cameras

        looks = read_looks(episode_cfg, cfg.cameras, randomization=cfg.randomization, request=request)
    digests = _chosen(data_set, cfg)
    renderer = _renderer_of(cfg, looks, episode_cfg)
    shown_cfg = with_cameras(episode_cfg, looks.cameras)
    _check_scene(data_set, next(iter(digests)), shown_cfg, looks, renderer, leave_out=cfg.leave_out)
    header = header_of(cfg, episode_cfg, looks, renderer)
    with RenderSet.create_or_resume(data_set.path, cfg.name, header) as render_set:
        job = _job(data_set, render_set, episode_cfg, looks, renderer, digests)
        return _make(job, cfg)


def header_of(cfg: RenderCfg, episode_cfg: EpisodeCfg, looks: Looks, renderer: str) -> dict[str, Any]:
    """What must be equal for two runs to write into one render set.

    Args:
        cfg: What is rendered.
        episode_cfg: Configuration of the episodes.
        looks: Cameras and visuals.
        renderer: Name of the renderer.
    """
    from unlatch.simcore.recording.images.modality import Stream
    from unlatch.simcore.recording.json_values import plain
    from unlatch.simcore.sim.renderers.catalog import RENDERERS
    from unlatch.workflows.runs.versions import versions_of

    cameras = []
    for camera in looks.cameras:
        streams = [
            Stream.of(
                modality,
                width=camera.width,
                height=camera.height,
                farthest_m=camera.farthest_m(modality),
                lossless=cfg.rgb == "lossless",
            ).to_json()
            for modality in cfg.images
        ]
        cameras.append({**plain(camera), **camera.lens_values(), "streams": streams})
    header = _annotation_header(cfg)
    return {
        **header,
        "cameras": cameras,
        "modalities": cfg.images,
        "rate_hz": episode_cfg.world.record_hz,
        "renderer": {"name": renderer, "version": RENDERERS.load(renderer)().version},
        "randomization": None if looks.randomization is None else plain(looks.randomization.to_dict()),
        "versions": versions_of(("unlatch", "pybullet", "av")),
    }


def _annotation_header(cfg: RenderCfg) -> dict[str, Any]:
    """What is annotated, where anything is."""
    from unlatch.simcore.sim.annotators.config import AnnotationCfg

    if not cfg.annotators:
        return {}
    AnnotationCfg(semantic_types=cfg.semantic_types, camera_rotation_deg=cfg.camera_rotation_deg)  # says what cannot be
    return {
        "annotations": {
            "annotators": cfg.annotators,
            "semantic_types": cfg.semantic_types,
            "leave_out": cfg.leave_out,
            "camera_rotation_deg": cfg.camera_rotation_deg,
        }
    }


def _check_names(data_set: DataSet, cfg: RenderCfg) -> None:
    """Raises unless renderer and executor are known and the set's name can be one."""
    from unlatch.simcore.recording.images.renders import render_folder
    from unlatch.simcore.sim.renderers.catalog import RENDERERS
    from unlatch.workflows.runs.executors.catalog import EXECUTORS

    if cfg.renderer != AUTO:
        RENDERERS.entry(cfg.renderer)
    EXECUTORS.entry(cfg.executor)
    render_folder(data_set.path, cfg.name)


def _check_scene(
    data_set: DataSet, number: int, cfg: EpisodeCfg, looks: Looks, renderer: str, *, leave_out: list[str]
) -> None:
    """Raises unless a renderer works here, and visual rules and classes fit an episode: before anything is written."""
    from unlatch.simcore.sim.renderers.catalog import RENDERERS

    with banner_hidden():
        from unlatch.simcore.sim.world import World
        from unlatch.workflows.episode.randomization.episode_randomization import VisualDraw
        from unlatch.workflows.episode.semantic_classes import check_classes
        from unlatch.workflows.viewing.scene_picture import open_record

        with World(cfg.world, visuals=True, renderer=RENDERERS.load(renderer)()) as world:
            if looks.randomization is None and not leave_out:
                return
            draw = None if looks.randomization is None else VisualDraw(looks.randomization, seed=0)
            with suppress(RecordingError), open_record(cfg, data_set.read(number), visual_draw=draw, world=world):
                check_classes(leave_out, world, key="leave_out")  # a damaged record is told of when it is rendered


def _renderer_of(cfg: RenderCfg, looks: Looks, episode_cfg: EpisodeCfg) -> str:
    """Name of the renderer in the catalog; that of `auto` for these images on this machine."""
    from unlatch.simcore.sim.renderers.auto import best_renderer

    varied = looks.randomization is not None or episode_cfg.randomization.active
    if cfg.renderer == "egl" and varied:
        note("note: renderer=egl draws neither textures nor floor, walls and table top; renderer=tiny does")
    if cfg.renderer == AUTO:
        depth = not {"depth", "distance", "normals"}.isdisjoint(cfg.modalities)
        return best_renderer(
            max(camera.width * camera.height for camera in looks.cameras),
            depth=depth,
            looks="rgb" in cfg.modalities or varied,
        )
    return cfg.renderer


def _chosen(data_set: DataSet, cfg: RenderCfg) -> dict[int, str]:
    """Checksums of the arrays of the episodes to render, by number."""
    from unlatch.workflows.runs.recorded import check_episode

    summaries = data_set.summaries()
    if not summaries:
        raise ConfigError(f"Data set '{data_set.path}' has no episodes yet. Collect some first.")
    if cfg.only is not None:
        for number in cfg.only:
            check_episode(data_set, number)
        wanted = [item for item in summaries if item.number in set(cfg.only)]
    else:
        wanted = [item for item in summaries if cfg.all or item.success]
    found = {item.number: item.state_sha256 for item in wanted if item.n_actions > 0}
    if not found:
        raise ConfigError(
            f"Of {len(summaries)} episodes of '{data_set.path}' none is to be rendered: "
            f"{sum(item.success for item in summaries)} succeeded. Expected at least one. Set all=true for failed ones."
        )
    return found


def _job(
    data_set: DataSet,
    render_set: RenderSet,
    episode_cfg: EpisodeCfg,
    looks: Looks,
    renderer: str,
    digests: dict[int, str],
) -> RenderJob:
    from unlatch.configs.cameras import with_cameras
    from unlatch.workflows.images.render_job import RenderJob

    return RenderJob(
        with_cameras(episode_cfg, looks.cameras), data_set, render_set, renderer, looks.randomization, digests
    )


def _missing(job: RenderJob) -> list[int]:
    """Episodes that are to be rendered; images of a record that is another now, or damaged ones, are removed."""
    missing = []
    for number, digest in job.digests.items():
        if number in job.render_set:
            problem = _problem_of(job.render_set, number, digest)
            if not problem:
                continue
            note(f"images of episode {number} are made again: {problem}")
            job.render_set.remove(number)
        missing.append(number)
    return missing


def _problem_of(render_set: RenderSet, number: int, digest: str) -> str:
    try:
        episode = render_set.episode(number)
    except RecordingError as exc:
        return exc.message
    if episode.state_sha256 != digest:
        return "they were made from another record"
    sizes = {name: item["bytes"] for name, item in episode.files.items()}
    wrong = [name for name, size in sizes.items() if _size_of(episode.folder / name) != size]
    return f"{', '.join(wrong)} is not as it was written" if wrong else ""


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1


def _make(job: RenderJob, cfg: RenderCfg) -> int:
    from unlatch.workflows.cli.interruption import Interruption
    from unlatch.workflows.cli.progress import Progress
    from unlatch.workflows.runs.executors.catalog import EXECUTORS

    missing = _missing(job)
    there = len(job.digests) - len(missing)
    interruption, at_once = Interruption(), False
    executor_type = EXECUTORS.load(cfg.executor)
    workers = cfg.workers or (cores() if executor_type.on_this_host else None)
    executor = executor_type(
        workers=workers and max(1, min(workers, len(missing))),
        limits=WorkerLimits(cfg.episode_timeout_s, None, cfg.max_retries, None),
    )
    started, made = time.perf_counter(), []
    outcomes = executor.run(job, interruption.until(missing), most=len(missing))
    with (
        interruption,
        Progress(total=len(job.digests), done=there, good="rendered", interruption=interruption) as progress,
    ):
        try:
            for outcome in outcomes:
                progress.update(outcome)
                made.append(outcome)
        except KeyboardInterrupt:
            at_once = True
            outcomes.close()
    code = _say(job, made, there, time.perf_counter() - started)
    if at_once or (interruption.asked and len(made) < len(missing)):
        note("unlatch: interrupted; the same command makes the missing images")
        return INTERRUPTED
    return code


def _say(job: RenderJob, made: list[RenderOutcome], there: int, seconds: float) -> int:
    bad = sorted((item for item in made if not item.success), key=lambda item: item.number)
    for item in bad[:MAX_SHOWN]:
        say(f"episode {item.number}: {item.problem}")
    if len(bad) > MAX_SHOWN:
        say(f"... and {len(bad) - MAX_SHOWN} more")
    render_set, cameras = job.render_set, list(job.render_set.cameras)
    frames = sum(item.n_frames for item in made)
    say(
        f"{there + len(made) - len(bad)} of {len(job.digests)} episodes there, {len(made) - len(bad)} rendered in "
        f"{seconds:.1f} s: {frames} frames of {len(cameras)} cameras ({', '.join(cameras)}), renderer "
        f"{render_set.header['renderer']['name']}"
    )
    say(f"render set: {shown(render_set.path)}")
    return FAILED if bad else OK
