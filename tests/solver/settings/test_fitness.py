"""What no skill or no hand can carry out is named, with what to do."""

import numpy as np
import pytest

from unlatch.configs.user_files import find_obstacles
from unlatch.solver.setting_reader import find_misfit_motions, read_planner_setting

PANDA = {"tool_head": np.array([0, 0, 0.1034]), "tool_tail": np.array([0, 0, 0.0584])}
ALONG_X = {"tool_head": np.array([0.135, 0, 0]), "tool_tail": np.array([0.085, 0, 0])}


def setting(*, target="articulated_object_head", **more):
    point = {
        "type": "point2point_constraint",
        "keypoint_name": "tool_head",
        "target_keypoint_name": target,
        "tolerance": 1e-3,
    }
    raw = {"origin": "interndata", "success_threshold": 0.1, "constraint_list": [point], **more}
    return read_planner_setting(raw, where="p")[0]


def test_a_setting_for_a_part_has_no_obstacle():
    assert find_obstacles(setting(), "p") == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"category_name": "RigidBody"}, "p.category_name: RigidBody; open, close and rotate move parts with a joint"),
        ({"target": "articulated_object_inside_base"}, "is where a carried object is put down"),
        ({"target": "rigidbody_object_head"}, "is a point of a rigid object"),
        ({"target": "articulated_object_knee"}, "is no keypoint that every part has"),
    ],
)
def test_what_no_skill_can_run_is_named(more, words):
    (line,) = find_obstacles(setting(**more), "p")
    assert words in line


def test_an_invented_axis_is_named():
    axis = {
        "type": "frame_axis_parallel",
        "axis_from_keypoint_name": "tool_head",
        "axis_to_keypoint_name": "tool_tail",
        "target_axis": "object_link0_contakt_axis",
        "tolerance": 0.1,
    }
    (line,) = find_obstacles(setting(constraint_list=[axis]), "p")
    assert "'object_link0_contakt_axis' is no axis that parts have. Did you mean 'link0_contact_axis'" in line


@pytest.mark.parametrize(
    ("motion", "more", "tool", "fits"),
    [
        ("translate_z", {}, PANDA, True),
        ("translate_x", {}, PANDA, False),
        ("translate_x", {"hand": "lift2"}, PANDA, True),
        ("translate_x", {"origin": "gensim2"}, PANDA, True),
        ("translate_x", {}, ALONG_X, True),
        ("translate_z", {}, ALONG_X, False),
    ],
)
def test_motions_that_do_not_lead_the_hand_back_are_named(motion, more, tool, fits):
    found = find_misfit_motions(setting(pre_actuation_motions=[[motion, -0.08]], **more), tool, "p")
    assert (found == []) == fits
    if not fits:
        assert "If it is written for" in found[0]


def test_a_motion_into_the_part_is_named():
    (line,) = find_misfit_motions(setting(pre_actuation_motions=[["translate_z", 0.08]]), PANDA, "p")
    assert "Check the signs." in line
