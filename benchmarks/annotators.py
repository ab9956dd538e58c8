"""Measures the CPU time of each annotator for one image of an episode.

    python benchmarks/annotators.py [task=open_microwave] [seed=0] [frames=20] [width=320] [height=240]
        [renderer=software]

Prints the median CPU time of the image and of every annotator over frames of one episode, once with the robot
annotated and once without it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.configs.cameras import read_render_settings, with_cameras
from unlatch.simcore.catalogs import ANNOTATORS, RENDERERS
from unlatch.simcore.sim.annotators.annotation import AnnotationCfg, annotate, take_annotated_frame
from unlatch.simcore.sim.world import World
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.run_report import load_configs
from unlatch.workflows.cli.terminal import OK, CommandLine, print_line, run_guarded
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg
from unlatch.workflows.viewing.scene_picture import open_record


@dataclass
class AnnotatorsCfg:
    """The keys of the benchmark."""

    task: str = "open_microwave"
    seed: int = 0
    frames: int = 20
    """Number of frames, evenly spaced over the episode."""
    width: int = 320
    height: int = 240
    renderer: str = "software"


def main() -> int:
    """Prints the table of CPU times."""
    given = read_pairs(AnnotatorsCfg, sys.argv[1:])
    (job,) = load_configs(
        "collect", CollectCfg, CommandLine(overrides=[f"task={given.task}", f"seed={given.seed}", "episodes=1"])
    )
    with EpisodeRunner(job.cfg) as runner:
        record = runner.run(0)
    cfg = with_cameras(job.cfg, read_render_settings(job.cfg, ["front"]).cameras)
    times: dict[tuple[str, bool], list[float]] = {}
    world = World(cfg.world, visuals=True, renderer=RENDERERS.load(given.renderer)())
    with world, open_record(cfg, record, world=world) as shown:
        (sensor,) = shown.episode.scene.state_tree.sensors.children.values()
        camera = sensor.pinhole.from_fov(given.width, given.height, sensor.pinhole.fov_rad)
        for frame in np.linspace(0, record.n_actions, given.frames + 1).astype(int):  # the first frame warms up
            shown.show(int(frame))
            for with_robot in (True, False):
                asked = AnnotationCfg(leave_out=[] if with_robot else ["robot"])

                def clocked(name: str, call: Callable[[], Any], with_robot: bool = with_robot) -> Any:
                    started = time.process_time()
                    found = call()
                    times.setdefault((name, with_robot), []).append(1e3 * (time.process_time() - started))
                    return found

                def shoot(asked: AnnotationCfg = asked) -> Any:
                    return take_annotated_frame(
                        world, camera, sensor.T_world_sensor, near_m=0.02, far_m=10.0, cfg=asked
                    )

                shot = clocked("image", shoot)
                for name in ANNOTATORS.names():
                    clocked(name, lambda name=name, shot=shot: annotate(shot, [name]))
    print_line(
        f"CPU time per frame [ms], {given.width}x{given.height}, {given.renderer}, median of {given.frames} frames"
    )
    print_line(f"{'':28}{'with robot':>12}{'without':>10}")
    for name in dict.fromkeys(name for name, _ in times):
        print_line(
            f"{name:28}"
            + "".join(f"{np.median(times[name, kind][1:]):{width}.1f}" for kind, width in ((True, 12), (False, 10)))
        )
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(main, usage=__doc__))
