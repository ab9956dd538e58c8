"""Episodes with parts that mechanisms hold: the right order opens them, a wrong one does not."""

from dataclasses import replace

import numpy as np
import pytest

from tests.integration.episodes import assert_replays, assert_success, assert_verified, run
from unlatch.configs.derived_task import with_mechanism_steps
from unlatch.objects import load_object
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.runs.loading import load

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def positions(record, name, joint_of_part):
    """(T,) positions of the joint of a part, by the skills of the record [rad or m]."""
    entry = next(skill for skill in record.skills if skill.get("part") == joint_of_part)
    return record.arrays[f"objects.{name}.joint_positions"][:, entry["joint_index"]]


def test_a_door_opens_by_its_lever_and_the_episode_replays():
    cfg = load("pull_door_with_lever", "seed=1")
    record = run(cfg)
    assert_success(record, cfg)
    assert_replays(record, cfg)
    assert [skill["strategy"] for skill in record.skills if skill["name"] == "open"] == ["lever"]
    held = record.arrays["objects.latched_door.mechanisms.bolt"].ravel()
    door = np.abs(positions(record, "latched_door", "door"))
    assert held[0] == 1
    assert door[held == 1].max() < 0.02  # while the bolt holds it, the door stays in its play


def test_pulling_without_turning_the_lever_fails_and_says_why():
    cfg = load("pull_door_with_lever", "seed=1", "skills.1.ignores_mechanisms=true")
    record = run(cfg)
    assert_verified(record, cfg)
    assert not record.success
    assert "door is latched: lever at" in record.evidence["message"]
    assert np.abs(positions(record, "latched_door", "door")).max() < 0.02
    assert record.arrays["contacts.franka_panda.left.fingers.force_sustained_n"].max() < 100.0


def test_a_button_is_pressed_before_the_door_is_led():
    cfg = load("microwave_by_button", "seed=1")
    record = run(cfg)
    assert_success(record, cfg)
    done = [(skill["name"], skill["part"]) for skill in record.skills if skill["name"] != "artpreplan"]
    assert done == [("close", "door"), ("open", "door")]


def test_one_arm_keeps_a_button_pressed_while_the_other_pulls_the_drawer_and_the_episode_replays():
    cfg = load("drawer_by_held_button", "seed=0")
    record = run(cfg)
    assert_success(record, cfg)
    assert_replays(record, cfg)
    held, opened = (skill for skill in record.skills if skill["name"] != "artpreplan")
    assert (held["name"], held["part"], opened["name"], opened["part"]) == ("hold_pressed", "button", "open", "drawer")
    assert held["arm"] != opened["arm"]
    button, drawer = (positions(record, "button_drawer", name) for name in ("button", "drawer"))
    moves = np.flatnonzero(np.diff(drawer) > 1e-4)
    assert button[moves].max() < 0.5 * button[0]  # the drawer moves only while the button is pressed
    assert button[-1] == pytest.approx(button[0], abs=1e-3)  # it comes out again


def test_a_drawer_is_locked_while_nobody_presses_its_button_and_the_episode_says_so():
    cfg = load("drawer_by_held_button", "seed=0", "skills.1.ignores_mechanisms=true")
    record = run(cfg)
    assert_verified(record, cfg)
    assert not record.success
    first = next(skill for skill in record.skills if skill["name"] == "open")
    assert "button" in first["message"]
    assert np.abs(positions(record, "button_drawer", "drawer")).max() < 0.01


@pytest.mark.parametrize("arm", ["left", "right"])
def test_a_stated_arm_moves_the_part_and_the_other_one_presses(arm: str):
    cfg = load("drawer_by_held_button", "seed=0")
    assets = {"button_drawer": load_object(cfg.object, rng=np.random.default_rng(0))}
    stated = replace(cfg, skills=[replace(entry, arm=arm) if entry.name == "open" else entry for entry in cfg.skills])
    arms = {entry.name: entry.arm for entry in with_mechanism_steps(stated, assets).skills}
    assert arms["open"] == arm
    assert arms["hold_pressed"] == {"left": "right", "right": "left"}[arm]


def test_a_robot_with_one_arm_is_refused_where_a_button_must_stay_pressed():
    with pytest.raises(
        ConfigError, match=r"'drawer' of 'button_drawer' moves only while 'button' is pressed, and robot"
    ):
        check_assets(load("drawer_by_held_button", "robot=franka_panda", "seed=0"))  # before a data set is begun


def test_a_childproof_cap_turns_closed_without_a_press():
    cfg = load("object=childproof_bottle", "skill=close", "seed=1")
    record = run(cfg)
    assert_success(record, cfg)
