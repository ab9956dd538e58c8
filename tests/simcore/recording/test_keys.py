"""The table of keys is consistent with itself, and its page is current."""

import sys
from pathlib import Path

import pytest

from unlatch.simcore.recording.episode import FORMAT_VERSION
from unlatch.simcore.recording.episode_fields import (
    EPISODE_FIELDS,
    EVENT_FIELDS,
    GOAL_FIELDS,
    LAYOUT_FIELDS,
    PLAN_FIELDS,
    SKILL_FIELDS,
)
from unlatch.simcore.recording.keys import KEYS, kind_of, match_key

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "docs" / "_site"))
from data_tables import array_tables, episode_tables, fill_record_format_page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "record_format.md"


def test_a_key_made_from_a_pattern_finds_that_pattern_alone_and_its_first_word_says_its_kind():
    for spec in KEYS:
        example = spec.pattern.replace("<", "").replace(">", "-1")
        assert match_key(example)[0] is spec
        assert [other for other in KEYS if other.regex.match(example)] == [spec]
        assert kind_of(example) == spec.kind


@pytest.mark.parametrize(
    "key", ["", "times", "time.x", "robots.panda.joint_positions", "robots.a.b.c.joint_positions", "speeds.panda"]
)
def test_a_key_that_is_not_in_the_table_is_not_found(key):
    assert match_key(key) is None


def test_the_page_of_the_record_format_is_current_and_names_every_key_and_code():
    page = PAGE.read_text(encoding="utf-8")
    assert f"# Record format, version {FORMAT_VERSION}" in page
    assert page == fill_record_format_page(page), (
        "docs/record_format.md is out of date. Run:\npython docs/_site/data_tables.py docs/record_format.md"
    )


def test_the_tables_of_the_site_name_every_array_and_key():
    found = array_tables() + episode_tables()
    tables = (EPISODE_FIELDS, LAYOUT_FIELDS, PLAN_FIELDS, SKILL_FIELDS, GOAL_FIELDS, EVENT_FIELDS)
    names = [*(spec.pattern for spec in KEYS), *(key for table in tables for key in table)]
    assert [name for name in names if f"\n| `{name}` |" not in found] == []
    assert found.count("| Key | ") == found.count("\n### ") + 1 == 18  # the first of `episode.json` has no heading
