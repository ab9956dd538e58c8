"""The two forms of `skills`, read into one."""

from typing import Any

import pytest

from unlatch.configs.dataclass_reader import check_chain_form, entry_keys, flat_entries
from unlatch.configs.schema import check_episode
from unlatch.simcore.errors import ConfigError
from unlatch.skills.config import SkillCfg, stages_of
from unlatch.workflows.runs.loading import load

ROBOT = {"name": "dual_panda", "arms": [{"name": "left"}, {"name": "right"}]}


def plain(*skills: Any) -> dict[str, Any]:
    return {"skills": list(skills), "robot": ROBOT}


def entry(name: str = "close", **values: Any) -> dict[str, Any]:
    return {"name": name, "objects": ["carton"], **values}


def test_a_robots_stages_become_entries_with_arm_and_stage():
    raw = [
        entry("artpreplan"),
        {"dual_panda": [{"left": [entry("open"), entry()], "right": [entry()]}, {"left": [entry()]}]},
    ]
    check_chain_form(plain(*raw))
    found = flat_entries([*raw, entry("rotate")], "skills")
    assert [key for key, _ in found] == [
        "skills[0]",
        "skills[1].dual_panda[0].left[0]",
        "skills[1].dual_panda[0].left[1]",
        "skills[1].dual_panda[0].right[0]",
        "skills[1].dual_panda[1].left[0]",
        "skills[2]",
    ]
    assert [(e["name"], e.get("arm"), e.get("stage")) for _, e in found] == [
        ("artpreplan", None, None),
        ("open", "left", 0),
        ("close", "left", 0),
        ("close", "right", 0),
        ("close", "left", 1),
        ("rotate", None, None),
    ]
    chain = [SkillCfg(name=e["name"], arm=e.get("arm"), stage=e.get("stage")) for _, e in found]
    assert entry_keys(chain, "dual_panda") == [key for key, _ in found]
    assert stages_of(chain) == [[[0]], [[1, 2], [3]], [[4]], [[5]]]


def test_entries_alone_are_a_stage_each():
    chain = [SkillCfg(name="open"), SkillCfg(name="close"), SkillCfg(name="open", arm="left")]
    assert stages_of(chain) == [[[0]], [[1]], [[2]]]
    assert entry_keys(chain, "franka_panda") == ["skills[0]", "skills[1]", "skills[2]"]


def test_a_single_arms_list_reads_too():
    raw = plain({"franka_panda": [{"left": [entry(), entry()]}]})
    raw["robot"] = {"name": "franka_panda", "arms": [{"name": "left"}]}
    check_chain_form(raw)
    chain = [SkillCfg(name="close", arm=e["arm"], stage=e["stage"]) for _, e in flat_entries(raw["skills"], "skills")]
    assert stages_of(chain) == [[[0, 1]]]


@pytest.mark.parametrize(
    ("skills", "message"),
    [
        (
            [{"dual_pnda": [{"left": [entry()]}]}],
            "skills[0].dual_pnda is not the robot of this episode. Did you mean 'dual_panda'? Expected 'dual_panda'. "
            "Rename it, or set robot=dual_pnda.",
        ),
        (
            [{"dual_panda": [{"left": [entry()]}, {"lefd": [entry()]}]}],
            "skills[0].dual_panda[1].lefd is not an arm of 'dual_panda'. Did you mean 'left'? Arms: left, right. "
            "Rename it.",
        ),
        (
            [{"dual_panda": {"left": [entry()]}}],
            "skills[0].dual_panda has the wrong type. Expected a list of mappings from arms to lists of entries. "
            "Change it.",
        ),
        ([{"dual_panda": []}], "skills[0].dual_panda is empty. Expected a list of mappings"),
        ([{"dual_panda": [[]]}], "skills[0].dual_panda[0] has the wrong type. Expected a mapping from arms"),
        ([{"dual_panda": [{}]}], "skills[0].dual_panda[0] is empty. Expected a mapping from arms"),
        ([{"dual_panda": [{"left": []}]}], "skills[0].dual_panda[0].left is empty. Expected a list of entries."),
        (
            [{"dual_panda": [{"left": [entry(arm="right")]}]}],
            "skills[0].dual_panda[0].left[0].arm='right' contradicts its list, which is that of 'left'.",
        ),
        (
            [{"dual_panda": [{"left": [entry()]}]}, entry(), {"dual_panda": [{"left": [entry()]}]}],
            "skills[2] is a second list of stages. Expected one for the robot. Append its stages to those of",
        ),
        ([entry(stage=1)], "skills[0].stage=1 is given. Expected no number"),
    ],
)
def test_what_is_wrong_with_the_form_is_said(skills: list[Any], message: str):
    with pytest.raises(ConfigError) as caught:
        check_chain_form(plain(*skills))
    assert caught.value.message.startswith(message)


def test_an_entry_without_a_name_is_no_list_of_stages():
    check_chain_form(plain({"objects": ["carton"], "part": "lid"}))
    assert flat_entries([{"objects": ["carton"]}], "skills") == [("skills[0]", {"objects": ["carton"]})]


def test_a_task_of_two_arms_reads():
    cfg = load("close_carton_both")
    assert [(skill.name, skill.arm, skill.stage, skill.part) for skill in cfg.skills[1:]] == [
        ("close", "left", 0, "lid"),
        ("close", "right", 0, "lid_2"),
    ]
    check_episode(cfg)


def test_stages_of_a_robot_are_those_of_another_one_with_its_arms():
    cfg = load("close_carton_both", "robot=baxter", "skills.1.baxter.0.left.0.language=[shut]")
    assert [(skill.arm, skill.language) for skill in cfg.skills[1:]] == [("left", ["shut"]), ("right", [])]
