"""Annotations in a render set are those of each frame, in rows of one shape."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from unlatch.simcore.errors import RecordingError
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.renders import RenderSet
from unlatch.simcore.sim.annotators.annotation import AnnotationCfg, annotate, take_annotated_frame
from unlatch.workflows.commands.images import label_command as label
from unlatch.workflows.commands.images import render_command as render
from unlatch.workflows.episode.visual_views import cameras
from unlatch.workflows.runs.recorded_config import config_of
from unlatch.workflows.viewing.scene_picture import open_record

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory, collected: Callable[..., Path]) -> Path:
    out = tmp_path_factory.mktemp("set") / "d"
    size = ["sensors.0.width=96", "sensors.0.height=72"]
    shutil.copytree(collected("close_drawer", "world.record_hz=10", "sensors=[front]", *size), out)
    asked = "modalities=[boxes_2d_tight,poses,keypoints,occlusion]"
    assert render([str(out), "cameras=[front]", asked, "leave_out=[robot]", "executor=serial"]) == 0
    return out


def test_every_frame_has_its_annotations(rendered: Path):
    found = RenderSet.open(rendered).episode(0).annotations("front")
    data_set = DataSet.open(rendered)
    record = data_set.read(0)
    assert {len(rows) for rows in found.arrays.values()} == {record.n_actions + 1}
    assert "/drawer" in found.paths
    cfg = AnnotationCfg(semantic_types=["class", "part"], leave_out=["robot"], include_occluded=True)
    with open_record(config_of(data_set), record) as shown:
        for frame in (0, record.n_actions // 2, record.n_actions):
            shown.show(frame)
            (camera,) = cameras(shown.episode.scene)
            scene = shown.episode.scene.state_tree
            scene.keypoints.update_state()
            keypoints = scene.keypoints.state_dict()
            pinhole, T = camera.pinhole, camera.T_world_sensor
            shot = take_annotated_frame(shown.world, pinhole, T, near_m=0.02, far_m=10.0, cfg=cfg, keypoints=keypoints)
            said = annotate(shot, ["boxes_2d_tight", "poses", "keypoints", "occlusion"])
            assert said.paths == found.paths
            assert said.id_to_labels == found.id_to_labels
            for key, rows in found.arrays.items():
                np.testing.assert_array_equal(rows[frame], said[key], err_msg=key)
            for name, value in zip(found.names["keypoint_names"], said["keypoints_camera"], strict=True):
                recorded = record.arrays[f"keypoints.{name}"][frame]
                np.testing.assert_allclose(shot.T_world_camera @ value, recorded, atol=1e-9)


def test_the_error_for_missing_annotations_says_how_to_render_them(rendered: Path):
    with pytest.raises(RecordingError, match=r"no annotations of camera 'side'.*modalities=\[boxes_2d_loose"):
        RenderSet.open(rendered).episode(0).annotations("side")


def test_a_fisheye_has_annotations_labels_and_points(rendered: Path):
    small = ["cameras.0.width=48", "cameras.0.height=48"]
    asked = ["modalities=[boxes_2d_tight,keypoints,point_cloud,depth]", "name=wide", "executor=serial"]
    assert render([str(rendered), "cameras=[fisheye]", *asked, *small]) == 0
    episode = RenderSet.open(rendered, "wide").episode(0)
    record = DataSet.open(rendered).read(0)
    found = episode.annotations("fisheye")
    assert {len(rows) for rows in found.arrays.values()} == {record.n_actions + 1}
    # points of what is on the table's top lie on it
    with pytest.raises(RecordingError, match=r"There are no images 'distance' of camera 'fisheyes'"):
        next(episode.point_clouds("fisheyes"))
    points = next(episode.point_clouds("fisheye"))
    assert points.shape == (48, 48, 3)
    heights = points[np.isfinite(points[..., 2]), 2]
    assert (np.abs(heights) < 2e-3).mean() > 0.1
    # a keypoint of a broad part is seen where the cloud has it; a pixel is 2 cm wide there, wider than a handle
    name = "drawer.drawer.base_contact_point"
    index = found.names["keypoint_names"].index(name)
    assert found.arrays["keypoints_visibility"][0, index] == 2
    column, row = np.rint(found.arrays["keypoints_px"][0, index]).astype(int)
    assert np.linalg.norm(points[row, column] - record.arrays[f"keypoints.{name}"][0]) < 0.06
    assert label([str(rendered), "cameras=[fisheye]", f"out={rendered / 'labels'}", "every=20", *small]) == 0
    coco = json.loads((rendered / "labels" / "fisheye" / "coco.json").read_text())
    named = {category["name"] for category in coco["categories"]}
    assert "drawer" in named
    assert not named & {"table", "floor"}


def test_annotators_of_plugins_are_listed_without_a_record(monkeypatch: pytest.MonkeyPatch):
    from unlatch.simcore.catalogs import ANNOTATORS
    from unlatch.simcore.recording.modality import ANNOTATIONS, annotation_names
    from unlatch.simcore.registry import CatalogEntry
    from unlatch.workflows.images.render_config import ImagesCfg

    entries = {**ANNOTATORS.entries(), "mine": CatalogEntry("a.b:C", "", origin="a-plugin")}
    monkeypatch.setattr(ANNOTATORS, "_all", entries)
    assert annotation_names() == (*ANNOTATIONS, "mine")
    assert ImagesCfg(modalities=["mine", "point_cloud"]).annotators == ["mine"]
    assert ImagesCfg(modalities=["mine", "point_cloud"]).images == ["distance"]
