"""Robots of the extra `robots`: what is changed of the package's models, and what is said where it is missing."""

from __future__ import annotations

from importlib import metadata

import numpy as np
import pytest

from unlatch.robots.baxter import baxter
from unlatch.robots.model import model_path
from unlatch.robots.ur5 import ur5
from unlatch.simcore.errors import AssetError
from unlatch.simcore.urdf.reader import read_urdf


def installed() -> bool:
    try:
        metadata.distribution("example-robot-data")
    except metadata.PackageNotFoundError:
        return False
    return True


needs_models = pytest.mark.skipif(not installed(), reason="the extra 'robots' (example-robot-data) is not installed")


@pytest.mark.parametrize("name", ["ur5", "baxter"])
def test_an_error_names_a_missing_extra(name: str, monkeypatch: pytest.MonkeyPatch):
    def missing(distribution: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(AssetError) as caught:
        model_path(name)
    assert str(caught.value) == (
        f"robot '{name}' needs package 'example-robot-data', which is not installed. It comes with the extra 'robots'. "
        "Install it: pip install 'unlatch[robots]'."
    )


@needs_models
def test_the_fingers_of_the_ur5_are_the_models_boxes_on_sliders():
    model = read_urdf(model_path("ur5"))
    (arm,) = ur5().arms
    for joint, link, sign in zip(arm.gripper.joints, arm.gripper.finger_links, (1.0, -1.0), strict=True):
        (box,) = model.links[link].collisions
        assert box.size == pytest.approx((0.005, 0.02, 0.05))
        inner = [
            model.link_pose(arm.ee_link).inverse() @ model.link_pose(link, {joint: q}) @ box.T_link_shape.p
            for q in (0.0, arm.gripper.max_width_m / 2)
        ]
        assert sign * inner[0][0] - 0.0025 == pytest.approx(0.0, abs=1e-9)
        assert sign * inner[1][0] - 0.0025 == pytest.approx(arm.gripper.max_width_m / 2, abs=1e-9)
    assert len(model.links["tool0"].collisions) == 1


@needs_models
def test_both_hands_of_baxter_are_alike_and_close():
    model = read_urdf(model_path("baxter"))
    shapes = []
    for arm in baxter().arms:
        tips = [link for link in arm.gripper.finger_links if link.endswith("_tip")]
        T_hand_root = model.link_pose(arm.ee_link).inverse()
        pads = []
        for tip in tips:
            (box,) = model.links[tip].collisions
            pads.append((T_hand_root @ model.link_pose(tip) @ box.T_link_shape.p, box.size))
        gap = abs(pads[0][0][1] - pads[1][0][1]) - pads[0][1][1]
        assert gap == pytest.approx(0.0, abs=1e-6)
        shapes.append(np.concatenate([np.concatenate([p, size]) for p, size in pads]))
    np.testing.assert_allclose(shapes[0], shapes[1], atol=1e-9)


@needs_models
def test_the_arms_of_baxter_start_as_mirror_images():
    model = read_urdf(model_path("baxter"))
    left, right = (
        model.link_pose(arm.ee_link, dict(zip(arm.joints, arm.home, strict=True))).p for arm in baxter().arms
    )
    np.testing.assert_allclose(left * [1.0, -1.0, 1.0], right, atol=2e-3)
