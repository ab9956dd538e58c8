"""Measures the time of an image by renderer and size, and the overhead of `unlatch render`.

    python benchmarks/rendering.py [data=DATA] [renderers=software,pygfx] [cameras=front,wrist] [frames=60]

The first table has the CPU time of a picture by renderer, camera and size over the frames of an episode, of all cameras
together, and with depth and labels; and of MuJoCo's renderer, if it is installed, for the same triangles. For `pygfx`,
a second table compares an RGB-D frame of 640x480 of an episode with bare pygfx that draws the same meshes at the same
poses and reads its picture back: those simplified for the distance, and those with all triangles. The third part
renders an episode as `unlatch render` does, and times the same calls inside it. The difference is the overhead: opening
the record, writing states, converting images, and writing files. All times are CPU times of the process, so other
programs do not count; beside them stand CPU times of the main thread, which alone limits the pace if a graphics card
draws, and frames a second of wall time. It renders the first `frames` frames of the first success.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from mujoco_pictures import build_model, open_mujoco, picture_ms

from unlatch.configs.cameras import read_render_settings, with_cameras
from unlatch.simcore.cameras import Pinhole
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.errors import WorldError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.renders import RenderSet
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.renderers.pygfx import PygfxRenderer, open_device
from unlatch.simcore.sim.renderers.renderer import Renderer, RenderRequest
from unlatch.simcore.sim.visuals.pictures import take_images
from unlatch.simcore.sim.world import World
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import CommandLine, run_guarded
from unlatch.workflows.commands.collect import collect_and_report
from unlatch.workflows.images.render import header_of
from unlatch.workflows.images.render_config import RenderCfg
from unlatch.workflows.images.render_job import RenderJob
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.runs.schema import CollectCfg
from unlatch.workflows.viewing.scene_picture import RecordedWorld, open_record

SIZES = ((128, 128), (224, 224), (640, 480))
FRAMES_APART = 3
"""Every third frame is drawn: ten pictures a second."""
PACE_SIZE = (640, 480)
MODALITIES = (["rgb"], ["rgb", "depth", "segmentation"])


class BareCalls:
    """Counts and times the engine's own calls."""

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self.seconds = 0.0
        self.count = 0
        self._clock = clock

    @contextmanager
    def counted(self, renderer: type[Renderer]) -> Iterator[None]:
        """Times calls of a renderer inside the context."""
        bare = renderer.render

        def timed(*args: Any, **kwargs: Any) -> Any:
            started = self._clock()
            try:
                return bare(*args, **kwargs)
            finally:
                self.seconds += self._clock() - started
                self.count += 1

        renderer.render = timed  # type: ignore[method-assign]
        try:
            yield
        finally:
            renderer.render = bare  # type: ignore[method-assign]


def size_table(data_set: DataSet, renderers: list[str], cameras: list[str]) -> None:
    """Prints the mean CPU time of a picture by renderer, camera and size, over the frames of an episode [ms]."""
    cfg = config_of(data_set)
    cfg = with_cameras(cfg, read_render_settings(cfg, cameras).cameras)
    record = data_set.read(next(item.number for item in data_set.summaries() if item.success))
    print("CPU time of a picture [ms], with shadows, mean over the frames of an episode after the first two:")
    print_row("", [f"{width}x{height}" for width, height in SIZES])
    for name in renderers:
        world = World(cfg.world, visuals=True, renderer=RENDERERS.load(name)())
        with world, open_record(cfg, record, world=world) as shown:
            sensors = shown.episode.scene.state_tree.sensors.children
            for camera, sensor in sensors.items():
                print_row(f"{name}, {camera}", [mean_ms(shown, [sensor], *size) for size in SIZES])
            for text, depth in (("all cameras", False), ("all cameras, RGB-D and labels", True)):
                times = [mean_ms(shown, list(sensors.values()), *size, depth=depth) for size in SIZES]
                print_row(f"{name}, {text}", times)
    if open_mujoco() is not None:
        with World(cfg.world, visuals=True) as world, open_record(cfg, record, world=world) as shown:
            shown.show(record.n_actions // 2)
            for camera, sensor in shown.episode.scene.state_tree.sensors.children.items():
                pinhole = Pinhole.from_fov(*SIZES[-1], sensor.pinhole.fov_rad)
                model = build_model(world, pinhole, sensor.T_world_sensor)
                for shadows in (True, False):
                    times = [picture_ms(model, *size, shadows=shadows) for size in SIZES]
                    print_row(f"MuJoCo, {camera}, {'with' if shadows else 'without'} shadows", times)


def print_row(text: str, values: list[Any]) -> None:
    """Prints a row of the table."""
    cells = [f"{value:>12}" if isinstance(value, str) else f"{value:12.1f}" for value in values]
    print(f"{text:44}" + "".join(cells), flush=True)


def mean_ms(shown: RecordedWorld, sensors: list[Any], width: int, height: int, *, depth: bool = False) -> float:
    """Returns the mean CPU time of the pictures of some cameras for one state [ms]."""
    found = []
    for frame in range(0, shown.record.n_actions, FRAMES_APART):
        shown.show(frame)
        started = time.process_time()
        for sensor in sensors:
            pinhole = Pinhole.from_fov(width, height, sensor.pinhole.fov_rad)
            request = RenderRequest(pinhole, sensor.T_world_sensor, 0.02, 10.0, depth=depth, labels=depth)
            take_images(shown.world, request)
        found.append(1e3 * (time.process_time() - started))
    return float(np.mean(found[2:]))


def pace(data_set: DataSet, cameras: list[str], frames: int) -> None:
    """Prints the time of an RGB-D frame by `renderer=pygfx` beside bare pygfx, for each camera."""
    cfg = config_of(data_set)
    cfg = with_cameras(cfg, read_render_settings(cfg, cameras).cameras)
    record = data_set.read(next(item.number for item in data_set.summaries() if item.success))
    width, height = PACE_SIZE
    print(f"pygfx on {adapter_name()}: CPU time of an RGB-D frame of {width}x{height} [ms], median of {frames}:")
    print("bare pygfx draws the same simplified meshes; 'bare, all' draws all triangles")
    columns = ("unlatch", "bare pygfx", "ratio", "bare, all", "ratio")
    print(f"{'':26}" + "".join(f"{column:>12}" for column in columns))
    renderer = PygfxRenderer()
    world = World(cfg.world, visuals=True, renderer=renderer)
    with world, open_record(cfg, record, world=world) as shown:
        chosen = np.linspace(0, record.n_actions, frames).astype(int)
        for camera, sensor in shown.episode.scene.state_tree.sensors.children.items():
            pinhole = Pinhole.from_fov(width, height, sensor.pinhole.fov_rad)
            times: list[list[tuple[float, float]]] = [[], [], []]  # unlatch, bare pygfx, bare pygfx with all triangles
            poses: list[list[tuple[Any, dict[Any, Any]]]] = [[], []]
            for renderer.all_triangles, drawn in zip((False, True), poses, strict=True):
                for frame in (0, *chosen):
                    shown.show(int(frame))
                    request = RenderRequest(pinhole, sensor.T_world_sensor, near_m=0.02, far_m=10.0)
                    with cpu_times([] if renderer.all_triangles else times[0]):
                        take_images(world, request)
                    drawn.append((renderer.stage.camera.local.matrix.copy(), renderer.stage.poses()))
            renderer.all_triangles = False
            picture = bare_pygfx(width, height)
            for drawn, found in zip(poses, times[1:], strict=True):
                for T_world_camera, matrices in drawn:
                    renderer.stage.renew_sun()
                    with cpu_times(found):
                        renderer.stage.camera.local.matrix = T_world_camera
                        renderer.stage.set_poses(matrices)
                        picture.render(renderer.stage.scene, renderer.stage.camera)
                        picture.snapshot()
            for clock, row in zip(("process", "main thread"), np.median(np.array(times)[:, 1:], axis=1).T, strict=True):
                own, simplified, full = 1e3 * row
                print(
                    f"{f'{camera}, {clock}':26}{own:12.1f}{simplified:12.1f}{own / simplified:12.2f}{full:12.1f}"
                    f"{own / full:12.2f}"
                )


@contextmanager
def cpu_times(found: list[tuple[float, float]]) -> Iterator[None]:
    """Appends the CPU times of the process and of this thread inside the context [s]."""
    process, thread = time.process_time(), time.thread_time()
    yield
    found.append((time.process_time() - process, time.thread_time() - thread))


def bare_pygfx(width: int, height: int) -> Any:
    """Returns pygfx's own renderer with the same smoothing of edges."""
    import pygfx as gfx

    texture = gfx.Texture(dim=2, size=(width, height, 1), format="rgba8unorm", colorspace="physical")
    return gfx.WgpuRenderer(texture, pixel_scale=1, enable_events=False, ppaa="fxaa")


def adapter_name() -> str:
    """Returns the name of the device that pygfx draws on."""
    return str(open_device().adapter.info["device"])


def overhead(data_set: DataSet, renderer: str, cameras: list[str], modalities: list[str], frames: int) -> None:
    """Renders the beginning of an episode and prints the time outside of the engine's calls."""
    cfg = config_of(data_set)
    settings = read_render_settings(cfg, cameras)
    render_cfg = RenderCfg(modalities=modalities)
    summary = next(item for item in data_set.summaries() if item.success)
    record = data_set.read(summary.number)
    cut = {key: array[: frames + (len(array) == record.n_actions + 1)] for key, array in record.arrays.items()}
    short = replace(record, arrays=cut)
    with tempfile.TemporaryDirectory() as folder:
        header = header_of(render_cfg, cfg, settings, renderer)
        with RenderSet.create_or_resume(Path(folder), "bench", header) as render_set:
            job = RenderJob(
                with_cameras(cfg, settings.cameras), data_set, render_set, renderer, None, {short.number: "0"}
            )
            world = World(cfg.world, visuals=True, renderer=RENDERERS.load(renderer)())
            with world, BulletCollisionChecker() as checker:
                job.render(short, world, checker, render_set)  # as a worker does once
                render_set.remove(short.number)
                bare = BareCalls()
                with bare.counted(RENDERERS.load(renderer)):
                    times: list[tuple[float, float]] = []
                    began = time.perf_counter()
                    with cpu_times(times):
                        outcome = job.render(short, world, checker, render_set)
                    wall = time.perf_counter() - began
    (total, main_thread), n_images = times[0], outcome.n_frames * len(cameras)
    stages = ", ".join(f"{name} {ms:.0f}" for name, ms in outcome.timings_ms.items())
    print(
        f"{renderer} {'+'.join(modalities)}: {bare.count} calls {bare.seconds:.2f} s, total {total:.2f} s: overhead "
        f"{100 * (total / bare.seconds - 1):.1f} %; main thread {1e3 * main_thread / n_images:.1f} ms an image, "
        f"{n_images / wall:.1f} images/s with files (wall ms: {stages})"
    )


def main(arguments: list[str]) -> None:
    """Prints both tables."""
    given = dict(argument.split("=", 1) for argument in arguments)
    renderers = given.get("renderers", ",".join(name for name in RENDERERS.names() if name != "mitsuba")).split(",")
    cameras = given.get("cameras", "front,wrist").split(",")
    with tempfile.TemporaryDirectory() as folder:
        if "data" not in given:
            line = CommandLine(overrides=["task=open_microwave", "episodes=1", "executor=serial", "pictures=0"])
            (loaded,) = load_configs("collect", CollectCfg, line)
            loaded.cfg.out = given["data"] = f"{folder}/data"
            collect_and_report(loaded.cfg)
        data_set = DataSet.open(given["data"])
        usable = []
        for name in renderers:
            with suppress(WorldError), World(config_of(data_set).world, visuals=True, renderer=RENDERERS.load(name)()):
                usable.append(name)
        missing = ", ".join(set(renderers) - set(usable)) or "none"
        print(f"available renderers: {', '.join(usable)}; not available: {missing}")
        size_table(data_set, usable, cameras)
        if "pygfx" in usable:
            pace(data_set, cameras, int(given.get("frames", "60")))
        for name in usable:
            for modalities in MODALITIES:
                overhead(data_set, name, cameras, modalities, int(given.get("frames", "60")))


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
