"""The page of failure codes has every code, in their order, with the meaning that records are written by."""

import re
from pathlib import Path

from unlatch.simcore.recording.success_rules import FAILURE_CODES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "failures.md"


def test_every_code_has_a_section_with_its_meaning_and_advice():
    sections = re.findall(r"^### (\w+)\n\n(.+)\n\n((?:(?!^#).*\n)+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [(code, meaning) for code, meaning, _ in sections] == list(FAILURE_CODES.items())
    assert [code for code, _, advice in sections if len(advice.split()) < 15] == []
