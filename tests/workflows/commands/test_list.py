"""`unlatch list`: what can be listed, and tables on terminals of any width."""

from pathlib import Path

import pytest

from unlatch.command_table import main
from unlatch.workflows.cli import terminal as console
from unlatch.workflows.commands.information import LISTS


def test_list_alone_says_what_can_be_listed(capsys: pytest.CaptureFixture[str]):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*LISTS, "data"]
    assert all(len(line.split()) > 2 for line in lines)


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_fits_the_terminal_and_keeps_its_columns(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(console, "terminal_width", lambda: width)
    assert main(["list", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert not any(line.endswith(" ") for line in lines)


def test_long_names_stand_in_lines_of_their_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(console, "terminal_width", lambda: 30)
    console.print_row("a/path/of/many/folders", "what lies there", width=22)
    console.print_row("short", "one", width=22)
    assert capsys.readouterr().out == f"a/path/of/many/folders\n    what lies there\n{'short':<22}  one\n"


def test_without_a_terminal_each_entry_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["list", "experiments"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
