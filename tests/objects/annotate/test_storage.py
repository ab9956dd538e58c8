"""Annotation files: what the command made is told from what a person made, and both are read checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from unlatch.objects.annotate import annotate_source, read_source
from unlatch.objects.annotate.storage import (
    check_replaceable,
    is_hand_made,
    load_annotation,
    with_mark,
    write_annotation_file,
)
from unlatch.objects.annotation import Articulation, read_articulation
from unlatch.simcore.errors import AssetError

Write = Callable[..., Path]


@pytest.fixture
def made(write: Write) -> tuple[Path, Articulation]:
    urdf = write("drawer_knob")
    articulation = with_mark(annotate_source(read_source(urdf)).articulation)
    path = urdf.with_name("articulation.yaml")
    write_annotation_file(path, articulation.to_yaml().encode())
    return path, articulation


def test_an_annotation_of_the_command_is_recognized(made: tuple[Path, Articulation]) -> None:
    path, articulation = made
    assert not is_hand_made(read_articulation(path))
    assert with_mark(articulation) == articulation
    check_replaceable(path, urdf="thing.urdf", force=False)


def test_an_annotation_with_a_changed_number_counts_as_hand_made(made: tuple[Path, Articulation]) -> None:
    path, _ = made
    text = path.read_text()
    assert "open: 0.25" in text
    path.write_text(text.replace("open: 0.25", "open: 0.24"))
    assert is_hand_made(read_articulation(path))
    with pytest.raises(AssetError) as caught:
        check_replaceable(path, urdf="thing.urdf", force=False)
    assert (
        str(caught.value)
        == f"{path} was not made by `unlatch annotate`, or was changed since. It is kept; force=true replaces it."
    )
    check_replaceable(path, urdf="thing.urdf", force=True)


def test_an_unreadable_annotation_and_one_of_another_urdf_are_not_replaced(made: tuple[Path, Articulation]) -> None:
    path, _ = made
    with pytest.raises(AssetError, match=r"is about thing\.urdf, not other\.urdf\. Give out=FOLDER, or force=true"):
        check_replaceable(path, urdf="other.urdf", force=False)
    path.write_text("notes: [")
    with pytest.raises(AssetError, match="was not made by"):
        check_replaceable(path, urdf="thing.urdf", force=False)


def test_an_annotation_is_read_with_its_urdf_in_metres_and_checked(made: tuple[Path, Articulation]) -> None:
    path, articulation = made
    loaded = load_annotation(path.parent)
    assert loaded.problems == []
    assert loaded.size_m == pytest.approx(0.5)
    extra = {**articulation.extra, "urdf": {"file": "thing.urdf", "scale": 0.5}}
    path.write_text(replace(articulation, extra=extra).to_yaml())
    with pytest.raises(AssetError, match=r"openness open is 0\.25 m, outside the limits 0 to 0\.125 m"):
        load_annotation(path)
    assert load_annotation(path, check=False).size_m == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("urdf", "said"),
    [
        ({"file": "../thing.urdf"}, "leads out of the asset's folder"),
        ({"file": "none.urdf"}, "file 'none.urdf' is missing"),
        ({"file": "thing.urdf", "scale": -1}, "urdf is {'file': 'thing.urdf', 'scale': -1}, expected {file: NAME"),
    ],
)
def test_a_wrong_reference_to_the_urdf_is_refused(
    made: tuple[Path, Articulation], urdf: dict[str, object], said: str
) -> None:
    path, articulation = made
    path.write_text(replace(articulation, extra={"urdf": urdf}).to_yaml())
    with pytest.raises(AssetError) as caught:
        load_annotation(path)
    assert said in str(caught.value)


def test_writing_leaves_no_part_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("")
    with pytest.raises(AssetError, match="cannot be written"):
        write_annotation_file(tmp_path / "occupied" / "file", b"x")
    write_annotation_file(tmp_path / "new" / "file", b"x")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["file"]
