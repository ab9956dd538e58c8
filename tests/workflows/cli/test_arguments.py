"""Arguments and help of the commands."""

from dataclasses import dataclass

import pytest
import yaml

from unlatch import command_table
from unlatch.simcore.errors import ConfigError
from unlatch.workflows.cli.arguments import read_pairs, split_some_paths
from unlatch.workflows.cli.terminal import parse_command_line


def test_flags_and_overrides_are_parsed():
    line = parse_command_line(["task=a", "-m", "+x=1", "~y", "--config-dir", "d", "--cfg=job", "--resolve"])
    assert line.overrides == ["task=a", "+x=1", "~y"]
    assert line.config_dirs == ["d"]
    assert (line.multirun, line.show, line.resolve) == (True, True, True)


def test_the_error_for_a_flag_with_a_value_says_how_a_key_is_written_and_without_one_names_no_key():
    for words in (["--episode=3"], ["--episode", "3"]):
        with pytest.raises(ConfigError, match=r" Write episode=3, without dashes\.$"):
            split_some_paths("view", ["data", *words])
    with pytest.raises(ConfigError, match=r" Write episodes=3, without dashes\.$"):
        parse_command_line(["--episodes", "3", "out=x"])
    for words in (["--fast"], ["--fast", "out=x"], ["--fast", "--episodes"]):
        with pytest.raises(ConfigError, match=r"or --help\.$"):
            parse_command_line(words)


@pytest.mark.slow
def test_cfg_job_prints_the_composed_yaml(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command_table.main(["collect", "task=open_drawer", "seed=7", "--cfg", "job", "--resolve"]) == 0
    content = yaml.safe_load(capsys.readouterr().out)
    assert (content["seed"], content["task"]["regions"][0]["object"]) == (7, "drawer")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "flag"), [("collect", "-cn=foo"), ("clip", "--config-name=foo"), ("evaluate", "--policy_x=1")]
)
def test_no_error_advises_a_key_that_the_command_does_not_have(command, flag):
    with pytest.raises(ConfigError) as caught:
        parse_command_line(["task=open_drawer", flag], command=command)
    assert "without dashes" not in caught.value.message


@pytest.mark.parametrize(
    ("flag", "advice"),
    [
        ("--config-name=foo", "task=NAME"),
        ("-cp=x", "--config-dir DIR"),
        ("--info", "--cfg job"),
        ("--shell-completion", "unlatch completion bash"),
    ],
)
def test_flags_of_hydra_lead_to_ours(flag, advice):
    with pytest.raises(ConfigError, match=f"Unknown flag '{flag}'.*{advice}"):
        parse_command_line([flag, "foo"])


@pytest.mark.parametrize(("command", "flag"), [("list", "--cfg"), ("clip", "-m"), ("preview", "--pdb")])
def test_a_flag_that_a_command_does_not_use_is_refused(command, flag):
    with pytest.raises(ConfigError) as caught:
        parse_command_line([flag], command=command)
    assert flag not in caught.value.message.partition("Expected")[2].replace("--debug", "").split(", ")


def test_a_path_may_hold_an_equals_sign_unless_it_looks_like_a_key(tmp_path, monkeypatch):
    for path in ("/data/lr=0.1", "./lr=0.1", "~/lr=0.1", "data/a=b/c=d", "1=2"):
        assert split_some_paths("view", [path, "episode=3"]) == ([path], ["episode=3"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lr=0.1").mkdir()
    with pytest.raises(ConfigError, match=r"Write \./lr=0\.1 for the path"):
        split_some_paths("view", ["lr=0.1"])


@dataclass
class Options:
    out: str | None = None
    number: int = 0


TEXTS = ["1e5", "007", "true", "a #b", "[x]", "a: b", "@x", "2024-13-45", "12:30", "lr=1", "~/x", "ü"]
YAML = [("", None), ("null", None), ("'a b'", "a b"), ('"a, b"', "a, b")]


@pytest.mark.parametrize(("text", "value"), [*((text, text) for text in TEXTS), *YAML])
def test_a_text_is_taken_as_it_is_written_and_null_and_quotes_as_in_yaml(text, value):
    assert read_pairs(Options, [f"out={text}"]).out == value


@pytest.mark.parametrize("text", ["[1", "2024-13-45", "@"])
def test_a_value_that_is_no_yaml_is_one_line(text):
    with pytest.raises(ConfigError) as caught:
        read_pairs(Options, [f"number={text}"])
    assert caught.value.message.startswith(f"'number={text}' cannot be read: ")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("words", "said"),
    [(["a", "b", "out=c"], "merge c a b"), (["out=my data", "a"], "merge 'my data' a"), (["out="], "merge OUT DATA")],
)
def test_merge_says_that_the_first_folder_is_the_result(words, said, run_command):
    code, _, err = run_command("merge", *words)
    assert (code, "the first folder is the result" in err) == (2, True)
    assert err.endswith(f"Write unlatch {said}\n")
