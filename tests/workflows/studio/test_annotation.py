"""Keypoints of an object of one's own are moved, checked and saved."""

from pathlib import Path

import numpy as np
import pytest

from unlatch.objects.annotate.storage import load_annotation
from unlatch.objects.config import ObjectCfg, ObjectSource
from unlatch.objects.library import load_object
from unlatch.simcore.errors import AssetError, ConfigError
from unlatch.workflows.assets.convert import MakeObjectCfg, make_objects
from unlatch.workflows.viewing.annotation_editor import annotatable, open_annotation

HEAD, TAIL = "articulated_object_head", "articulated_object_tail"


@pytest.fixture
def cfg(tmp_path) -> ObjectCfg:
    make_objects("drawer", MakeObjectCfg(out=str(tmp_path / "mine")))
    return ObjectCfg(name="object", category="drawer", source=ObjectSource.urdf, root=str(tmp_path / "mine"))


def test_a_moved_keypoint_is_checked_and_saved(cfg):
    (Path(str(cfg.root)) / "articulation.yaml").unlink()  # it is made first
    annotation = open_annotation({"object": cfg}, "object")
    assert annotation.check()
    assert annotation.problems == []
    assert not annotation.check(), "nothing has changed since"
    before = annotation.articulation.part("drawer").keypoint(TAIL).xyz
    head = annotation.articulation.part("drawer").keypoint(HEAD).xyz + np.array([0.0, 0.01, 0.0])
    annotation.move("drawer", HEAD, head)
    assert annotation.check()
    assert not annotation.to_dict()["is_saved"]
    annotation.save()
    saved = load_annotation(Path(str(cfg.root))).articulation.part("drawer")
    np.testing.assert_allclose(saved.keypoint(HEAD).xyz, head, atol=1e-6)
    np.testing.assert_allclose(saved.keypoint(TAIL).xyz - before, [0.0, 0.01, 0.0], atol=1e-6)
    shown = load_object(cfg, rng=np.random.default_rng(0)).articulation.part("drawer")
    np.testing.assert_allclose(shown.keypoint(HEAD).xyz, head, atol=1e-6)


def test_a_keypoint_off_the_part_is_a_problem_and_is_not_saved(cfg):
    annotation = open_annotation({"object": cfg}, "object")
    file = Path(str(cfg.root)) / "articulation.yaml"
    before = file.read_bytes()
    annotation.move("drawer", "link_contact_point", np.array([2.0, 0.0, 0.0]))
    annotation.check()
    assert "link_contact_point" in annotation.problems[0]
    with pytest.raises(AssetError, match="Not saved"):
        annotation.save()
    assert file.read_bytes() == before


def test_only_keypoints_at_the_same_place_in_file_and_scene_can_be_moved(cfg):
    annotation = open_annotation({"object": cfg}, "object")
    shown = load_object(cfg, rng=np.random.default_rng(0)).articulation
    assert set(annotation.movable(shown)) == {("drawer", name) for name in shown.part("drawer").keypoints}
    annotation.loaded.articulation.part("drawer").keypoints[TAIL] = shown.part("drawer").keypoints[HEAD]
    assert ("drawer", TAIL) not in annotation.movable(shown)


def test_a_generated_object_has_no_file_to_edit():
    made = ObjectCfg(name="microwave", category="microwave")
    assert annotatable({"microwave": made}) == []
    with pytest.raises(ConfigError, match="no file of yours"):
        open_annotation({"microwave": made}, "microwave")
