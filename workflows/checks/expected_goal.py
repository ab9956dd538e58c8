"""What a record must state of its goal and of the time in which the scene settles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unlatch.configs.schema import EpisodeCfg
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.simcore.recording.criteria import undetermined
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_json.fields import GOAL_RESULT_FIELDS
from unlatch.simcore.recording.observed.object_geometry import movable_joints
from unlatch.simcore.recording.success_rules import MAX_SETTLE_CHANGE_M, MAX_SETTLE_CHANGE_RAD, MAX_SETTLE_SHARE
from unlatch.skills.holding import moves_part
from unlatch.workflows.checks.expected_conditions import describe_conditions
from unlatch.workflows.checks.expected_skills import skill_class


class ExpectedGoal:
    """The goal of one episode, from its task and its objects."""

    def __init__(
        self,
        cfg: EpisodeCfg,
        assets: Mapping[str, ObjectAsset],
        record: EpisodeRecord,
        skills: Sequence[Mapping[str, Any]],
    ) -> None:
        """Finds the joints that must rest.

        Args:
            cfg: The episode, with its derived task.
            assets: The episode's objects by name.
            record: The record.
            skills: The expected entries of its `skills`.
        """
        self._cfg, self._assets, self._record = cfg, assets, record
        self._conditions = [self._describe(index) for index in range(len(cfg.task.goal))]
        acted_on = {(item["object"], item.get("joint_index")) for item in (*self._conditions, *skills)}
        self._max_changes = {
            f"{name}.{'root' if joint is None else joint}": self._max_change(name, joint)
            for name, joint in sorted(acted_on, key=str)
        }
        self._hold_frames = round(cfg.task.settle_s * cfg.world.record_hz)

    def statement(self, *, goes_on: bool) -> dict[str, Any]:
        """Returns what `goal` must state; `goes_on` says whether the episode goes on after a broken rule."""
        if not goes_on:
            return {"conditions": self._conditions}
        return {
            **undetermined(GOAL_RESULT_FIELDS),
            "conditions": self._conditions,
            "hold_frames": self._hold_frames,
            "chain_length": len(self._cfg.skills),
            "chain_motions": sum(moves_part(skill_class(entry.name)) for entry in self._cfg.skills),
            "max_changes": self._max_changes if self._record.skills else {},
        }

    def settle(self) -> dict[str, Any]:
        """Returns what `settle` must state: a success has settled in the last frames, for as long as the task says."""
        return {
            "frame_start": max(0, self._record.n_actions - self._hold_frames),
            "frame_end": self._record.n_actions,
            "max_change": min(self._max_changes.values(), default=None),
            "max_changes": self._max_changes,
        }

    def _describe(self, index: int) -> dict[str, Any]:
        goal = self._cfg.task.goal[index]
        if goal.condition is not None:
            return describe_conditions([goal.condition], self._assets, self._record)[0]
        asset = self._assets[goal.object]
        part = asset.articulation.part(goal.part or "")
        return {
            "object": goal.object,
            "part": goal.part,
            "joint_index": movable_joints(asset.model).index(part.joint),
            "kind": goal.kind.value,
            "value": goal.threshold,
            "s_closed": part.openness.closed,
            "s_open": part.openness.open,
        }

    def _max_change(self, name: str, joint_index: int | None) -> float:
        if joint_index is None:
            return MAX_SETTLE_CHANGE_M
        model = self._assets[name].model
        joint = model.joints[movable_joints(model)[joint_index]]
        limits = [MAX_SETTLE_CHANGE_M if joint.kind == "prismatic" else MAX_SETTLE_CHANGE_RAD]
        for part in self._assets[name].articulation.parts.values():
            if part.joint == joint.name and part.moves_little:
                limits.append(MAX_SETTLE_SHARE * abs(part.openness.open - part.openness.closed))
        return min(limits)
