"""A data set: made, resumed, refused; episodes that come back as they were."""

import errno
import json
import os
import pickle
import shutil

import pytest

from tests.simcore.recording.builders import make_record, never_began
from tests.simcore.refusals import refused
from unlatch.simcore.errors import FormatVersionError, RecordingError
from unlatch.simcore.recording.check import check_dataset
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import FORMAT_VERSION

HEADER = {"config": {"task": {"name": "open_microwave"}, "world": {"physics_hz": 240}}, "seed": 7}


def create(path, **keys):
    return DataSet.create_or_resume(path, **{"header": HEADER, **keys})


@pytest.fixture
def data_set(tmp_path):
    with create(tmp_path / "data") as made:
        yield made


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def replace_in(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def no_space(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class TestEpisodes:
    @pytest.mark.parametrize("record", [make_record(3), never_began("error", 3)], ids=["success", "without arrays"])
    def test_an_attempt_is_read_exactly_as_it_was_written(self, data_set, record):
        assert data_set.write(record)
        found = data_set.read(3)
        own = [{**vars(each), "arrays": None, "timings_ms": None, "data_set": None} for each in (found, record)]
        assert own[0] == own[1]
        assert found.arrays.keys() == record.arrays.keys()
        for key, array in found.arrays.items():
            assert (array.dtype, array.tobytes()) == (record.arrays[key].dtype, record.arrays[key].tobytes()), key
        assert data_set.read(3, arrays=False).arrays == {}
        assert record.timings_ms["write"] >= found.timings_ms["write"] > 0.0

    def test_a_second_attempt_with_the_same_number_is_not_written(self, data_set):
        assert data_set.write(make_record(0))
        assert not data_set.write(make_record(0, seed=99))
        assert data_set.read(0).seed == 1000
        assert [summary.seed for summary in data_set.summaries()] == [1000]

    def test_numbers_and_missing_read_the_folders(self, data_set):
        for number in (7, 2, 1500):
            data_set.write(make_record(number))
        assert data_set.numbers() == [2, 7, 1500] == [record.number for record in data_set]
        assert data_set[7].number == 7
        assert data_set.missing([1500, 3, 2, 9999, 1]) == [3, 9999, 1]
        assert (len(data_set), 7 in data_set, 8 in data_set) == (3, True, False)
        shutil.rmtree(data_set.folder_of(7))
        assert data_set.missing(range(5, 9)) == [5, 6, 7, 8]

    def test_a_frame_can_be_read_by_its_index(self, data_set):
        data_set.write(make_record(0))
        record = data_set.read(0)
        state = record.state_at(10)
        assert state["objects.microwave.joint_positions"][1] == pytest.approx(0.4)
        assert not any(key.startswith(("actions", "contacts", "speeds")) for key in state)
        assert record.state_at(-1)["time"] == pytest.approx(20 / 30)
        with pytest.raises(RecordingError, match=r"has no frame 21\. Expected -21 to 20"):
            record.state_at(21)

    @pytest.mark.parametrize("number", [10**10, True])
    def test_a_number_out_of_range_is_refused(self, data_set, number):
        with pytest.raises(RecordingError, match=f"Episode number {number} is out of range"):
            data_set.folder_of(number)

    def test_an_episode_that_is_missing_or_of_another_number_is_refused(self, data_set):
        with pytest.raises(RecordingError, match=r"Episode 4 is not in '.*data'\. It has 0 episodes"):
            data_set.read(4)
        data_set.write(make_record(0))
        shutil.copytree(data_set.folder_of(0), data_set.folder_of(1))
        with pytest.raises(RecordingError, match="holds episode 0, expected 1"):
            data_set.read(1)

    @pytest.mark.parametrize(("success", "code"), [(True, "collision"), (False, None), (False, "bad_luck")])
    def test_success_and_code_must_agree(self, success, code):
        with pytest.raises(RecordingError, match=f"has success={success} with code={code!r}"):
            make_record(success=success, code=code)


class TestReplacedErrors:
    @pytest.fixture
    def with_errors(self, data_set):
        data_set.write(make_record(0))
        for number in (1, 2):
            data_set.write(make_record(number, success=False, code="error", evidence={"message": "a bug"}))
        return data_set

    def test_an_error_is_replaced_once_where_that_is_allowed_and_nothing_else_is(self, with_errors):
        with_errors.replace_errors([0, 1])
        assert not with_errors.write(make_record(0, seed=99))
        assert with_errors.write(make_record(1, seed=98))
        assert not with_errors.write(make_record(1, seed=99))
        assert not with_errors.write(make_record(2, seed=99))
        found = [(item.number, item.seed, item.code) for item in with_errors.summaries()]
        assert found == [(0, 1000, None), (1, 98, None), (2, 1002, "error")]
        assert with_errors.read(1).seed == 98
        assert check_dataset(with_errors.path) == []

    def test_an_episode_that_another_writer_replaced_meanwhile_stays(self, with_errors, monkeypatch):
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

    def test_an_error_can_be_replaced_by_an_error(self, with_errors):
        with_errors.replace_errors([1])
        assert with_errors.write(make_record(1, success=False, code="error", evidence={"message": "another bug"}))
        assert with_errors.read(1).message == "another bug"


class TestResume:
    def test_a_run_with_the_same_header_resumes_whatever_its_info(self, tmp_path):
        with create(tmp_path / "d", info={"host": "a"}) as data_set:
            data_set.write(make_record(0))
        with create(tmp_path / "d", header=json.loads(json.dumps(HEADER)), info={"host": "b"}) as again:
            assert again.missing(range(3)) == [1, 2]
            assert (again.header, again.info) == (HEADER, {"host": "a"})

    def test_at_most_five_differences_are_listed_and_the_task_comes_first(self, tmp_path):
        was, now = (
            {f"a{n}": n + more for n in range(9)} | {"task": {"name": name}} for more, name in ((0, "x"), (1, "y"))
        )
        create(tmp_path / "d", header={"config": was}).close()
        with pytest.raises(RecordingError) as e:
            create(tmp_path / "d", header={"config": now})
        assert '10 values differ: config.task.name: there "x", now "y"; config.a0: there 0, now 1;' in str(e.value)
        assert "config.a3: there 3, now 4; and 5 more. Expected the same values on resume." in str(e.value)
        assert len(e.value.values["differences"]) == 10

    @pytest.mark.parametrize("call", [DataSet.open, create])
    def test_another_format_version_and_an_altered_header_are_refused(self, data_set, call):
        path = data_set.path / "dataset.json"
        whole = path.read_text()
        replace_in(path, f'"format_version": {FORMAT_VERSION}', '"format_version": 1')
        message = (
            f"File '{path}' has format version 1, expected 2, 3 or 4. Make it again with its command, or read it "
            "with the version of unlatch that wrote it; dataset.json has both."
        )
        with refused(FormatVersionError, message):
            call(data_set.path)
        path.write_text(whole.replace('"seed": 7', '"seed": 8'))
        with pytest.raises(RecordingError, match="was changed since it was written"):
            call(data_set.path)

    def test_a_data_set_can_be_sent_to_another_process_and_written_there(self, data_set):
        there = pickle.loads(pickle.dumps(data_set))  # what multiprocessing does
        assert there.write(make_record(0))
        there.close()
        assert data_set.numbers() == [0]

    def test_open_needs_a_data_set_and_names_those_below(self, tmp_path):
        for path in (tmp_path, tmp_path / "nothing"):
            with pytest.raises(RecordingError, match=r"is not a data set|is not there"):
                DataSet.open(path)
        assert tree(tmp_path) == []
        for name in ("one", "two"):
            create(tmp_path / name).close()
        with pytest.raises(RecordingError, match=r"has data sets below it: one, two\. Name one of them\.$"):
            DataSet.open(tmp_path)

    @pytest.mark.parametrize("worker", ["", "a/b", "../a", ".hidden", "a" * 65, "a\n"])
    def test_a_worker_name_must_be_a_valid_file_name(self, tmp_path, worker):
        with pytest.raises(RecordingError, match="cannot name a file"):
            create(tmp_path / "d", worker=worker)
        assert tree(tmp_path) == []


class TestRefused:
    """Each of these writes nothing."""

    @pytest.mark.parametrize(
        ("prepare", "path", "match"),
        [
            (
                lambda folder: (folder / "thesis.tex").write_text("x"),
                "",
                r"has no dataset\.json and holds 'thesis\.tex' \(",
            ),
            (
                lambda folder: (folder / "dataset.json").write_text('{"name": "other"}'),
                "",
                r"its format is None, expected",
            ),
            (lambda folder: (folder / "data").write_text("x"), "data/deep/er", "cannot be made: '.*data' is a file"),
            (lambda folder: (folder / "data").symlink_to(folder / "nowhere"), "data", "is a file"),
            (lambda folder: (folder / "dataset.json").symlink_to("/etc/hostname"), "", "cannot be read|not a plain"),
        ],
    )
    def test_what_is_there_and_no_data_set_is_refused(self, tmp_path, prepare, path, match):
        prepare(tmp_path)
        self.refused(tmp_path, path, match)

    @staticmethod
    def refused(folder, path, match):
        before = tree(folder)
        with pytest.raises(RecordingError, match=match) as e:
            create(folder / path)
        assert tree(folder) == before
        assert "\n" not in str(e.value)

    @pytest.mark.parametrize("deep", ["", "a/b"])
    def test_a_read_only_disk_gives_an_error(self, tmp_path, monkeypatch, deep):
        real_open = os.open

        def open_read_only(path, flags, *args, **keys):
            if flags & os.O_CREAT:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            return real_open(path, flags, *args, **keys)

        monkeypatch.setattr(os, "open", open_read_only)
        self.refused(tmp_path, deep, "cannot be written: Read-only file system")


class TestFullDisk:
    def test_a_failed_write_leaves_no_files_and_can_be_repeated(self, data_set, monkeypatch):
        before = tree(data_set.path)
        real_write = os.write

        def write_half(descriptor, data):
            if len(data) > 1000:
                real_write(descriptor, data[:500])
                no_space()
            return real_write(descriptor, data)

        monkeypatch.setattr(os, "write", write_half)
        with pytest.raises(RecordingError, match=r"Episode 0 cannot be written into .* No space left on device"):
            data_set.write(make_record(0))
        assert tree(data_set.path) == before
        monkeypatch.undo()
        assert data_set.write(make_record(0))
        assert check_dataset(data_set.path) == []

    def test_an_episode_is_kept_when_the_index_cannot_be_written(self, data_set, caplog):
        (data_set.path / "index").write_text("in the way")
        assert data_set.write(make_record(0))
        assert "the episode itself is safe" in caplog.text
        assert data_set.numbers() == [0]
