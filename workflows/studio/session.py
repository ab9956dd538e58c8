"""What the page shows and what can be done on it, without a browser: the task, its scene, plan, run and reach."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.annotation import ObjectAnnotation, annotatable, open_annotation
from unlatch.workflows.studio.document import TaskDocument, open_document
from unlatch.workflows.studio.jobs import (
    CheckJob,
    CheckResult,
    Job,
    PlanJob,
    PlanResult,
    Problem,
    ReachJob,
    RunJob,
    RunResult,
    SceneJob,
    SceneResult,
    ShownPart,
    TaskText,
)
from unlatch.workflows.studio.page_state import describe_plan, describe_reach, describe_run, describe_scene
from unlatch.workflows.studio.reach import Place, ReachMap, region_at
from unlatch.workflows.studio.worker import JobQueue, JobRunner
from unlatch.workflows.studio.yaml_edit import find_line, parse_key, read_tree

SCENE, CHECK, PLAN, RUN, REACH = "scene", "check", "plan", "run", "reach"
_WAIT_S = 60.0
"""Longest time in which a task is checked before it is saved [s]."""
MAX_EPISODE = 2**31 - 1


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
class StudioSession:
    """The state of the page. Every method may be called from any thread."""

    document: TaskDocument
    runners: Mapping[str, JobRunner]
    """Who does the jobs: `scene`, `plan` (which runs, too) and `reach`."""
    config_dirs: tuple[str, ...] = ()
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
        """Called with what has changed: `scene`, `plan`, `run`, `reach`, `show`, `clock`, `openings`, `annotation`,
        `keypoint`, and others that change no picture."""
        self._unreadable: Problem | None = None
        """Why the present text is no YAML."""
        self._refused: dict[str, Problem] = {}
        """Why the task was refused, by the kind of the job."""
        self.scene: SceneResult | None = None
        self.plan: PlanResult | None = None
        self.plan_problem: Problem | None = None
        self.run: RunResult | None = None
        self.run_problem: Problem | None = None
        self.reach: dict[str, ReachMap] = {}
        """By object; emptied when something else than a region changes."""
        self.openings: dict[tuple[str, str], float] = {}
        """Joint positions that the sliders show, by object and joint [rad or m]."""
        self.message = ""
        """Answer to the last save."""
        self.annotation: ObjectAnnotation | None = None
        """The keypoints that are being moved; None: none are."""
        self._known: dict[str, tuple[str, int]] = {}
        """Text and episode that the last answer of each kind is about."""
        self._since: dict[str, float] = {}
        self._reach_key = ""
        self._queues = {
            SCENE: JobQueue(self.runners[SCENE], (SCENE, CHECK)),
            PLAN: JobQueue(self.runners[PLAN], (RUN, PLAN)),
            REACH: JobQueue(self.runners[REACH], (REACH,)),
        }
        self._actions: dict[str, Callable[..., None]] = {
            "text": self.write_text,
            "set": self.set_value,
            "undo": self.undo,
            "redo": self.redo,
            "episode": self.choose_episode,
            "plan": self.ask_plan,
            "run": self.ask_run,
            "stop": self.stop_jobs,
            "show": self.choose_shown,
            "clock": self.set_clock,
            "opening": self.set_opening,
            "auto_plan": self.set_auto_plan,
            "write_setting": self.write_setting,
            "strategy": self.choose_strategy,
            "save": self.save,
            "annotate": self.annotate,
            "save_annotation": self.save_annotation,
            "open": self.open,
        }
        self._refresh()

    @property
    def problem(self) -> Problem | None:
        """The first mistake in the task; None: there is none."""
        return self._unreadable or self._refused.get(SCENE) or self._refused.get(CHECK)

    def act(self, name: str, values: Mapping[str, Any]) -> None:
        """Does what a control of the page asks for.

        Raises:
            SimCoreError: There is no such action, or it cannot be done; the state is unchanged.
        """
        action = self._actions.get(name)
        if action is None:
            raise ConfigError(f"There is no action '{name}'.{close_matches(name, self._actions)}", key="action")
        try:
            action(**values)
        except TypeError as exc:
            raise ConfigError(f"The action '{name}' cannot be done: {exc}.", key=name) from exc

    def write_text(self, text: str) -> None:
        """Replaces the whole text of the task, as the user typed it."""
        with self.changed:
            self.document.write(text)
        self._refresh()

    def set_value(self, path: Sequence[str | int], value: Any, gesture: str = "") -> None:
        """Sets one value of the task; see `TaskDocument.set`.

        Raises:
            ConfigError: The text cannot be read.
        """
        with self.changed:
            if self.scene is None:
                raise ConfigError("The task has not been read yet. Wait, or correct the YAML first.", key="text")
            regions = [asdict(region) for region in self.scene.scene.cfg.task.regions]
            openness = [asdict(entry) for entry in self.scene.scene.cfg.task.openness]
            self.document.set(
                tuple(path),
                value,
                base=self.scene.base,
                shown={"task.regions": regions, "task.openness": openness},
                gesture=gesture or None,
            )
        self._refresh()

    def try_set(self, path: Sequence[str | int], value: Any, gesture: str) -> None:
        """Sets one value as `set_value`; where it cannot be set, the message says why."""
        try:
            self.set_value(path, value, gesture)
        except ConfigError as exc:
            self.message = exc.message
            self._tell("show")

    def plan_is_old(self) -> bool:
        """Whether the task has changed since it was planned."""
        return self._known.get(PLAN) != (self.document.text, self.episode)

    def is_busy(self, kind: str) -> bool:
        """Whether an answer of a kind is still to come: `scene`, `check`, `plan`, `run` or `reach`."""
        return kind in self._since

    def end_gesture(self) -> None:
        """Ends a drag: the next change is undone on its own."""
        with self.changed:
            self.document.end_gesture()

    def undo(self) -> None:
        """Takes back the last change of the task."""
        with self.changed:
            self.document.undo()
        self._refresh()

    def redo(self) -> None:
        """Does the last undone change again."""
        with self.changed:
            self.document.redo()
        self._refresh()

    def choose_episode(self, number: int) -> None:
        """Shows the layout and the instances of another episode.

        Raises:
            ConfigError: There is no such number.
        """
        if not isinstance(number, int) or not 0 <= number <= MAX_EPISODE:
            raise ConfigError(f"episode={number} is out of range. Expected 0 to {MAX_EPISODE}.", key="episode")
        with self.changed:
            self.episode = number
        self._refresh()

    def choose_shown(self, **values: bool) -> None:
        """Switches what is drawn on or off."""
        with self.changed:
            for name, value in values.items():
                if not hasattr(self.show, name):
                    raise ConfigError(f"Nothing is called '{name}'. Known: {', '.join(asdict(self.show))}.", key=name)
                setattr(self.show, name, bool(value))
        self._tell("show")
        self._go_on_with_reach()

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
        self._tell("clock")

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
        self._tell("openings")

    def set_auto_plan(self, on: bool) -> None:
        """Decides whether every change is planned at once."""
        with self.changed:
            self.plans_after_edits = bool(on)
        self._refresh()

    def write_setting(self, skill: str, strategy: str) -> None:
        """Writes the derived planner setting of a strategy into the task, so that it can be changed.

        Raises:
            ConfigError: There is no such skill or strategy.
        """
        entries = [] if self.scene is None else [entry for entry in self.scene.skills if entry.key == skill]
        if not entries or strategy not in entries[0].settings:
            raise ConfigError(f"{skill} has no derived setting '{strategy}'.", key=skill)
        path = parse_key(skill)
        self.set_value([*path, "planner_setting"], dict(entries[0].settings[strategy]), gesture="write setting")
        self.set_value([*path, "strategy"], strategy, gesture="write setting")
        self.end_gesture()

    def choose_strategy(self, skill: str, strategy: str) -> None:
        """Makes a strategy the first one that is tried."""
        self.set_value([*parse_key(skill), "order"], [strategy])

    def save(self, path: str, replace: bool = False) -> None:
        """Writes the task to a file.

        Raises:
            ConfigError: See `TaskDocument.save`; or the task has a mistake.
        """
        with self.changed:
            self.changed.wait_for(lambda: not (self.is_busy(SCENE) or self.is_busy(CHECK)), timeout=_WAIT_S)
            if self.problem is not None:
                raise ConfigError(f"Not saved, as commands would refuse it: {self.problem.message}", key="text")
            file = self.document.save(path, replace=replace)
            folder = file.parent.parent
            self.message = f"Saved. unlatch collect task={file.stem} --config-dir {folder}"
        self._tell("show")

    def open(self, path: str) -> None:
        """Opens another task file; the present one is given up, saved or not.

        Raises:
            ConfigError: It cannot be read.
        """
        document = open_document(path)
        with self.changed:
            self.document, self.message, self.episode = document, "", 0
        self._refresh()

    def annotate(self, object: str = "") -> None:
        """Begins to move the keypoints of an object of one's own; an empty name ends it, and forgets what is not saved.

        Raises:
            ConfigError: The object is not a URDF of one's own.
            AssetError: It cannot be annotated.
        """
        found = None
        if object:
            items = {} if self.scene is None else self.scene.scene.cfg.all_objects()
            found = open_annotation(items, object)
        with self.changed:
            self.annotation = found
            self.clock = Clock()
        self._tell("annotation")

    def move_keypoint(self, part: str, keypoint: str, xyz: Sequence[float]) -> None:
        """Moves a keypoint to a position (3,) in its own frame [m]; without an open annotation, nothing happens."""
        with self.changed:
            if self.annotation is not None:
                self.annotation.move(part, keypoint, xyz)
        self._tell("keypoint")

    def check_annotation(self) -> None:
        """Checks what has been moved."""
        annotation = self.annotation
        if annotation is not None and annotation.check():
            self._tell("busy")

    def save_annotation(self) -> None:
        """Writes the annotation, then reads the task again with it.

        Raises:
            AssetError: It does not fit its object. The file is unchanged.
        """
        with self.changed:
            if self.annotation is None:
                raise ConfigError("No keypoints are being moved. Begin with it first.", key="annotation")
            self.annotation.save()
        self._refresh()
        self._tell("annotation")

    def stop_jobs(self) -> None:
        """Gives up planning and running."""
        self._queues[PLAN].interrupt()
        self._forget_idle()
        self._tell("show")

    def close(self) -> None:
        """Ends the threads of the session."""
        for queue in self._queues.values():
            queue.close()

    def ask_plan(self) -> None:
        """Plans the episode."""
        self._submit(PLAN, PLAN, PlanJob(self._task_text()))

    def ask_run(self) -> None:
        """Makes the episode."""
        self._submit(PLAN, RUN, RunJob(self._task_text()))

    def to_dict(self) -> dict[str, Any]:
        """Returns the state as plain values for the page."""
        with self.changed:
            document = self.document
            return {
                "revision": self.revision,
                "document": {
                    "text": document.text,
                    "name": document.name,
                    "path": str(document.path),
                    "is_saved": document.is_saved,
                    "can_undo": document.can_undo,
                    "can_redo": document.can_redo,
                    "message": self.message,
                },
                "problem": self._describe_problem(self.problem),
                "episode": self.episode,
                "show": asdict(self.show),
                "clock": {**asdict(self.clock), "length": self.length_of(self.clock.of)},
                "busy": {kind: time.monotonic() - since for kind, since in self._since.items()},
                "auto_plan": self.plans_after_edits,
                "scene": None if self.scene is None else describe_scene(self.scene, self.openings),
                "plan": None if self.plan is None else describe_plan(self.plan),
                "plan_problem": self._describe_problem(self.plan_problem),
                "plan_is_old": self.plan_is_old(),
                "run": None if self.run is None else describe_run(self.run, self._parts()),
                "run_problem": self._describe_problem(self.run_problem),
                "run_is_old": self._known.get(RUN) != (document.text, self.episode),
                "annotation": None if self.annotation is None else self.annotation.to_dict(),
                "annotatable": annotatable({} if self.scene is None else self.scene.scene.cfg.all_objects()),
                "reach": describe_reach(self.reach, self._regions()),
            }

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
        self._tell("clock")

    def _task_text(self) -> TaskText:
        return TaskText(self.document.name, self.document.text, self._folders(), self.episode)

    def _folders(self) -> tuple[str, ...]:
        """Returns the folders of the user's YAML files, with that of a file that was opened."""
        own = self.document.path.parent.parent
        beside = [str(own)] if self.document.path.parent.name == "task" and self.document.path.is_file() else []
        return (*self.config_dirs, *(folder for folder in beside if folder not in self.config_dirs))

    def _refresh(self) -> None:
        """Reads the task again after a change, and plans it."""
        with self.changed:
            if not self.document.is_saved:
                self.message = ""
            try:
                read_tree(self.document.text)
                self._unreadable = None
            except ConfigError as exc:
                self._unreadable = Problem(exc.message)
                for kind in (SCENE, CHECK):
                    self._queues[SCENE].drop(kind)
                self._forget_idle()
                self._tell("text")
                return
        self._submit(SCENE, SCENE, SceneJob(self._task_text()))
        if self.plans_after_edits:
            self.ask_plan()
        self._tell("text")

    def _submit(self, queue: str, kind: str, job: Job) -> None:
        with self.changed:
            self._since[kind] = time.monotonic()
            self._queues[queue].submit(kind, job, lambda answer: self._receive(kind, job, answer))
        self._tell("busy")

    def _receive(self, kind: str, job: Job, answer: Any) -> None:
        """Takes an answer of a worker; one about an older text is shown until the newer one comes."""
        with self.changed:
            self._forget_idle()
            self._known[kind] = (job.task.text, job.task.episode)
            if kind == SCENE:
                self._note_refusal(SCENE, answer if isinstance(answer, Problem) else None)
                if isinstance(answer, SceneResult):
                    self._submit(SCENE, CHECK, CheckJob(job.task))
                    self.scene = answer
                    self.openings.clear()
                    self.clock = Clock()
            elif kind == CHECK:
                self._note_refusal(CHECK, answer.problem if isinstance(answer, CheckResult) else answer)
            elif kind == PLAN:
                self.plan_problem = answer if isinstance(answer, Problem) else None
                self.plan = answer if isinstance(answer, PlanResult) else None
                if self.clock.of == PLAN:
                    self.clock = Clock()
            elif kind == RUN:
                self.run_problem = answer if isinstance(answer, Problem) else None
                self.run = answer if isinstance(answer, RunResult) else None
        self._tell(kind)
        if kind == RUN and self.run is not None and self.length_of(RUN):
            self.set_clock(of=RUN, frame=0, playing=True)
        self._go_on_with_reach()

    def _note_refusal(self, kind: str, problem: Problem | None) -> None:
        if problem is None:
            self._refused.pop(kind, None)
        else:
            self._refused[kind] = problem

    def _forget_idle(self) -> None:
        """Removes the kinds of jobs of which no answer is to come."""
        for kind in [kind for kind in self._since if kind != REACH]:
            if not any(queue.is_busy_with(kind) for queue in self._queues.values()):
                del self._since[kind]

    def _parts(self) -> tuple[ShownPart, ...]:
        return () if self.scene is None else self.scene.parts

    def _regions(self) -> list[RegionCfg]:
        return [] if self.scene is None else list(self.scene.scene.cfg.task.regions)

    def _go_on_with_reach(self) -> None:
        """Asks for the next place of the regions, if the map is shown and nothing else waits."""
        with self.changed:
            if not self.show.reach or self.scene is None or self.problem is not None or REACH in self._since:
                return
            key = self._text_without_regions()
            if key != self._reach_key:
                self.reach, self._reach_key = {}, key
            for region in self._regions():
                found = self.reach.setdefault(region.object, ReachMap())
                place = found.next_place(region)
                if place is None:
                    continue
                self._since[REACH] = time.monotonic()
                job = ReachJob(self._task_text(), region_at(region, place))

                def keep(answer: Any, found: ReachMap = found, place: Place = place) -> None:
                    with self.changed:
                        self._since.pop(REACH, None)
                        if not isinstance(answer, Problem):
                            found.found[place] = answer
                    self._tell(REACH)
                    if not isinstance(answer, Problem):
                        self._go_on_with_reach()

                self._queues[REACH].submit(REACH, job, keep)
                return

    def _text_without_regions(self) -> str:
        """Returns what a map depends on: the task apart from centre and extent of its regions."""
        tree = read_tree(self.document.text)
        rest = {**tree.get("task", {})} if isinstance(tree.get("task"), dict) else {}
        rest.pop("regions", None)
        heights = [(region.object, tuple(region.height_m)) for region in self._regions()]
        return repr(({**tree, "task": rest}, heights, self.episode))

    def _describe_problem(self, problem: Problem | None) -> dict[str, Any] | None:
        if problem is None:
            return None
        return {"message": problem.message, "line": problem_line(self.document.text, problem)}

    def _tell(self, what: str) -> None:
        with self.changed:
            self.revision += 1
            self.changed.notify_all()
        for listener in list(self.listeners):
            listener(what)


def problem_line(text: str, problem: Problem) -> int | None:
    """Returns the line of a mistake in the text, from 1; None if it is not in this text."""
    try:
        read_tree(text)
    except ConfigError as exc:
        line: int | None = exc.values.get("line")
        return line
    line = find_line(text, parse_key(problem.key)) if problem.key else None
    if line is None and problem.key:  # the name of a file of a group
        group = problem.key.partition(".")[0]
        for number, words in enumerate(text.splitlines(), start=1):
            if f"override /{group}:" in words:
                return number
    return line
