"""Settings of every test, data that tests share, and the summary of what was skipped."""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, settings

from unlatch.objects.config import PARTNET_VARIABLE

if TYPE_CHECKING:
    from unlatch.simcore.recording.episode import EpisodeRecord

# a loaded machine draws slowly; what a test states does not depend on that
settings.register_profile(
    "unlatch",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=int(os.environ.get("UNLATCH_EXAMPLES", "100")),
)
settings.load_profile("unlatch")

# a test that needs a Ray cluster starts its own, and does not join the one of a test that runs beside it
os.environ["RAY_ADDRESS"] = "local"

MAY_BE_SKIPPED = {
    PARTNET_VARIABLE: "the objects of PartNet-Mobility may not be passed on: set the variable to your copy",
    "UNLATCH_KPAM_PROBLEMS": "these problems are on few machines",
    "extra synthesizer": "its package needs `triangle`, whose licence forbids commercial use",
    "superuser may write anywhere": "needs a user without rights",
    "no data sheet of": "no maker states these values",
    "the pads of": "rigid pads have no compliance",
    "draws no colours": "a renderer of depth alone",
}
"""What the reason of a skip may have in it where everything is installed, and why nothing is done about it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--strict-skips", action="store_true", help="fail if a test is skipped for an unlisted reason")


def skips(config: pytest.Config) -> Counter[str]:
    """Counts the skipped tests and modules by their reason."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    return Counter(report.longrepr[-1].removeprefix("Skipped: ") for report in reports)


def unlisted_skips(config: pytest.Config) -> list[str]:
    """Returns the reasons of skipped tests that `MAY_BE_SKIPPED` does not have."""
    return [reason for reason in skips(config) if not any(known in reason for known in MAY_BE_SKIPPED)]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    is_controller = not hasattr(session.config, "workerinput")
    if is_controller and session.config.getoption("strict_skips") and unlisted_skips(session.config):
        session.exitstatus = exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Says which tests were skipped, and the command that brings what they need."""
    counts, unlisted = skips(config), unlisted_skips(config)
    if not counts:
        return
    terminalreporter.section("skipped")
    for reason, count in counts.most_common():
        why = next((why for known, why in MAY_BE_SKIPPED.items() if known in reason), "")
        terminalreporter.line(f"{count:5}  {reason}{f' ({why})' if why else ''}")
    if unlisted:
        terminalreporter.line("Those without a reason in brackets run after `make test-needs`.")
    if unlisted and config.getoption("strict_skips"):
        text = f"--strict-skips: {len(unlisted)} reasons are not in MAY_BE_SKIPPED of tests/conftest.py: {unlisted}"
        terminalreporter.line(text, red=True)


def pytest_collection_finish() -> None:
    """Keeps what the collection made out of Python's garbage collections: it stays to the end."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Lets Python collect everything at its end: what is left then, OMPL reports as leaked, below pytest's summary."""
    gc.unfreeze()


@pytest.fixture
def partnet_dir() -> str:
    """The real data, from outside the repository."""
    folder = os.environ.get(PARTNET_VARIABLE)
    if not folder:
        pytest.skip(f"{PARTNET_VARIABLE} is not set: real PartNet-Mobility objects are tested only where they are")
    return folder


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], None]], Path]:
    """Returns the folder of what a function makes, which runs once for all tests and all workers.

    Tests must not change what is in the folder: those that do, copy it.
    """
    own = tmp_path_factory.getbasetemp()
    common = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "made_once"
    common.mkdir(exist_ok=True)

    def folder_of(name: str, make: Callable[[Path], None]) -> Path:
        folder = common / hashlib.sha256(name.encode()).hexdigest()[:16]
        with FileLock(f"{folder}.lock"):
            if not (done := folder.with_suffix(".done")).exists():
                folder.mkdir(exist_ok=True)
                make(folder)
                done.touch()
        return folder

    return folder_of


@pytest.fixture(scope="session")
def collected(made_once: Callable[[str, Callable[[Path], None]], Path]) -> Callable[..., Path]:
    """Returns a data set of a task, made once a session: `collected("open_drawer", "variety=0", seed=3)`."""

    def path_of(task: str, *overrides: str, seed: int = 0, episodes: int = 1) -> Path:
        import unlatch

        def collect(folder: Path) -> None:
            cfg = unlatch.load(task, "executor=serial", "pictures=0", *overrides, seed=seed)
            unlatch.collect(cfg, episodes=episodes, out=str(folder / "data"))

        return made_once(f"data set {task} {sorted(overrides)} {seed} {episodes}", collect) / "data"

    return path_of


@pytest.fixture(scope="session")
def episode(made_once: Callable[[str, Callable[[Path], None]], Path]) -> Callable[..., EpisodeRecord]:
    """Returns the record of an episode, made once a session: `episode("open_drawer", "variety=0", number=2)`."""
    read: dict[Path, EpisodeRecord] = {}

    def record_of(task: str, *overrides: str, number: int = 0) -> EpisodeRecord:
        from unlatch.workflows.runs.loading import load
        from unlatch.workflows.runs.runner import EpisodeRunner

        def run(folder: Path) -> None:
            with EpisodeRunner(load(task, *overrides)) as runner:
                (folder / "record.pickle").write_bytes(pickle.dumps(runner.run(number)))

        folder = made_once(f"episode {task} {overrides} {number}", run)
        if folder not in read:
            read[folder] = pickle.loads((folder / "record.pickle").read_bytes())
            for array in read[folder].arrays.values():
                array.setflags(write=False)
        return read[folder]

    return record_of
