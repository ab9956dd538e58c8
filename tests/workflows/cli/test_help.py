"""Help texts fit the terminal."""

from dataclasses import fields

import pytest

from unlatch import command_table
from unlatch.workflows.assets.convert import ConvertCfg
from unlatch.workflows.cli.shell_text import fit_to_width
from unlatch.workflows.commands.objects import AnnotateCommandCfg

TABLE = """usage: unlatch collect task=TASK [key=value ...]
       unlatch collect object=PATH skill=open

Makes demonstrations and writes every attempt,
with its reason.

  robot=franka_panda randomization=none|light|full
  task=TASK     which there are, as `unlatch list`
                tells it
  seed=0        seed
"""


def test_the_list_of_commands_fits_a_terminal(capsys):
    assert command_table.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    named = [line.split()[0] for line in lines if line.startswith("  ")]
    assert named == list(command_table.COMMANDS)


@pytest.mark.parametrize("name", [*command_table.COMMANDS, "new-robot"])
@pytest.mark.parametrize("width", [72, 80])
def test_help_begins_with_the_usage_and_wrapped_help_keeps_its_words_and_fits(name, width):
    text = command_table.read_help(name).rstrip()
    assert text.split()[:3] == ["usage:", "unlatch", name.partition("-robot")[0]]
    narrow = fit_to_width(text, width)
    assert narrow.split() == text.split()
    assert [line for line in narrow.splitlines() if len(line) > width and " " in line.strip()] == []
    assert fit_to_width(fit_to_width(text, 80), 120) == fit_to_width(text, 80)


def test_wrapped_paragraphs_are_joined_first_and_tables_keep_their_column():
    assert fit_to_width(TABLE, 42).splitlines() == [
        "usage: unlatch collect task=TASK",
        "               [key=value ...]",
        "       unlatch collect object=PATH",
        "               skill=open",
        "",
        "Makes demonstrations and writes every",
        "attempt, with its reason.",
        "",
        "  robot=franka_panda",
        "  randomization=none|light|full",
        "  task=TASK     which there are, as",
        "                `unlatch list` tells it",
        "  seed=0        seed",
    ]


def test_words_behind_a_key_that_takes_more_than_half_of_the_width_go_on_below_it():
    line = "  one=a|b|c two=d|e|f three=g|h|i   which of the letters is meant by the command"
    assert fit_to_width(line, 60).splitlines() == [
        "  one=a|b|c two=d|e|f three=g|h|i   which of the letters is",
        "      meant by the command",
    ]


@pytest.mark.parametrize(("command", "cfg"), [("annotate", AnnotateCommandCfg), ("convert", ConvertCfg)])
def test_help_names_every_key(command, cfg):
    assert [field.name for field in fields(cfg) if f"{field.name}=" not in command_table.read_help(command)] == []
