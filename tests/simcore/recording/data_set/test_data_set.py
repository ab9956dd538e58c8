"""A data set: made, resumed, refused; episodes that come back as they were."""

import errno
import json
import os
import pickle
import resource
import shutil
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.errors import FormatVersionError, RecordingError
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import FORMAT_VERSION, EpisodeRecord

HEADER = {"config": {"task": {"name": "open_microwave"}, "world": {"physics_hz": 240}}, "seed": 7}


@pytest.fixture
def data_set(tmp_path):
    with DataSet.create_or_resume(tmp_path / "data", header=HEADER) as made:
        yield made


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def fields_of(record):
    fields = {**vars(record)}
    return {key: value for key, value in fields.items() if key not in ("arrays", "timings_ms", "data_set")}


def assert_same_record(a: EpisodeRecord, b: EpisodeRecord):
    assert fields_of(a) == fields_of(b)
    assert a.arrays.keys() == b.arrays.keys()
    for key, array in a.arrays.items():
        assert array.dtype == b.arrays[key].dtype
        assert array.tobytes() == b.arrays[key].tobytes(), key


class TestEpisodes:
    def test_an_attempt_is_read_exactly_as_it_was_written(self, data_set, make_record):
        record = make_record(3)
        assert data_set.write(record)
        assert_same_record(data_set.read(3), record)

    def test_a_failed_attempt_without_arrays_is_read_back(self, data_set, make_record):
        record = make_record(
            5, success=False, code="error", evidence={"traceback": "..."}, arrays={}, skills=[], goal={}, settle=None
        )
        data_set.write(record)
        assert_same_record(data_set.read(5), record)
        assert data_set.read(5).n_actions == 0

    def test_an_episode_is_written_to_its_shard(self, data_set, make_record):
        data_set.write(make_record(1_234_567))
        folder = data_set.path / "episodes" / "0001234" / "0001234567"
        assert sorted(path.name for path in folder.iterdir()) == ["episode.json", "state.npz"]
        content = json.loads((folder / "episode.json").read_text())
        assert (content["success"], content["code"], content["assets"]) == (True, None, {"microwave": "ab12"})

    def test_equal_attempts_have_equal_array_files(self, tmp_path, make_record):
        states = []
        for name in "ab":
            with DataSet.create_or_resume(tmp_path / name, header=HEADER) as data_set:
                data_set.write(make_record(0))
                states.append((data_set.folder_of(0) / "state.npz").read_bytes())
        assert states[0] == states[1]

    def test_a_second_attempt_with_the_same_number_is_not_written(self, data_set, make_record):
        assert data_set.write(make_record(0))
        assert not data_set.write(make_record(0, seed=99))
        assert data_set.read(0).seed == 1000
        assert [summary.seed for summary in data_set.summaries()] == [1000]

    def test_numbers_and_missing_read_the_folders(self, data_set, make_record):
        for number in (7, 2, 1500):
            data_set.write(make_record(number))
        assert data_set.numbers() == [2, 7, 1500] == [record.number for record in data_set]
        assert data_set[7].number == 7
        assert data_set.missing([1500, 3, 2, 9999, 1]) == [3, 9999, 1]
        assert (len(data_set), 7 in data_set, 8 in data_set) == (3, True, False)
        shutil.rmtree(data_set.folder_of(7))
        assert data_set.missing(range(5, 9)) == [5, 6, 7, 8]

    def test_a_record_can_be_read_without_arrays(self, data_set, make_record):
        data_set.write(make_record(0))
        assert data_set.read(0, arrays=False).arrays == {}

    def test_a_frame_can_be_read_by_its_index(self, data_set, make_record):
        data_set.write(make_record(0))
        state = data_set.read(0).state_at(10)
        assert state["objects.microwave.joint_positions"][1] == pytest.approx(0.4)
        assert not any(key.startswith(("actions", "contacts", "speeds")) for key in state)
        assert data_set.read(0).state_at(-1)["time"] == pytest.approx(20 / 30)
        with pytest.raises(RecordingError, match=r"has no frame 21\. Expected -21 to 20"):
            data_set.read(0).state_at(21)

    def test_the_time_of_writing_is_recorded(self, data_set, make_record):
        record = make_record(0)
        data_set.write(record)
        assert record.timings_ms["write"] >= data_set.read(0).timings_ms["write"] > 0.0

    @pytest.mark.parametrize("number", [-1, 10**10, True])
    def test_a_number_out_of_range_is_refused(self, data_set, number):
        with pytest.raises(RecordingError, match=f"Episode number {number} is out of range"):
            data_set.folder_of(number)

    def test_a_missing_episode_is_named_in_the_error(self, data_set):
        with pytest.raises(RecordingError, match=r"Episode 4 is not in '.*data'\. It has 0 episodes"):
            data_set.read(4)

    def test_a_folder_copied_to_another_number_is_refused(self, data_set, make_record):
        data_set.write(make_record(0))
        shutil.copytree(data_set.folder_of(0), data_set.folder_of(1))
        with pytest.raises(RecordingError, match="holds episode 0, expected 1"):
            data_set.read(1)

    def test_a_value_that_cannot_be_stored_writes_nothing(self, data_set, make_record):
        before = tree(data_set.path)
        with pytest.raises(RecordingError, match=r"'layout\.x' holds a object"):
            data_set.write(make_record(0, layout={"x": object()}))
        with pytest.raises(RecordingError, match="Array 'time' of type object"):
            data_set.write(make_record(0, arrays={"time": np.array([None])}))
        assert tree(data_set.path) == before

    @pytest.mark.parametrize(("success", "code"), [(True, "collision"), (False, None), (False, "bad_luck")])
    def test_success_and_code_must_agree(self, make_record, success, code):
        with pytest.raises(RecordingError, match=f"has success={success} with code={code!r}"):
            make_record(success=success, code=code)


class TestReplacedErrors:
    @pytest.fixture
    def with_errors(self, data_set, make_record):
        for number in range(3):
            changes = {"success": False, "code": "error", "evidence": {"message": "a bug"}} if number else {}
            data_set.write(make_record(number, **changes))
        return data_set

    def test_an_error_is_replaced_where_that_is_allowed(self, with_errors, make_record):
        with_errors.replace_errors([1])
        assert with_errors.write(make_record(1, seed=99))
        assert not with_errors.write(make_record(2, seed=99))
        assert [(item.number, item.seed, item.code) for item in with_errors.summaries()] == [
            (0, 1000, None),
            (1, 99, None),
            (2, 1002, "error"),
        ]
        assert with_errors.read(1).seed == 99
        assert check_dataset(with_errors.path) == []

    def test_an_error_can_be_replaced_by_an_error(self, with_errors, make_record):
        with_errors.replace_errors([1])
        assert with_errors.write(make_record(1, success=False, code="error", evidence={"message": "another bug"}))
        assert with_errors.read(1).message == "another bug"

    def test_only_an_error_is_replaced(self, with_errors, make_record):
        with_errors.replace_errors(range(3))
        assert not with_errors.write(make_record(0, seed=99))
        assert with_errors.write(make_record(1, seed=98))
        assert not with_errors.write(make_record(1, seed=99))
        assert [with_errors.read(number).seed for number in range(2)] == [1000, 98]

    def test_an_episode_that_another_writer_replaced_meanwhile_stays(self, with_errors, make_record, monkeypatch):
        with_errors.replace_errors([1])
        other = DataSet.open(with_errors.path, worker="other")
        other.replace_errors([1])
        fill = DataSet._write_or_replace

        def replace_late(data_set, number, fill_draft):
            monkeypatch.setattr(DataSet, "_write_or_replace", fill)
            with other:
                assert other.write(make_record(1, seed=98))
            return fill(data_set, number, fill_draft)

        monkeypatch.setattr(DataSet, "_write_or_replace", replace_late)
        assert not with_errors.write(make_record(1, success=False, code="error"))
        assert with_errors.read(1).seed == 98
        assert [item.seed for item in with_errors.summaries()] == [1000, 98, 1002]

    def test_a_failed_replacement_leaves_the_old_episode(self, with_errors, make_record, monkeypatch):
        with_errors.replace_errors([1])

        def refuse(descriptor, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        before = [path for path in tree(with_errors.path) if not path.startswith("replaced")]
        monkeypatch.setattr(os, "write", refuse)
        with pytest.raises(RecordingError, match="No space left on device"):
            with_errors.write(make_record(1))
        monkeypatch.undo()
        assert [path for path in tree(with_errors.path) if not path.startswith("replaced")] == before
        assert with_errors.read(1).code == "error"


class TestResume:
    def test_a_run_with_the_same_header_resumes(self, data_set, make_record):
        data_set.write(make_record(0))
        with DataSet.create_or_resume(data_set.path, header=json.loads(json.dumps(HEADER))) as again:
            assert again.missing(range(3)) == [1, 2]
            assert again.header == HEADER

    def test_another_header_is_refused_and_every_differing_key_is_listed(self, data_set, make_record):
        data_set.write(make_record(0))
        before = tree(data_set.path)
        other = {"config": {"task": {"name": "open_drawer"}, "world": {}}, "seed": 8}
        with pytest.raises(RecordingError) as e:
            DataSet.create_or_resume(data_set.path, header=other)
        assert str(e.value) == (
            f"Data set '{data_set.path}' was made with another configuration; 3 values differ: "
            'config.task.name: there "open_microwave", now "open_drawer"; '
            "config.world.physics_hz: there 240, now absent; seed: there 7, now 8. "
            "Expected the same values on resume. Use them, or choose another folder."
        )
        assert tree(data_set.path) == before

    def test_at_most_five_differences_are_listed_and_the_task_comes_first(self, tmp_path):
        was, now = (
            {f"a{n}": n + more for n in range(9)} | {"task": {"name": name}} for more, name in ((0, "x"), (1, "y"))
        )
        DataSet.create_or_resume(tmp_path / "d", header={"config": was}).close()
        with pytest.raises(RecordingError) as e:
            DataSet.create_or_resume(tmp_path / "d", header={"config": now})
        assert '10 values differ: config.task.name: there "x", now "y"; config.a0: there 0, now 1;' in str(e.value)
        assert "config.a3: there 3, now 4; and 5 more. Expected the same values on resume." in str(e.value)
        assert len(e.value.values["differences"]) == 10

    def test_info_is_written_once_and_may_differ_on_resume(self, tmp_path):
        DataSet.create_or_resume(tmp_path / "d", header=HEADER, info={"host": "a"}).close()
        again = DataSet.create_or_resume(tmp_path / "d", header=HEADER, info={"host": "b"})
        again.close()
        assert again.info == {"host": "a"}

    def test_another_format_version_is_refused(self, data_set):
        path = data_set.path / "dataset.json"
        path.write_text(path.read_text().replace(f'"format_version": {FORMAT_VERSION}', '"format_version": 1'))
        for call in (
            lambda: DataSet.open(data_set.path),
            lambda: DataSet.create_or_resume(data_set.path, header=HEADER),
        ):
            with pytest.raises(FormatVersionError) as e:
                call()
            assert e.value.version == 1
            assert e.value.message == (
                f"File '{path}' has format version 1, expected 2, 3 or 4. Make it again with its command, or read it "
                "with the version of unlatch that wrote it; dataset.json has both."
            )

    def test_an_episode_of_another_format_version_is_refused(self, data_set, make_record):
        data_set.write(make_record(0))
        path = data_set.folder_of(0) / "episode.json"
        path.write_text(path.read_text().replace(f'"format_version": {FORMAT_VERSION}', '"format_version": 0'))
        with pytest.raises(FormatVersionError, match="format version 0"):
            data_set.read(0)

    def test_an_altered_header_is_refused(self, data_set):
        path = data_set.path / "dataset.json"
        path.write_text(path.read_text().replace('"seed": 7', '"seed": 8'))
        with pytest.raises(RecordingError, match="was changed since it was written"):
            DataSet.open(data_set.path)

    def test_a_data_set_can_be_sent_to_another_process_and_written_there(self, data_set, make_record):
        there = pickle.loads(pickle.dumps(data_set))  # what multiprocessing does
        assert there.write(make_record(0))
        there.close()
        assert data_set.numbers() == [0]

    def test_open_needs_a_data_set(self, tmp_path):
        for path in (tmp_path, tmp_path / "nothing"):
            with pytest.raises(RecordingError, match=r"is not a data set|is not there"):
                DataSet.open(path)
        assert tree(tmp_path) == []

    def test_open_names_the_data_sets_below(self, tmp_path):
        for name in ("one", "two"):
            DataSet.create_or_resume(tmp_path / name, header={}).close()
        with pytest.raises(RecordingError, match=r"has data sets below it: one, two\. Name one of them\.$"):
            DataSet.open(tmp_path)

    @pytest.mark.parametrize("worker", ["", "a/b", "../a", ".hidden", "a" * 65, "a\n"])
    def test_a_worker_name_must_be_a_valid_file_name(self, tmp_path, worker):
        with pytest.raises(RecordingError, match="cannot name a file"):
            DataSet.create_or_resume(tmp_path / "d", header=HEADER, worker=worker)
        assert tree(tmp_path) == []

    def test_the_home_folder_is_expanded(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        with DataSet.create_or_resume("~/data", header=HEADER) as data_set:
            assert data_set.path == tmp_path / "data"


class TestRefused:
    """Each of these writes nothing."""

    def refused(self, path, match, *, root):
        before = tree(root)
        with pytest.raises(RecordingError, match=match) as e:
            DataSet.create_or_resume(path, header=HEADER)
        assert tree(root) == before
        assert "\n" not in str(e.value)

    def test_a_folder_with_other_files_is_refused(self, tmp_path):
        (tmp_path / "thesis.tex").write_text("x")
        (tmp_path / "figures").mkdir()
        self.refused(
            tmp_path,
            r"is not a data set of ours: it has no dataset\.json and holds 'figures', 'thesis\.tex' \(2 entries\)",
            root=tmp_path,
        )

    def test_a_data_set_of_another_program_is_refused(self, tmp_path):
        (tmp_path / "dataset.json").write_text('{"name": "other"}')
        self.refused(tmp_path, r"is not ours: its format is None, expected 'unlatch-dataset'", root=tmp_path)

    def test_a_file_in_place_of_the_folder_is_refused(self, tmp_path):
        (tmp_path / "data").write_text("x")
        self.refused(tmp_path / "data", "cannot be made: '.*data' is a file", root=tmp_path)
        self.refused(tmp_path / "data" / "deep" / "er", "cannot be made: '.*data' is a file", root=tmp_path)

    def test_a_dangling_link_in_place_of_the_folder_is_refused(self, tmp_path):
        (tmp_path / "data").symlink_to(tmp_path / "nowhere")
        self.refused(tmp_path / "data", "is a file", root=tmp_path)

    def test_a_dataset_json_that_is_a_link_or_a_folder_is_refused(self, tmp_path):
        (tmp_path / "dataset.json").symlink_to("/etc/hostname")
        self.refused(tmp_path, "cannot be read|not a plain file", root=tmp_path)
        (tmp_path / "dataset.json").unlink()
        (tmp_path / "dataset.json").mkdir()
        self.refused(tmp_path, "cannot be read|not a plain file", root=tmp_path)

    def test_a_truncated_dataset_json_is_refused(self, data_set, tmp_path):
        path = data_set.path / "dataset.json"
        data = path.read_bytes()
        for length in range(0, len(data) - 1, 11):
            path.write_bytes(data[:length])
            self.refused(data_set.path, "not valid JSON", root=tmp_path)

    @pytest.mark.parametrize("deep", ["", "a/b"])
    def test_a_read_only_disk_gives_an_error(self, tmp_path, monkeypatch, deep):
        def refuse(*args, **kwargs):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        real_open = os.open
        monkeypatch.setattr(
            os, "open", lambda path, flags, *a, **k: (refuse if flags & os.O_CREAT else real_open)(path, flags, *a, **k)
        )
        self.refused(tmp_path / deep, "cannot be written: Read-only file system", root=tmp_path)

    def test_a_folder_without_write_permission_is_refused(self):
        folder = Path(tempfile.mkdtemp(dir="/tmp"))
        try:
            folder.chmod(0o555)
            assert in_child(lambda: try_as_nobody(folder)) == 0
            assert tree(folder) == []
        finally:
            folder.chmod(0o755)
            shutil.rmtree(folder)

    def test_a_header_with_a_value_that_has_no_json_form_is_refused(self, tmp_path):
        with pytest.raises(RecordingError, match=r"'header\.x' holds a object"):
            DataSet.create_or_resume(tmp_path / "d", header={"x": object()})
        assert tree(tmp_path) == []


def in_child(function):
    """The exit status of a function in a forked process; 99 if it raised."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = function() or 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def try_as_nobody(folder):
    if os.geteuid() == 0:  # permission bits do not bind the superuser
        os.setgid(65534)
        os.setuid(65534)
    try:
        DataSet.create_or_resume(folder, header=HEADER)
    except RecordingError as exc:
        return 0 if "cannot be written: Permission denied" in str(exc) else 2
    return 3


class TestFullDisk:
    def test_a_failed_write_leaves_no_files_and_can_be_repeated(self, data_set, make_record, monkeypatch):
        before = tree(data_set.path)
        real_write = os.write

        def write_half(descriptor, data):
            if len(data) > 1000:
                real_write(descriptor, data[:500])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real_write(descriptor, data)

        monkeypatch.setattr(os, "write", write_half)
        with pytest.raises(RecordingError, match=r"Episode 0 cannot be written into .* No space left on device"):
            data_set.write(make_record(0))
        assert tree(data_set.path) == before
        monkeypatch.undo()
        assert data_set.write(make_record(0))
        assert check_dataset(data_set.path) == []

    def test_a_limit_on_file_size_gives_an_error_and_loses_nothing(self, data_set, make_record):
        def write_too_much():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
            try:
                data_set.write(make_record(0))
            except RecordingError as exc:
                return 0 if "File too large" in str(exc) else 2
            return 3

        assert in_child(write_too_much) == 0
        assert data_set.numbers() == []
        assert data_set.write(make_record(0))

    def test_an_episode_is_kept_when_the_index_cannot_be_written(self, data_set, make_record, caplog):
        (data_set.path / "index").write_text("in the way")
        assert data_set.write(make_record(0))
        assert "the episode itself is safe" in caplog.text
        assert data_set.numbers() == [0]
