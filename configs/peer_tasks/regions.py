"""Turns the regions of InternDataEngine into ours: the same extents and turns, seen from the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unlatch.configs.peer_tasks.ledger import Ledger, join_path
from unlatch.configs.peer_tasks.values import read_list, read_mapping, read_numbers, read_text

_SAMPLER, _INSIDE = "A_on_B_region_sampler", "A_in_B_region_sampler"
_REACH_M = 0.25
"""A middle of a region is kept if it is at most this far from where an arm acts well, in x and in y."""
SIDE_HALF_M, _SIDE_GAP_M = 0.04, 0.06
"""Largest half extent of the regions of objects that stand side by side, and least room beside each [m]."""


@dataclass(frozen=True)
class PeerRegion:
    """Where another system places an object or a robot."""

    path: str
    low: np.ndarray
    """(3,) lowest position [m]."""
    high: np.ndarray
    """(3,) highest position [m]."""
    yaw_deg: tuple[float, float] | None
    """Range of the yaw; None if the file states none."""
    target: str = ""
    """Name of what it is on or in, such as a table."""
    is_inside: bool = False
    """Whether it is in it."""


def read_regions(entry: Mapping[str, Any], path: str, ledger: Ledger) -> dict[str, PeerRegion]:
    """Returns the regions of a task by object; those of other kinds are left to be listed."""
    found: dict[str, PeerRegion] = {}
    for index, item in enumerate(read_list(entry.get("regions"))):
        place = join_path(join_path(path, "regions"), index)
        region = read_mapping(item)
        name, kind = read_text(region.get("object")), read_text(region.get("random_type")) or _SAMPLER
        config = read_mapping(region.get("random_config"))
        bounds = [read_numbers(bound, 3) for bound in read_list(config.get("pos_range"))]
        if not name or kind not in (_SAMPLER, _INSIDE) or len(bounds) != 2 or bounds[0] is None or bounds[1] is None:
            if name and kind not in (_SAMPLER, _INSIDE):
                ledger.leave(place, dict(region), f"{kind}: objects stand on the table, or see task.relations")
            continue
        pair = read_numbers(config.get("yaw_rotation"), 2)
        low, high = np.minimum(bounds[0], bounds[1]), np.maximum(bounds[0], bounds[1])
        yaw = None if pair is None else (min(pair), max(pair))
        found[name] = PeerRegion(place, low, high, yaw, read_text(region.get("target")), kind == _INSIDE)
        for key in ("object", "random_type"):
            ledger.read(join_path(place, key), region.get(key))
    return found


def robot_yaw_deg(robot: Mapping[str, Any], region: PeerRegion | None) -> float:
    """Returns the direction in which a robot looks [deg]."""
    turns = read_numbers(robot.get("euler"), 3)
    yaw = 0.0 if turns is None else turns[2]
    return yaw + (sum(region.yaw_deg) / 2 if region is not None and region.yaw_deg is not None else 0.0)


def middle_across(region: PeerRegion, robot_yaw: float) -> float:
    """Returns how far to the left the middle of a region is, as a robot that looks along `robot_yaw` [deg] sees it."""
    turn = np.radians(-robot_yaw)
    x, y = (region.low + region.high)[:2] / 2
    return float(np.sin(turn) * x + np.cos(turn) * y)


def side_by_side(half_widths_m: Mapping[str, float]) -> dict[str, float]:
    """Returns y of objects that stand side by side before the robot, the first on the left; 0 is the middle [m]."""
    spans = {name: 2 * (half + SIDE_HALF_M + _SIDE_GAP_M) for name, half in half_widths_m.items()}
    edge, found = sum(spans.values()) / 2, {}
    for name, span in spans.items():
        found[name] = round(edge - span / 2, 3) + 0.0
        edge -= span
    return found


def our_region(
    region: PeerRegion,
    derived: Mapping[str, Any],
    *,
    depth_m: float,
    robot: PeerRegion | None,
    robot_yaw: float,
    ledger: Ledger,
    config: Any,
    most_half_m: float = np.inf,
) -> dict[str, Any]:
    """Returns an entry of `task.regions`; `derived` is the one that Unlatch derives for the object.

    Args:
        region: The region.
        derived: The derived entry; its values are kept where the file's have no meaning here.
        depth_m: Depth of the object: their position is that of its middle, ours of the middle of its front [m].
        robot: The region of the robot, if the file states one.
        robot_yaw: Direction in which the robot looks [deg].
        ledger: Gets a line for each value.
        config: The value of `random_config`, for the lines.
        most_half_m: Largest half extent that is taken, where several objects need room [m].
    """
    values = read_mapping(config)
    turn = np.radians(-robot_yaw)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    theirs = np.abs(R) @ ((region.high - region.low)[:2] / 2)
    half = np.minimum(theirs, most_half_m)
    found = {**derived, "half_extent_m": _rounded(half)}
    said = f"read as half_extent_m {_rounded(half)} as the robot sees it"
    if np.any(theirs > half):
        said += f", not {_rounded(theirs)}, as each object needs room"
    if robot is None:
        said += f"; the middle {_rounded(derived['center_m'])} is where the arm of Unlatch acts well"
    else:
        middle = R @ ((region.low + region.high - robot.low - robot.high)[:2] / 2) - np.array([depth_m / 2, 0.0])
        if np.abs(middle - np.asarray(derived["center_m"])).max() <= _REACH_M:
            found["center_m"] = _rounded(middle)
            said += f", and center_m {_rounded(middle)}, the middle of the object's front"
        else:
            said += (
                f"; its middle {_rounded(middle)} is beside where the arm of Unlatch acts well, "
                f"{_rounded(derived['center_m'])} is taken"
            )
    low, high = float(region.low[2]), float(region.high[2])
    if high > low >= 0.0:
        found["height_m"] = _rounded([low, high])
        said += f", height_m {_rounded([low, high])}"
    elif derived["height_m"][1] > 0.0:
        said += f"; height_m {list(derived['height_m'])} lifts the part to the height of the arm"
    ledger.read(f"{region.path}.random_config.pos_range", values.get("pos_range"), said)
    if region.yaw_deg is not None:
        low, high = region.yaw_deg
        found["yaw_deg"] = round(min((high - low) / 2, 180.0), 3)
        beside = (
            f"; its middle {(high + low) / 2:g} is dropped, the object faces the robot"
            if abs(high + low) > 1e-9
            else ""
        )
        ledger.read(
            f"{region.path}.random_config.yaw_rotation",
            values.get("yaw_rotation"),
            f"read as yaw_deg {found['yaw_deg']:g} to either side{beside}",
        )
    return found


def _rounded(values: Sequence[float] | np.ndarray) -> list[float]:
    return [round(float(v), 3) + 0.0 for v in values]
