"""What the page shows: the task, its scene, plan and run, what of it is drawn, and which moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace

from unlatch.simcore.errors import ConfigError, unknown_entry
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio import jobs
from unlatch.workflows.studio.document import TaskDocument
from unlatch.workflows.studio.jobs import CHECK, PLAN, RUN, SCENE
from unlatch.workflows.viewing.annotation_editor import ObjectAnnotation

STEP_M = 0.05
"""Distance between the places of a map of the reach [m]."""

Place = tuple[int, int]
"""A place as whole multiples of `STEP_M` in x and y: the same places for every region that holds them."""
ReachMap = dict[Place, jobs.ReachResult]
"""What is known about the region of one object, for one task."""


def next_place(found: ReachMap, region: RegionCfg) -> Place | None:
    """Returns the place of a region to try next, every second one in x and y first; None: all are known."""
    return next((place for step in (2, 1) for place in places_in(region, step) if place not in found), None)


def places_in(region: RegionCfg, step: int) -> Iterator[Place]:
    """Yields the places inside a region, every `step`-th one in x and y; at least the one nearest to its middle."""
    ranges = []
    for middle, half in zip(region.center_m, region.half_extent_m, strict=True):
        low, high = (middle - half) / STEP_M, (middle + half) / STEP_M
        inside = [k for k in range(round(low - 0.5), round(high + 0.5) + 1) if low - 1e-9 <= k <= high + 1e-9]
        chosen = [k for k in inside if k % step == 0]
        ranges.append(chosen or inside[:1] or [round(middle / STEP_M)])
    yield from [(i, j) for i in ranges[0] for j in ranges[1]][:400]  # most places of one round


def place_m(place: Place) -> tuple[float, float]:
    """Returns x and y of a place in the world frame [m]."""
    return round(place[0] * STEP_M, 6), round(place[1] * STEP_M, 6)


def region_at(region: RegionCfg, place: Place) -> RegionCfg:
    """Returns a region that holds one place only: facing the robot, at the middle of the heights."""
    height = 0.5 * sum(region.height_m)
    return replace(
        region, center_m=list(place_m(place)), half_extent_m=[0.0, 0.0], yaw_deg=0.0, height_m=[height, height]
    )


@dataclass
class Show:
    """What is drawn beside robot and objects."""

    regions: bool = True
    keypoints: bool = True
    names: bool = False
    axes: bool = False
    cameras: bool = True
    ghosts: bool = True
    reach: bool = False


@dataclass
class Clock:
    """What moves in the scene: a plan, a run, or nothing."""

    of: str = SCENE
    """`scene`, `plan` or `run`."""
    frame: int = 0
    playing: bool = False


@dataclass
class StudioState:
    """The state of the page. Every method may be called from any thread."""

    document: TaskDocument
    episode: int = 0
    show: Show = field(default_factory=Show)
    clock: Clock = field(default_factory=Clock)
    plans_after_edits: bool = True

    def __post_init__(self) -> None:
        self.changed = threading.Condition()
        """Notified with every change of the state."""
        self.revision = 0
        """Number of changes."""
        self.listeners: list[Callable[[str], None]] = []
        """Called with what has changed: `scene`, `plan`, `run`, `reach`, `views`, `show`, `clock`, `openings`,
        `annotation`, `keypoint`, and others that change no picture."""
        self.unreadable: jobs.JobProblem | None = None
        """Why the present text is no YAML."""
        self.message = ""
        """Answer to the last save."""
        self.since: dict[str, float] = {}
        """When each kind of job was asked for of which the answer is still to come, by `time.monotonic` [s]."""
        self.forget_answers()

    def forget_answers(self) -> None:
        """Forgets everything that is known about the task."""
        self.refused: dict[str, jobs.JobProblem] = {}
        """Why the task was refused, by the kind of the job."""
        self.scene: jobs.SceneResult | None = None
        self.plan: jobs.PlanResult | None = None
        self.plan_problem: jobs.JobProblem | None = None
        self.run: jobs.RunAnswer | None = None
        self.run_problem: jobs.JobProblem | None = None
        self.reach: dict[str, ReachMap] = {}
        """By object; emptied when something else than a region changes."""
        self.views: jobs.ViewResult | None = None
        """What the cameras see."""
        self.views_moment = ""
        """When they see it: `at the start`, or the time of the run."""
        self.views_problem: jobs.JobProblem | None = None
        self.openings: dict[tuple[str, str], float] = {}
        """Joint positions that the sliders show, by object and joint [rad or m]."""
        self.annotation: ObjectAnnotation | None = None
        """The keypoints that are being moved; None: none are."""
        self.known: dict[str, tuple[str, int]] = {}
        """Text and episode that the last answer of each kind is about."""
        self.clock = Clock()

    @property
    def problem(self) -> jobs.JobProblem | None:
        """The first mistake in the task; None: there is none."""
        return self.unreadable or self.refused.get(SCENE) or self.refused.get(CHECK)

    def drawn(self) -> Show:
        """Returns what is drawn: while keypoints are moved, nothing that hides their controls."""
        if self.annotation is None:
            return self.show
        return Show(**dict.fromkeys(asdict(self.show), False) | {"cameras": self.show.cameras})

    def scene_is_old(self) -> bool:
        """Whether the scene is that of a text before a mistake."""
        return self.unreadable is not None or SCENE in self.refused

    def is_old(self, kind: str) -> bool:
        """Whether the task has changed since a job of a kind, such as `plan`."""
        return self.known.get(kind) != (self.document.text, self.episode)

    def choose_shown(self, **values: bool) -> None:
        """Switches what is drawn on or off."""
        with self.changed:
            for name, value in values.items():
                if not hasattr(self.show, name):
                    said, known = f"Nothing is called '{name}'.", asdict(self.show)
                    raise unknown_entry(said, name, known, error=ConfigError, key=name)
                setattr(self.show, name, bool(value))
        self.tell("show")

    def set_clock(self, of: str = SCENE, frame: int | None = None, playing: bool | None = None) -> None:
        """Shows a frame of the plan or of the run, and starts or stops playing it."""
        with self.changed:
            length = self.length_of(of)
            if frame is not None or of != self.clock.of:
                self.clock.frame = max(0, min(int(frame or 0), length - 1))
            self.clock.of = of if length or of == SCENE else SCENE
            if playing is not None:
                self.clock.playing = bool(playing) and length > 1
                if self.clock.playing and self.clock.frame >= length - 1:
                    self.clock.frame = 0
        self.tell("clock")

    def length_of(self, of: str) -> int:
        """Returns the number of frames of the plan or the run; 0: there is none."""
        if of == PLAN and self.plan is not None:
            return self.plan.frames
        if of == RUN and self.run is not None:
            return self.run.record.n_actions + 1 if self.run.record.arrays else 0
        return 0

    def set_opening(self, object: str, joint: str, position: float) -> None:
        """Shows a part at a joint position [rad or m]; the task does not change."""
        with self.changed:
            self.openings[object, joint] = float(position)
            self.clock = Clock()
        self.tell("openings")

    def frame_hz(self) -> float:
        """Returns the number of frames in a second."""
        cfg = (
            self.run.cfg if self.clock.of == RUN and self.run else None if self.scene is None else self.scene.scene.cfg
        )
        return 30.0 if cfg is None else float(cfg.world.record_hz)

    def tick(self, frames: int) -> None:
        """Moves the clock on while it plays; it stops at the last frame."""
        with self.changed:
            last = self.length_of(self.clock.of) - 1
            self.clock.frame = min(self.clock.frame + frames, last)
            self.clock.playing = self.clock.frame < last
        self.tell("clock")

    def parts(self) -> tuple[jobs.ShownPart, ...]:
        """Returns the parts of the scene."""
        return () if self.scene is None else self.scene.parts

    def regions(self) -> list[RegionCfg]:
        """Returns the regions of the scene."""
        return [] if self.scene is None else list(self.scene.scene.cfg.task.regions)

    def tell(self, what: str) -> None:
        """Counts a change, and tells everybody who listens what it is."""
        with self.changed:
            self.revision += 1
            self.changed.notify_all()
        for listener in list(self.listeners):
            listener(what)
