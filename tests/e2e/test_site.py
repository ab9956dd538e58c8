"""The site is built without a warning: no dead link, no page that the navigation lacks; old addresses lead on."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import unlatch
from unlatch import command_table
from unlatch.configs.group_files import own_option_names
from unlatch.simcore.recording.success_rules import FAILURE_CODES

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.heavy]

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(__file__).with_name("build_site.py")
TASKS = own_option_names("task")


def test_the_site_is_built_in_strict_mode(tmp_path: Path):
    command = [sys.executable, str(BUILD), "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    for page in ("", "overview", "gallery", "start", "record_format", "reference/api/unlatch.solver"):
        assert (site / page / "index.html").is_file(), page
    assert 'href="../configuration/#commands"' in (site / "commands" / "index.html").read_text(encoding="utf-8")
    for page in ("start", "reference/api", "reference/api/unlatch.solver"):
        assert f"Unlatch {version('unlatch')}" in (site / page / "index.html").read_text(encoding="utf-8"), page
    assert (site / "gallery" / "index.html").read_text(encoding="utf-8").count('<img loading="lazy"') == len(TASKS)
    face = (site / "reference" / "api" / "unlatch" / "index.html").read_text(encoding="utf-8")
    assert [name for name in unlatch.__all__ if f'id="unlatch.{name}"' not in face] == []
    keys = (site / "reference" / "keys" / "index.html").read_text(encoding="utf-8")
    assert "solver_iterations" in keys
    commands = (site / "reference" / "commands" / "index.html").read_text(encoding="utf-8")
    assert [name for name in command_table.COMMANDS if f"usage: unlatch {name}" not in commands] == []
    failures = (site / "failures" / "index.html").read_text(encoding="utf-8")
    assert [code for code in FAILURE_CODES if code not in failures] == []
