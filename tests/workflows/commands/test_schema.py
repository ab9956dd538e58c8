"""`unlatch schema`: printed, or written to a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from unlatch.configs.json_schema import task_schema
from unlatch.workflows.commands.information import schema_command as main


def test_the_schema_is_written_or_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "task.schema.json"
    assert main([f"out={file}"]) == 0
    assert json.loads(file.read_text()) == task_schema()
    assert str(file) in capsys.readouterr().out
    assert main([]) == 0
    assert json.loads(capsys.readouterr().out) == task_schema()


@pytest.mark.parametrize("arguments", [["task"], ["out=a", "out=b"], ["kind=task"], ["out=not/there/x.json"]])
def test_wrong_input_is_one_line(arguments: list[str], tmp_path: Path, assert_refused: Callable[..., str]):
    assert_refused("schema", *arguments, text="", folder=tmp_path)
