"""What is computed while nothing else waits: what the cameras see, and where in the regions layouts plan."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from unlatch.workflows.studio.jobs import Problem, ReachJob, TaskText, ViewJob, ViewResult
from unlatch.workflows.studio.reach import Place, ReachMap, region_at
from unlatch.workflows.studio.state import CHECK, PLAN, REACH, RUN, SCENE, VIEW, StudioState
from unlatch.workflows.studio.worker import JobQueue
from unlatch.workflows.studio.yaml_edit import read_tree

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
            plan = None if state.plan_is_old() else state.plan
            scene = state.scene.scene if plan is None else plan.scene
            frame, shown, moment = -1, scene.state, "at the start"
            if state.clock.of == RUN and state.run is not None and state.run.record.arrays and not state.run_is_old():
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
            job = ViewJob(self.task_text(), scene, shown)

        def keep(answer: Any) -> None:
            with state.changed:
                if not self.queue.is_busy_with(VIEW):
                    state.since.pop(VIEW, None)
                state.views, state.views_moment = (answer, moment) if isinstance(answer, ViewResult) else (None, "")
                state.views_problem = answer if isinstance(answer, Problem) else None
            state.tell("views")

        self.queue.submit(VIEW, job, keep)

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
                found = state.reach.setdefault(region.object, ReachMap())
                place = found.next_place(region)
                if place is None:
                    continue
                state.since[REACH] = time.monotonic()
                job = ReachJob(self.task_text(), region_at(region, place))

                def keep(answer: Any, found: ReachMap = found, place: Place = place) -> None:
                    with state.changed:
                        state.since.pop(REACH, None)
                        if not isinstance(answer, Problem):
                            found.found[place] = answer
                    state.tell(REACH if not isinstance(answer, Problem) else "busy")

                self.queue.submit(REACH, job, keep)
                return

    def _text_without_regions(self) -> str:
        """Returns what a map depends on: the task apart from centre and extent of its regions."""
        tree = read_tree(self.state.document.text)
        rest = {**tree.get("task", {})} if isinstance(tree.get("task"), dict) else {}
        rest.pop("regions", None)
        heights = [(region.object, tuple(region.height_m)) for region in self.state.regions()]
        return repr(({**tree, "task": rest}, heights, self.state.episode))
