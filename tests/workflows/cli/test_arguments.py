"""Arguments and help of the commands."""

import json
from dataclasses import dataclass

import pytest
import yaml

from unlatch import command_table
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.arguments import read_pairs, split_paths
from unlatch.workflows.cli.terminal import parse_command_line


def test_flags_and_overrides_are_parsed():
    line = parse_command_line(["task=a", "-m", "+x=1", "~y", "--config-dir", "d", "--cfg=job", "--resolve"])
    assert line.overrides == ["task=a", "+x=1", "~y"]
    assert line.config_dirs == ["d"]
    assert (line.multirun, line.show, line.resolve) == (True, True, True)


@pytest.mark.parametrize("words", [["--episodes=3"], ["--episodes", "3"]])
def test_the_error_for_a_flag_with_a_value_says_how_a_key_is_written(words):
    with pytest.raises(ConfigError, match=r" Write episodes=3, without dashes\.$"):
        parse_command_line([*words, "out=x"])
    with pytest.raises(ConfigError, match=r" Write episode=3, without dashes\.$"):
        split_paths("view", ["data", *(word.replace("episodes", "episode") for word in words)])


def test_the_error_for_a_flag_without_a_value_names_no_key():
    for words in (["--fast"], ["--fast", "out=x"], ["--fast", "--episodes"]):
        with pytest.raises(ConfigError, match=r"or --help\.$"):
            parse_command_line(words)


@pytest.mark.parametrize("command", [[], *([name] for name in command_table.COMMANDS)])
def test_help_begins_with_the_usage(command, capsys):
    assert command_table.main([*command, "--help"]) == 0
    said = capsys.readouterr()
    assert said.out.split()[:3] == ["usage:", "unlatch", command[0] if command else "COMMAND"]
    assert said.err == ""


@pytest.mark.slow
def test_cfg_job_prints_the_composed_yaml(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command_table.main(["collect", "task=open_drawer", "seed=7", "--cfg", "job", "--resolve"]) == 0
    content = yaml.safe_load(capsys.readouterr().out)
    assert content["seed"] == 7
    assert content["task"]["name"] == "open_drawer"
    assert content["task"]["regions"][0]["object"] == "drawer"
    assert list(tmp_path.iterdir()) == []
    json.dumps(content)


@pytest.mark.parametrize("command", ["collect", "plan", "preview", "evaluate", "clip", "check", "studio", "list"])
@pytest.mark.parametrize("flag", ["--config-name=foo", "-cn=foo", "--foo=1", "--policy_x=1", "--cfg_=1"])
def test_no_error_advises_a_key_that_the_command_does_not_have(command, flag):
    with pytest.raises(ConfigError) as caught:
        parse_command_line(["task=open_drawer", flag], command=command)
    assert "without dashes" not in caught.value.message


@pytest.mark.parametrize(
    ("flag", "advice"),
    [
        ("--config-name=foo", "task=NAME"),
        ("-cn", "task=NAME"),
        ("--config-path", "--config-dir DIR"),
        ("-cp=x", "--config-dir DIR"),
        ("--info", "--cfg job"),
        ("--shell-completion", "unlatch completion bash"),
    ],
)
def test_flags_of_hydra_lead_to_ours(flag, advice):
    with pytest.raises(ConfigError, match=f"Unknown flag '{flag}'.*{advice}"):
        parse_command_line([flag, "foo"])


@pytest.mark.parametrize(
    ("command", "flag"), [("list", "--cfg"), ("clip", "-m"), ("check", "--resolve"), ("preview", "--pdb")]
)
def test_a_flag_that_a_command_does_not_use_is_refused(command, flag):
    with pytest.raises(ConfigError) as caught:
        parse_command_line([flag], command=command)
    assert flag not in caught.value.message.partition("Expected")[2].replace("--debug", "").split(", ")


@pytest.mark.parametrize("path", ["/data/lr=0.1", "./lr=0.1", "~/lr=0.1", "data/a=b/c=d", "../x=1", "1=2"])
def test_a_path_may_hold_an_equals_sign(path):
    assert split_paths("view", [path, "episode=3"]) == ([path], ["episode=3"])


def test_a_path_that_looks_like_a_key_is_named_with_what_to_write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lr=0.1").mkdir()
    with pytest.raises(ConfigError, match=r"Write \./lr=0\.1 for the path"):
        split_paths("view", ["lr=0.1"])


Captured = pytest.CaptureFixture[str]


@dataclass
class Options:
    out: str | None = None
    number: int = 0


@pytest.mark.parametrize(
    "text", ["1e5", "007", "true", "a #b", "#x", "[x]", "a: b", "@x", "2024-13-45", "12:30", "lr=1", "~/x", "ü"]
)
def test_a_text_is_taken_as_it_is_written(text):
    assert read_pairs(Options, [f"out={text}"]).out == text


@pytest.mark.parametrize(("text", "value"), [("", None), ("null", None), ("'a b'", "a b"), ('"a, b"', "a, b")])
def test_null_and_quotes_mean_what_they_mean_in_yaml(text, value):
    assert read_pairs(Options, [f"out={text}"]).out == value


@pytest.mark.parametrize("text", ["[1", "'1", "2024-13-45", "@", "{"])
def test_a_value_that_is_no_yaml_is_one_line(text):
    with pytest.raises(ConfigError) as caught:
        read_pairs(Options, [f"number={text}"])
    assert caught.value.message.startswith(f"'number={text}' cannot be read: ")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a", "b", "out=c"], "Write unlatch merge c a b"),
        (["out=my data", "a"], "Write unlatch merge 'my data' a"),
        (["out="], "Write unlatch merge OUT DATA"),
    ],
)
def test_merge_says_that_the_first_folder_is_the_result(words, said, capsys):
    assert command_table.main(["merge", *words]) == 2
    message = capsys.readouterr().err
    assert "the first folder is the result" in message
    assert message.endswith(f"{said}\n")
