"""What the page asks of its worker processes, and what they answer: plain values that can be sent.

The answer to a job `check` is a `JobProblem`, why commands refuse the task, or None. A `JobProblem` may answer any job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.tasks.task import RegionCfg

Array = np.ndarray

VIEW_PX = 320
"""Largest width of what a camera sees on the page [pixels]."""


@dataclass(frozen=True)
class TaskText:
    """A task file that may not be saved yet, and the episode that is meant."""

    name: str
    """Name of the task: that of its file."""
    text: str
    config_dirs: tuple[str, ...] = ()
    """Folders of YAML files of the user."""
    episode: int = 0


SCENE, CHECK, PLAN, RUN, REACH, VIEW = "scene", "check", "plan", "run", "reach", "view"
"""Kinds of jobs, each with a method of `StudioWork` that does it."""


@dataclass(frozen=True)
class StudioJob:
    """Something to do with a task."""

    kind: str
    task: TaskText
    region: RegionCfg | None = None
    """Of `reach`: the place to plan with, in place of the region of its object."""
    scene: ShownScene | None = None
    """Of `view`: what the cameras see."""
    state: Mapping[str, Array] = field(default_factory=dict)
    """Of `view`: state of the scene by the key of the record."""


@dataclass(frozen=True)
class JobProblem:
    """A mistake of the user, or something else that stopped a job."""

    message: str
    key: str = ""
    """Full key of the configuration; empty if it concerns none."""


@dataclass(frozen=True)
class ShownScene:
    """The scene of an episode at its start."""

    cfg: EpisodeCfg
    """With the regions, start openings and goal that the episode derived."""
    episode: int
    seed: int
    """Seed of the episode."""
    layout: Mapping[str, Any]
    """As in a record."""
    hashes: Mapping[str, str]
    """Content hash of each object."""
    state: Mapping[str, Array]
    """State of the scene by the key of the record."""
    lines: tuple[str, ...]
    """What was drawn, in lines of text."""
    failure: JobProblem | None = None
    """Why the layout is refused."""
    search: str = ""
    """What a search for a layout has tried; empty: there was none."""
    applied: Mapping[str, Any] = field(default_factory=dict)
    """Values of the randomization, as in a record."""


@dataclass(frozen=True)
class ShownCamera:
    """A camera of the episode at its start."""

    name: str
    position: Array
    """(3,) in the world frame [m]."""
    quat_xyzw: Array
    """(4,) looking along its z axis, x to the right in the image."""
    fov_rad: float
    """Vertical angle of view."""
    aspect: float
    """Width over height."""


ShownPart = Mapping[str, Any]
"""A part of an object that moves: `object`, `part`, `joint`, `unit` (`m` or `rad`), and the joint positions `closed`,
`open` and `position`, that at the start [unit]."""


@dataclass(frozen=True)
class SceneResult:
    """Answer to a job `scene`."""

    scene: ShownScene
    base: Mapping[str, Any]
    """The configuration without the file's own values, references unresolved."""
    skills: tuple[Mapping[str, Any], ...]
    """Entries of the chain, as the page shows them: `key` in the YAML, `name`, `object`, `part`; `strategies` in the
    order in which they are tried, empty where they depend on earlier skills; `derived`, whether its settings are those
    of the part, and these `settings` by strategy; `threshold` [rad or m, or a share], with the words around it as
    `success`; and `constraints`."""
    parts: tuple[ShownPart, ...]
    cameras: tuple[ShownCamera, ...]
    notices: tuple[str, ...]
    took_s: float


@dataclass(frozen=True)
class ShownKeyframe:
    """One keyframe of a plan."""

    label: str
    q: Array
    """(n,) joints of the arm [rad]."""
    s: float
    """Joint position of the part [rad or m]."""
    position: Array
    """(3,) of the hand in the world frame [m]."""


@dataclass(frozen=True)
class ShownSegment:
    """One part of a planned motion."""

    kind: str
    q: Array
    """(T, n) joints of the arm in every frame [rad]."""
    s: Array | None
    """(T,) joint positions of the part [rad or m]; None: it does not move."""
    tip: Array
    """(T, 3) path of the point between the fingertips in the world frame [m]."""


@dataclass(frozen=True)
class ShownCarry:
    """An object that moves with the hand."""

    object: str
    first: int
    """Frame of the motion from which the hand has it."""
    last: int
    """Frame at which the hand lets go."""


@dataclass(frozen=True)
class ShownPlan:
    """What one arm planned, or why it has no plan."""

    arm: str
    skill: str
    key: str
    """Full key of the skill in the YAML."""
    object: str
    part: str | None
    joint: str | None
    """Joint of the part."""
    strategy: str
    found: bool
    code: str
    message: str
    lines: tuple[str, ...]
    """Plan or diagnosis as `unlatch plan` prints it."""
    residuals: tuple[Mapping[str, Any], ...]
    """`name`, `type`, `value`, `tolerance`, `unit` and `satisfied` of each constraint."""
    contradictions: tuple[Mapping[str, Any], ...]
    """`constraints`, `indices` and `message` of sets of constraints that no pose of the hand meets."""
    remedies: tuple[Mapping[str, Any], ...]
    """`kind`, `name`, `needed` and `words` of changes each of which would be enough."""
    refused: tuple[Mapping[str, Any], ...]
    """`strategy`, `code` and `message` of strategies that were tried without success."""
    timings_ms: Mapping[str, float]
    compromise: Array | None
    """(n,) joints that come nearest to the constraints, where there is no plan [rad]; None: not known."""
    keyframes: tuple[ShownKeyframe, ...]
    segments: tuple[ShownSegment, ...]
    stage: int = 0
    """Plans of one stage begin together; a stage begins where the one before it ends."""
    carried: ShownCarry | None = None

    @property
    def frames(self) -> int:
        """Number of frames of the motion."""
        return sum(len(part.q) for part in self.segments)


@dataclass(frozen=True)
class PlanResult:
    """Answer to a job `plan`."""

    scene: ShownScene
    """The scene that was planned in: a search for a layout chooses another one than the first."""
    plans: tuple[ShownPlan, ...]
    """Every skill of the chain up to the first without a plan, in the order of the stages."""
    found: bool
    took_s: float
    states: tuple[Mapping[str, Array], ...] = ()
    """State of the scene at the beginning of each stage, by the key of the record."""

    def stage_frames(self) -> list[int]:
        """Returns the number of frames of each stage."""
        stages = range(1 + max((plan.stage for plan in self.plans), default=-1))
        return [max(plan.frames for plan in self.plans if plan.stage == stage) for stage in stages]

    @property
    def frames(self) -> int:
        """Number of frames of the whole chain."""
        return sum(self.stage_frames())

    def moment(self, frame: int) -> tuple[int, int]:
        """Returns the stage of a frame of the chain, and the frame within it."""
        stages = self.stage_frames()
        for stage, length in enumerate(stages[:-1]):
            if frame < length:
                return stage, frame
            frame -= length
        return max(0, len(stages) - 1), frame


@dataclass(frozen=True)
class RunAnswer:
    """Answer to a job `run`."""

    cfg: EpisodeCfg
    record: EpisodeRecord
    took_s: float
    moved: tuple[Mapping[str, Any], ...] = ()
    """The skills of the record that moved something, each part once, and what frees it, see `with_what_frees`."""


@dataclass(frozen=True)
class ReachResult:
    """Answer to a job `reach`."""

    plans: bool
    code: str
    message: str


@dataclass(frozen=True)
class ViewResult:
    """Answer to a job `view`."""

    images: Mapping[str, bytes]
    """WebP by the name of the camera, at most `VIEW_PX` wide."""
    cameras: tuple[ShownCamera, ...] = ()
    """Where they are then: a camera at the wrist moves with the hand."""
