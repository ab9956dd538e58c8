"""Point clouds by camera: what they show, how pixels are chosen, and which images they need."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.columns import CAMERA_CLOUD, CLOUD
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.simcore.recording.frame_video import FrameVideoWriter
from unlatch.simcore.recording.modality import LENGTHS, LINKS, ImageStream, PointSource
from unlatch.simcore.recording.observed_scene import CameraCloud, CameraView, ObservedScene
from unlatch.simcore.recording.renders import CAMERAS_FILE, RenderSet, stream_file
from unlatch.simcore.recording.state_file import encode_npz

MakeScene = Callable[[Pose], ObservedScene]
LABELS = ["nothing", "table", "microwave/body", "microwave/door", "microwave_2/door"]
BODY, DOOR = 2, 3
PINHOLE = Pinhole(40, 30, 35.0, 36.0, 19.0, 15.0)
FISHEYE = Fisheye(40, 30, 15.0, 15.0, 19.5, 14.5, (0.02, 0.0, 0.0, 0.0))
ALL = PINHOLE.width * PINHOLE.height
BY_CAMERA = {"point_cloud": 50, "point_cloud_source": PointSource.camera}


def stripes(shift: int = 0) -> np.ndarray:
    """Links in vertical stripes of eight pixels, all labels in turn."""
    return np.broadcast_to((np.arange(40) + shift) // 8 % len(LABELS), (30, 40)).astype(np.int32)


def view_of(
    links: np.ndarray,
    *,
    camera: str = "front",
    optics: Pinhole | Fisheye = PINHOLE,
    pose: Pose | None = None,
    length_m: float = 1.0,
) -> CameraView:
    pose = Pose.identity() if pose is None else pose
    lengths = np.full(links.shape, length_m, dtype=np.float32)
    return CameraView(camera, optics, pose, lengths, links, LABELS)


@pytest.fixture
def cloud(make_scene: MakeScene) -> Callable[..., CameraCloud]:
    item = make_scene(Pose.identity()).load_object("microwave")
    return lambda n, seed=5: CameraCloud(item, "microwave", n, seed=seed)


@pytest.mark.parametrize("optics", [PINHOLE, FISHEYE])
def test_each_point_lies_where_a_pixel_of_the_object_shows_it(cloud: Callable[..., CameraCloud], optics: Any):
    T_world_camera = Pose.from_rpy([0.4, -0.9, 0.8], [-2.0, 0.1, 0.3])
    T_world_base = Pose.from_rpy([0.3, -0.2, 0.1], [0.0, 0.0, 0.7])
    view = view_of(stripes(), optics=optics, pose=T_world_camera, length_m=0.8)
    points = cloud(200).points([view], "door", T_world_base.inverse())
    assert points.shape == (200, 4)
    assert points.dtype == np.float32
    at_camera = (T_world_camera.inverse() @ T_world_base) @ points[:, :3].astype(float)
    lengths = at_camera[:, 2] if optics is PINHOLE else np.linalg.norm(at_camera, axis=1)
    np.testing.assert_allclose(lengths, 0.8, atol=1e-6)
    pixels = optics.project(at_camera)
    np.testing.assert_allclose(pixels, np.rint(pixels), atol=1e-3)
    columns, rows = np.rint(pixels).astype(int).T
    seen = view.links[rows, columns]
    assert set(seen) == {BODY, DOOR}
    np.testing.assert_array_equal(points[:, 3], seen == DOOR)
    assert len(np.unique(points, axis=0)) == 200


def test_pixels_without_a_length_give_no_points(cloud: Callable[..., CameraCloud]):
    view = view_of(np.full((30, 40), BODY))
    view.lengths_m[:, 20:] = np.inf
    points = cloud(ALL).points([view], "door", Pose.identity())
    assert np.isfinite(points).all()
    assert len(np.unique(points, axis=0)) == ALL // 2


def test_points_are_repeated_if_fewer_pixels_show_the_object_and_0_if_none_does(cloud: Callable[..., CameraCloud]):
    links = np.zeros((30, 40), dtype=np.int32)
    links[3, 4:9] = DOOR
    _, counts = np.unique(cloud(20).points([view_of(links)], "door", Pose.identity()), axis=0, return_counts=True)
    np.testing.assert_array_equal(counts, [4] * 5)
    np.testing.assert_array_equal(cloud(20).points([view_of(np.ones_like(links))], "door", Pose.identity()), 0.0)


def test_the_seed_alone_chooses_the_pixels_and_a_camera_that_stands_still_keeps_them(cloud: Callable[..., CameraCloud]):
    views = [view_of(stripes()), view_of(stripes(4), camera="wrist", length_m=0.7)]
    one = cloud(100)
    first, later = (one.points(views, "door", Pose.identity()) for _ in range(2))
    np.testing.assert_array_equal(first, later)
    np.testing.assert_array_equal(first, cloud(100).points(views[::-1], "door", Pose.identity()))
    assert (first != cloud(100, seed=6).points(views, "door", Pose.identity())).any()
    assert len(np.unique(first, axis=0)) == 100
    # a part that leaves the image takes none of the others' points with it
    hidden = stripes().copy()
    hidden[:, :20] = 0
    before = {tuple(point) for point in cloud(100).points([view_of(stripes())], "door", Pose.identity())}
    after = {tuple(point) for point in cloud(100).points([view_of(hidden)], "door", Pose.identity())}
    right = {point for point in before if point[0] > 0.5 / 35.0}
    assert len(right) > 30
    assert right <= after


def test_a_near_camera_has_as_many_points_as_the_area_that_it_sees(cloud: Callable[..., CameraCloud]):
    links = np.full((30, 40), BODY)
    aside = Pose.from_translation([10.0, 0.0, 0.0])
    views = [view_of(links, length_m=1.0), view_of(links, camera="wrist", pose=aside, length_m=0.5)]
    points = cloud(600).points(views, "door", Pose.identity())
    # a quarter of the area at half the distance; both cameras have the same number of pixels
    assert (points[:, 0] > 5.0).mean() == pytest.approx(0.2, abs=0.04)


def write_renders(data_set: DataSet, modalities: Iterable[str], *, name: str = "clouds", lens: str = "pinhole") -> None:
    """Writes a set of a camera above the table that moves sideways; the links move through its image."""
    size = {"width": PINHOLE.width, "height": PINHOLE.height}
    streams = [ImageStream.of(kind, **size, farthest_m=12.0, lossless=True) for kind in modalities]
    camera = {"name": "front", "lens": lens, **size, "streams": [stream.to_json() for stream in streams]}
    header = {"cameras": [camera], "modalities": list(modalities), "rate_hz": 30}
    images = {
        "depth": np.full((30, 40), 0.8),
        "distance": 0.8 * PINHOLE.ray_lengths,
        "rgb": np.zeros((30, 40, 3), np.uint8),
    }
    with RenderSet.create_or_resume(data_set.path, name, header) as renders:
        for summary in data_set.summaries():
            n = summary.n_actions + 1

            def fill(folder: Path, n: int = n, sha256: str = summary.state_sha256) -> dict[str, Any]:
                for stream in streams:
                    path = folder / stream_file("front", stream)
                    with FrameVideoWriter(path, stream.encoding, **size, rate_hz=30) as writer:
                        for frame in range(n):
                            writer.add(stream.pack(images.get(stream.modality, stripes(frame))))
                track = {
                    "position": np.stack([0.1 * np.arange(n), np.zeros(n), np.ones(n)], axis=1),
                    "quat_xyzw": np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),  # looks down
                    "intrinsics": np.tile([PINHOLE.fx, PINHOLE.fy, PINHOLE.cx, PINHOLE.cy], (n, 1)),
                }
                arrays = {f"front.{key}": values for key, values in track.items()}
                (folder / CAMERAS_FILE).write_bytes(encode_npz(arrays))
                return {"n_frames": n, "state_sha256": sha256, "labels": {LINKS: LABELS}}

            renders.write(summary.number, fill)


@pytest.fixture
def data_set(make_set: Callable[..., DataSet], make_task_record: Callable[..., EpisodeRecord]) -> DataSet:
    return make_set([make_task_record(0)])


def test_the_points_of_a_render_set_are_exported(data_set: DataSet, make_scene: MakeScene):
    base = Pose.from_rpy([0.3, -0.2, 0.1], [0.0, 0.0, 0.7])
    found = {}
    for kind in LENGTHS:
        write_renders(data_set, [kind, LINKS], name=kind)
        cfg = ExportCfg(**BY_CAMERA, render=kind)
        source = ExportSource(data_set, cfg, scene_of=lambda _: make_scene(base))
        assert source.layout.shapes[CLOUD] == (50, 4)
        assert "50 points of the object that is acted on that all cameras see" in source.layout.convention[CLOUD]
        (trajectory,) = source.trajectories()
        assert not trajectory.images
        found[kind] = trajectory.columns[CLOUD].values
    for frame, points in enumerate(found["depth"].astype(float)):
        at_world = base @ points[:, :3]
        np.testing.assert_allclose(at_world[:, 2], 0.2, atol=2e-4)
        columns = np.rint((at_world[:, 0] - 0.1 * frame) / 0.8 * PINHOLE.fx + PINHOLE.cx).astype(int)
        np.testing.assert_array_equal(stripes(frame)[0, columns], np.where(points[:, 3] == 1.0, DOOR, BODY))
    # the other set stores other steps of length
    np.testing.assert_allclose(found["depth"][0, :, 2], found["distance"][0, :, 2], atol=4e-4)


def test_both_clouds_stand_beside_each_other_and_images_beside_them(data_set: DataSet, make_scene: MakeScene):
    write_renders(data_set, ["rgb", "depth", LINKS])
    cfg = ExportCfg(point_cloud=50, point_cloud_source=PointSource.both, render="clouds")
    source = ExportSource(data_set, cfg, scene_of=lambda _: make_scene(Pose.identity()))
    (trajectory,) = source.trajectories()
    columns, alone = trajectory.columns, {}
    for key, own in ((CLOUD, {"point_cloud": 50}), (CAMERA_CLOUD, {**BY_CAMERA, "render": "clouds"})):
        source = ExportSource(data_set, ExportCfg(**own), scene_of=lambda _: make_scene(Pose.identity()))
        alone[key] = next(source.trajectories()).columns[CLOUD].values
        np.testing.assert_array_equal(columns[key].values, alone[key])
    assert (alone[CLOUD] != alone[CAMERA_CLOUD]).any()
    assert set(trajectory.images) == {"front"}


def test_each_of_several_arms_has_its_own_points(
    make_set: Callable[..., DataSet], make_task_record: Callable[..., EpisodeRecord], make_scene: MakeScene
):
    record = make_task_record(0)
    for key in [key for key in record.arrays if ".left." in key]:
        record.arrays[key.replace(".left.", ".right.")] = record.arrays[key]
    data_set = make_set([record])
    write_renders(data_set, ["depth", LINKS])
    source = ExportSource(
        data_set, ExportCfg(**BY_CAMERA, render="clouds"), scene_of=lambda _: make_scene(Pose.identity())
    )
    columns = next(source.trajectories()).columns
    assert columns[f"{CLOUD}.left"].values.shape == (record.n_actions + 1, 50, 4)
    np.testing.assert_array_equal(columns[f"{CLOUD}.left"].values, columns[f"{CLOUD}.right"].values)


@pytest.mark.parametrize(
    ("modalities", "lens", "missing"),
    [
        (["rgb"], "pinhole", "depth or distance, and instance_id_segmentation"),
        (["depth"], "pinhole", "depth or distance, and instance_id_segmentation"),
        ([LINKS], "pinhole", "depth or distance, and instance_id_segmentation"),
        (["depth", LINKS], "fisheye", "distance, and instance_id_segmentation"),
    ],
)
def test_a_render_set_without_the_needed_images_is_refused(
    data_set: DataSet, modalities: list[str], lens: str, missing: str
):
    write_renders(data_set, modalities, lens=lens)
    with pytest.raises(RecordingError, match=rf"Expected {missing}.*unlatch render .* modalities=\[d"):
        ExportSource(data_set, ExportCfg(**BY_CAMERA, render="clouds"))


def test_a_camera_that_the_render_set_lacks_is_refused(data_set: DataSet):
    write_renders(data_set, ["depth", LINKS])
    cfg = ExportCfg(**BY_CAMERA, render="clouds", point_cloud_cameras=["frond"])
    with pytest.raises(RecordingError, match=r"point_cloud_cameras has 'frond'.* Did you mean 'front'\?"):
        ExportSource(data_set, cfg)


def test_cameras_for_images_that_the_render_set_lacks_are_refused(data_set: DataSet):
    write_renders(data_set, ["depth", LINKS])
    with pytest.raises(RecordingError, match="has no 'rgb', only depth"):
        ExportSource(data_set, ExportCfg(**BY_CAMERA, render="clouds", cameras=["front"]))


def test_points_by_camera_without_a_render_set_are_refused(data_set: DataSet):
    with pytest.raises(ConfigError, match=r"point_cloud_source=camera has no images: render=null.*give render=NAME"):
        ExportSource(data_set, ExportCfg(**BY_CAMERA))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"point_cloud_source": PointSource.camera}, "point_cloud_source=camera has no effect: point_cloud=0"),
        ({"point_cloud": 8, "point_cloud_cameras": ["front"]}, r"point_cloud_cameras=\['front'\] is empty or has no"),
        ({**BY_CAMERA, "point_cloud_cameras": []}, r"point_cloud_cameras=\[\] is empty or has no"),
        ({"point_cloud_part_share": 0.5}, r"point_cloud_part_share=0.5 has no effect"),
        ({**BY_CAMERA, "point_cloud_part_share": 0.5}, r"point_cloud_part_share=0.5 has no effect"),
        ({"point_cloud": 8, "point_cloud_part_share": 1.5}, r"point_cloud_part_share=1.5"),
    ],
)
def test_options_without_effect_are_refused(options: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        ExportCfg(**options)
