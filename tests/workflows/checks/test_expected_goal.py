"""What a record must state of its goal, for a kitchen with an oven (a door and a knob) and a cabinet (a drawer)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.verdict import RECORDED, Criteria
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.checks.expected_statements import ExpectedGoal


def make_asset(*, little: str = "", **kinds: str) -> Any:
    """Returns an object with a part and a joint for each name; joint `NAME_joint` is of the given kind.

    The part `little` moves by 5 mm.
    """
    joints = {
        f"{part}_joint": SimpleNamespace(name=f"{part}_joint", kind=kind, parent="root", child=part, moves=True)
        for part, kind in kinds.items()
    }
    parts = {
        part: SimpleNamespace(
            joint=f"{part}_joint",
            openness=SimpleNamespace(closed=0.25 * n, open=0.25 * n + 0.005 if part == little else 1.0 + n),
            moves_little=part == little,
        )
        for n, part in enumerate(kinds)
    }
    model = SimpleNamespace(root="root", joints=joints)
    return SimpleNamespace(model=model, articulation=SimpleNamespace(part=parts.__getitem__, parts=parts))


ASSETS = {"oven": make_asset(door="revolute", knob="continuous"), "cabinet": make_asset(drawer="prismatic")}
ASSETS["bell"] = make_asset(little="button", cover="prismatic", button="prismatic")
ASSETS["can"] = SimpleNamespace(
    free=True,
    bounds_obj=np.array([[-0.03, -0.03, 0.0], [0.03, 0.03, 0.1]]),
    outline_obj=np.array([[0.0, 0.0, 0.05, 0.03]]),
    **vars(make_asset(lid="revolute")),
)
KNOB = GoalCfg(object="oven", part="knob", kind=GoalKind.moved_fraction, value=0.5)
KNOB_ENTRY = {
    "object": "oven",
    "part": "knob",
    "joint_index": 1,
    "kind": "moved_fraction",
    "value": 0.5,
    "s_closed": 0.25,
    "s_open": 2.0,
}
DRAWER = {"object": "cabinet", "joint_index": 0}
LIFTED = GoalCfg(object="can", kind=GoalKind.lifted, value=0.1)


def make(
    *skills: dict[str, Any],
    goal: tuple[GoalCfg, ...] = (KNOB,),
    chain: tuple[str, ...] = ("open",),
    n_actions: int = 50,
    stated: dict[str, Any] | None = None,
) -> ExpectedGoal:
    cfg: Any = SimpleNamespace(
        task=SimpleNamespace(goal=list(goal), settle_s=0.5),
        world=SimpleNamespace(record_hz=30.0),
        skills=[SimpleNamespace(name=name) for name in chain],
    )
    entries = [{"name": name} for name in chain] if skills or goal else []
    record: Any = SimpleNamespace(n_actions=n_actions, skills=entries, goal=stated)
    return ExpectedGoal(cfg, ASSETS, record, skills)


class TestStatement:
    def test_a_demonstration_states_its_conditions_and_nothing_of_a_policy(self):
        assert make().statement(goes_on=False) == {"conditions": [KNOB_ENTRY]}

    def test_an_episode_that_goes_on_after_a_broken_rule_states_how_its_goal_is_judged(self):
        found = make(DRAWER, chain=("artpreplan", "hold", "open", "rotate")).statement(goes_on=True)
        assert found == {
            "conditions": [KNOB_ENTRY],
            "reached": RECORDED,
            "reached_frame": RECORDED,
            "hold_frames": 15,
            "chain_length": 4,
            "chain_motions": 2,  # neither the search for a layout nor the hold leads a part
            "max_changes": {"oven.1": 0.02, "cabinet.0": 0.005},
        }

    def test_no_further_joint_may_be_stated(self):
        statements = {"goal": make().statement(goes_on=True)}
        goal = {
            **statements["goal"],
            "reached": True,
            "reached_frame": 9,
            "max_changes": {"oven.1": 0.02, "oven.0": 9.0},
        }
        record = EpisodeRecord(number=0, seed=0, success=True, goal=goal)
        assert list(Criteria(statements).differences(record)) == [
            "goal.max_changes.oven.0 is 9.0 in the record, expected nothing by the configuration."
        ]

    def test_no_joint_must_rest_before_a_skill_has_begun(self):
        assert make(chain=()).statement(goes_on=True)["max_changes"] == {}

    def test_each_condition_of_the_task_has_an_entry_in_its_order(self):
        door = GoalCfg(object="oven", part="door", kind=GoalKind.within_closed, value=0.1)
        first, second = make(goal=(door, KNOB)).statement(goes_on=False)["conditions"]
        limits = {"s_closed": 0.0, "s_open": 1.0}
        assert first == {
            "object": "oven",
            "part": "door",
            "joint_index": 0,
            "kind": "within_closed",
            "value": 0.1,
            **limits,
        }
        assert second == KNOB_ENTRY

    def test_a_condition_on_a_free_object_is_stated_without_a_joint(self):
        found = make(goal=(LIFTED,)).statement(goes_on=False)["conditions"]
        assert found == [{"object": "can", "kind": "lifted", "value": 0.1}]

    @pytest.mark.parametrize("key", ["outline", "lid"])
    def test_a_condition_has_the_outline_of_its_object_where_the_record_has_outlines(self, key):
        on_table = GoalCfg(object="can", kind=GoalKind.on)
        made = make(goal=(on_table,), stated={"conditions": [{key: [[0.0, 0.0, 0.1, 0.02]]}]})
        (found,) = made.statement(goes_on=False)["conditions"]
        assert found.get("outline") == ([[0.0, 0.0, 0.05, 0.03]] if key == "outline" else None)


class TestSettling:
    @pytest.mark.parametrize(("goal", "skills"), [((LIFTED,), ()), ((), ({"object": "can", "joint_index": None},))])
    def test_a_free_object_that_is_acted_on_must_rest(self, goal, skills):
        assert make(*skills, goal=goal).settle()["max_changes"] == {"can.root": 0.005}

    def test_a_free_object_and_its_lid_must_both_rest(self):
        lid = {"object": "can", "joint_index": 0}
        assert make(lid, goal=(LIFTED,)).settle()["max_changes"] == {"can.0": 0.02, "can.root": 0.005}

    def test_a_success_has_settled_in_its_last_frames(self):
        assert make().settle() == {
            "frame_start": 35,
            "frame_end": 50,
            "max_change": 0.02,
            "max_changes": {"oven.1": 0.02},
        }

    @pytest.mark.parametrize(("n_actions", "start"), [(14, 0), (15, 0), (16, 1)])
    def test_settling_begins_in_a_frame_of_the_episode(self, n_actions, start):
        assert make(n_actions=n_actions).settle()["frame_start"] == start

    def test_the_least_change_is_that_of_the_joint_that_may_move_least(self):
        found = make(DRAWER).settle()
        assert found["max_change"] == 0.005
        assert list(found["max_changes"].items()) == [("cabinet.0", 0.005), ("oven.1", 0.02)]

    def test_a_part_that_moves_little_rests_within_a_tenth_of_its_range(self):
        pressed = GoalCfg(object="bell", part="button", kind=GoalKind.moved_fraction, value=0.5)
        assert make(goal=(pressed,)).settle()["max_changes"] == {"bell.1": pytest.approx(0.0005)}
        assert make({"object": "bell", "joint_index": 0}, goal=()).settle()["max_changes"] == {"bell.0": 0.005}

    def test_without_a_joint_nothing_must_rest(self):
        found = make(goal=()).settle()
        assert (found["max_change"], found["max_changes"]) == (None, {})

    def test_no_further_joint_may_be_stated(self):
        settle = make().settle()
        record = EpisodeRecord(
            number=0, seed=0, success=True, settle={**settle, "max_changes": {"oven.1": 0.02, "oven.0": 9.0}}
        )
        assert list(Criteria({"settle": settle}).differences(record)) == [
            "settle.max_changes.oven.0 is 9.0 in the record, expected nothing by the configuration."
        ]
