"""Annotation files: what the command made is told from what a person made, and both are read checked."""

from dataclasses import replace

import numpy as np
import pytest

from unlatch.objects.annotate.annotator import annotate_source
from unlatch.objects.annotate.source import read_source
from unlatch.objects.annotate.storage import (
    check_replaceable,
    is_hand_made,
    load_annotation,
    mechanism_warnings,
    read_stated,
    with_mark,
    with_stated_mechanics,
    write_annotation_file,
)
from unlatch.objects.annotation import FramedVector
from unlatch.objects.annotation_entries import (
    NO_CLOSING_FORCES,
    Catch,
    ClosingForces,
    Region,
    RegionKind,
    RegionOpening,
)
from unlatch.objects.annotation_reader import read_articulation
from unlatch.objects.mechanisms import Latch, Mimic, SoftClose
from unlatch.simcore.errors import AssetError
from unlatch.simcore.geometry import Pose

FORCES = ClosingForces(Catch(12.0, 0.01))


@pytest.fixture
def made(write):
    """The file of an annotation that the command made, the annotation, and its only part."""
    urdf = write("drawer_knob")
    articulation = with_mark(annotate_source(read_source(urdf)).articulation)
    path = urdf.with_name("articulation.yaml")
    write_annotation_file(path, articulation.to_yaml().encode())
    (part,) = articulation.parts.values()
    return path, articulation, part


def keep_stated(articulation, path, model):
    """Returns an annotation with what the file states that it replaces."""
    old = read_stated(path, urdf=articulation.urdf_record["file"])
    return articulation if old is None else with_stated_mechanics(articulation, old, model, where=str(path))


def rewrite(path, articulation, *, parts=None, **extra):
    """Writes an annotation with other parts and further entries."""
    parts = articulation.parts if parts is None else {part.name: part for part in parts}
    path.write_text(replace(articulation, parts=parts, extra={**articulation.extra, **extra}).to_yaml())


def test_an_annotation_of_the_command_is_recognized_until_a_number_changes(made):
    path, articulation, _ = made
    assert not is_hand_made(read_articulation(path))
    assert with_mark(articulation) == articulation
    check_replaceable(path, urdf="thing.urdf", force=False)
    text = path.read_text()
    assert "open: 0.25" in text
    path.write_text(text.replace("open: 0.25", "open: 0.24"))
    assert is_hand_made(read_articulation(path))
    with pytest.raises(AssetError) as caught:
        check_replaceable(path, urdf="thing.urdf", force=False)
    said = "was not made by `unlatch annotate`, or was changed since. It is kept; force=true replaces it."
    assert str(caught.value) == f"{path} {said}"
    check_replaceable(path, urdf="thing.urdf", force=True)


@pytest.mark.parametrize("w", [0.0, 1e-17, -1e-17])
@pytest.mark.parametrize("axis", [(0.0, 1.0, 1.0), (0.0, -1.0, -1.0), (-1.0, 0.0, 0.0), (1.0, 0.0, -1.0)])
def test_a_handle_turned_by_half_a_turn_is_written_as_it_is_read(made, axis, w):
    path, articulation, part = made
    quat_xyzw = np.array([*(np.array(axis) / np.linalg.norm(axis)), w])
    handle = replace(part.handle, T_link_handle=Pose.from_quat_xyzw(part.handle.T_link_handle.p, quat_xyzw))
    turned = with_mark(replace(articulation, parts={part.name: replace(part, handle=handle)}))
    write_annotation_file(path, turned.to_yaml().encode())
    assert read_articulation(path).to_yaml() == turned.to_yaml()
    assert not is_hand_made(read_articulation(path))


def test_an_unreadable_annotation_and_one_of_another_urdf_are_not_replaced(made):
    path, *_ = made
    with pytest.raises(AssetError, match=r"is about thing\.urdf, not other\.urdf\. Give out=FOLDER, or force=true"):
        check_replaceable(path, urdf="other.urdf", force=False)
    path.write_text("notes: [")
    with pytest.raises(AssetError, match=r"no readable YAML .* The file is kept: correct or remove it"):
        check_replaceable(path, urdf="thing.urdf", force=False)
    assert read_stated(path, urdf="thing.urdf") is None


def test_a_joint_that_frees_a_part_but_moves_none_is_warned_of(made):
    _, articulation, part = made
    bolt, gear = Latch(part.joint, "key", free_at=0.5), Mimic("key", "lever")
    (line,) = mechanism_warnings(replace(articulation, mechanisms={"bolt": bolt, "gear": gear}))
    assert line.startswith(
        f"mechanism 'bolt': joint 'key' must move before '{part.joint}' does, and it is the joint of"
    )
    coupled = {"bolt": bolt, "gear": Mimic("key", part.joint)}
    assert mechanism_warnings(replace(articulation, mechanisms=coupled)) == []


def test_a_file_that_states_mechanisms_alone_is_completed_without_force(made):
    path, articulation, part = made
    soft = SoftClose(part.joint, 8.0, 0.04, 0.1)
    alone = replace(articulation, parts={}, mechanisms={"damper": soft}, extra={})
    path.write_text(alone.to_yaml())
    check_replaceable(path, urdf="thing.urdf", force=False)
    assert keep_stated(articulation, path, load_annotation(path).model).mechanisms == {"damper": soft}
    path.write_text(replace(alone, extra={"urdf": {"file": "other.urdf"}}).to_yaml())
    with pytest.raises(AssetError, match=r"is about other\.urdf, not thing\.urdf"):
        check_replaceable(path, urdf="thing.urdf", force=False)


def test_a_typo_beside_mechanisms_is_named_and_never_replaced(made):
    path, articulation, part = made
    text = replace(articulation, parts={}, mechanisms={"damper": SoftClose(part.joint, 8.0, 0.04, 0.1)}).to_yaml()
    path.write_text(text.replace("reach", "reech"))
    assert path.read_text() != text
    for refuse in (
        lambda: check_replaceable(path, urdf="thing.urdf", force=False),
        lambda: keep_stated(articulation, path, None),
    ):
        with pytest.raises(AssetError, match=r"mechanisms\.damper.*is not a known key.*Did you mean 'reach.* is kept"):
            refuse()


def test_a_file_without_parts_loses_nothing_but_its_comments(made):
    path, articulation, part = made
    model = load_annotation(path).model
    region = Region(RegionKind.surface, part.base, Pose.identity(), np.full(3, 0.1), RegionOpening.above)
    stated = {"regions": {"top": region}, "keypoints": {"middle": FramedVector.of("obj", [0.0, 0.0, 0.1])}}
    alone = replace(articulation, parts={}, mechanisms={"damper": SoftClose(part.joint, 8.0, 0.04, 0.1)}, **stated)
    path.write_text(replace(alone, extra={"note_of_mine": "old"}, source={"licence": "CC0"}).to_yaml())
    check_replaceable(path, urdf="thing.urdf", force=False)
    for _ in range(2):  # nor when it is made anew
        kept = with_mark(keep_stated(articulation, path, model))
        assert (kept.parts, kept.extra["note_of_mine"]) == (articulation.parts, "old")
        assert (kept.source["licence"], kept.extra["urdf"]) == ("CC0", articulation.extra["urdf"])
        assert (list(kept.regions), list(kept.keypoints)) == (["top"], ["middle"])
        path.write_text(kept.to_yaml())
        assert not is_hand_made(read_articulation(path))
    path.write_text(f"# mine\n{alone.to_yaml()}")
    with pytest.raises(AssetError, match="has comments, which are lost"):
        check_replaceable(path, urdf="thing.urdf", force=False)


@pytest.mark.parametrize("stated", [FORCES, NO_CLOSING_FORCES])
def test_a_new_annotation_keeps_the_closing_forces_that_the_file_states(made, stated):
    path, articulation, part = made
    model = load_annotation(path).model
    rewrite(path, articulation, parts=[replace(part, name="mine", closing_forces=stated)])
    kept = keep_stated(articulation, path, model)
    assert kept.part(part.name).closing_forces == stated
    assert replace(kept, parts=articulation.parts) == articulation


def test_a_new_annotation_takes_no_closing_forces_from_a_file_about_something_else(made):
    path, articulation, part = made
    model, forces = load_annotation(path).model, replace(part, closing_forces=FORCES)
    for spoil in (
        lambda: rewrite(path, articulation, parts=[forces], urdf={"file": "other.urdf"}),
        lambda: rewrite(path, articulation, parts=[replace(forces, joint="other")]),
        lambda: path.write_text("notes: ["),
        path.unlink,
    ):
        spoil()
        assert keep_stated(articulation, path, model) == articulation


def test_a_new_annotation_keeps_the_mechanisms_that_the_file_states(made):
    path, articulation, part = made
    model, soft = load_annotation(path).model, SoftClose(part.joint, 8.0, 0.04, 0.1)
    path.write_text(replace(articulation, mechanisms={"damper": soft}, parts_collide=False).to_yaml())
    kept = keep_stated(articulation, path, model)
    assert (kept.mechanisms, kept.parts_collide) == ({"damper": soft}, False)
    path.write_text(replace(articulation, mechanisms={"damper": replace(soft, joint="gone")}).to_yaml())
    with pytest.raises(AssetError, match=r"mechanism 'damper' .* joint 'gone' is not in the URDF"):
        keep_stated(articulation, path, model)


def test_a_coupling_that_nobody_wrote_by_hand_is_found_anew(made):
    path, articulation, part = made
    model, old = load_annotation(path).model, replace(articulation, mechanisms={"mimic": Mimic("gone", part.joint)})
    path.write_text(with_mark(old).to_yaml())
    assert keep_stated(articulation, path, model).mechanisms == {}


def test_closing_forces_that_do_not_fit_the_new_annotation_are_refused(made):
    path, articulation, part = made
    model = load_annotation(path).model
    rewrite(path, articulation, parts=[replace(part, closing_forces=FORCES)])
    ajar = replace(part, openness=replace(part.openness, closed=0.1))
    with pytest.raises(AssetError, match="closing_forces need a part that closes at a limit of its joint"):
        keep_stated(replace(articulation, parts={part.name: ajar}), path, model)


def test_an_annotation_is_read_with_its_urdf_in_metres_and_checked(made):
    path, articulation, _ = made
    loaded = load_annotation(path.parent)
    assert (loaded.problems, loaded.size_m) == ([], pytest.approx(0.5))
    rewrite(path, articulation, urdf={"file": "thing.urdf", "scale": 0.5})
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
def test_a_wrong_reference_to_the_urdf_is_refused(made, urdf, said):
    path, articulation, _ = made
    rewrite(path, articulation, urdf=urdf)
    with pytest.raises(AssetError) as caught:
        load_annotation(path)
    assert said in str(caught.value)


def test_writing_leaves_no_part_of_a_file(tmp_path):
    (tmp_path / "occupied").write_text("")
    with pytest.raises(AssetError, match="cannot be written"):
        write_annotation_file(tmp_path / "occupied" / "file", b"x")
    write_annotation_file(tmp_path / "new" / "file", b"x")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["file"]
