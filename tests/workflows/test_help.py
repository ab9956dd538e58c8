"""What `unlatch` says of itself."""

import pytest

import unlatch


def test_every_command_stands_in_one_line_of_a_terminal(capsys: pytest.CaptureFixture[str]):
    assert unlatch.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    named = [line.split()[0] for line in lines if line.startswith("  ")]
    assert named == list(unlatch.COMMANDS)
