"""Scenes with visual shapes, for pictures and for what is said about them: at the start, or as they were recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.renderers.catalog import RENDERERS
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, take_picture
from unlatch.simcore.sim.world import World
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.episode.randomization.episode_randomization import VisualDraw
from unlatch.workflows.viewing.overlay import Overlay

Array = np.ndarray


@dataclass(frozen=True)
class DrawnScene:
    """A scene that can be drawn; valid inside `open_scene`."""

    world: World
    episode: Episode
    view: LookAtCamera

    def overlay(self, *, width: int, height: int) -> Overlay:
        """A picture of the scene to draw on."""
        return Overlay(take_picture(self.world, self.view, width=width, height=height), self.view)

    def keypoints(self) -> dict[str, Array]:
        """Keypoints of every part by `part.name` in the world frame, (3,) each [m]."""
        found = {}
        for key, value in self.episode.scene.state_tree.state_dict().items():
            if key.startswith("keypoints."):
                found[key.split(".", 2)[2]] = np.asarray(value)
        return found

    @staticmethod
    def region_outline(region: RegionCfg) -> Array:
        """(5, 3) corners of a region on the table, closed, in the world frame [m]."""
        (x, y), (dx, dy) = region.center_m, region.half_extent_m
        corners = [(x - dx, y - dy), (x + dx, y - dy), (x + dx, y + dy), (x - dx, y + dy), (x - dx, y - dy)]
        return np.array([(*corner, 0.002) for corner in corners])

    def description(self) -> list[str]:
        """What was drawn for this episode, one line an object."""
        layout, failure = self.episode.layout(), self.episode.failure
        lines = [f"episode {self.episode.number}, seed {self.episode.seed}"]
        for name, place in layout["objects"].items():
            instance = layout["instances"][name]
            drawn = ", ".join(f"{key} {value:.3f}" for key, value in place["drawn"].items())
            lines.append(f"{name}: {instance['source']} {instance['category']} {instance['instance']}; {drawn}")
        if self.episode.planner.layout_search is not None:
            lines.append(f"artpreplan: {self.episode.planner.layout_search}")
        if failure is not None:
            lines.append(f"{failure.code}: {failure.message}")
        return lines


@contextmanager
def open_scene(cfg: EpisodeCfg, number: int, *, visuals: bool = True, renderer: str = "tiny") -> Iterator[DrawnScene]:
    """The scene of an episode at its start.

    Args:
        cfg: The configuration.
        number: Episode number.
        visuals: Whether it can be drawn.
        renderer: By what; a name in the catalog of renderers.

    Raises:
        WorldError: That renderer does not work here.
    """
    with (
        World(cfg.world, visuals=visuals, renderer=RENDERERS.load(renderer)()) as world,
        BulletCollisionChecker() as checker,
    ):
        episode = Episode(cfg, number, world, checker)
        episode.begin()
        yield DrawnScene(world, episode, episode.scene.view())


@dataclass(frozen=True)
class RecordedWorld:
    """A world that can be brought to any recorded state; valid inside `open_record`."""

    world: World
    episode: Episode
    record: EpisodeRecord

    def show(self, frame: int) -> None:
        """Writes a recorded state into the world, which then looks as it did.

        Args:
            frame: State frame; negative ones count from the end.
        """
        scene = self.episode.scene.state_tree
        if self.episode.randomization is not None:
            self.episode.randomization.show(frame % (self.record.n_actions + 1))
        scene.load_state_dict(self.record.state_at(frame))
        scene.write_replay_data()


@contextmanager
def open_record(
    cfg: EpisodeCfg,
    record: EpisodeRecord,
    checker: BulletCollisionChecker | None = None,
    *,
    visual_draw: VisualDraw | None = None,
    world: World | None = None,
) -> Iterator[RecordedWorld]:
    """The scene of a recorded episode.

    Args:
        cfg: Configuration of the episode.
        record: The episode, with its arrays.
        checker: An open collision checker; None = one of its own.
        visual_draw: How it looks in place of how it looked.
        world: An open world with visual shapes, which is emptied; None = one of its own.

    Raises:
        RecordingError: Its objects are not those that are there now.
    """
    with ExitStack() as stack:
        world = world or stack.enter_context(World(cfg.world, visuals=True))
        used = checker if checker is not None else stack.enter_context(BulletCollisionChecker())
        episode = Episode(cfg, record.number, world, used)
        episode.visual_draw = visual_draw
        episode.reset(record)
        yield RecordedWorld(world, episode, record)
