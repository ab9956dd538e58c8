"""Outputs for other tools: DOPE's and COCO's files, and those of Replicator's nodes."""

import json

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.annotators.annotation import annotate
from unlatch.simcore.sim.annotators.label_files import CocoFile, dope_frame, dope_output, pose_output

pytestmark = pytest.mark.integration


def decoded(segmentation: dict) -> np.ndarray:
    """A mask from its run lengths, by COCO's definition."""
    values = np.repeat(np.arange(len(segmentation["counts"])) % 2, segmentation["counts"])
    return values.reshape(segmentation["size"], order="F").astype(bool)


def test_a_dope_file_has_the_box_where_it_is_seen(take, cupboard):
    shot = take(semantic_types=["part"])
    frame = json.loads(json.dumps(dope_frame(shot), allow_nan=False))
    found = annotate(shot, ["poses", "boxes_3d", "occlusion"])
    (item,) = frame["objects"]
    assert (item["class"], item["name"]) == ("door", "/cupboard/leaf")
    np.testing.assert_allclose(item["location"], found["poses"][0][:3, 3] * 100)
    np.testing.assert_allclose(Pose.from_quat_xyzw([0, 0, 0], item["quaternion_xyzw"]).R, found["poses"][0][:3, :3])
    np.testing.assert_allclose(item["projected_cuboid"], found["boxes_3d_corners_px"][0])
    # a reader projects the cuboid by the intrinsics in the file and finds the same pixels
    k, cuboid = frame["camera_data"]["intrinsics"], np.array(item["cuboid"])
    pixels = np.c_[k["fx"] * cuboid[:, 0], k["fy"] * cuboid[:, 1]] / cuboid[:, 2:] + [k["cx"], k["cy"]]
    np.testing.assert_allclose(item["projected_cuboid"], pixels, atol=1e-6)
    assert item["visibility"] == pytest.approx(1.0 - found["occlusion"][0])


def test_a_coco_file_has_masks_boxes_and_keypoints(take, cupboard):
    T = cupboard.link_pose("leaf")
    keypoints = {
        "cupboard.door.edge": T @ np.array([0.4, -0.01, 0.0]),
        "cupboard.door.far": T @ np.array([9.0, 0.0, 0.0]),
        "other.door.edge": T.p,
    }
    coco = CocoFile()
    shots = [take(keypoints=keypoints), take(keypoints=keypoints, semantic_types=["part"])]
    for number, shot in enumerate(shots):
        coco.add(shot, f"{number}.png")
    content = json.loads(json.dumps(coco.content, allow_nan=False))
    assert [image["file_name"] for image in content["images"]] == ["0.png", "1.png"]
    whole, door = content["annotations"]
    assert [whole["image_id"], door["image_id"]] == [1, 2]
    names = {item["id"]: item for item in content["categories"]}
    assert names[whole["category_id"]]["keypoints"] == ["door.edge", "door.far"]
    assert names[door["category_id"]]["name"] == "door"
    x, y, seen = whole["keypoints"][:3]
    assert seen == 2
    np.testing.assert_allclose([x, y], annotate(shots[0], ["keypoints"])["keypoints_px"][0])
    assert whole["keypoints"][3:] == [0.0, 0.0, 0]
    assert whole["num_keypoints"] == 1
    for item, shot in ((whole, shots[0]), (door, shots[1])):
        mask = decoded(item["segmentation"])
        np.testing.assert_array_equal(mask, shot.mask(shot.entities[0]))
        assert item["area"] == mask.sum()
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        assert item["bbox"] == [columns[0], rows[0], np.ptp(columns) + 1, np.ptp(rows) + 1]


def test_the_node_pose_puts_out_row_vectors_labels_and_paths(take, cupboard):
    shot = take(semantic_types=["class", "part"])
    put_out = pose_output(shot, get_centers=True)
    assert put_out.data.dtype.names == ("semanticId", "pose", "center")
    point = np.array([0.1, 0.2, 0.3, 1.0])
    in_camera = shot.in_camera(cupboard.root_pose() @ point[:3])
    np.testing.assert_allclose((point @ put_out.data["pose"][0])[:3], in_camera, atol=1e-5)
    assert put_out.primPaths == ("/cupboard", "/cupboard/leaf")
    labels = json.loads(put_out.idToLabels)
    assert labels[str(put_out.data["semanticId"][1])] == {"class": "furniture", "part": "door"}
    assert (put_out.height, put_out.width, put_out.bufferSize) == (1, 2, 2 * (4 + 64 + 8))
    assert pose_output(shot).data.dtype.names == ("semanticId", "pose")


def test_the_node_dope_puts_out_nine_points(take, cupboard):
    shot = take()
    put_out = dope_output(shot)
    found = annotate(shot, ["poses", "boxes_3d"])
    assert put_out.data["projected_cuboid"].shape == (1, 9, 2)
    np.testing.assert_allclose(put_out.data["projected_cuboid"][0, 8], found["centers_px"][0], atol=1e-3)
    np.testing.assert_allclose(put_out.data["location"][0], found["poses"][0][:3, 3], atol=1e-6)
    assert put_out.data["visibility"][0] == 1.0
