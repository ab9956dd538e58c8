"""Every skill has a page whose tables are those of the schema, and whose pictures are there."""

from __future__ import annotations

import dataclasses
import re
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import yaml

from unlatch.simcore.recording.success_rules import FAILURE_CODES
from unlatch.skills.catalog import SKILLS
from unlatch.skills.commands import Phase
from unlatch.skills.config import SkillCfg
from unlatch.skills.holding import HoldingSkill
from unlatch.solver.setting import MISSING, PlannerSettingCfg

DOCS = Path(__file__).resolve().parents[2] / "docs"
MAX_PICTURE_BYTES = 200_000
PICTURES = {"open": 3, "close": 1, "rotate": 2, "hold": 1, "artpreplan": 0, "pick": 1, "place": 1, "home": 1}
"""How many a page has."""


def page(name: str) -> str:
    return (DOCS / "skills" / f"{name}.md").read_text(encoding="utf-8")


def table(text: str, first: str) -> dict[str, str]:
    """First and second column of all tables whose head begins with a word, as written."""
    found: dict[str, str] = {}
    for rows in re.findall(rf"^\| {first} \|.*\n\|[-| ]+\n((?:\|.*\n?)+)", text, re.MULTILINE):
        cells = [re.split(r"(?<!\\) \| ", row.strip("| ")) for row in rows.strip().splitlines()]
        found |= {row[0].strip(): row[1].strip() for row in cells}
    return found


def keys(text: str) -> dict[str, str]:
    """Defaults by key, in the table of settings."""
    return {key.strip("`"): default for key, default in table(text, "key").items()}


def default_of(field: dataclasses.Field[Any]) -> str:
    """A default as a page says it."""
    value = field.default_factory() if callable(field.default_factory) else field.default
    if value == MISSING:
        return "required"
    text = str(value.value if isinstance(value, Enum) else value)
    return f"`{text.lower() if value is None or isinstance(value, bool) else text}`"


def fields_of(schema: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(schema)}


def test_the_keys_of_an_entry_are_those_of_the_schema():
    said = keys((DOCS / "skills.md").read_text(encoding="utf-8"))
    fields = fields_of(SkillCfg)
    assert list(said) == list(fields)
    assert said.pop("planner_setting") == "derived"
    assert said == {name: default_of(fields[name]) for name in said}


@pytest.mark.parametrize("name", SKILLS.own_names())
def test_the_settings_of_a_page_are_those_of_the_schema(name: str):
    skill = SKILLS.load(name)
    said = keys(page(name))
    own = {key: field for key, field in fields_of(skill.cfg_type).items() if skill.cfg_type is not SkillCfg}
    added = {key: field for key, field in own.items() if key not in fields_of(SkillCfg) or not skill.executes}
    if not skill.executes:
        added = {
            key: field for key, field in added.items() if key not in fields_of(SkillCfg) or key == "planner_setting"
        }
        assert said == {key: default_of(field) for key, field in added.items()}
        return
    assert {key: said.pop(key) for key in added} == {key: default_of(field) for key, field in added.items()}
    if issubclass(skill, HoldingSkill):
        assert said == {key: default_of(fields_of(PlannerSettingCfg)[key]) for key in said}
        return
    if skill.carries or not skill.cfg_type.needs_objects:
        assert said == {}
        return
    assert said.pop("success_mode") == ", ".join(f"`{mode.value}`" for mode in skill.success_modes)
    assert said.pop("constraint_list") == "required"
    known = fields_of(PlannerSettingCfg)
    assert said.keys() <= known.keys()
    assert {"success_threshold", "pre_actuation_motions", "post_actuation_motions", "slips"} <= said.keys()
    assert said == {key: default_of(known[key]) for key in said}


@pytest.mark.parametrize("name", SKILLS.own_names())
def test_phases_codes_and_pictures_of_a_page_exist(name: str):
    text = page(name)
    assert text.startswith(f"# {name}\n")
    phases = table(text, "phase")
    assert phases.keys() <= {phase.name for phase in Phase}
    assert bool(phases) == SKILLS.load(name).executes
    codes = re.findall(r"`(\w+)`", " ".join(table(text, "code")))
    assert codes
    assert set(codes) <= FAILURE_CODES.keys()
    pictures = [DOCS / "skills" / path for path in re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)]
    assert len(pictures) == PICTURES[name]
    for picture in pictures:
        assert 0 < picture.stat().st_size < MAX_PICTURE_BYTES
        assert f"out=docs/images/{picture.name}" in text


@pytest.mark.parametrize("name", SKILLS.own_names())
def test_a_page_has_a_task_that_uses_the_skill_and_says_how_to_run_it(name: str):
    (block,) = re.findall(r"```yaml\n(.*?)```", page(name), re.DOTALL)
    marker, path = block.splitlines()[:2]
    task = Path(path.removeprefix("# ")).stem
    assert marker == "# @package _global_"
    assert name in re.findall(r"name: (\w+)", str(yaml.safe_load(block)["skills"]).replace("'", ""))
    assert f"unlatch collect task={task} --config-dir mine " in page(name)
