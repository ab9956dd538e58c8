"""Draws many ways to hold or push a part from its shape alone, without regard to names: pinches and pushes.

A rehearsal executes them and keeps those that work. Points are drawn on the surface of the part. At a point, two
fingers may pinch what lies between it and the opposite surface, or closed fingers push it with their tips or their
side. The hand comes from several directions and in several rolls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unlatch.objects.annotation import SPOT, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.closing_force_values import opening_motions
from unlatch.robots.hand_shape import HandShape
from unlatch.simcore.geometry import Pose, unit
from unlatch.simcore.meshes.solids import convex_hull
from unlatch.simcore.meshes.triangle_mesh import draw_surface_points
from unlatch.skills.context import SKIN_M
from unlatch.skills.strategies.hand_fit import HEAD, HandFit
from unlatch.skills.strategies.open_close import tip_tolerances
from unlatch.solver.setting import FollowJointCfg, PlannerSettingCfg
from unlatch.solver.term_kinds import FrameAxisParallel, Point2Point

Array = np.ndarray

KINDS = ("pinch", "side", "tip")
"""Kinds of candidates; closed fingers push with their side or their tips."""
_POINTS = 1200
"""Number of points drawn on the surface of a part."""
_FITS, _FITS_OF_ONE = 1500, 100
"""Largest number of poses of a kind at which the hand is fitted, in all and for each candidate that is wanted: a fit
takes up to a millisecond."""
_APPROACH_M = 0.06
"""Length of the straight approach [m]."""
_FROM_BEHIND = 0.35
"""An approach that points to the front of the object or up by more than this cosine is out of reach of the arm."""
_LEAST_LEVER = 0.35
"""Smallest lever of a point, as a share of the largest one of the part."""
_PUSHED = 0.5
"""Smallest cosine between a pushed face and the motion of the part."""
_DEPTHS_M = (0.02, 0.012, 0.006, 0.001, -0.004)
"""How far the point between the fingertips is past the pinched point along the approach, the deepest first [m]."""
_ROOM_M = 0.015
"""Gap between each open finger and the part [m]."""
_GAP_M = 0.003
"""Gap between pushing fingers and the part at the goal [m]."""
_FROM_OUTSIDE = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [-0.7071, 0.0, -0.7071]])
"""(3, 3) approaches to a taper: from the front, from above and between them, root frame of the object."""
_LEAST_ACROSS, _LEVEL = 0.64, 0.98
"""Smallest share of the normal of a sloped surface across the approach: at 50 degrees, pads slide off. Above the
largest, it is no slope."""
_ROLLS = 8
"""Number of approach directions about the normal of a point."""


@dataclass(frozen=True)
class Candidate:
    """One way to hold or push a part."""

    kind: str
    """`pinch`, `side` or `tip`; it begins the name of the strategy."""
    setting: PlannerSettingCfg
    features: Array
    """(9,) place and directions, in units in which two candidates at a distance of 1 differ."""
    score: float
    """How promising it is: a long lever, along the motion of the part, deep in the hand."""


def draw_candidates(
    skill: str,
    asset: ObjectAsset,
    part: Part,
    hand: HandShape,
    start: tuple[float, float],
    base: PlannerSettingCfg,
    *,
    count: int,
    rng: np.random.Generator,
    kinds: Sequence[str] = KINDS,
) -> list[tuple[str, PlannerSettingCfg]]:
    """Returns names and planner settings of at most `count` candidates, those that differ most from each other first.

    The skill is `open`, `close` or `rotate`. `start` is the least and largest opening at the start, from closed [rad or
    m]. Threshold and path are taken from `base`, a setting of the skill. `rng` gives the points on the surface.
    """
    most_fits = min(_FITS, _FITS_OF_ONE * count)
    drawn = _Drawing(skill, HandFit(asset, part, hand, approach_m=_APPROACH_M), start, base, most_fits, rng)
    found = [drawn.pinches() if kind == "pinch" else drawn.pushes(kind) for kind in kinds]
    spread = [_spread_out(list(each), count) for each in found]
    ranked = [each[place] for place in range(count) for each in spread if place < len(each)]
    return [(f"{each.kind}_{number}", each.setting) for number, each in enumerate(ranked[:count], start=1)]


def _spread_out(found: Sequence[Candidate], count: int) -> list[Candidate]:
    """Returns at most `count` candidates, each as far from those before it and as promising as possible."""
    if not found:
        return []
    features, scores = np.array([each.features for each in found]), np.array([each.score for each in found])
    chosen = [int(scores.argmax())]
    nearest = np.linalg.norm(features - features[chosen[0]], axis=1)
    while len(chosen) < min(count, len(found)):
        chosen.append(int((nearest * (0.3 + scores / scores.max())).argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(features - features[chosen[-1]], axis=1))
    return [found[index] for index in chosen]


class _Drawing:
    """Draws the candidates for one part; all vectors are in the frame of its link."""

    def __init__(
        self,
        skill: str,
        fit: HandFit,
        start: tuple[float, float],
        base: PlannerSettingCfg,
        most_fits: int,
        rng: np.random.Generator,
    ) -> None:
        self._skill, self._fit, self._base, self._rng, self._most_fits = skill, fit, base, rng, most_fits
        self._part, self._hand = fit.part, fit.hand
        self._openings = [fit.positions(opening) for opening in dict.fromkeys(start)]
        self._T_root_link = [fit.solids.model.link_pose(self._part.link, each) for each in self._openings]
        self._solids = fit.solids.of_link(self._part.link)
        self._middles = np.array([solid.middle for solid in self._solids])
        self._radii = np.array([solid.radius for solid in self._solids])
        self._slips = ["fixed", "side", "cone"] if self._part.kind is PartKind.slider else ["side", "cone", "fixed"]
        self.points, self.normals = self._draw_surface()
        levers, self.motions = opening_motions(fit.solids.model, self._part, self.points)
        self.levers = levers / levers.max(initial=1e-9)
        far = self.levers >= _LEAST_LEVER
        self.points, self.normals = self.points[far], self.normals[far]
        self.levers, self.motions = self.levers[far], self.motions[far]

    def _draw_surface(self) -> tuple[Array, Array]:
        """Returns points (N, 3) [m] and outward normals (N, 3) on the outer surface of the part."""
        meshes = [convex_hull(solid.vertices) for solid in self._solids]
        areas = np.array([np.linalg.norm(mesh.area_normals, axis=1).sum() for mesh in meshes])
        shares = 0.5 * areas / areas.sum() + 0.5 / len(areas)  # a small knob has points, too
        points, normals, turns = [], [], []
        for mesh, count in zip(meshes, self._rng.multinomial(_POINTS, shares), strict=True):
            found, faces = draw_surface_points(mesh, int(count), self._rng)
            points.append(found)
            normals.append(mesh.area_normals[faces] / np.linalg.norm(mesh.area_normals[faces], axis=1, keepdims=True))
            turns.append(np.arange(count))
        order = np.argsort(np.concatenate(turns), kind="stable")  # one point of each solid, then the next
        p, n = np.concatenate(points)[order], np.concatenate(normals)[order]
        outside = ~self._inside(p + 1e-3 * n)
        return p[outside], n[outside]

    def _inside(self, points: Array) -> Array:
        """Returns (N,) whether points (N, 3) are inside the part."""
        found: Array = np.zeros(len(points), dtype=bool)
        low, high = points.min(axis=0), points.max(axis=0)
        off = np.linalg.norm(np.maximum(np.maximum(low - self._middles, self._middles - high), 0.0), axis=1)
        for solid in (self._solids[index] for index in np.flatnonzero(off <= self._radii)):
            near = np.linalg.norm(points - solid.middle, axis=1) <= solid.radius
            found[near] |= np.all(points[near] @ solid.normals.T <= solid.offsets, axis=1)
        return found

    def pinches(self) -> Iterator[Candidate]:
        """Yields pinches across what lies between two opposite surfaces and fits between the fingers."""
        steps = np.arange(0.001, self._hand.max_width_m - 0.004, 0.001)
        fits = 0
        for index in range(len(self.points)):
            p = self.points[index]
            for x, y in self._pinch_directions(self.normals[index]):
                outside = ~self._inside(p - steps[:, None] * y)
                if not outside.any():
                    continue
                thickness = float(steps[outside.argmax()])
                if fits >= self._most_fits:
                    return
                fits += 1
                middle, width = p - y * thickness / 2, min(thickness + 2 * _ROOM_M, self._hand.max_width_m)
                if self._is_free(x, y, middle + _DEPTHS_M[-1] * x, width):
                    depth = next(d for d in _DEPTHS_M if self._is_free(x, y, middle + d * x, width))
                    yield self._candidate("pinch", index, x, y, middle + depth * x, width, bonus=20.0 * depth)

    def _pinch_directions(self, normal: Array) -> Iterator[tuple[Array, Array]]:
        """Yields directions of approach and of closing (3,): across the surface, or across a slope of a taper."""
        yield from ((x, normal) for x in self._approaches(normal))
        T_link_root = self._T_root_link[0].inverse()
        for x in (T_link_root.rotate(direction) for direction in _FROM_OUTSIDE):
            across = normal - x * float(normal @ x)
            if _LEAST_ACROSS < np.linalg.norm(across) < _LEVEL:
                yield x, unit(across)

    def pushes(self, kind: str) -> Iterator[Candidate]:
        """Yields pushes of faces against which the part moves, with the tips or the side of closed fingers."""
        sign, fits = (-1.0 if self._skill == "close" else 1.0), 0
        fingers, _ = self._hand.boxes(0.0)
        tips = fingers[fingers[:, 1, 0] > self._hand.tip_m - 2 * _ROOM_M]
        half_y, half_z = (float(np.abs(tips[:, :, axis]).max()) for axis in (1, 2))
        for index in range(len(self.points)):
            p, n = self.points[index], self.normals[index]
            if sign * float(n @ self.motions[index]) > -_PUSHED:
                continue
            tried: list[tuple[Array, Array, Array]] = []
            if kind == "tip":
                tried = [(-n, y, p + n * (self._hand.tip_m + _GAP_M)) for y in _directions_about(n)[:3:2]]
            else:
                for x in self._approaches(n):
                    tried += [(x, n, p + n * (half_y + _GAP_M)), (x, np.cross(n, x), p + n * (half_z + _GAP_M))]
            for x, y, place in tried:
                if fits >= self._most_fits:
                    return
                fits += 1
                if self._is_within_reach(x) and self._is_free(x, y, place, 0.0):
                    yield self._candidate(kind, index, x, y, p if kind == "tip" else place, 0.0)

    def _approaches(self, normal: Array) -> list[Array]:
        """Returns the directions (3,) of approach at right angles to a normal that are within reach."""
        return [x for x in _directions_about(normal) if self._is_within_reach(x)]

    def _is_within_reach(self, approach: Array) -> bool:
        """Whether a hand that moves along a direction comes from the front, from above or from a side."""
        return all(
            T.rotate(approach)[0] < _FROM_BEHIND and T.rotate(approach)[2] < _FROM_BEHIND for T in self._T_root_link
        )

    def _is_free(self, x: Array, y: Array, place: Array, width_m: float) -> bool:
        """Whether the hand is free at a place [m] and at the beginning of its approach, at each opening of the part."""
        y = unit(y - x * float(x @ y))
        T_link_tool = Pose(np.column_stack([x, y, np.cross(x, y)]), place)
        fingers, palm = self._hand.boxes(width_m)
        back, solids = Pose.from_translation([-_APPROACH_M, 0.0, 0.0]), self._fit.solids
        for positions, T_root_link in zip(self._openings, self._T_root_link, strict=True):
            T = T_root_link @ T_link_tool
            if solids.meets(fingers, T, positions, margin_m=7e-4) or solids.meets(palm, T, positions, margin_m=2e-3):
                return False
            if solids.meets(np.concatenate([fingers, palm]), T @ back, positions):
                return False
        return True

    def _candidate(
        self, kind: str, index: int, x: Array, y: Array, place: Array, width_m: float, *, bonus: float = 0.0
    ) -> Candidate:
        """Returns the candidate with the hand at a place (3,) [m], its approach x and its closing direction y."""
        tool, name = ("tool_tip", SPOT) if kind == "tip" else ("tool_head", HEAD)
        point_m, lean = 0.002, 0.35
        if kind == "tip":
            point_m, lean = tip_tolerances(self._part, self._fit.asset, self._hand, lean=0.6)
            place = place - (SKIN_M if self._part.moves_little else 0.0) * x
        shift = place - self._part.keypoint(name).xyz
        path = self._base.post_actuation_motions
        if self._skill == "close" and kind == "pinch":
            path = FollowJointCfg(to=float(self._part.openness.closed))
        setting = replace(
            self._base,
            constraint_list=[
                Point2Point(tool, name, point_m),
                _parallel("tool_side", y, 0.25 if kind == "tip" else 0.1),
                _parallel("tool_tail", -x, lean),
            ],
            slips=list(self._slips),
            approach_width_m=round(width_m, 4),
            keypoint_shifts={name: (shift.round(5) + 0.0).tolist()},
            modify_actuation_motion=None,
            press_direction=None,
            pre_actuation_motions=[["translate_z", -_APPROACH_M]],
            post_actuation_motions=path,
        )
        along = abs(float(self.motions[index] @ self.normals[index]))
        features = np.concatenate([self.points[index] / 0.05, x, 0.5 * y])
        return Candidate(kind, setting, features, max(self.levers[index] + 0.5 * along + bonus, 0.05))


def _directions_about(normal: Array) -> list[Array]:
    """Returns unit directions (3,) at right angles to a normal."""
    first = unit(np.cross(normal, [1.0, 0.0, 0.0] if abs(normal[0]) < 0.8 else [0.0, 1.0, 0.0]))
    second = np.cross(normal, first)
    angles = np.arange(_ROLLS) * 2.0 * np.pi / _ROLLS
    return [np.cos(angle) * first + np.sin(angle) * second for angle in angles]


def _parallel(tool_end: str, axis: Array, tolerance: float) -> FrameAxisParallel:
    target = (axis.round(6) + 0.0).tolist()
    return FrameAxisParallel("tool_head", tool_end, tolerance, target_axis=target, target_inner_product=1)
