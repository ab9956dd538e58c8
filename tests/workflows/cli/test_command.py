"""How a command answers an exception: in one line, with the frames of a user, or with the whole traceback."""

from collections.abc import Callable
from pathlib import Path

import pytest

from unlatch import command_table
from unlatch.simcore import process as interrupts
from unlatch.simcore.errors import ConfigError, PluginError
from unlatch.workflows.cli import debugger
from unlatch.workflows.cli.terminal import BAD_INPUT, FAILED, INTERRUPTED, OK, command, run_command


def call_code_of(file: Path) -> None:
    file.write_text("def write(record):\n    return record.framez\n\n\nwrite(None)\n")
    exec(compile(file.read_text(), file, "exec"), {})


def main_that(work: Callable[[], object]) -> Callable[[list[str]], int]:
    """Returns a command that does something."""

    @command
    def main(arguments: list[str]) -> int:
        work()
        return OK

    return main


def fail(exc: Exception) -> None:
    raise exc


def test_a_bug_in_the_code_of_a_user_is_shown_with_file_and_line(tmp_path, capsys):
    file = tmp_path / "exporter.py"
    main = main_that(lambda: call_code_of(file))
    assert main([]) == FAILED
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "unlatch: AttributeError: 'NoneType' object has no attribute 'framez'"
    assert lines[-3:] == [
        f'  File "{file}", line 2, in write',
        "    return record.framez",
        "--debug prints the whole traceback",
    ]
    with pytest.raises(AttributeError, match="framez"):
        main(["--debug"])


def test_a_bug_of_unlatch_is_raised(monkeypatch):
    # this test file is no part of Python or Unlatch: without its frames, none is of a user
    places = {"unlatch": [Path("/")]}
    monkeypatch.setattr("unlatch.workflows.runs.earlier_code.find_places", lambda name: places.get(name, []))
    with pytest.raises(ZeroDivisionError):
        main_that(lambda: 1 / 0)([])


def test_debug_adds_the_traceback_of_an_error_of_ours(capsys):
    @command
    def main(arguments: list[str]) -> int:
        raise ConfigError(f"got {arguments}")

    assert main(["a"]) == BAD_INPUT
    assert capsys.readouterr().err == "unlatch: got ['a']\n"
    assert main(["a", "--debug"]) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.startswith("Traceback (most recent call last):\n")
    assert said.endswith("\nunlatch: got ['a']\n")


def test_an_error_of_ours_names_the_code_of_a_user_that_caused_it(tmp_path, capsys):
    file = tmp_path / "plugin.py"

    def load_plugin() -> None:
        try:
            call_code_of(file)
        except AttributeError as exc:
            raise ConfigError("It cannot be loaded.") from exc

    assert main_that(load_plugin)([]) == BAD_INPUT
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "unlatch: It cannot be loaded."
    assert lines[-2:] == [f'  File "{file}", line 2, in write', "    return record.framez"]


def test_a_command_that_makes_runs_is_told_of_debug():
    found = []

    @run_command
    def main(arguments: list[str], debug: bool) -> int:
        found.append((arguments, debug))
        return OK

    assert main(["a=1", "--debug"]) == main(["a=1"]) == OK
    assert found == [(["a=1"], True), (["a=1"], False)]


def test_a_missing_extra_of_a_command_is_one_line(monkeypatch, capsys):
    def refuse(name: str) -> None:
        raise PluginError(f"{name} needs the extra 'gym'.")

    monkeypatch.setattr(command_table, "import_module", refuse)
    assert command_table.main(["evaluate", "task=open_drawer"]) == 2
    assert capsys.readouterr().err == "unlatch: unlatch.workflows.commands.check needs the extra 'gym'.\n"


@pytest.mark.parametrize("exception", [AttributeError("no attribute '_invalidate_flags_cache'"), ConfigError("wrong")])
def test_an_exception_that_a_library_makes_of_ctrl_c_ends_as_interrupted(exception, monkeypatch, capsys):
    monkeypatch.setattr(interrupts, "_was_pressed", True)
    assert main_that(lambda: fail(exception))([]) == INTERRUPTED
    assert capsys.readouterr().err == "unlatch: interrupted\n"


def test_a_value_that_a_plugin_refuses_is_one_line(tmp_path, capsys):
    file = tmp_path / "plugin.py"
    file.write_text("def check():\n    raise ConfigError('wait_s=-1 is out of range')\n\n\ncheck()\n")

    def check() -> None:
        try:
            exec(compile(file.read_text(), file, "exec"), {"ConfigError": ConfigError})
        except ConfigError as exc:
            raise ConfigError(f"skills[0].{exc.message}") from exc

    assert main_that(check)([]) == BAD_INPUT
    assert capsys.readouterr().err == "unlatch: skills[0].wait_s=-1 is out of range\n"


@pytest.mark.parametrize(
    ("raised", "active", "opened"),
    [(ValueError("a bug"), True, True), (ValueError("a bug"), False, False), (ConfigError("wrong input"), True, False)],
)
def test_the_debugger_opens_for_a_bug_and_the_exception_goes_on(raised, active, opened, monkeypatch):
    seen: list[Exception] = []
    monkeypatch.setattr(debugger, "open_debugger", lambda exc, advice: seen.append(exc))
    with pytest.raises(type(raised)), debugger.debugging(active=active):
        raise raised
    assert seen == ([raised] if opened else [])


def test_on_a_terminal_errors_are_wrapped_between_words(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    message = "Unknown object 'a-very-long-name'. Known: " + ", ".join(["drawer"] * 20) + "."
    assert main_that(lambda: fail(ConfigError(message)))([]) == BAD_INPUT
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60
    assert all(line.startswith("    ") for line in lines[1:])


def test_help_explains_the_command_that_is_named(capsys):
    for words in (["help", "plan"], ["plan", "--help"]):
        assert command_table.main(words) == 0
        assert capsys.readouterr().out.startswith("usage: unlatch plan")
    assert command_table.main(["help", "pla"]) == BAD_INPUT
    assert "Did you mean 'plan'?" in capsys.readouterr().err
