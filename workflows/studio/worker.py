"""The process that plans and runs for the studio, and what it computes while nothing else
waits: what the cameras see, and where in the regions layouts plan.
"""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from unlatch.workflows.runs.worker_processes import describe_exit, start_child
from unlatch.workflows.studio.document import read_tree
from unlatch.workflows.studio.jobs import (
    CHECK,
    PLAN,
    REACH,
    RUN,
    SCENE,
    VIEW,
    JobProblem,
    StudioJob,
    TaskText,
    ViewResult,
)
from unlatch.workflows.studio.state import Place, ReachMap, StudioState, next_place, region_at


class WorkerProcess:
    """A process that does jobs; it is started by the first job, and again after it died."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """Number of the process; None: it does not run."""
        return None if self._process is None else self._process.pid

    def do(self, job: StudioJob) -> Any:
        """Does a job and returns its answer; a `JobProblem` if the process died."""
        connection = self._start()
        try:
            connection.send(job)
            return connection.recv()
        except (EOFError, OSError):
            return JobProblem(f"The process that worked on it has ended ({self._end()}). Try again.")

    def stop(self) -> None:
        """Ends the process; a job that is going on is given up."""
        with self._lock:
            if self._process is not None and self._process.is_alive():
                self._process.terminate()

    def _start(self) -> Connection:
        if self._process is not None and not self._process.is_alive():  # it was stopped between two jobs
            self._end()
        with self._lock:
            if self._connection is None:
                self._process, self._connection = start_child(_run_worker, name="studio")
            return self._connection

    def _end(self) -> str:
        """Forgets the process; returns how it ended."""
        with self._lock:
            process, self._process, connection = self._process, None, self._connection
            self._connection = None
        if connection is not None:
            connection.close()
        if process is None:  # another thread closed it
            return "it was stopped"
        process.join(2.0)  # time in which a process ends by itself once its pipe is closed [s]
        return describe_exit(process.exitcode)

    def close(self) -> None:
        """Ends the process for good."""
        self.stop()
        if self._connection is not None:
            self._end()


def _run_worker(connection: Connection) -> None:
    """Does jobs until the page is gone."""
    # imported here: the page itself neither plans nor simulates
    from unlatch.workflows.studio.work import StudioWork

    work = StudioWork()
    with suppress(EOFError, OSError):
        while True:
            job = connection.recv()
            try:
                answer = work.do(job)
            except Exception as exc:  # noqa: BLE001 - a bug or a plugin: the page shows it and goes on
                words = str(exc).partition("\n")[0]  # of OmegaConf, the rest can have thousands of lines
                frame = traceback.extract_tb(exc.__traceback__)[-1]
                answer = JobProblem(f"{type(exc).__name__}: {words} ({frame.filename}:{frame.lineno})")
            connection.send(answer)


class JobQueue:
    """Hands jobs to one runner, one after the other, in a thread of its own.

    A job waits at most once for each kind: a newer one replaces it. Kinds that were named first come first.
    """

    def __init__(self, runner: WorkerProcess, kinds: tuple[str, ...]) -> None:
        """Starts the thread; `kinds` are all kinds, the most urgent one first."""
        self._runner, self._kinds = runner, kinds
        self._waiting: dict[str, tuple[StudioJob, Callable[[Any], None]]] = {}
        self._changed = threading.Condition()
        self._ended = False
        self.current: str | None = None
        """Kind of the job that is going on."""
        self._thread = threading.Thread(target=self._run, name="unlatch-studio-jobs", daemon=True)
        self._thread.start()

    def submit(self, job: StudioJob, on_answer: Callable[[Any], None]) -> None:
        """Adds a job; `on_answer` is called with its answer in the thread of the queue."""
        with self._changed:
            self._waiting[job.kind] = (job, on_answer)
            self._changed.notify()

    def drop(self, kind: str) -> None:
        """Removes a job that waits."""
        with self._changed:
            self._waiting.pop(kind, None)

    def is_busy_with(self, kind: str) -> bool:
        """Whether a job of a kind waits or is going on."""
        with self._changed:
            return kind in self._waiting or self.current == kind

    def interrupt(self) -> None:
        """Removes every job that waits, and gives up the one that is going on."""
        with self._changed:
            self._waiting.clear()
            if self.current is not None:
                self._runner.stop()

    def close(self) -> None:
        """Gives up the job that is going on, and ends the thread."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self.interrupt()
        # longest time in which a queue waits for the job that it gives up [s]: its process may be starting
        self._thread.join(10.0)

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._ended:
                    self._changed.wait()
                if self._ended:
                    return
                self.current = min(self._waiting, key=self._kinds.index)
                job, on_answer = self._waiting.pop(self.current)
            answer = self._runner.do(job)
            with self._changed:
                self.current = None
            on_answer(answer)


_MATTER = (SCENE, CHECK, PLAN, RUN, REACH, "views", "show", "clock")
"""Changes after which something may be missing; a text that has changed is read first."""


@dataclass
class BackgroundWork:
    """Asks a worker of its own for images and for the reach, one job at a time."""

    state: StudioState
    queue: JobQueue
    task_text: Callable[[], TaskText]
    """Returns the present task."""

    def __post_init__(self) -> None:
        self._reach_key = ""
        self._seen_key = ""

    def go_on_after(self, change: str) -> None:
        """Asks for the next thing that is missing; `change` is what has changed, see `StudioState.listeners`."""
        if change in _MATTER:
            self._look()
            self._map_reach()

    def _look(self) -> None:
        """Asks for the images of the cameras at the start, or in the frame at which a run is stopped."""
        state = self.state
        with state.changed:
            if not state.show.cameras or state.scene is None or state.problem is not None or state.clock.playing:
                return
            if not state.scene.cameras:
                state.views = None
                return
            plan = None if state.is_old(PLAN) else state.plan
            scene = state.scene.scene if plan is None else plan.scene
            frame, shown, moment = -1, scene.state, "at the start"
            if state.clock.of == RUN and state.run is not None and state.run.record.arrays and not state.is_old(RUN):
                record, frame = state.run.record, state.clock.frame
                shown, moment = record.state_at(frame), f"at {frame / state.frame_hz():.2f} s of the run"
                scene = replace(
                    scene, seed=record.seed, layout=record.layout, hashes=record.assets, applied=record.applied
                )
            identity = [state.document.text, scene.episode, frame, dict(scene.layout)]
            key = json.dumps(identity, sort_keys=True, default=str)
            if key == self._seen_key:
                return
            self._seen_key = key
            state.since.setdefault(VIEW, time.monotonic())
            job = StudioJob(VIEW, self.task_text(), scene=scene, state=shown)

        def keep(answer: Any) -> None:
            with state.changed:
                if not self.queue.is_busy_with(VIEW):
                    state.since.pop(VIEW, None)
                state.views, state.views_moment = (answer, moment) if isinstance(answer, ViewResult) else (None, "")
                state.views_problem = answer if isinstance(answer, JobProblem) else None
            state.tell("views")

        self.queue.submit(job, keep)

    def _map_reach(self) -> None:
        """Asks for the next place of the regions, if the map is shown."""
        state = self.state
        with state.changed:
            if not state.show.reach or state.scene is None or state.problem is not None or REACH in state.since:
                return
            key = self._text_without_regions()
            if key != self._reach_key:
                state.reach, self._reach_key = {}, key
            for region in state.regions():
                found = state.reach.setdefault(region.object, {})
                place = next_place(found, region)
                if place is None:
                    continue
                state.since[REACH] = time.monotonic()
                job = StudioJob(REACH, self.task_text(), region=region_at(region, place))

                def keep(answer: Any, found: ReachMap = found, place: Place = place) -> None:
                    with state.changed:
                        state.since.pop(REACH, None)
                        if not isinstance(answer, JobProblem):
                            found[place] = answer
                    state.tell(REACH if not isinstance(answer, JobProblem) else "busy")

                self.queue.submit(job, keep)
                return

    def _text_without_regions(self) -> str:
        """Returns what a map depends on: the task apart from centre and extent of its regions."""
        tree = read_tree(self.state.document.text)
        rest = {**tree.get("task", {})} if isinstance(tree.get("task"), dict) else {}
        rest.pop("regions", None)
        heights = [(region.object, tuple(region.height_m)) for region in self.state.regions()]
        return repr(({**tree, "task": rest}, heights, self.state.episode))
