"""The physics of one record frame: gives actions to the robot, simulates, judges and records.

The rates of frames, control and physics are in `WorldCfg` (`simcore/sim/world.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from unlatch.robots.arm_control import Action, ArmAction
from unlatch.simcore.recording.state_file import EpisodeRecorder
from unlatch.simcore.sim.scene import NOT_RECORDED
from unlatch.skills.commands import Phase
from unlatch.skills.skill import Skill
from unlatch.workflows.episode.judge import Judge
from unlatch.workflows.episode.scene import EpisodeScene

if TYPE_CHECKING:
    from unlatch.workflows.episode.randomization import EpisodeRandomization


class ArmStatus(NamedTuple):
    """What the skill of one arm is doing in a frame."""

    phase: Phase
    command_index: int
    """Which of the skill's commands it carries out."""


_IDLE = ArmStatus(Phase.idle, -1)


def status_values(judge: Judge, statuses: Mapping[str, ArmStatus], arms: Sequence[str]) -> dict[str, Any]:
    """Returns the `skills` and `validity` of a state, by record key.

    Each arm of a robot with several arms has keys of its own; the keys without an arm then describe the skill that
    began last.
    """
    runs = judge.runs
    place = {id(run): index for index, run in enumerate(runs)}
    acting = {run.arm: place[id(run)] for run in judge.current}
    last = statuses.get(runs[-1].arm, _IDLE) if runs else _IDLE
    values = _arm_values("skills", len(runs) - 1, last)
    for arm in arms if len(arms) > 1 else ():
        values.update(_arm_values(f"skills.{arm}", acting.get(arm, -1), statuses.get(arm, _IDLE)))
    values["validity.collision_valid"] = np.bool_(all(run.collision_valid for run in judge.current))
    values["validity.process_valid"] = np.bool_(all(run.process_valid for run in judge.current))
    return values


def _arm_values(prefix: str, index: int, status: ArmStatus) -> dict[str, Any]:
    return {
        f"{prefix}.index": _whole_number(index),
        f"{prefix}.command_index": _whole_number(status.command_index),
        f"{prefix}.phase": _whole_number(status.phase.value),
    }


@lru_cache(maxsize=256)
def _whole_number(value: int) -> np.ndarray:
    """Returns a small number as a read-only array, which the rows of a record share."""
    array = np.array(value, dtype=np.int64)
    array.setflags(write=False)
    return array


class FrameLoop:
    """Drives one scene frame by frame. The calls of one frame: `advance` or `advance_action`, then `record_state`."""

    def __init__(
        self,
        scene: EpisodeScene,
        judge: Judge,
        randomization: EpisodeRandomization | None,
        *,
        records_labels: bool = False,
        records_pushes: bool = False,
        on_state: Callable[[], None] | None = None,
    ) -> None:
        """Makes the loop of an episode that has no frame yet.

        Args:
            scene: The scene.
            judge: Judges each frame.
            randomization: Changes the scene before each control step; None: nothing does.
            records_labels: Whether the record has the planner's own targets beside the executed ones.
            records_pushes: Whether the record has efforts on joints from outside.
            on_state: Called after each recorded state.
        """
        self.recorder = EpisodeRecorder()
        self._scene = scene
        self._judge = judge
        self._before_control_step = None if randomization is None else randomization.step
        self._is_frame_open = False
        """Whether a frame is simulated and judged but not recorded yet."""
        self._statuses: Mapping[str, ArmStatus] = {}
        """What the arms did in the last recorded frame."""
        self.labels_are_valid = True
        """Whether the labels are the planner's; False while a policy acts, except where `labels` are set."""
        self.labels: Mapping[str, ArmAction] = {}
        """What the planner would do in the next frame, by arm, while a policy acts."""
        self._records_labels, self._records_pushes, self._on_state = records_labels, records_pushes, on_state
        self._interval: dict[str, Any] = {}

    @property
    def state(self) -> dict[str, Any]:
        """The state that was recorded last, by record key."""
        return self.recorder.last_state()

    @property
    def frame(self) -> int:
        """State frame that was recorded last; -1 before the first."""
        return self.recorder.n_states - 1

    def idle_actions(self) -> dict[str, ArmAction]:
        """Returns the action of each arm in which it keeps its targets."""
        return {
            name: ArmAction.of(arm.q_target, arm.gripper_target_m, self._scene.kinematics[name].fk)
            for name, arm in self._scene.robot.arms.items()
        }

    def stand_still(self, frames: int) -> None:
        """Simulates frames in which every arm keeps its targets, without judging or recording them."""
        for _ in range(frames):
            self._scene.apply(Action(self.idle_actions(), hold=self._scene.hold_flags({})))
            self._scene.advance_frame(self._before_control_step)

    def advance(
        self,
        arms: Mapping[str, ArmAction],
        *,
        skills: Sequence[Skill] = (),
        labels: Mapping[str, ArmAction] = MappingProxyType({}),
        pushes: Mapping[tuple[str, str], float] = MappingProxyType({}),
    ) -> None:
        """Simulates and judges one record frame. Arms that are not in `arms` keep their targets; skills hold joints.

        Args:
            arms: Actions by arm.
            skills: The skills that run.
            labels: The planner's own targets of arms whose executed targets may differ from them.
            pushes: Efforts from outside by object and joint [N m or N]; recorded only with `records_pushes`.
        """
        idle = self.idle_actions() if len(arms) < len(self._scene.robot.arms) else {}
        held: dict[str, frozenset[str]] = {}
        for skill in skills:
            for name, joints in skill.held_joints().items():
                held[name] = held.get(name, frozenset()) | joints
        push = self._scene.push_efforts(pushes) if self._records_pushes else {}
        self.advance_action(Action({**idle, **arms}, hold=self._scene.hold_flags(held), push=push), labels=labels)

    def advance_action(self, action: Action, *, labels: Mapping[str, ArmAction] = MappingProxyType({})) -> None:
        """Simulates and judges one record frame of a complete action, hold events included; see `advance`."""
        scene = self._scene
        values = scene.action_values(action)
        if self._records_labels:
            values.update(scene.label_values({**action.arms, **self.labels, **labels}, valid=self.labels_are_valid))
        self.recorder.add_action(values)
        scene.apply(action)
        speeds = scene.advance_frame(self._before_control_step)
        self._interval = scene.interval_values()
        self._interval[f"speeds.{scene.robot.cfg.name}.max"] = np.float64(speeds.robot)
        for name, speed in speeds.objects.items():
            self._interval[f"speeds.{name}.max"] = np.float64(speed)
        self._judge.observe(action, speeds)
        self._is_frame_open = True

    def record_state(self, statuses: Mapping[str, ArmStatus] = MappingProxyType({})) -> None:
        """Records the state that was read last, with what each acting arm is doing."""
        self._is_frame_open, self._statuses = False, statuses
        scene = self._scene
        state: dict[str, Any] = scene.state_tree.state_dict(exclude_tags=NOT_RECORDED)
        state["time"] = np.float64(scene.world.time_s)
        state.update(status_values(self._judge, statuses, list(scene.robot.arms)))
        self.recorder.add_frame(state, self._interval if self.recorder.n_states else None)
        if self._on_state is not None:
            self._on_state()

    def record_open_frame(self) -> None:
        """Records the state of a frame that is simulated and judged but not recorded: an exception came in between."""
        if self._is_frame_open:
            self.record_state(self._statuses)
