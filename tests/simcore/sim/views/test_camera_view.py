"""Every attribute of a camera is seen in its images."""

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose, rpy_from_matrix
from unlatch.simcore.sim.sensors.camera import Camera, CameraCfg, CameraView
from unlatch.simcore.sim.sensors.config import MountCfg
from unlatch.simcore.sim.visuals.visual_shapes import Light
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.simcore.state import Rendering

pytestmark = pytest.mark.integration

Array = np.ndarray
WIDTH, HEIGHT, FAR_M, SIDE_M = 96, 72, 1.0, 0.2


@pytest.fixture(scope="module")
def camera():
    """A camera 1 m above a white square of 0.2 m on a dark floor, its x along the world's."""
    with World(WorldCfg(), visuals=True) as world:
        world.light = Light(direction=(0.0, 0.0, 1.0), specular=0.0, shadow=False)
        floor = Pose.from_translation((0.0, 0.0, -0.1))
        world.add_box("floor", size_m=(4, 4, 0.1), T_world_box=floor, rgba=(0.2, 0.2, 0.2, 1.0))
        square = Pose.from_translation((0.0, 0.0, -0.0025))
        world.add_box("square", size_m=(SIDE_M, SIDE_M, 0.005), T_world_box=square, rgba=(0.6, 0.6, 0.6, 1.0))
        down = rpy_from_matrix(np.diag([1.0, -1.0, -1.0]))
        mount = MountCfg(position_m=[0.0, 0.0, FAR_M], rpy_deg=np.rad2deg(down).tolist())
        made = Camera(
            CameraCfg(name="eye", type="camera", mount=mount, width=WIDTH, height=HEIGHT, fov_deg=40.0), world
        )
        for kind in (Rendering.rgb, Rendering.depth, Rendering.segmentation):
            made.switch_rendering(kind, on=True)
        yield made


@pytest.fixture
def view(camera):
    made = CameraView(camera)
    before = {name: made.get(name)[0] for name in made.attributes}
    yield made
    for name, values in before.items():
        made.attribute(name).write(0, values)


def square(camera: Camera) -> tuple[Array, Array]:
    """Middle (u, v) and extent of the square in the image [px]."""
    camera.update_state()
    place = camera.labels(Rendering.segmentation).index("square")
    v, u = np.nonzero(camera.image(Rendering.segmentation) == place)
    pixels = np.stack([u, v], axis=1)
    return pixels.mean(axis=0), np.ptp(pixels, axis=0) + 1.0


def colours(camera: Camera) -> Array:
    camera.update_state()
    return camera.image(Rendering.rgb).astype(float)


def test_a_wider_field_of_view_makes_things_smaller(camera, view):
    fov = 0.8
    view.attribute("field_of_view").write(0, np.array([fov]))
    middle, extent = square(camera)
    pixels_a_metre = 0.5 * HEIGHT / np.tan(0.5 * fov) / FAR_M
    assert extent == pytest.approx([SIDE_M * pixels_a_metre] * 2, abs=1.5)
    assert middle == pytest.approx([0.5 * (WIDTH - 1), 0.5 * (HEIGHT - 1)], abs=1.0)


def test_intrinsics_stretch_and_shift_the_image(camera, view):
    view.attribute("intrinsics").write(0, np.array([150.0, 75.0, 60.0, 20.0]))
    middle, extent = square(camera)
    assert extent == pytest.approx([SIDE_M * 150.0, SIDE_M * 75.0], abs=1.5)
    assert middle == pytest.approx([60.0, 20.0], abs=1.0)


def test_a_camera_that_moves_and_turns_sees_things_elsewhere(camera, view):
    fx = view.get("intrinsics")[0][0]
    before, _ = square(camera)
    view.attribute("position").write(0, np.array([0.05, 0.0, FAR_M]))
    moved, _ = square(camera)
    assert moved - before == pytest.approx([-0.05 * fx / FAR_M, 0.0], abs=1.0)
    view.attribute("position").write(0, np.array([0.0, 0.0, FAR_M]))
    view.attribute("orientation").write(0, view.get("orientation")[0] + [0.1, 0.0, 0.0])  # about the world's x
    turned, _ = square(camera)
    assert abs(turned[1] - before[1]) == pytest.approx(np.tan(0.1) * fx, abs=1.0)
    assert turned[0] == pytest.approx(before[0], abs=1.0)


def test_exposure_noise_and_blur_are_in_the_colours(camera, view):
    plain = colours(camera)
    inside, edges = np.s_[30:42, 42:54], np.s_[:, :-1]
    view.attribute("exposure").write(0, np.array([0.5]))
    assert colours(camera)[inside].mean() == pytest.approx(0.5 * plain[inside].mean(), abs=1.0)
    view.attribute("exposure").write(0, np.array([1.0]))
    view.attribute("image_noise").write(0, np.array([6.0]))
    assert (colours(camera) - plain).std() == pytest.approx(6.0, rel=0.1)
    view.attribute("image_noise").write(0, np.array([0.0]))
    view.attribute("image_blur").write(0, np.array([1.5]))
    steps = [np.abs(np.diff(image, axis=1))[edges].max() for image in (plain, colours(camera))]
    assert steps[1] < 0.5 * steps[0]


def test_noise_and_holes_are_in_the_depth(camera, view):
    camera.update_state()
    plain = camera.image(Rendering.depth).astype(float)
    view.attribute("depth_noise").write(0, np.array([0.01]))
    camera.update_state()
    errors = camera.image(Rendering.depth) - plain
    assert errors.std() == pytest.approx(0.01 * np.mean(plain**2), rel=0.15)
    view.attribute("depth_noise").write(0, np.array([0.0]))
    view.attribute("depth_holes").write(0, np.array([0.2]))
    camera.update_state()
    seen = camera.image(Rendering.depth)
    assert 0.1 < np.mean(~(np.isfinite(seen) & (seen > 0.0))) < 0.3


def test_only_depths_in_the_range_are_measured(camera, monkeypatch):
    middle = (HEIGHT // 2, WIDTH // 2)  # the square, 5 cm above the floor
    for span, square_is_seen in (([0.5, 1.02], True), ([1.02, 2.0], False)):
        monkeypatch.setattr(camera.cfg, "depth_range_m", span)
        camera.update_state()
        seen = np.isfinite(camera.image(Rendering.depth))
        assert (seen[middle], seen[0, 0]) == (square_is_seen, not square_is_seen)
