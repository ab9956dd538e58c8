"""What a plugin begins with uses no private name of the skills of Unlatch."""

import re
from pathlib import Path

import pytest

from unlatch.skills.catalog import SKILLS

ROOT = Path(__file__).resolve().parents[2]
OWN = {name for skill in SKILLS.own_names() for name in dir(SKILLS.load(skill)) if re.match("_[a-z]", name)}


def private_names(text: str) -> set[str]:
    """The names of private methods that a text defines, and of private attributes that it reads of its skill."""
    return {*re.findall(r"(?:self|super\(\))\.(_[a-z]\w*)", text), *re.findall(r"def (_[a-z]\w*)", text)}


@pytest.mark.parametrize("file", ["workflows/templates/skill.txt", "examples/unlatch_plugin/unlatch_press/press.py"])
def test_a_skill_to_begin_with_needs_public_methods_only(file: str):
    assert private_names((ROOT / file).read_text(encoding="utf-8")) & OWN == set()


def test_a_private_name_would_be_found():
    assert private_names("super()._check_blocked()\ndef _find_loose_grip(self):") <= OWN
