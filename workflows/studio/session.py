"""What can be done on the page, without a browser: edit the task, plan it, run it, save it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.workflows.studio import jobs
from unlatch.workflows.studio.document import TaskDocument, open_document, parse_key, read_tree
from unlatch.workflows.studio.jobs import CHECK, PLAN, REACH, RUN, SCENE, VIEW
from unlatch.workflows.studio.page_state import describe_state
from unlatch.workflows.studio.state import Clock, StudioState
from unlatch.workflows.studio.worker import BackgroundWork, JobQueue, WorkerProcess
from unlatch.workflows.viewing.annotation_editor import open_annotation

_WAIT_S = 60.0
"""Longest time in which a task is checked before it is saved [s]."""
MAX_EPISODE = 2**31 - 1
_ACTIONS = {
    **{name: name for name in ("undo", "redo", "write_setting", "save", "annotate", "save_annotation", "open")},
    **{"text": "write_text", "set": "set_value", "episode": "choose_episode", "strategy": "choose_strategy"},
    **{"plan": "ask_plan", "run": "ask_run", "stop": "stop_jobs", "show": "choose_shown", "clock": "set_clock"},
    **{"opening": "set_opening", "auto_plan": "set_auto_plan"},
}
"""Methods by the names that the page gives to what they do."""


class StudioSession(StudioState):
    """The state of the page and what its controls do. Every method may be called from any thread."""

    def __init__(
        self,
        document: TaskDocument,
        runners: Mapping[str, WorkerProcess],
        *,
        config_dirs: tuple[str, ...] = (),
        episode: int = 0,
    ) -> None:
        """Reads the task and plans it.

        Args:
            document: The task.
            runners: Who does the jobs: `scene`, `plan` (which runs, too) and `reach` (which draws images, too).
            config_dirs: Folders of YAML files of the user.
            episode: Number of the episode that is shown first.
        """
        super().__init__(document, episode)
        self.runners, self.config_dirs = runners, config_dirs
        self._queues = {
            kind: queue
            for kinds in ((SCENE, CHECK), (RUN, PLAN), (VIEW, REACH))
            for queue in [JobQueue(next(runners[kind] for kind in kinds if kind in runners), kinds)]
            for kind in kinds
        }
        self._background = BackgroundWork(self, self._queues[REACH], self._task_text)
        self.listeners.append(self._background.go_on_after)
        self._refresh()

    def act(self, name: str, values: Mapping[str, Any]) -> None:
        """Does what a control of the page asks for.

        Raises:
            UnlatchError: There is no such action, or it cannot be done; the state is unchanged.
        """
        if name not in _ACTIONS:
            raise ConfigError(f"There is no action '{name}'.{close_matches(name, _ACTIONS)}", key="action")
        try:
            getattr(self, _ACTIONS[name])(**values)
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
            self.tell("show")

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

    def to_dict(self) -> dict[str, Any]:
        """Returns the state as plain values for the page."""
        return describe_state(self)

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
        entries = () if self.scene is None else self.scene.skills
        settings: Mapping[str, Any] = next((entry["settings"] for entry in entries if entry["key"] == skill), {})
        if strategy not in settings:
            raise ConfigError(f"{skill} has no derived setting '{strategy}'.", key=skill)
        path = parse_key(skill)
        self.set_value([*path, "planner_setting"], dict(settings[strategy]), gesture="write setting")
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
            self.changed.wait_for(lambda: SCENE not in self.since and CHECK not in self.since, timeout=_WAIT_S)
            if self.problem is not None:
                raise ConfigError(f"Not saved, as commands would refuse it: {self.problem.message}", key="text")
            file = self.document.save(path, replace=replace)
            folder = file.parent.parent
            self.message = f"Saved. unlatch collect task={file.stem} --config-dir {folder}"
        self.tell("show")

    def open(self, path: str) -> None:
        """Opens another task file; the present one is given up, saved or not.

        Raises:
            ConfigError: It cannot be read.
        """
        document = open_document(path)
        with self.changed:
            self.document, self.message, self.episode = document, "", 0
            self.forget_answers()  # what was drawn, planned and edited is another task
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
        self.tell("annotation")

    def move_keypoint(self, part: str, keypoint: str, xyz: Sequence[float] | np.ndarray) -> None:
        """Moves a keypoint to a position (3,) in its own frame [m]; without an open annotation, nothing happens."""
        with self.changed:
            if self.annotation is not None:
                self.annotation.move(part, keypoint, np.asarray(xyz, dtype=float))
        self.tell("keypoint")

    def check_annotation(self) -> None:
        """Checks what has been moved."""
        annotation = self.annotation
        if annotation is not None and annotation.check():
            self.tell("busy")

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
        self.tell("annotation")

    def stop_jobs(self) -> None:
        """Gives up planning and running."""
        self._queues[PLAN].interrupt()
        self._forget_idle(PLAN, RUN)
        self.tell("show")

    def close(self) -> None:
        """Ends the threads of the session."""
        for queue in set(self._queues.values()):
            queue.close()

    def ask_plan(self) -> None:
        """Plans the episode; a task that was refused is read again, as its process may have been killed."""
        if self.refused:
            self._submit(SCENE)
        self._submit(PLAN)

    def ask_run(self) -> None:
        """Makes the episode."""
        self._submit(RUN)

    def _task_text(self) -> jobs.TaskText:
        return jobs.TaskText(self.document.name, self.document.text, self._folders(), self.episode)

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
                self.unreadable = None
            except ConfigError as exc:
                self.unreadable = jobs.JobProblem(exc.message)
                for kind in (SCENE, CHECK):
                    self._queues[SCENE].drop(kind)
                self._forget_idle(SCENE, CHECK)
                self.tell("text")
                return
        self._submit(SCENE)
        if self.plans_after_edits:
            self._submit(PLAN)
        self.tell("text")

    def _submit(self, kind: str, task: jobs.TaskText | None = None) -> None:
        """Asks for a job about a task; None: the present one."""
        with self.changed:
            self.since[kind] = time.monotonic()
            document, job = self.document, jobs.StudioJob(kind, task or self._task_text())
            self._queues[kind].submit(job, lambda answer: self._receive(document, job, answer))
        self.tell("busy")

    def _receive(self, document: TaskDocument, job: jobs.StudioJob, answer: Any) -> None:
        """Takes an answer of a worker; one about an older text of the same task is shown until the newer one comes."""
        kind = job.kind
        with self.changed:
            self._forget_idle(kind)
            if document is not self.document:
                self.tell("busy")
                return
            self.known[kind] = (job.task.text, job.task.episode)
            if kind in (SCENE, CHECK):
                self.refused.pop(kind, None)
                if isinstance(answer, jobs.JobProblem):
                    self.refused[kind] = answer
            if isinstance(answer, jobs.SceneResult):
                self._submit(CHECK, job.task)
                self.scene = answer
                self.openings.clear()
                self.clock = Clock()
            elif kind == PLAN:
                self.plan_problem = answer if isinstance(answer, jobs.JobProblem) else None
                self.plan = answer if isinstance(answer, jobs.PlanResult) else None
                if self.clock.of == PLAN:
                    self.clock = Clock()
            elif kind == RUN:
                self.run_problem = answer if isinstance(answer, jobs.JobProblem) else None
                self.run = answer if isinstance(answer, jobs.RunAnswer) else None
        self.tell(kind)
        if kind == RUN and self.run is not None and self.length_of(RUN):
            self.set_clock(of=RUN, frame=0, playing=True)

    def _forget_idle(self, *kinds: str) -> None:
        """Removes those of some kinds of jobs of which no answer is to come."""
        for kind in kinds:
            if not self._queues[kind].is_busy_with(kind):
                self.since.pop(kind, None)
