"""Episodes that ended as `error` are made again when their code has changed, or when they are asked for."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.cli import run_report
from unlatch.workflows.cli.terminal import FAILED
from unlatch.workflows.commands.check import check_command as check
from unlatch.workflows.commands.data_sets import report_command as report
from unlatch.workflows.runs import run
from unlatch.workflows.runs.code_versions import CodeVersions
from unlatch.workflows.runs.loading import load
from unlatch.workflows.runs.run import RunDisplay, RunRequest, RunResult, run_episodes
from unlatch.workflows.runs.runner import RecordingJob
from unlatch.workflows.runs.schema import CollectCfg, Retry

CHANGED = "made again now: the code of unlatch has changed"
MIXED = (
    "earlier episodes of this data set were made with other code of unlatch, so equal settings may give other motions; "
    "for episodes of one code, choose a new folder with out=FOLDER, or retry=all"
)


def kept(count: int) -> str:
    return (
        f"{count} episodes of this data set: kept, although the code of unlatch has changed since; retry=all makes "
        "them again, out=FOLDER starts a new data set"
    )


@dataclass(frozen=True)
class FakeJob(RecordingJob):
    """Makes empty episodes with given failure codes; the others succeed. Code "dies" kills the worker."""

    codes: dict[int, str] = field(default_factory=dict)

    @contextmanager
    def open_episode_source(self) -> Iterator[Callable[[int], EpisodeRecord]]:
        def make(number: int) -> EpisodeRecord:
            code = self.codes.get(number)
            if code == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            return EpisodeRecord(number=number, seed=number, success=code is None, code=code)

        yield make


@pytest.fixture
def set_code(monkeypatch) -> Callable[[str], None]:
    """Sets the checksum of the code that makes the episodes from now on."""

    def set_it(digest: str) -> None:
        found = CodeVersions({"unlatch": {"version": "1", "sha256": digest}})
        monkeypatch.setattr(run.CodeVersions, "of", lambda config, policy=None: found)

    set_it("old")
    return set_it


@pytest.fixture(scope="module")
def base() -> CollectCfg:
    return load("close_drawer", "executor=serial", "pictures=0", "episodes=5")


@pytest.fixture
def collect(tmp_path, base, set_code) -> Callable[..., tuple[RunResult, list[str]]]:
    """Runs episodes into `data`; returns the result and the lines that it printed."""

    def collect_again(codes: dict[int, str], **changes: object) -> tuple[RunResult, list[str]]:
        cfg = CollectCfg(**{**vars(base), "out": f"{tmp_path}/data", **changes})
        lines: list[str] = []
        request = RunRequest(cfg, lambda data_set: FakeJob(cfg, data_set, codes=codes))
        return run_episodes(request, RunDisplay(notify=lines.append)), lines

    return collect_again


def codes_of(data: DataSet) -> list[str | None]:
    # the records are empty, so problems of their verdicts do not count
    assert [problem.message for problem in check_dataset(data.path) if "index" in problem.message] == []
    return [item.code for item in data.summaries()]


ALL_FAILED = dict.fromkeys(range(5), "error")
ALL_COLLIDED = dict.fromkeys(range(5), "collision")


@pytest.mark.parametrize(
    ("before", "code", "now", "options", "lines", "made", "codes"),
    [
        # the same code: errors stay
        ({1: "error", 2: "slipped"}, "old", {}, {}, [], 0, [None, "error", "slipped", None, None]),
        (ALL_COLLIDED, "old", {}, {}, [], 0, ["collision"] * 5),
        # other code: errors are made again, and other episodes are kept
        (
            {1: "error", 2: "slipped", 3: "error"}, "new", {3: "error"}, {},
            [f"2 episodes ended as `error`; {CHANGED}", MIXED], 2, [None, None, "slipped", "error", None],
        ),
        (ALL_COLLIDED, "new", {}, {}, [kept(5)], 0, ["collision"] * 5),
        ({1: "error"}, "new", {}, {"retry": Retry.never}, [kept(4)], 0, [None, "error", None, None, None]),
        (
            {1: "error", 2: "slipped", 3: "error"}, "old", {2: "error"}, {"retry": Retry.error},
            ["2 episodes ended as `error`; made again now: retry=error"], 2, [None, None, "slipped", None, None],
        ),
        (
            ALL_FAILED, "new", {}, {"only": [1, 3]},
            [f"2 episodes ended as `error`; {CHANGED}"], 2, ["error", None, "error", None, "error"],
        ),
        (
            ALL_COLLIDED, "new", {}, {"retry": Retry.all, "only": [1, 3]},
            ["2 episodes of earlier runs; made again now: retry=all", MIXED], 2,
            ["collision", None, "collision", None, "collision"],
        ),
        (
            {1: "error"}, "new", {}, {"episodes": 7},
            [f"1 episode ended as `error`; {CHANGED}", MIXED], 3, [None] * 7,
        ),
    ],
)  # fmt: skip
def test_a_run_that_goes_on_makes_again_what_it_should(
    collect, set_code, before, code, now, options, lines, made, codes
):
    collect(before)
    set_code(code)
    result, said = collect(now, **options)
    assert (said, result.made, codes_of(result.data_set)) == (lines, made, codes)


def test_errors_of_earlier_runs_count_among_the_attempts_of_this_one(collect):
    collect({1: "error", 2: "slipped"})
    result, _ = collect({})
    assert (result.stop.attempts, result.stop.codes) == (5, {"error": 1, "slipped": 1})


def test_an_error_that_was_made_again_with_the_new_code_stays(collect, set_code):
    collect({1: "error", 3: "error"})
    set_code("new")
    collect({3: "error"})
    result, lines = collect({})
    assert (result.made, lines) == (0, [kept(3)])


def test_retry_error_without_an_error_says_so(collect):
    assert collect({2: "slipped"}, retry=Retry.error)[1] == []  # a new data set
    assert collect({}, retry=Retry.error)[1] == [
        "retry=error: no episode that is there ended as `error`, so none is made again"
    ]


def test_retry_all_makes_every_episode_again_and_leaves_a_data_set_of_one_code(collect, set_code, capsys):
    collect({0: "collision", 1: "error"})
    set_code("new")
    result, lines = collect({4: "slipped"}, retry=Retry.all)
    assert lines == ["5 episodes of earlier runs; made again now: retry=all"]
    assert (result.made, codes_of(result.data_set)) == (5, [None] * 4 + ["slipped"])
    assert not (result.data_set.path / "replaced").exists()
    assert collect({})[1] == []
    check([str(result.data_set.path)])
    assert "different code" not in capsys.readouterr().err


def test_pictures_and_pages_of_episodes_that_were_made_again_are_removed(collect):
    folder = collect({1: "error", 3: "error"})[0].data_set.path
    outdated = ["clip-3.mp4", "phases-1.png", "report.html", "report.json", "view-1.html"]
    kept_files = ["notes-1.txt", "phases-0.png", "phases-11.png", "view-0.html", "view-11.html"]
    for name in [*outdated, *kept_files]:
        (folder / name).touch()
    _, lines = collect({}, retry=Retry.error)
    assert lines[-1] == f"removed, since they show episodes that were made again: {', '.join(outdated)}"
    assert not any((folder / name).exists() for name in outdated)
    assert all((folder / name).exists() for name in kept_files)


def test_an_error_of_an_older_version_without_a_note_is_made_again(collect):
    result, _ = collect({})
    data = result.data_set
    with DataSet.open(data.path) as writer:
        writer.set_aside(4)
        writer.write(EpisodeRecord(number=4, seed=4, success=False, code="error"))
    _, lines = collect({})
    assert lines == ["1 episode ended as `error`; made again now: it is not known which code made them"]
    assert codes_of(data) == [None] * 5


@pytest.mark.slow
def test_a_run_that_adds_episodes_of_other_code_says_so(collect, set_code, tmp_path, capsys):
    collect({}, episodes=3)
    assert collect({}, episodes=4)[1] == []  # the same code
    set_code("new")
    assert collect({}, episodes=4)[1] == [kept(4)]  # nothing is added
    result, lines = collect({}, episodes=5)
    assert lines == [MIXED]
    check([str(result.data_set.path)])
    assert "its episodes were made with different code of unlatch." in capsys.readouterr().err
    report([str(result.data_set.path), "clips=0", "pictures=0", f"out={tmp_path}/page.html"])
    assert "made with different code of unlatch" in (tmp_path / "page.html").read_text()


def test_each_shard_makes_its_own_errors_again(collect, set_code):
    collect(dict.fromkeys(range(5), "error"))
    set_code("new")
    assert collect({}, shard="1/2")[0].made == 3
    result, _ = collect({}, shard="2/2")
    assert (result.made, codes_of(result.data_set)) == (2, [None] * 5)


def test_a_run_that_was_given_up_goes_on_when_the_code_has_changed(collect, set_code):
    result, _ = collect(dict.fromkeys(range(5), "error"), give_up_after=2)
    assert (result.stop.is_hopeless, codes_of(result.data_set)) == (True, ["error", "error"])
    assert collect({}, give_up_after=2)[0].made == 0
    set_code("new")
    result, _ = collect({}, give_up_after=2)
    assert (result.made, codes_of(result.data_set)) == (5, [None] * 5)


def test_a_run_that_has_its_successes_makes_no_error_again(collect, set_code):
    result, _ = collect({0: "error"}, successes=2, episodes=20)
    set_code("new")
    result, lines = collect({}, successes=2, episodes=20)
    assert (result.made, lines, codes_of(result.data_set)) == (0, [kept(2)], ["error", None, None])
    result, _ = collect({}, successes=3, episodes=20)
    assert (result.made, result.stop.successes, codes_of(result.data_set)) == (1, 3, [None] * 3)


def test_an_interrupted_retry_goes_on_with_the_same_command(collect, set_code, monkeypatch):
    collect(dict.fromkeys(range(4), "error"), episodes=4)
    set_code("new")
    write = DataSet.write

    def stop_at_the_third(data_set: DataSet, record: EpisodeRecord) -> bool:
        if record.number == 2:
            raise KeyboardInterrupt
        return write(data_set, record)

    monkeypatch.setattr(DataSet, "write", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        collect({}, episodes=4)
    monkeypatch.undo()
    set_code("new")
    result, lines = collect({}, episodes=4)
    assert lines == [f"2 episodes ended as `error`; {CHANGED}"]
    assert (result.made, codes_of(result.data_set)) == (2, [None] * 4)


@pytest.mark.heavy
@pytest.mark.slow
def test_workers_make_errors_again_and_a_killed_worker_notes_its_code(collect, set_code):
    from unlatch.workflows.runs.schema import ExecutorCfg

    options = {"executor": ExecutorCfg(max_retries=0), "workers": 2}
    result, _ = collect({1: "error", 3: "dies"}, **options)
    assert codes_of(result.data_set) == [None, "error", None, "error", None]
    assert collect({}, **options)[0].made == 0
    set_code("new")
    result, lines = collect({3: "dies"}, **options)
    assert lines == [f"2 episodes ended as `error`; {CHANGED}", MIXED]
    assert codes_of(result.data_set) == [None, None, None, "error", None]
    result, lines = collect({}, **options)
    assert lines == [kept(3)]
    assert result.data_set.read(3).evidence["made_with"]["packages"]["unlatch"]["sha256"] == "new"


def test_the_summary_says_how_errors_are_made_again(collect, tmp_path, capsys):
    collect({1: "error"})
    cfg = load("close_drawer", "executor=serial", "pictures=0", f"out={tmp_path}/data", "episodes=5")
    assert run_report.run_and_report(RunRequest(cfg, lambda data_set: FakeJob(cfg, data_set))) == FAILED
    assert "1 ended as `error`; the same command makes them again once the code has changed" in capsys.readouterr().err
