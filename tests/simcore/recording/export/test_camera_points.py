"""Point clouds by camera: what they show, how pixels are chosen, and which images they need."""

import numpy as np
import pytest

from tests.simcore.recording.export.builders import (
    T_WORLD_BASE,
    add_right_arm,
    scene_of,
    task_record_of,
    write_renders,
)
from unlatch.simcore.cameras import Fisheye, Pinhole
from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.export.columns import CAMERA_CLOUD, CLOUD
from unlatch.simcore.recording.export.config import ExportCfg
from unlatch.simcore.recording.export.trajectory import ExportSource
from unlatch.simcore.recording.modality import LENGTHS, LINKS, ImageStream, PointSource
from unlatch.simcore.recording.observed_scene import CameraCloud, CameraFrame

LABELS = ["nothing", "table", "microwave/body", "microwave/door", "microwave_2/door"]
BODY, DOOR = 2, 3
PINHOLE = Pinhole(40, 30, 35.0, 36.0, 19.0, 15.0)
FISHEYE = Fisheye(40, 30, 15.0, 15.0, 19.5, 14.5, (0.02, 0.0, 0.0, 0.0))
SIZE = {"width": 40, "height": 30}
ALL = 40 * 30
BY_CAMERA = {"point_cloud": 50, "point_cloud_source": PointSource.camera}
WORLD = Pose.identity()


def stripes(shift=0):
    """Links in vertical stripes of eight pixels, all labels in turn."""
    return np.broadcast_to((np.arange(40) + shift) // 8 % len(LABELS), (30, 40)).astype(np.int32)


def view_of(links, *, camera="front", optics=PINHOLE, pose=WORLD, length_m=1.0):
    return CameraFrame(camera, optics, pose, np.full(links.shape, length_m, dtype=np.float32), links, LABELS)


def cloud(n, views, *, seed=5, T_base_world=WORLD):
    """(n, 4) points of the microwave, whose door is acted on."""
    item = scene_of(WORLD).load_object("microwave")
    return CameraCloud(item, "microwave", n, seed=seed).points(views, "door", T_base_world)


class TestCloud:
    @pytest.mark.parametrize("optics", [PINHOLE, FISHEYE])
    def test_each_point_lies_where_a_pixel_of_the_object_shows_it(self, optics):
        T_world_camera = Pose.from_rpy([0.4, -0.9, 0.8], [-2.0, 0.1, 0.3])
        view = view_of(stripes(), optics=optics, pose=T_world_camera, length_m=0.8)
        points = cloud(200, [view], T_base_world=T_WORLD_BASE.inverse())
        assert (points.shape, points.dtype) == ((200, 4), np.float32)
        at_camera = (T_world_camera.inverse() @ T_WORLD_BASE) @ points[:, :3].astype(float)
        lengths = at_camera[:, 2] if optics is PINHOLE else np.linalg.norm(at_camera, axis=1)
        np.testing.assert_allclose(lengths, 0.8, atol=1e-6)
        pixels = optics.project(at_camera)
        np.testing.assert_allclose(pixels, np.rint(pixels), atol=1e-3)
        columns, rows = np.rint(pixels).astype(int).T
        seen = view.links[rows, columns]
        assert set(seen) == {BODY, DOOR}
        np.testing.assert_array_equal(points[:, 3], seen == DOOR)
        assert len(np.unique(points, axis=0)) == 200

    def test_pixels_without_a_length_give_no_points(self):
        view = view_of(np.full((30, 40), BODY))
        view.lengths_m[:, 20:] = np.inf
        points = cloud(ALL, [view])
        assert np.isfinite(points).all()
        assert len(np.unique(points, axis=0)) == ALL // 2

    def test_points_are_repeated_if_fewer_pixels_show_the_object_and_0_if_none_does(self):
        links = np.zeros((30, 40), dtype=np.int32)
        links[3, 4:9] = DOOR
        _, counts = np.unique(cloud(20, [view_of(links)]), axis=0, return_counts=True)
        np.testing.assert_array_equal(counts, [4] * 5)
        np.testing.assert_array_equal(cloud(20, [view_of(np.ones_like(links))]), 0.0)

    def test_the_seed_alone_chooses_the_pixels(self):
        views = [view_of(stripes()), view_of(stripes(4), camera="wrist", length_m=0.7)]
        first = cloud(100, views)
        np.testing.assert_array_equal(first, cloud(100, views[::-1]))
        assert (first != cloud(100, views, seed=6)).any()
        assert len(np.unique(first, axis=0)) == 100

    def test_a_part_that_leaves_the_image_takes_none_of_the_others_points_with_it(self):
        hidden = stripes().copy()
        hidden[:, :20] = 0
        before, after = ({tuple(point) for point in cloud(100, [view_of(links)])} for links in (stripes(), hidden))
        right = {point for point in before if point[0] > 0.5 / 35.0}
        assert len(right) > 30
        assert right <= after

    def test_a_near_camera_has_as_many_points_as_the_area_that_it_sees(self):
        links, aside = np.full((30, 40), BODY), Pose.from_translation([10.0, 0.0, 0.0])
        points = cloud(600, [view_of(links), view_of(links, camera="wrist", pose=aside, length_m=0.5)])
        # a quarter of the area at half the distance; both cameras have the same number of pixels
        assert (points[:, 0] > 5.0).mean() == pytest.approx(0.2, abs=0.04)


def render(data_set, modalities, *, name="clouds", lens="pinhole"):
    """Writes a set of a camera above the table that moves sideways; the links move through its image."""
    images = {
        "depth": np.full((30, 40), 0.8),
        "distance": 0.8 * PINHOLE.ray_lengths,
        "rgb": np.zeros((30, 40, 3), np.uint8),
    }
    write_renders(
        data_set,
        [ImageStream.of(kind, **SIZE, farthest_m=12.0, lossless=True) for kind in modalities],
        lambda stream, number, frame: images.get(stream.modality, stripes(frame)),
        **SIZE,
        name=name,
        lens=lens,
        track=lambda n: {
            "position": np.stack([0.1 * np.arange(n), np.zeros(n), np.ones(n)], axis=1),
            "quat_xyzw": np.tile([1.0, 0.0, 0.0, 0.0], (n, 1)),  # looks down
            "intrinsics": np.tile([PINHOLE.fx, PINHOLE.fy, PINHOLE.cx, PINHOLE.cy], (n, 1)),
        },
        labels={LINKS: LABELS},
    )


def source_of(data_set, base=WORLD, **options):
    return ExportSource(data_set, ExportCfg(**options), scene_of=lambda _: scene_of(base))


@pytest.fixture
def data_set(make_set):
    return make_set([task_record_of(0)])


class TestExport:
    def test_the_points_of_a_render_set_are_exported(self, data_set):
        found = {}
        for kind in LENGTHS:
            render(data_set, [kind, LINKS], name=kind)
            source = source_of(data_set, T_WORLD_BASE, **BY_CAMERA, render=kind)
            assert source.layout.shapes[CLOUD] == (50, 4)
            assert "50 points of the object that is acted on that all cameras see" in source.layout.convention[CLOUD]
            (trajectory,) = source.trajectories()
            assert not trajectory.images
            found[kind] = trajectory.columns[CLOUD].values
        for frame, points in enumerate(found["depth"].astype(float)):
            at_world = T_WORLD_BASE @ points[:, :3]
            np.testing.assert_allclose(at_world[:, 2], 0.2, atol=2e-4)
            columns = np.rint((at_world[:, 0] - 0.1 * frame) / 0.8 * PINHOLE.fx + PINHOLE.cx).astype(int)
            np.testing.assert_array_equal(stripes(frame)[0, columns], np.where(points[:, 3] == 1.0, DOOR, BODY))
        # the other set stores other steps of length
        np.testing.assert_allclose(found["depth"][0, :, 2], found["distance"][0, :, 2], atol=4e-4)

    def test_both_clouds_stand_beside_each_other_and_images_beside_them(self, data_set):
        render(data_set, ["rgb", "depth", LINKS])
        both = source_of(data_set, point_cloud=50, point_cloud_source=PointSource.both, render="clouds")
        (trajectory,) = both.trajectories()
        alone = {}
        for key, own in ((CLOUD, {"point_cloud": 50}), (CAMERA_CLOUD, {**BY_CAMERA, "render": "clouds"})):
            alone[key] = next(source_of(data_set, **own).trajectories()).columns[CLOUD].values
            np.testing.assert_array_equal(trajectory.columns[key].values, alone[key])
        assert (alone[CLOUD] != alone[CAMERA_CLOUD]).any()
        assert set(trajectory.images) == {"front"}

    def test_each_of_several_arms_has_its_own_points(self, make_set):
        data_set = make_set([add_right_arm(task_record_of(0))])
        render(data_set, ["depth", LINKS])
        columns = next(source_of(data_set, **BY_CAMERA, render="clouds").trajectories()).columns
        assert columns[f"{CLOUD}.left"].values.shape == (13, 50, 4)
        np.testing.assert_array_equal(columns[f"{CLOUD}.left"].values, columns[f"{CLOUD}.right"].values)


class TestRefused:
    @pytest.mark.parametrize(
        ("modalities", "lens", "missing"),
        [
            *((kinds, "pinhole", f"depth or distance, and {LINKS}") for kinds in (["rgb"], ["depth"], [LINKS])),
            (["depth", LINKS], "fisheye", f"distance, and {LINKS}"),
        ],
    )
    def test_a_render_set_without_the_needed_images(self, data_set, modalities, lens, missing):
        render(data_set, modalities, lens=lens)
        with pytest.raises(RecordingError, match=rf"Expected {missing}.*unlatch render .* modalities=\[d"):
            source_of(data_set, **BY_CAMERA, render="clouds")

    def test_cameras_and_images_that_the_render_set_lacks(self, data_set):
        render(data_set, ["depth", LINKS])
        for options, message in (
            ({"point_cloud_cameras": ["frond"]}, r"point_cloud_cameras has 'frond'.* Did you mean 'front'\?"),
            ({"cameras": ["front"]}, "has no 'rgb', only depth"),
        ):
            with pytest.raises(RecordingError, match=message):
                source_of(data_set, **BY_CAMERA, render="clouds", **options)

    def test_points_by_camera_without_a_render_set(self, data_set):
        with pytest.raises(ConfigError, match=r"point_cloud_source=camera has no images: render=null.*give render=N"):
            source_of(data_set, **BY_CAMERA)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"point_cloud_source": PointSource.camera}, "point_cloud_source=camera has no effect: point_cloud=0"),
            (
                {"point_cloud": 8, "point_cloud_cameras": ["front"]},
                r"point_cloud_cameras=\['front'\] is empty or has no",
            ),
            ({**BY_CAMERA, "point_cloud_cameras": []}, r"point_cloud_cameras=\[\] is empty or has no"),
            ({"point_cloud_part_share": 0.5}, r"point_cloud_part_share=0.5 has no effect"),
            ({**BY_CAMERA, "point_cloud_part_share": 0.5}, r"point_cloud_part_share=0.5 has no effect"),
            ({"point_cloud": 8, "point_cloud_part_share": 1.5}, r"point_cloud_part_share=1.5"),
            ({"point_cloud": -1}, "point_cloud=-1"),
            ({"point_cloud": 100_001}, "point_cloud=100001"),
            ({"state": []}, r"state=\[\] cannot be exported"),
        ],
    )
    def test_options_out_of_range_or_without_effect(self, options, message):
        with pytest.raises(ConfigError, match=message):
            ExportCfg(**options)
