"""Commands as a user runs them, and a recorded episode."""

from collections.abc import Callable
from pathlib import Path

import pytest

from unlatch import command_table
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.runner import EpisodeRunner
from unlatch.workflows.runs.schema import CollectCfg


@pytest.fixture
def run_command(capsys) -> Callable[..., tuple[int, str, str]]:
    """Runs `unlatch` with arguments; returns its exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = command_table.main([*map(str, arguments)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def assert_refused(run_command) -> Callable[..., str]:
    """Runs a command that is refused with one line on stderr, which has a text; no file in a folder changes."""

    def paths(folder: Path) -> list[Path]:
        # Python itself writes __pycache__ beside a module of the user's that it imports.
        return sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts)

    def run(*arguments: object, text: str, folder: Path) -> str:
        before = paths(folder)
        code, out, err = run_command(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith("unlatch: ")
        assert text in err
        assert paths(folder) == before
        return err

    return run


@pytest.fixture(scope="session")
def drawer_episode(tmp_path_factory) -> tuple[CollectCfg, EpisodeRecord]:
    """A configuration of `open_drawer` and its recorded episode 0."""
    cfg = load("open_drawer", "seed=3", f"object.cache_dir={tmp_path_factory.mktemp('cache')}")
    with EpisodeRunner(cfg) as runner:
        return cfg, runner.run(0)
