"""YAML files as editors and tools of any system write them: read, or refused in one line that names file and line."""

from pathlib import Path

import pytest

from unlatch.objects.annotation_reader import read_articulation
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.simcore.files import decode_text
from unlatch.workflows.commands.information import list_tasks
from unlatch.workflows.runs.loading import load
from unlatch.workflows.studio.document import open_document

TASK = "# @package _global_\ndefaults:\n  - open_drawer\n  - _self_\nseed: 3\ntask:\n  summary: größe\n"

READ = {
    "a byte order mark": b"\xef\xbb\xbf" + TASK.encode(),
    "Windows": b"\xef\xbb\xbf" + TASK.replace("\n", "\r\n").encode(),
    "an old Macintosh": TASK.replace("\n", "\r").encode(),
    "UTF-16": TASK.encode("utf-16"),
    "UTF-16, the other order": b"\xfe\xff" + TASK.encode("utf-16-be"),
    "a beginning of the document": ("---\n" + TASK).encode(),
    "a directive": ("%YAML 1.1\n---\n" + TASK).encode(),
    "an end of the document": (TASK + "...\n").encode(),
    "an anchor": TASK.replace("3", "&n 3").replace("  sum", "  settle_s: *n\n  sum").encode(),
    "a merged mapping": TASK.replace("task:\n", "task:\n  <<: {settle_s: 1.0}\n").encode(),
}
REFUSED = {
    "Latin-1": (
        TASK.encode("latin-1"),
        r"t\.yaml, line 7: the byte 0xf6 is not valid UTF-8\. Expected a text in UTF-8\.",
    ),
    "UTF-16 without its mark": ("a: b\n".encode("utf-16-le"), r"t\.yaml, line 1: it has NUL characters"),
    "half of UTF-16": (TASK.encode("utf-16")[:-1], r"the byte 0x0a is not valid UTF-16"),
    "NUL": ((TASK + "\0").encode(), r"t\.yaml, line 8: it has NUL characters"),
    "a control character": ((TASK + "# \a").encode(), r"t\.yaml, line 8: the character with number 7 is not allowed"),
    "nothing": (b"", r"t\.yaml is empty\. Expected keys and values"),
    "a list": (b"# @package _global_\n- 1\n", r"t\.yaml is a list\. Expected a mapping"),
    "a tab": (TASK.replace("  summary", "\tsummary").encode(), r"YAML error in '.*t\.yaml', line 7, column 1: .*\\t"),
    "a key twice": ((TASK + "seed: 4\n").encode(), r"t\.yaml', line 8, column 1: found duplicate key seed"),
    "two documents": ((TASK + "---\nseed: 4\n").encode(), r"t\.yaml', line 8, column 1: but found another document"),
    "an unknown alias": (TASK.replace("3", "*x").encode(), r"t\.yaml', line 5, column 7: found undefined alias 'x'"),
    "code": (TASK.replace("3", "!!python/name:os.system").encode(), r"t\.yaml', line 5, .*could not determine"),
    "a deep tree": (b"x: " + b"[" * 1000 + b"]" * 1000, r"t\.yaml is nested too deeply"),
}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "task").mkdir()
    return tmp_path / "task" / "t.yaml"


@pytest.mark.parametrize("data", READ.values(), ids=READ)
def test_a_task_file_is_read(data: bytes, own: Path):
    own.write_bytes(data)
    cfg = load("t", config_dirs=[own.parents[1]])
    assert (cfg.seed, cfg.task.summary) == (3, "größe")


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_a_task_file_is_refused_in_one_line(data: bytes, message: str, own: Path):
    own.write_bytes(data)
    with pytest.raises(ConfigError, match=message) as caught:
        load("t", config_dirs=[own.parents[1]])
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("kind", ["Latin-1", "a key twice", "nothing", "a list"])
def test_a_file_that_cannot_be_read_hides_no_other_from_the_list(kind: str, own: Path):
    own.write_bytes(REFUSED[kind][0])
    own.with_name("good.yaml").write_text(TASK, encoding="utf-8")
    rows = dict(list_tasks([str(own.parents[1])]))
    assert rows["good"] == "größe"
    assert "t" in rows


def test_the_studio_opens_a_file_of_windows(own: Path):
    own.write_bytes(READ["Windows"])
    assert open_document(own).text == TASK


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf", b"\xff\xfe"])
def test_an_annotation_of_any_encoding_says_what_is_wrong_with_it(data: bytes, tmp_path: Path):
    file = tmp_path / "articulation.yaml"
    file.write_bytes(data)
    with pytest.raises(AssetError, match=r"articulation\.yaml"):
        read_articulation(file)
    file.write_bytes("category: Kühlschrank".encode("latin-1"))
    with pytest.raises(AssetError, match=r"articulation\.yaml, line 1: the byte 0xfc is not valid UTF-8"):
        read_articulation(file)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_is_the_same_in_each_encoding(encoding: str):
    assert decode_text("größe\r\nb\rc\n".encode(encoding), name="x") == "größe\nb\nc\n"
