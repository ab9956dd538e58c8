"""Renders images of the recorded episodes of a data set into a render set."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from unlatch.configs.cameras import KEY, RenderSettings, read_render_settings, with_cameras
from unlatch.configs.dataclass_reader import read_dataclass
from unlatch.configs.schema import EpisodeCfg, Scenery
from unlatch.objects.validation import check_classes
from unlatch.simcore.catalogs import AUTO, RENDERERS, SOFTWARE
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.files import report_unwritable
from unlatch.simcore.randomization.config import VisualDraw
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.index import EpisodeSummary
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.recording.modality import ImageStream
from unlatch.simcore.recording.renders import RenderSet, render_folder
from unlatch.simcore.sim.annotators.annotation import AnnotationCfg
from unlatch.simcore.sim.renderers.auto import choose_renderer
from unlatch.simcore.sim.sensors.camera import CameraCfg
from unlatch.simcore.sim.world import World
from unlatch.workflows.episode.visual_views import fit_sensors
from unlatch.workflows.images.render_config import ImagesCfg, RenderCfg
from unlatch.workflows.images.render_job import RenderJob, RenderOutcome
from unlatch.workflows.runs.code_versions import versions_of
from unlatch.workflows.runs.executors import EXECUTORS, WorkerLimits, make_executor, never_ended
from unlatch.workflows.runs.recorded_config import chosen_summaries, config_of
from unlatch.workflows.viewing.scene_picture import open_record

if TYPE_CHECKING:
    from unlatch.configs.composition import Request


def render(
    data: DataSet | str | Path,
    *,
    cameras: Sequence[Any] | None = None,
    name: str = "default",
    overrides: Sequence[str] = (),
    config_dirs: Sequence[str] = (),
    on_episode: Callable[[RenderOutcome], None] | None = None,
    **options: Any,
) -> RenderSet:
    """Renders images of recorded episodes: one image of each camera and modality for every recorded state.

    Episodes whose images exist already are not rendered again.

    Args:
        data: The data set, or its folder.
        cameras: Names of cameras of the records, names of YAML files of the group `sensor`, or mappings; None: the
            cameras of the records, or else `front` and `wrist`.
        name: Name of the render set.
        overrides: Overrides of single camera settings, such as `cameras.0.width=640`.
        config_dirs: Further folders of YAML files.
        on_episode: Called after each rendered episode.
        **options: Other fields of `RenderCfg`, such as `modalities=["rgb", "depth"]`, `only=[3]` or `workers=2`.

    Returns:
        The render set, in `DATA/renders/<name>`.

    Raises:
        ConfigError: A camera or option is wrong. Nothing is written.
        PluginError: The renderer or executor is unknown. Nothing is written.
        RecordingError: The data set cannot be read, or an episode cannot be rendered.

    Example:
        >>> renders = unlatch.render(data, cameras=["front"], modalities=["rgb", "depth"])
        >>> renders.numbers()
        [0, 1, 2, 3]
    """
    from unlatch.configs.overrides import override_key  # it imports Hydra

    for text in overrides:
        key = override_key(text)
        if key.split(".")[0].split("[")[0] != KEY:
            raise ConfigError(
                f"overrides has '{text}'. Expected settings of cameras, such as 'cameras.0.width=640'. Give other "
                f"settings as arguments of render(), such as {key.split('.')[0]}=...",
                key=key,
            )
    data_set = data if isinstance(data, DataSet) else DataSet.open(data)
    values = {"name": name, **options} if cameras is None else {"name": name, "cameras": list(cameras), **options}
    cfg = read_dataclass(RenderCfg, plain(values), where="")
    from unlatch.configs.composition import Request  # it imports Hydra

    request = Request(list(overrides), [str(folder) for folder in config_dirs])
    work = prepare_render(data_set, cfg, request)
    failed = []
    for outcome in work.run():
        if on_episode is not None:
            on_episode(outcome)
        if not outcome.success:
            failed.append(outcome)
    if failed:
        first = min(failed, key=lambda outcome: outcome.number)
        raise RecordingError(
            f"{len(failed)} of {len(work.job.digests)} episodes of '{data_set.path}' cannot be rendered. "
            f"Episode {first.number}: {first.problem}",
            number=first.number,
        )
    return work.render_set


@dataclass(frozen=True)
class RenderWork:
    """The episodes that are still to be rendered into a render set."""

    job: RenderJob
    """Renders one episode."""
    cfg: RenderCfg
    """Which images are rendered, and by which executor."""
    missing: list[int] = field(default_factory=list)
    """Numbers of the episodes that have no images yet."""
    notices: list[str] = field(default_factory=list)
    """Remarks about the request, one line each."""

    @property
    def render_set(self) -> RenderSet:
        """Where the images go."""
        return self.job.render_set

    @property
    def n_rendered_before(self) -> int:
        """Number of requested episodes that had images before."""
        return len(self.job.digests) - len(self.missing)

    def run(self, *, is_ended: Callable[[], bool] = never_ended) -> Generator[RenderOutcome]:
        """Renders the missing episodes and yields each outcome; closing the iterator stops, see `Executor`.

        Raises:
            RecordingError: Another process is rendering one of them into this set.
        """
        limits = WorkerLimits(self.cfg.episode_timeout_s, max_retries=self.cfg.max_retries)
        executor = make_executor(self.cfg.executor, workers=self.cfg.workers, limits=limits)
        with self.render_set:
            with report_unwritable(self.render_set.path):
                self.render_set.claim(
                    self.missing, advice="or name other episodes with only=, or another set with name=."
                )
            missing = self.render_set.missing(self.missing)  # a run that has just ended may have rendered some
            outcomes = executor.run(self.job, missing, max_episodes=len(missing), is_ended=is_ended)
            yield from cast("Generator[RenderOutcome]", outcomes)


def prepare_render(data_set: DataSet, cfg: RenderCfg, request: Request | None = None) -> RenderWork:
    """Checks a request, creates or opens its render set and finds the episodes that have no images yet.

    Images that are damaged, or that belong to a record that has changed, are removed.

    Raises:
        UnlatchError: The input is wrong. Nothing is written.
    """
    if cfg.renderer != AUTO:
        RENDERERS.entry(cfg.renderer)  # raises if the name is unknown, as the next line does
    EXECUTORS.entry(cfg.executor)
    render_folder(data_set.path, cfg.name)  # raises if the name is not valid
    settings = _read_settings(data_set, cfg, request)
    chosen = _choose_episodes(data_set, cfg)
    notices: list[str] = []
    renderer = _choose_renderer(cfg, notices)
    seen_cfg = _seen_config(data_set, cfg, settings)
    _check_scene(data_set, chosen[0].number, seen_cfg, settings, renderer, leave_out=cfg.leave_out)
    job = _make_job(data_set, cfg, settings, renderer, {item.number: item.state_sha256 for item in chosen})
    return RenderWork(job, cfg, _missing_numbers(job, notices), notices)


def make_render_job(data_set: DataSet, cfg: ImagesCfg, request: Request | None = None) -> RenderJob:
    """Creates or opens a render set for episodes that are drawn as they are made; returns the job that draws them.

    Raises:
        UnlatchError: The input is wrong. Nothing is written.
    """
    settings = _read_settings(data_set, cfg, request)
    return _make_job(data_set, cfg, settings, choose_renderer(cfg.renderer), {})


def _read_settings(data_set: DataSet, cfg: ImagesCfg, request: Request | None) -> RenderSettings:
    """Returns the cameras and the visual rules of a request."""
    episode_cfg = config_of(data_set)
    settings = read_render_settings(
        episode_cfg, cfg.cameras, size_px=cfg.size_px, randomization=cfg.randomization, request=request
    )
    return replace(settings, cameras=cast("list[CameraCfg]", fit_sensors(episode_cfg, settings.cameras)))


def _seen_config(data_set: DataSet, cfg: ImagesCfg, settings: RenderSettings) -> EpisodeCfg:
    """Returns the configuration of the episodes with the cameras and the room of the images."""
    episode_cfg = config_of(data_set)
    return replace(with_cameras(episode_cfg, settings.cameras), scenery=_scenery_of(cfg, episode_cfg))


def _make_job(
    data_set: DataSet, cfg: ImagesCfg, settings: RenderSettings, renderer: str, digests: Mapping[int, str]
) -> RenderJob:
    """Creates or opens the render set and makes the job that draws episodes into it."""
    header = header_of(cfg, config_of(data_set), settings, renderer)
    return RenderJob(
        _seen_config(data_set, cfg, settings),
        data_set,
        RenderSet.create_or_resume(data_set.path, cfg.name, header),
        renderer,
        settings.randomization,
        digests,
        cfg.scenery is not None,
    )


def header_of(cfg: ImagesCfg, episode_cfg: EpisodeCfg, settings: RenderSettings, renderer: str) -> dict[str, Any]:
    """Returns the header of a render set; two runs write into one set only if their headers are equal."""
    cameras = []
    for camera in settings.cameras:
        streams = [
            ImageStream.of(
                modality,
                width=camera.width,
                height=camera.height,
                farthest_m=camera.farthest_m(modality),
                lossless=cfg.rgb == "lossless",
            )
            for modality in cfg.images
        ]
        cameras.append({**plain(camera), **camera.lens_values(), "streams": plain(streams)})
    return {
        **_annotation_header(cfg),
        "cameras": cameras,
        "modalities": cfg.images,
        "rate_hz": episode_cfg.world.record_hz,
        "renderer": {"name": renderer, "version": RENDERERS.load(renderer)().version},
        "randomization": None if settings.randomization is None else plain(settings.randomization.to_dict()),
        "scenery": _scenery_of(cfg, episode_cfg).value,
        "versions": versions_of(("unlatch", "pybullet", "av")),
    }


def _annotation_header(cfg: ImagesCfg) -> dict[str, Any]:
    """Returns the annotators and their settings, or nothing where there are no annotators."""
    if not cfg.annotators:
        return {}
    AnnotationCfg(semantic_types=cfg.semantic_types, camera_rotation_deg=cfg.camera_rotation_deg)  # checks them
    return {
        "annotations": {
            "annotators": cfg.annotators,
            "semantic_types": cfg.semantic_types,
            "leave_out": cfg.leave_out,
            "camera_rotation_deg": cfg.camera_rotation_deg,
        }
    }


def _check_scene(
    data_set: DataSet, number: int, cfg: EpisodeCfg, settings: RenderSettings, renderer: str, *, leave_out: list[str]
) -> None:
    """Raises unless the renderer works here, and the visual rules and classes fit one of the episodes."""
    with World(cfg.world, visuals=True, renderer=RENDERERS.load(renderer)()) as world:
        if settings.randomization is None and not leave_out:
            return
        draw = None if settings.randomization is None else VisualDraw(settings.randomization, seed=0)
        # a damaged record is reported when it is rendered
        with suppress(RecordingError), open_record(cfg, data_set.read(number), visual_draw=draw, world=world):
            check_classes(leave_out, world, key="leave_out")


def _choose_renderer(cfg: RenderCfg, notices: list[str]) -> str:
    """Returns the renderer's name in the catalog; for `auto`, the one that suits this machine."""
    renderer = choose_renderer(cfg.renderer)
    if cfg.renderer == AUTO and "rgb" in cfg.modalities and renderer != SOFTWARE:
        notices.append(
            f"note: a policy that learns from these images is evaluated with observation.renderer={renderer}"
        )
    return renderer


def _scenery_of(cfg: ImagesCfg, episode_cfg: EpisodeCfg) -> Scenery:
    """Returns the room of the images: that of the request, else that of the episodes."""
    return episode_cfg.scenery if cfg.scenery is None else cfg.scenery


def _choose_episodes(data_set: DataSet, cfg: RenderCfg) -> list[EpisodeSummary]:
    """Returns the summaries of the requested episodes that have states."""
    wanted = chosen_summaries(data_set, only=cfg.only, all=cfg.all)
    found = [item for item in wanted if item.n_actions > 0]
    if not found:
        raise ConfigError(
            f"There is nothing to render in '{data_set.path}': none of the requested episodes has "
            f"states ({len(data_set)} episodes). Collect some, or set all=true to render failed ones."
        )
    return found


def _missing_numbers(job: RenderJob, notices: list[str]) -> list[int]:
    """Returns the episodes without images; removes images that are damaged or belong to an older record."""
    missing = []
    for number, digest in job.digests.items():
        if number in job.render_set:
            problem = _problem_of(job.render_set, number, digest)
            if not problem:
                continue
            notices.append(f"episode {number} is rendered again: {problem}")
            job.render_set.remove(number)
        missing.append(number)
    return missing


def _problem_of(render_set: RenderSet, number: int, digest: str) -> str:
    try:
        episode = render_set.episode(number)
    except RecordingError as exc:
        return exc.message
    if episode.state_sha256 != digest:
        return "its images were made from another record"
    paths = {name: episode.folder / name for name in episode.files}
    sizes = {name: path.stat().st_size if path.is_file() else -1 for name, path in paths.items()}
    wrong = [name for name, item in episode.files.items() if sizes[name] != item["bytes"]]
    return f"{', '.join(wrong)} has changed since it was written" if wrong else ""
