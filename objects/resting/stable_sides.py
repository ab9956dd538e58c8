"""Finds the sides on which an object would lie stably, with its parts free to move."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import scipy

from unlatch.objects.annotation import Part
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.resting.side import OTHER_SIDES, RestsOn
from unlatch.objects.resting.turned_object import outward_of
from unlatch.simcore.meshes.solids import Solids

_CONTACT_M = 0.001
"""Points of the body that are at most this much above its lowest one carry the object [m]."""
_FEET_M = 0.004
"""A part may stand out below the body by at most this much: it does not touch what an object with feet of this height
lies on [m]."""
_MARGIN_M, _MARGIN_SHARE = 0.006, 0.15
"""The centre of mass is at least this far within the hull of these points [m], and at least this share of the smaller
extent of the object: a bottle rolls away on the strip that carries it."""
_DOWNWARDS = -0.5
"""A part that opens more steeply downwards is blocked by what the object lies on."""
LIGHT_KG, SMALL_M = 5.0, 0.5
"""A person lays an object that is not heavier and not larger than this on another side."""


def stable_sides(asset: ObjectAsset, parts: Collection[str] = ()) -> list[RestsOn]:
    """Returns the sides other than the bottom on which a standing object would lie stably, in order of trial.

    The centre of mass is above the hull of the points that carry the object, with a margin, and no given part carries
    it or opens downwards. `parts` are those that are acted on; empty: all.
    """
    acted = [part for name, part in asset.articulation.parts.items() if not parts or name in parts]
    return [side for side in OTHER_SIDES if _is_free(asset, acted, side) and _is_balanced(asset, acted, side)]


def suits_any_side(asset: ObjectAsset, parts: Collection[str] = ()) -> bool:
    """Returns whether a person would lay a standing object on another side: it is small and light, and lies stably."""
    if asset.rests_on is not RestsOn.bottom or float(asset.size_m.max()) > SMALL_M or asset.mass_kg > LIGHT_KG:
        return False
    return bool(stable_sides(asset, parts))


def _is_free(asset: ObjectAsset, acted: Collection[Part], side: RestsOn) -> bool:
    outward = [side.down_rotation @ outward_of(part, asset.model, asset.articulation) for part in acted]
    return all(float(direction[2]) > _DOWNWARDS for direction in outward)


def _is_balanced(asset: ObjectAsset, acted: Collection[Part], side: RestsOn) -> bool:
    R, model, solids = side.down_rotation, asset.model, Solids.from_urdf(asset.urdf_path)
    closed = asset.articulation.closed_positions()
    poses = {name: model.link_pose(name, closed) for name in model.links}
    points = {name: (pose @ solids.vertices(name)) @ R.T for name, pose in poses.items() if len(solids.vertices(name))}
    if not points:
        return False
    everything = np.concatenate(list(points.values()))
    low, high = everything.min(axis=0), everything.max(axis=0)
    moving = {name for name in points for part in acted if model.is_below(name, model.joints[part.joint].child)}
    body = [cloud for name, cloud in points.items() if name not in moving]
    if not body:
        return False
    carrying = np.concatenate(body)
    underside = float(carrying[:, 2].min())
    if underside > float(low[2]) + _FEET_M:
        return False
    carrying = carrying[carrying[:, 2] < underside + _CONTACT_M, :2]
    middle = R @ _centre_of_mass(asset)
    margin_m = max(_MARGIN_M, _MARGIN_SHARE * float((high - low)[:2].min()))
    try:
        hull = scipy.spatial.ConvexHull(carrying)
    except (scipy.spatial.QhullError, ValueError):  # fewer than three points, or all on a line
        return False
    distances = hull.equations[:, :2] @ middle[:2] + hull.equations[:, 2]
    return bool(np.all(distances < -margin_m))


def _centre_of_mass(asset: ObjectAsset) -> np.ndarray:
    """Returns (3,) the centre of mass of the closed object in its root frame [m]."""
    mass_kg, moment, closed = 0.0, np.zeros(3), asset.articulation.closed_positions()
    for name, link in asset.model.links.items():
        if link.inertial is not None:
            mass_kg += link.inertial.mass_kg
            moment += link.inertial.mass_kg * (asset.model.link_pose(name, closed) @ link.inertial.com_link)
    return moment / mass_kg if mass_kg > 0.0 else np.asarray(asset.bounds_obj.mean(axis=0))
