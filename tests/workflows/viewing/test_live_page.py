"""What the page says of data sets, where it is served, and the scene of an episode."""

import os
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.recording import index
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.workflows.runs.code_versions import header_of
from unlatch.workflows.runs.executors import Outcome
from unlatch.workflows.runs.live_state import LiveState
from unlatch.workflows.runs.progress import RunClock, pace_of, read_run_times
from unlatch.workflows.runs.statistics import RunStatistics
from unlatch.workflows.viewing.live_page import LAST_FAILURES, CurrentEpisode, PageContent, describe_phase
from unlatch.workflows.viewing.page_server import PageProcess
from unlatch.workflows.viewing.scene_nodes import short_label


def write_episodes(folder: Path, codes: list[str | None], *, first: int = 0) -> DataSet:
    with DataSet.create_or_resume(folder, header={"config": {}}) as data_set:
        clock = RunClock(data_set.path, "host-run")
        for number, code in enumerate(codes, first):
            evidence = {} if code is None else {"message": f"Why {number} failed"}
            data_set.write(EpisodeRecord(number=number, seed=0, success=code is None, code=code, evidence=evidence))
            clock.count(Outcome(number, code is None, code))
    return data_set


def shown_of(*folders: Path, content: PageContent | None = None) -> dict[str, Any]:
    """Returns what a page says of folders, or what one says now that has already said something."""
    content = content or PageContent(list(folders))
    content.update()
    return content.to_dict()


def test_the_page_has_the_numbers_of_the_report(tmp_path):
    data_set = write_episodes(tmp_path / "one", [None, "slipped", None, "collision", "slipped"])
    (shown,) = shown_of(tmp_path)["sets"]
    statistics = RunStatistics.of(data_set.each_summary())
    success = shown["measures"][0]
    assert (success["name"], success["n"], success["successes"]) == ("success", 5, 2)
    assert tuple(success["interval_95"]) == statistics.interval
    assert success["text"] == statistics.success_text()
    assert shown["codes"] == statistics.codes == {"slipped": 2, "collision": 1}
    assert shown["per_hour"] == pace_of(read_run_times(data_set.path)).per_hour


@pytest.mark.parametrize(("range_share", "names"), [(0.89, ["success"]), (0.9, ["success", "strict"])])
def test_the_strict_rate_is_shown_once_an_episode_meets_it(tmp_path, monkeypatch, range_share, names):
    monkeypatch.setattr(index, "_find_range_share", lambda record: range_share)
    write_episodes(tmp_path / "one", [None, "slipped"])
    assert [item["name"] for item in shown_of(tmp_path)["sets"][0]["measures"]] == names


def test_the_page_grows_with_its_data_sets(tmp_path):
    content = PageContent([tmp_path / "one", tmp_path / "two"])

    def counts() -> list[tuple[str, int]]:
        return [(item["name"], item["n"]) for item in shown_of(content=content)["sets"]]

    assert counts() == []
    assert str(tmp_path / "one") in content.to_dict()["waiting_for"]
    write_episodes(tmp_path / "two", [None])
    assert counts() == [("two", 1)]
    write_episodes(tmp_path / "two", ["slipped"], first=1)
    write_episodes(tmp_path / "one", [None])
    assert counts() == [("one", 1), ("two", 2)]


def test_the_last_failures_come_first_with_reason_and_command(tmp_path):
    data_set = write_episodes(tmp_path / "one", [*["slipped"] * 12, None, "collision"])
    now = time.time()
    for number in data_set.numbers():
        os.utime(data_set.folder_of(number), (now - 100 + number, now - 100 + number))
    os.utime(data_set.folder_of(4), (now, now))
    failures = shown_of(tmp_path)["failures"]
    assert [item["number"] for item in failures] == [4, 13, 11, 10, 9, 8, 7, 6, 5, 3]
    assert len(failures) == LAST_FAILURES
    command = f"unlatch view {tmp_path}/one episode=13"
    found = [failures[1][key] for key in ("code", "message", "command")]
    assert found == ["collision", "Why 13 failed", command]
    assert 0.0 <= failures[0]["age_s"] < 60.0


def test_a_damaged_data_set_is_named_on_the_page(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "dataset.json").write_text("{")
    assert "dataset.json" in shown_of(tmp_path)["sets"][0]["problem"]


def test_a_taken_port_is_replaced_by_a_free_one(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        page = PageProcess([tmp_path], host="127.0.0.1", port=port, title="one")
        assert page.port != port
        assert page.url.startswith(f"http://127.0.0.1:{page.port}/?token=")
        socket.create_connection(("127.0.0.1", page.port)).close()  # it listens before its process runs
        page._socket.close()


def test_an_address_of_another_computer_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"host=192\.0\.2\.1 cannot be listened at: .* Expected an address of this"):
        PageProcess([tmp_path], host="192.0.2.1", port=0, title="one")


@pytest.mark.parametrize(
    ("phase", "frame", "words"), [("idle", 2, "planning"), ("idle", 3, "moved by the policy"), ("follow", 2, "follow")]
)
def test_the_phase_says_who_moves_the_arm(phase, frame, words):
    where = {"assets": {}, "layout": {}, "acted_on": [], "values": {}}
    state = LiveState(number=0, at=0.0, time_s=0.0, frame=frame, phase=phase, instruction="", **where)
    assert describe_phase(state, initial_frames=2) == words


@pytest.mark.slow
@pytest.mark.integration
def test_the_scene_shows_the_last_episode_where_it_was_recorded(tmp_path, drawer_episode):
    from unlatch.workflows.viewing.scene_nodes import LiveScene, start_viser, stop_viser

    cfg, record = drawer_episode
    with DataSet.create_or_resume(tmp_path / "set", header=header_of(cfg)) as data_set:
        data_set.write(record)
    server = start_viser()
    try:
        scene = LiveScene(server)
        current = CurrentEpisode(scene)
        current.update([(data_set.path, None)])
        assert current.about is None
        current.update([(data_set.path, record.number)])
        assert current.about is not None
        assert (current.about["number"], current.about["phase"]) == (record.number, "success")
        assert current.about["problem"] == ""
        hand = scene.nodes._bodies["robot/franka_panda/panda_hand"][1]
        np.testing.assert_allclose(hand.position, record.arrays["robots.franka_panda.left.ee_position"][0], atol=1e-6)
    finally:
        stop_viser(server)


def test_keypoints_have_short_labels_that_do_not_print_over_each_other():
    names = ("articulated_object_head", "articulated_object_tail", "link_contact_point", "base_contact_point", "mine")
    assert [short_label(name) for name in names] == ["head", "tail", "link contact", "base contact", "mine"]
