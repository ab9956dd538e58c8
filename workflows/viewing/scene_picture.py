"""Opens scenes with visual shapes for pictures: at the start of an episode, or as recorded. A contact sheet shows a few
episodes of a data set at their start, at the first contact and at the end.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.annotation import PartKind
from unlatch.simcore.catalogs import AUTO, RENDERERS
from unlatch.simcore.randomization.config import VisualDraw
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.keys import STATE, kind_of
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.renderers.auto import choose_renderer
from unlatch.simcore.sim.renderers.renderer import Renderer
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, framing_camera, take_picture
from unlatch.simcore.sim.world import World
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.episode.criteria import Actor
from unlatch.workflows.episode.episode import Episode, EpisodeOptions
from unlatch.workflows.episode.scene import OPENING_M, EpisodeScene
from unlatch.workflows.episode.visual_views import seen_corners
from unlatch.workflows.runs.statistics import CorruptEpisodes
from unlatch.workflows.viewing.picture import Overlay, SheetRow, compose_sheet, write_picture

Array = np.ndarray

_ARM_POINTS_M = (
    (-0.12, -0.12, 0.0),
    (-0.12, 0.12, 0.0),
    (-0.1, 0.0, 0.72),
    (0.1, 0.0, 0.76),
    (0.45, 0.0, 0.72),
    (-0.24, 0.0, 0.55),
)
"""Points around an arm at its home pose, from its foot [m]."""
_BEHIND_SHOULDER, _BETWEEN_SHOULDERS, _RIGHT_SIDE = (-0.8, -0.88, 0.5), (-0.95, -0.12, 0.8), (0.05, -1.0, 0.8)
"""Directions from the scene to the camera."""
_ON_TABLE_M = 0.05
"""Greatest height of an arm's foot above the table if it stands on it [m]."""
_FOV_DEG = 40.0
_SEEN_COSINE = 0.5
"""A front is seen well from less than 60 degrees."""


def whole_view(scene: EpisodeScene, *, aspect: float = 1.25) -> LookAtCamera:
    """Returns a camera that sees the whole robot and the objects; it does not depend on how they stand now.

    Args:
        scene: The scene.
        aspect: Width of the picture over its height.
    """
    arms = [scene.robot.body.link_pose(arm.base_link).p for arm in scene.robot.cfg.arms]
    points = [foot + np.array(offset) for foot in arms for offset in _ARM_POINTS_M]
    if scene.stand is not None:
        points += list(seen_corners(scene.stand))
    for item in scene.objects.values():
        boxes = np.array([item.body.link_aabb(link) for link in item.body.mounted_links])
        low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        points += [np.where(pick, high, low) for pick in np.ndindex(2, 2, 2)]
        points.append(np.array([low[0] - OPENING_M, (low[1] + high[1]) / 2, low[2]]))
    # objects turn their front to the robot: over its right shoulder, front and hand are both seen. The door of a thing
    # on the floor is higher than the hand, and would hide it if its hinge is on that side. The right one of two arms
    # would hide the object, and a torso between the arms hides it from behind
    x, y, z = _BEHIND_SHOULDER
    hides = scene.stand is not None and _door_reach_m(scene, (x, -y, 0.0)) > 0.0
    looks_from = (x, -y, z) if hides else (x, y, z)
    if len(arms) > 1:
        on_table = all(abs(foot[2]) < _ON_TABLE_M for foot in arms)
        looks_from = _BETWEEN_SHOULDERS if on_table else _RIGHT_SIDE
    return framing_camera(points, looks_from, fov_deg=_FOV_DEG, aspect=aspect, margin=1.12)


def _door_reach_m(scene: EpisodeScene, towards_left: Sequence[float]) -> float:
    """Returns how far closed doors reach from their upright hinges to their handles, to the robot's left [m].

    Only doors that a skill acts on count, if their front is seen from the horizontal direction `towards_left` (3,).
    """
    reach, left = 0.0, np.array(towards_left) / np.linalg.norm(towards_left)
    acted_on = {key for views in scene.views.values() for key in views}
    for name, item in scene.objects.items():
        model, T_world_root = item.asset.model, item.body.root_pose()
        for part in item.asset.articulation.parts.values():
            T_link_handle = part.handle.T_link_handle
            if (name, part.name) in acted_on and part.kind is PartKind.hinge_vertical and T_link_handle is not None:
                closed = {part.joint: part.openness.closed}
                hinge = model.link_pose(model.joints[part.joint].child, closed).p
                T_root_handle = model.link_pose(part.link, closed) @ T_link_handle
                outward, across = (
                    T_world_root.rotate(each) for each in (T_root_handle.R[:, 0], T_root_handle.p - hinge)
                )
                reach += float(across[1]) if outward @ left > _SEEN_COSINE else 0.0
    return reach


def make_picture_renderer(name: str = AUTO) -> Renderer:
    """Makes the renderer of pictures for people, by its name in the catalog or `auto`.

    Raises:
        PluginError: No such renderer.
    """
    return RENDERERS.load(choose_renderer(name))()


@dataclass(frozen=True)
class DrawnScene:
    """A scene at its start that can be drawn; valid inside `open_scene`."""

    world: World
    episode: Episode
    view: LookAtCamera

    def overlay(self, *, width: int, height: int) -> Overlay:
        """Returns a picture of the scene to draw on."""
        return Overlay(take_picture(self.world, self.view, width=width, height=height), self.view)

    def keypoints(self) -> dict[str, Array]:
        """Returns the keypoints of every part by `part.name` in the world frame, (3,) each [m]."""
        state = self.episode.scene.state_tree.state_dict()
        return {key.split(".", 2)[2]: np.asarray(p) for key, p in state.items() if key.startswith("keypoints.")}

    def region_outline(self, region: RegionCfg) -> Array:
        """Returns the corners (5, 3) of a region on the table or floor in the world frame, the first one twice [m]."""
        (x, y), (dx, dy) = region.center_m, region.half_extent_m
        stand, z = self.episode.scene.stand, 0.0
        if stand is not None:
            y, z = y - stand.along_m, stand.floor_z_m
        corners = [(x - dx, y - dy), (x + dx, y - dy), (x + dx, y + dy), (x - dx, y + dy), (x - dx, y - dy)]
        return np.array([(*corner, z + 0.002) for corner in corners])

    def description(self) -> list[str]:
        """Returns the drawn values of this episode, one line per object."""
        layout, failure = self.episode.layout(), self.episode.failure
        lines = [f"episode {self.episode.number}, seed {self.episode.seed}"]
        for name, place in layout["objects"].items():
            instance = layout["instances"][name]
            drawn = ", ".join(f"{key} {value:.3f}" for key, value in place["drawn"].items())
            lies = f", on its {instance['rests_on']}" if "rests_on" in instance else ""
            lines.append(f"{name}: {instance['source']} {instance['category']} {instance['instance']}{lies}; {drawn}")
        if self.episode.planner.layout_search is not None:
            lines.append(f"artpreplan: {self.episode.planner.layout_search}")
        if failure is not None:
            lines.append(f"{failure.code}: {failure.message}")
        return lines


@contextmanager
def open_scene(cfg: EpisodeCfg, number: int, *, visuals: bool = True, renderer: str = AUTO) -> Iterator[DrawnScene]:
    """Opens the scene of an episode at its start.

    Raises:
        WorldError: The renderer does not work here.
    """
    with (
        World(cfg.world, visuals=visuals, renderer=make_picture_renderer(renderer) if visuals else None) as world,
        BulletCollisionChecker() as checker,
    ):
        episode = Episode(cfg, number, world, checker)
        episode.begin()
        yield DrawnScene(world, episode, whole_view(episode.scene))


@dataclass(frozen=True)
class RecordedWorld:
    """A world that can be set to any recorded state; valid inside `open_record`."""

    world: World
    episode: Episode
    record: EpisodeRecord

    @cached_property
    def _states(self) -> dict[str, Array]:
        """Arrays of the recorded states by key."""
        return {key: array for key, array in self.record.arrays.items() if kind_of(key) == STATE}

    def show(self, frame: int) -> None:
        """Sets the world to a recorded state with its appearance; negative frames count from the end."""
        scene = self.episode.scene.state_tree
        if self.episode.randomization is not None:
            self.episode.randomization.show(frame % (self.record.n_actions + 1))
        scene.load_state_dict({key: array[frame] for key, array in self._states.items()})
        scene.write_replay_data()


@contextmanager
def open_record(
    cfg: EpisodeCfg,
    record: EpisodeRecord,
    checker: BulletCollisionChecker | None = None,
    *,
    visual_draw: VisualDraw | None = None,
    scenery_seed: int | None = None,
    world: World | None = None,
) -> Iterator[RecordedWorld]:
    """Opens the scene of a recorded episode.

    Args:
        cfg: Configuration of the episode.
        record: The episode, with its arrays.
        checker: An open collision checker; None: a new one.
        visual_draw: Appearance that replaces the recorded one.
        scenery_seed: Seed of the room; None: that of the episode.
        world: An open world with visual shapes, which is emptied; None: a new one.

    Raises:
        RecordingError: Its objects have changed since the recording.
    """
    with ExitStack() as stack:
        world = world or stack.enter_context(World(cfg.world, visuals=True, renderer=make_picture_renderer()))
        used = checker if checker is not None else stack.enter_context(BulletCollisionChecker())
        options = EpisodeOptions(Actor.record, visual_draw=visual_draw, scenery_seed=scenery_seed)
        episode = Episode(cfg, record.number, world, used, options)
        episode.reset(record)
        yield RecordedWorld(world, episode, record)


def add_laid_out_state(cfg: EpisodeCfg, record: EpisodeRecord) -> EpisodeRecord:
    """Returns a record without states with one: the scene as it was laid out, such as when planning raised an error.

    A record that has states, and one that ended before the scene was laid out, is returned as it is.

    Raises:
        RecordingError: Its objects have changed since the recording.
    """
    if record.arrays or not record.layout.get("objects"):
        return record
    with open_record(cfg, record) as opened:
        opened.episode.frames.record_state()
        return replace(record, arrays=opened.episode.frames.recorder.arrays())


TILE = (320, 240)
"""Width and height of one picture [pixels]."""
_CONTACT_N = 0.1


def contact_sheet(cfg: EpisodeCfg, data_set: DataSet, numbers: Sequence[int], *, path: Path, rows: int = 4) -> None:
    """Draws the first state, the first contact and the last state of at most `rows` episodes, and writes the picture.

    Raises:
        RecordingError: The picture cannot be written.
    """
    sheet = []
    with BulletCollisionChecker() as checker:
        for number in choose_episodes(data_set, numbers, rows=rows):
            record = data_set.read(number)
            if record.arrays:
                sheet.append(_draw_episode(cfg, record, checker))
    write_picture(compose_sheet(sheet), path)


def _draw_episode(cfg: EpisodeCfg, record: EpisodeRecord, checker: BulletCollisionChecker) -> SheetRow:
    pictures = []
    with open_record(cfg, record, checker) as recorded:
        for frame in (0, contact_frame(record), record.n_actions):
            recorded.show(frame)
            view = whole_view(recorded.episode.scene)
            pictures.append(take_picture(recorded.world, view, width=TILE[0], height=TILE[1]))
    instruction = f': "{record.instruction}"' if record.instruction else ""
    return SheetRow(f"episode {record.number}, {record.outcome}{instruction}", pictures, record.success)


def choose_episodes(data_set: DataSet, numbers: Sequence[int], *, rows: int) -> list[int]:
    """Chooses the first successes, and one failure if there is any."""
    asked = set(numbers)
    good: list[int] = []
    bad: list[int] = []
    for item in data_set.each_summary(CorruptEpisodes().add):
        if item.number in asked and item.n_actions > 0:
            first = good if item.success else bad
            insort(first, item.number)
            del first[rows:]
    wanted_bad = max(1, rows - len(good)) if bad else 0
    return sorted([*good[: rows - min(wanted_bad, rows)], *bad[:wanted_bad]][:rows])


def contact_frame(record: EpisodeRecord) -> int:
    """Returns the first state in which the fingers touch the part, or the middle one if they never do."""
    forces = [array for key, array in record.arrays.items() if key.endswith(".fingers_link.force_max_n")]
    if forces:
        touching = np.flatnonzero(np.max(forces, axis=0) > _CONTACT_N)
        if len(touching):
            return int(touching[0]) + 1  # an interval's force belongs to the state at its end
    return record.n_actions // 2
