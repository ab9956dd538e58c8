"""Arguments and help of the commands."""

import json
from pathlib import Path

import pytest
import yaml

from unlatch import command_table
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.command_line import parse_command_line, split_some_paths


def test_flags_and_overrides_are_parsed():
    line = parse_command_line(["task=a", "-m", "+x=1", "~y", "--config-dir", "d", "--cfg=job", "--resolve"])
    assert line.overrides == ["task=a", "+x=1", "~y"]
    assert line.config_dirs == ["d"]
    assert (line.multirun, line.show, line.resolve) == (True, True, True)


def test_an_unknown_flag_raises_an_error():
    with pytest.raises(ConfigError, match="Unknown flag '--episodes=3'"):
        parse_command_line(["--episodes=3"])


@pytest.mark.parametrize("words", [["--episodes=3"], ["--episodes", "3"]])
def test_the_error_for_a_flag_with_a_value_says_how_a_key_is_written(words: list[str]):
    with pytest.raises(ConfigError, match=r" Write episodes=3, without dashes\.$"):
        parse_command_line([*words, "out=x"])
    with pytest.raises(ConfigError, match=r" Write episodes=3, without dashes\.$"):
        split_some_paths("check", ["data", *words])


def test_the_error_for_a_flag_without_a_value_names_no_key():
    for words in (["--fast"], ["--fast", "out=x"], ["--fast", "--episodes"]):
        with pytest.raises(ConfigError, match=r"or --help\.$"):
            parse_command_line(words)


@pytest.mark.parametrize("command", [[], *([name] for name in command_table.COMMANDS)])
def test_help_begins_with_the_usage(command: list[str], capsys: pytest.CaptureFixture[str]):
    assert command_table.main([*command, "--help"]) == 0
    said = capsys.readouterr()
    assert said.out.split()[:3] == ["usage:", "unlatch", command[0] if command else "COMMAND"]
    assert said.err == ""


@pytest.mark.parametrize("what", ["tasks", "skills", "robots", "objects", "terms"])
def test_lists_print_one_line_for_each_entry(what: str, capsys: pytest.CaptureFixture[str]):
    assert command_table.main(["list", what]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(len(line.split("  ", 1)) == 2 for line in lines), lines


@pytest.mark.slow
def test_cfg_job_prints_the_composed_yaml(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert command_table.main(["collect", "task=open_drawer", "seed=7", "--cfg", "job", "--resolve"]) == 0
    content = yaml.safe_load(capsys.readouterr().out)
    assert content["seed"] == 7
    assert content["task"]["name"] == "open_drawer"
    assert content["task"]["regions"][0]["object"] == "drawer"
    assert list(tmp_path.iterdir()) == []
    json.dumps(content)
