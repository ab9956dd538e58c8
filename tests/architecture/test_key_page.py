"""The site's page of keys says of each one what it means."""

import importlib.util
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "_site" / "key_page.py"


def test_every_key_has_a_meaning():
    spec = importlib.util.spec_from_file_location("key_page", PAGE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = re.findall(r"^\| `(.+?)` \|.*\| (.*) \|$", module.key_page(), re.MULTILINE)
    assert len(rows) > 300
    assert [key for key, meaning in rows if not meaning.strip()] == []
