"""What the page shows: the task, its scene, plan and run, what of it is drawn, and which moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from unlatch.simcore.errors import ConfigError
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.annotation import ObjectAnnotation
from unlatch.workflows.studio.document import TaskDocument
from unlatch.workflows.studio.jobs import PlanResult, Problem, RunResult, SceneResult, ShownPart, ViewResult
from unlatch.workflows.studio.reach import ReachMap

SCENE, CHECK, PLAN, RUN, REACH, VIEW = "scene", "check", "plan", "run", "reach", "view"


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
        self.unreadable: Problem | None = None
        """Why the present text is no YAML."""
        self.message = ""
        """Answer to the last save."""
        self.since: dict[str, float] = {}
        """When each kind of job of which the answer is to come was asked for, by `time.monotonic` [s]."""
        self.forget_answers()

    def forget_answers(self) -> None:
        """Forgets everything that is known about the task."""
        self.refused: dict[str, Problem] = {}
        """Why the task was refused, by the kind of the job."""
        self.scene: SceneResult | None = None
        self.plan: PlanResult | None = None
        self.plan_problem: Problem | None = None
        self.run: RunResult | None = None
        self.run_problem: Problem | None = None
        self.reach: dict[str, ReachMap] = {}
        """By object; emptied when something else than a region changes."""
        self.views: ViewResult | None = None
        """What the cameras see."""
        self.views_moment = ""
        """When they see it: `at the start`, or the time of the run."""
        self.views_problem: Problem | None = None
        self.openings: dict[tuple[str, str], float] = {}
        """Joint positions that the sliders show, by object and joint [rad or m]."""
        self.annotation: ObjectAnnotation | None = None
        """The keypoints that are being moved; None: none are."""
        self.known: dict[str, tuple[str, int]] = {}
        """Text and episode that the last answer of each kind is about."""
        self.clock = Clock()

    @property
    def problem(self) -> Problem | None:
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

    def plan_is_old(self) -> bool:
        """Whether the task has changed since it was planned."""
        return self.known.get(PLAN) != (self.document.text, self.episode)

    def run_is_old(self) -> bool:
        """Whether the task has changed since it was run."""
        return self.known.get(RUN) != (self.document.text, self.episode)

    def is_busy(self, kind: str) -> bool:
        """Whether an answer of a kind is still to come: `scene`, `check`, `plan`, `run` or `reach`."""
        return kind in self.since

    def busy_s(self) -> dict[str, float]:
        """Returns for how long each kind of answer is waited for [s]."""
        return {kind: time.monotonic() - since for kind, since in self.since.items()}

    def choose_shown(self, **values: bool) -> None:
        """Switches what is drawn on or off."""
        with self.changed:
            for name, value in values.items():
                if not hasattr(self.show, name):
                    raise ConfigError(f"Nothing is called '{name}'. Known: {', '.join(asdict(self.show))}.", key=name)
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

    def parts(self) -> tuple[ShownPart, ...]:
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
