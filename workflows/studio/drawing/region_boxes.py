"""Draws the regions as boxes that can be moved, resized and turned."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from unlatch.tasks.task import RegionCfg
from unlatch.workflows.studio.drawing.name_places import SceneName
from unlatch.workflows.studio.jobs import Array
from unlatch.workflows.studio.session import RUN, StudioSession
from unlatch.workflows.viewing.viewers.viser_scene import SceneNodes

_REGION_RGB = (40, 90, 220)
_FAN_M = 0.22
"""Length of the lines that show how far an object may be turned [m]."""
_LEAST_BOX_M = 0.004
_STEP = 3
"""Decimals of what is dragged: millimetres."""
_YAW_STEP_DEG = 1.0


class RegionBoxes:
    """The boxes of one scene; what is dragged goes to the session."""

    def __init__(self, server: Any, session: StudioSession, redraw: Callable[[], None]) -> None:
        """Draws nothing yet; `redraw` is called at the end of a drag, in a thread of viser."""
        self._nodes, self._session, self._redraw = SceneNodes(server), session, redraw
        self._boxes: list[dict[str, Any]] = []
        self._dragged = threading.Event()
        self.names: list[SceneName] = []
        """Names of the regions that are drawn."""

    def draw(self, regions: list[RegionCfg]) -> None:
        """Draws every region as a box with controls; controls that are being dragged stay."""
        if self._dragged.is_set():
            return
        shown = self._session.drawn().regions and self._session.clock.of != RUN
        boxes = [vars(region) | {"shown": shown, "reach": self._session.drawn().reach} for region in regions]
        if boxes == self._boxes:
            return
        self._boxes = boxes
        self._nodes.clear("regions")
        self.names.clear()
        if shown:
            for index, region in enumerate(regions):
                self._add_region(index, region)

    def _add_region(self, index: int, region: RegionCfg) -> None:
        view, session = self._nodes.view, self._session
        (x, y), (dx, dy), (low, high) = region.center_m, region.half_extent_m, region.height_m
        path = f"/regions/{index}"
        flat = {"active_axes": (True, True, False), "depth_test": False}
        shifts = {**flat, "line_width": 3.0, "disable_rotations": True}
        move = view.add_transform_controls(path, scale=0.16, position=(x, y, low), **shifts)
        turn = view.add_transform_controls(
            f"/region_turns/{index}",
            scale=0.26,
            disable_axes=True,
            disable_sliders=True,
            position=(x, y, low),
            wxyz=_yaw_wxyz(math.radians(region.yaw_deg)),
            rotation_limits=((0.0, 0.0), (0.0, 0.0), (0.0, math.pi)),
            **flat,
        )
        corner = (x + dx, y + dy, low)
        size = view.add_transform_controls(f"/region_corners/{index}", scale=0.08, position=corner, **shifts)
        height = max(high - low, _LEAST_BOX_M)
        box = view.add_box(
            f"{path}/box",
            color=_REGION_RGB,
            dimensions=(max(2 * dx, _LEAST_BOX_M), max(2 * dy, _LEAST_BOX_M), height),
            opacity=0.03 if session.drawn().reach else 0.18,
            position=(0.0, 0.0, 0.5 * height),
            cast_shadow=False,
        )
        thin = {"thickness": 2.0, "thickness_units": "screen"}
        edges = view.add_line_segments(f"{path}/edges", _box_edges(dx, dy, height), _REGION_RGB, **thin)
        fan = view.add_line_segments(f"{path}/fan", _fan_lines(region.yaw_deg), _REGION_RGB, **thin)
        for handle in (move, turn, size, box, edges, fan):
            self._nodes.keep("regions", handle)
        words = f"region of {region.object}"
        name = self._nodes.add_label("regions", f"regions/{index}/name", words, position=(0.0, -dy, 0.0))
        self.names.append(SceneName(name, np.array([x, y - dy, low])))
        keys = ("task", "regions", index)

        def moved(_: Any) -> None:
            place = [round(float(value), _STEP) for value in move.position[:2]]
            turn.position, size.position = move.position, np.array([place[0] + dx, place[1] + dy, low])
            session.try_set((*keys, "center_m"), place, gesture=f"move {index}")

        def resized(_: Any) -> None:
            halves = [max(round(abs(float(a) - b), _STEP), 0.0) for a, b in zip(size.position, (x, y), strict=False)]
            session.try_set((*keys, "half_extent_m"), halves, gesture=f"resize {index}")

        def turned(_: Any) -> None:
            angle = abs(2.0 * math.degrees(math.atan2(float(turn.wxyz[3]), float(turn.wxyz[0]))))
            yaw = min(_YAW_STEP_DEG * round(min(angle, 360.0 - angle) / _YAW_STEP_DEG), 180.0)
            fan.points = _fan_lines(yaw)
            session.try_set((*keys, "yaw_deg"), yaw, gesture=f"turn {index}")

        for handle, action in ((move, moved), (size, resized), (turn, turned)):
            handle.on_update(action)
            handle.on_drag_start(lambda _: self._dragged.set())
            handle.on_drag_end(lambda _: self.end_drag())

    def end_drag(self) -> None:
        """Ends a drag: the boxes are drawn as the task says."""
        self._dragged.clear()
        self._session.end_gesture()
        self._boxes = []
        self._redraw()


def _yaw_wxyz(yaw_rad: float) -> tuple[float, float, float, float]:
    return math.cos(0.5 * yaw_rad), 0.0, 0.0, math.sin(0.5 * yaw_rad)


def _box_edges(dx: float, dy: float, height: float) -> Array:
    """Returns the edges (12, 2, 3) of a box that stands on its frame's origin."""
    low = [(-dx, -dy, 0.0), (dx, -dy, 0.0), (dx, dy, 0.0), (-dx, dy, 0.0)]
    high = [(x, y, height) for x, y, _ in low]
    rings = [(ring[k], ring[(k + 1) % 4]) for ring in (low, high) for k in range(4)]
    return np.array([*rings, *zip(low, high, strict=True)])


def _fan_lines(yaw_deg: float) -> Array:
    """Returns lines (2, 2, 3) from the middle to where the front of an object faces at most: about -x."""
    ends = [np.pi + sign * math.radians(yaw_deg) for sign in (-1.0, 1.0)]
    return np.array([[(0.0, 0.0, 0.0), (_FAN_M * math.cos(end), _FAN_M * math.sin(end), 0.0)] for end in ends])
