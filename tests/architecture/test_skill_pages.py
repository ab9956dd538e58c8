"""The page of skills has a section for each skill, with pictures that are there and keys that exist."""

import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from unlatch.command_table import main
from unlatch.skills.catalog import SKILLS
from unlatch.skills.commands import Phase
from unlatch.solver.setting import PlannerSettingCfg

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "skills.md").read_text(encoding="utf-8")
MAX_PICTURE_BYTES = 220_000  # sixteen moments of two arms beside a pot


def section(name: str) -> str:
    """Returns a section of the page, with those below it."""
    (text,) = re.findall(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return str(text)


def tables(text: str, first: str) -> list[list[str]]:
    """Returns the rows of all tables whose head begins with a word, as written."""
    rows: list[list[str]] = []
    for found in re.findall(rf"^\| {first} \|.*\n\|[-| ]+\n((?:\|.*\n?)+)", text, re.MULTILINE):
        rows += [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in found.strip().splitlines()]
    return rows


@pytest.mark.parametrize("name", SKILLS.own_names())
def test_a_skill_has_a_section_and_a_row_in_the_first_table(name: str):
    assert section(name)
    assert [f"[{name}](#{name})"] == [row[0] for row in tables(PAGE, "skill") if row[0].startswith(f"[{name}]")]


def test_the_list_of_skills_names_the_section_of_each(capsys: pytest.CaptureFixture[str]):
    assert main(["list", "skills"]) == 0
    assert set(re.findall(r"\(docs/skills\.md#(\w+)\)", capsys.readouterr().out)) == set(SKILLS.own_names())


@pytest.mark.parametrize("name", SKILLS.own_names())
def test_the_pictures_of_a_skill_exist_with_the_command_that_draws_them(name: str):
    pictures = [DOCS / path for path in re.findall(r"!\[[^]]+\]\(([^)]+)\)", section(name))]
    assert pictures or name == "artpreplan"
    for picture in pictures:
        assert 0 < picture.stat().st_size < MAX_PICTURE_BYTES
        assert f"out=docs/images/{picture.name}" in section(name)


def test_every_skill_that_executes_is_in_the_conditions_of_success():
    named = " ".join(row[0] for row in tables(section("What counts as success"), "skill"))
    assert set(re.findall(r"`(\w+)`", named)) == set(SKILLS.own_names())


def test_the_phases_are_those_of_records():
    rows = tables(section("Phases"), "phase")
    assert [row[0] for row in rows] != []
    assert {row[0] for row in rows} == {phase.name for phase in Phase} - {"idle"}
    skills = " ".join(row[-1] for row in rows)
    assert set(re.findall(r"`(\w+)`", skills)) <= set(SKILLS.own_names())


def test_keys_with_a_meaning_for_a_skill_are_those_of_a_planner_setting():
    rows = tables(section("Settings of an entry"), "key")
    keys = {row[0].strip("`") for row in rows}
    assert {"success_threshold", "constraint_list", "post_actuation_motions", "slips"} <= keys
    assert keys <= {field.name for field in fields(PlannerSettingCfg)}


def test_the_site_has_the_keys_of_every_skill(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(DOCS / "_site"))
    monkeypatch.delitem(sys.modules, "key_page", raising=False)
    import key_page

    text = key_page.skill_tables()
    for name in SKILLS.own_names():
        for field in fields(SKILLS.load(name).cfg_type):
            assert f"| `{field.name}` |" in text, (name, field.name)
    assert PAGE.count("<!-- keys of skills -->") == 1
