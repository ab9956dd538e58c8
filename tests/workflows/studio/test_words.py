"""Sentences about layouts, goals and verdicts."""

import pytest

from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.solver.setting import SuccessMode
from unlatch.tasks.task import GoalCfg, GoalKind
from unlatch.workflows.studio.page_state import words_of_evidence, words_of_goal, words_of_layout, words_of_success

UNITS = {("cabinet", "drawer"): "m", ("cabinet", "door"): "rad"}


@pytest.mark.parametrize("kind", GoalKind)
def test_every_condition_has_a_sentence(kind):
    part = None if kind.condition is not None else "drawer"
    of = "cabinet" if kind in (GoalKind.inside, GoalKind.on) else None
    words = words_of_goal(GoalCfg("cabinet", part=part, kind=kind, value=0.5, of=of), UNITS)
    assert words.startswith("cabinet" if part is None else "drawer of cabinet")
    assert "_" not in words


def test_thresholds_have_the_unit_of_their_part():
    assert words_of_goal(GoalCfg("cabinet", part="drawer", value=0.15), UNITS).endswith("at least 0.15 m")
    goal = GoalCfg("cabinet", part="door", kind=GoalKind.open_fraction, value=0.5)
    assert words_of_goal(goal, UNITS).endswith("at least 50 % of its range")


def test_an_object_without_a_category_is_named_by_its_file():
    layout = {
        "objects": {"object": {"drawn": {}}},
        "instances": {"object": {"source": "urdf", "category": "object", "instance": "cupboard"}},
    }
    assert list(words_of_layout(layout, {})) == ["object: URDF cupboard"]


def test_a_part_with_the_name_of_its_object_is_named_once():
    goal = GoalCfg("drawer", part="drawer", kind=GoalKind.within_closed, value=0.01)
    assert words_of_goal(goal, {("drawer", "drawer"): "m"}) == "drawer is closed to within 0.01 m"
    goal = GoalCfg("can", kind=GoalKind.inside, of="drawer", region="drawer")
    assert words_of_goal(goal, {}) == "can is inside drawer"


def test_an_opening_is_positive_where_the_joint_counts_down():
    skill = {"name": "open", "object": "cabinet", "part": "door", "frame_start": 0, "success": True}
    skill |= {"s0": 0.1, "s_end": -0.679, "s_closed": 0.1, "s_open": -1.2}
    (words,) = words_of_evidence(EpisodeRecord(0, 1, True, skills=[skill]), UNITS)
    assert words.endswith("The door went from 0.000 to 0.779 rad open")


@pytest.mark.parametrize("mode", SuccessMode)
def test_every_way_to_compare_has_words(mode):
    before, after = words_of_success(mode, "m")
    assert before.endswith(" ")
    assert ("m" in after.split()) == (mode is not SuccessMode.fraction)


def test_a_layout_is_told_without_the_names_of_keys():
    drawn = {"x_m": 0.61, "y_m": -0.13, "yaw_rad": 0.35, "height_m": 0.05, "opening.door": 0.2}
    layout = {
        "objects": {"cabinet": {"drawn": drawn}},
        "instances": {"cabinet": {"source": "procedural", "category": "cabinet", "instance": "7"}},
    }
    (words,) = words_of_layout(layout, UNITS)
    assert words == (
        "cabinet: generated cabinet 7, at x 0.61 m, y -0.13 m, turned 20°, on a plinth of 0.05 m, door open by 0.20 rad"
    )


def test_a_layout_says_on_which_side_an_object_lies():
    layout = {
        "objects": {"box": {"drawn": {}}},
        "instances": {"box": {"source": "procedural", "category": "box", "instance": "7", "rests_on": "back"}},
    }
    assert list(words_of_layout(layout, {})) == ["box: generated box 7, on its back"]


def test_a_skill_that_moves_nothing_is_no_evidence():
    skills = [
        {"name": "artpreplan", "object": "cabinet", "frame_start": 0, "success": True},
        {
            "name": "open",
            "object": "cabinet",
            "part": "drawer",
            "frame_start": 0,
            "success": True,
            "s0": 0.0,
            "s_end": 0.2100001,
            "s_closed": 0.0,
            "s_open": 0.4,
            "success_threshold": 0.15,
            "success_mode": "abs",
            "strategy": "bar",
        },
        {"name": "close", "object": "cabinet", "part": "drawer", "frame_start": None},
    ]
    skills[2] = {**skills[1], "name": "close", "s0": 0.21, "s_end": -1e-6, "success_mode": "zero"}
    assert "to 0.000 m open" in words_of_evidence(EpisodeRecord(0, 1, True, skills=skills), UNITS)[1]
    skills[1]["grip_force_n"] = 30.0
    assert words_of_evidence(EpisodeRecord(0, 1, True, skills=skills), UNITS)[0].endswith("bar. Grip: 30.0 N")
    skills[1]["press_force_n"] = 24.0
    (dragged, *_) = words_of_evidence(EpisodeRecord(0, 1, True, skills=skills), UNITS)
    assert dragged.endswith("bar. The fingertips press with 24.0 N")
    del skills[1]["grip_force_n"], skills[1]["press_force_n"]
    skills[2] = {"name": "close", "object": "cabinet", "part": "drawer", "frame_start": None}
    first, second = words_of_evidence(EpisodeRecord(0, 1, True, skills=skills), UNITS)
    assert first == (
        "open drawer: succeeded. The drawer went from 0.000 to 0.210 m open (wanted: moved by at least 0.15 m). "
        "Strategy: bar"
    )
    assert second == "close drawer: not begun"
