"""Masses and poses of URDFs in memory."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from unlatch.simcore.geometry import Pose
from unlatch.simcore.urdf.model import (
    Joint,
    Link,
    Shape,
    ShapeKind,
    UrdfModel,
    composed_inertial,
    format_number,
    primitive_bounds,
)


def _box(size: tuple[float, float, float], p: tuple[float, float, float], rpy: tuple[float, ...] = (0, 0, 0)) -> Shape:
    return Shape(ShapeKind.box, size, Pose.from_rpy(p, rpy))


def test_two_half_boxes_weigh_like_the_whole() -> None:
    whole = composed_inertial([_box((0.4, 0.2, 0.6), (0.1, 0.2, 0.3))], 3.0)
    halves = composed_inertial([_box((0.4, 0.2, 0.3), (0.1, 0.2, z)) for z in (0.15, 0.45)], 3.0)
    np.testing.assert_allclose(halves.com_link, whole.com_link)
    np.testing.assert_allclose(halves.inertia, whole.inertia, atol=1e-12)
    np.testing.assert_allclose(np.diag(whole.inertia), 3.0 / 12 * np.array([0.04 + 0.36, 0.16 + 0.36, 0.16 + 0.04]))


def test_inertia_turns_with_the_shape() -> None:
    rpy = (0.3, -0.4, 1.2)
    straight = composed_inertial([Shape(ShapeKind.cylinder, (0.1, 0.5), Pose.identity())], 2.0)
    turned = composed_inertial([Shape(ShapeKind.cylinder, (0.1, 0.5), Pose.from_rpy([0, 0, 0], rpy))], 2.0)
    R = Pose.from_rpy([0, 0, 0], rpy).R
    np.testing.assert_allclose(turned.inertia, R @ straight.inertia @ R.T, atol=1e-12)


def test_bounds_of_a_turned_box() -> None:
    bounds = primitive_bounds(_box((2.0, 1.0, 0.5), (1.0, 0.0, 0.0), (0.0, 0.0, np.pi / 2)))
    np.testing.assert_allclose(bounds, [[0.5, -1.0, -0.25], [1.5, 1.0, 0.25]], atol=1e-12)


def test_joint_motion() -> None:
    origin = Pose.from_translation([1.0, 0.0, 0.0])
    hinge = Joint("h", "revolute", "a", "b", origin, axis=np.array([0.0, 0.0, 2.0]))
    np.testing.assert_allclose(hinge.child_pose(np.pi / 2) @ np.array([1.0, 0.0, 0.0]), [1.0, 1.0, 0.0], atol=1e-12)
    slide = Joint("s", "prismatic", "a", "b", origin, axis=np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(slide.child_pose(0.3).p, [1.0, 0.0, 0.3])


@pytest.mark.parametrize(("value", "text"), [(0.1 + 0.2, "0.3"), (-0.0, "0"), (-1e-17, "0"), (1 / 3, "0.333333333")])
def test_numbers_are_formatted_in_one_way(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize("name", ["a & b", "<link>", 'the "upper" door', "it's", "two\nlines\tand\rmore"])
def test_a_name_is_read_from_the_text_as_it_was_written(name: str) -> None:
    text = UrdfModel(name, {name: Link(name)}, {}).to_urdf()
    root = ElementTree.fromstring(text)
    assert [root.get("name"), *(link.get("name") for link in root)] == [name, name]
