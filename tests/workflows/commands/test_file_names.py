"""Names of files and folders that other systems made: they work, or one line says what to rename."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from unlatch import command_table
from unlatch.objects.procedural.drawer import drawer
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import home_folder, user_path
from unlatch.workflows.cli.terminal import run_guarded

ROOT = Path(__file__).resolve().parents[3]
LATIN_1 = os.fsdecode("tür".encode("latin-1"))
"""A name from a file system or an archive in Latin-1, as Python reads it: one byte of it is not valid UTF-8."""
NAMES = ["日本", "a b", "Ann's", "lr=0.1", "#1", "[x]", "ü,ö", "a\nb"]


def put(folder: Path) -> Path:
    """Writes the URDF of a drawer into a new folder; returns its path."""
    folder.mkdir()
    (folder / "object.urdf").write_text(drawer(3).model.to_urdf(), encoding="utf-8")
    return folder / "object.urdf"


def run(*words: str) -> int:
    """Runs a command; an exception that it lets through fails the test."""
    return command_table.main(words)


@pytest.mark.parametrize("name", NAMES)
def test_an_object_in_a_folder_of_any_name_is_annotated(name, tmp_path, capsys):
    urdf = put(tmp_path / name)
    code = run("annotate", str(urdf), "picture=false")
    said = capsys.readouterr()
    assert code == 0, said.err
    assert (urdf.parent / "articulation.yaml").exists()


@pytest.mark.parametrize("command", [["annotate", "{}", "picture=false"], ["plan", "object={}", "skill=open"]])
def test_a_urdf_whose_name_is_not_utf_8_is_refused_in_one_line(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["unlatch"])
    urdf = put(tmp_path / "object")
    file = urdf.rename(urdf.with_name(f"{LATIN_1}.urdf"))
    assert run(*(word.format(file) for word in command)) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(
        r"unlatch: '[^']*t\\xfcr\S*' has bytes that are no UTF-8, .* Rename the file or folder\.\n", said
    )


@pytest.mark.parametrize(
    ("argument", "text", "name"),
    [
        (f"out=data/{LATIN_1}", f"<a href='{LATIN_1}'>", "data/t\\xfcr"),
        ("report", f"<a href='/x/{LATIN_1}&amp;'>", "/x/t\\xfcr"),
        ("report", f"a\0{LATIN_1}\0b", "t\\xfcr"),
    ],
)
def test_the_argument_of_the_command_is_named_before_others(argument, text, name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["unlatch", "report", argument])
    assert run_guarded(lambda: len(text.encode())) == 2
    assert f"'{name}' has bytes" in capsys.readouterr().err


def test_a_text_that_is_no_name_of_a_file_stays_a_bug(capsys):
    assert run_guarded(lambda: len("ü".encode("ascii"))) == 1
    assert capsys.readouterr().err.startswith("unlatch: UnicodeEncodeError: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "encoding", ["ascii", *(pytest.param(name, marks=pytest.mark.heavy) for name in ("utf-8:strict", "latin-1"))]
)
def test_a_terminal_of_any_encoding_gets_the_message(encoding, tmp_path):
    words = [sys.executable, "-m", "unlatch", "list", f"日本{LATIN_1}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"unlatch: list ")
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_a_folder_whose_name_is_not_utf_8_works_and_is_printed_as_it_is(tmp_path):
    urdf = put(tmp_path / LATIN_1)
    words = [sys.executable, "-m", "unlatch", "annotate", str(urdf), "picture=false"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert os.fsencode(urdf.with_name("articulation.yaml")) in done.stdout


def test_a_home_is_put_in_place_of_a_tilde_as_a_shell_does(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_path("~/x") == tmp_path / "x"
    assert user_path("~") == tmp_path
    assert user_path("x/~/y") == Path("x/~/y")
    assert user_path("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")


@pytest.fixture
def homeless(monkeypatch) -> None:
    """A user without the variable HOME and without an account."""

    def no_account(number: int) -> None:
        raise KeyError(number)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", no_account)


@pytest.mark.usefixtures("homeless")
@pytest.mark.parametrize("path", ["~", "~/x"])
def test_without_a_home_a_tilde_is_refused(path):
    assert home_folder() is None
    with pytest.raises(ConfigError, match=f"^'{path}' begins with ~, but this user has no home directory"):
        user_path(path)
