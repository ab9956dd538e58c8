"""Finds where a part can be pushed by closed fingers, or dragged by friction where it has no rim or edge to push."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from unlatch.objects.annotation import SPOT, Part, PartKind
from unlatch.objects.closing_force_values import lever_m, opening_direction
from unlatch.simcore.geometry import Pose, unit
from unlatch.simcore.meshes.solids import ConvexSolid
from unlatch.skills.strategies.hand_fit import HEAD, PALM_ROOM_M, HandFit
from unlatch.skills.strategies.open_close import rounded
from unlatch.solver.setting import FollowJointCfg, PlannerSettingCfg
from unlatch.solver.term_kinds import FrameAxisParallel, Point2Point

Array = np.ndarray

_STEP_M = 0.03
_REACH_M = 0.21
"""Half the width of the grid of spots about the annotated one."""
_APART_M = 0.05
"""Smallest distance between two spots."""
_MOST_SPOTS = 4
_INNER_STEP_M = 0.05
"""Distance of spots on the inner face that are tried."""
_MOST_THICKNESS_M = 0.1
"""Largest distance of the inner face from the outer one."""
_PAD_M = 0.008
"""Half the side of the area that must lie under the fingertips."""
_GAP_M = 0.0015
"""Distance of the fingertips from the face in the test."""
_SKIN_M = 0.004
"""Largest distance of the face behind the fingertips in the test, beyond `_GAP_M`."""
_SLIDES_M = (-0.05, -0.025, 0.025, 0.05)
"""Where a hand that slides on an inner face, at most by `Slip.slide_m`, is tested."""
_LEAST_LEVER = 0.5
"""Smallest distance of a spot from the hinge, as a share of that of the annotated spot."""


def push_shifts(fit: HandFit, openings: tuple[float, ...]) -> list[Array]:
    """Returns (3,) shifts from the annotated spot to spots that the hand fits at every opening from closed [rad or m],
    nearest first, frame of the link [m].
    """
    part = fit.part
    spot = part.keypoint(SPOT)
    if spot.frame != "link":
        return []
    tail, along, outward = fit.axes_link()
    steps = np.arange(-_REACH_M, _REACH_M + 1e-9, _STEP_M)
    grid = [u * along + v * tail for u, v in product(steps, steps)]
    grid.sort(key=lambda shift: round(float(np.linalg.norm(shift)), 6))
    least = _LEAST_LEVER * lever_m(fit.solids.model, part, spot.xyz)
    found: list[Array] = []
    for shift in grid:
        point = spot.xyz + shift
        is_apart = all(np.linalg.norm(shift - other) >= _APART_M for other in found)
        if is_apart and lever_m(fit.solids.model, part, point) >= least and fits_spot(fit, point, outward, openings):
            found.append(shift)
        if len(found) == _MOST_SPOTS:
            break
    return found


def inner_spots(fit: HandFit, openings: tuple[float, ...]) -> list[Array]:
    """Returns (3,) shifts from the annotated spot to spots of the inner face, the farthest from the hinge first, frame
    of the link [m]: a hand that pushes there opens the part further.

    The hand fits a spot at every opening from closed [rad or m].
    """
    part, model = fit.part, fit.solids.model
    spot = part.keypoint(SPOT)
    if spot.frame != "link" or part.kind.turns_in_hand:
        return []
    tail, along, outward = fit.axes_link()
    steps = np.arange(-_REACH_M, _REACH_M + 1e-9, _INNER_STEP_M)
    grid = [spot.xyz + u * along + v * tail for u, v in product(steps, steps)]
    grid.sort(key=lambda point: -lever_m(model, part, point))
    found: list[Array] = []
    for point in grid:
        if all(np.linalg.norm(point - spot.xyz - other) >= 2.0 * _APART_M for other in found):
            depths = np.arange(0.0, _MOST_THICKNESS_M, _SKIN_M)
            inner = (point - depth * outward for depth in depths)
            fitting = next((each for each in inner if fits_spot(fit, each, -outward, openings)), None)
            if fitting is not None:
                found.append(fitting - spot.xyz)
        if len(found) == _MOST_SPOTS:
            break
    return found


def is_even(fit: HandFit, shift: Array, opening: float) -> bool:
    """Whether a hand that slides on the inner face meets no step down, as between slats.

    Args:
        fit: The hand and the part.
        shift: (3,) shift from the annotated spot to one of `inner_spots`, frame of the link [m].
        opening: Opening of the part from closed [rad or m].
    """
    tail, along, outward = fit.axes_link()
    positions, tip = fit.positions(opening), fit.hand.tip_m
    T_root_link = fit.solids.model.link_pose(fit.part.link, positions)
    point = fit.part.keypoint(SPOT).xyz + shift - (_GAP_M + tip) * outward

    def lies_below(slide: Array, depth_m: float) -> bool:
        below = np.array([[[tip, -0.001, -0.001], [tip + _GAP_M + depth_m, 0.001, 0.001]]])
        T = T_root_link @ _tool_at(fit, point + slide, -outward)
        return fit.solids.meets(below, T, positions, only=fit.part.link)

    # beyond the end of the face, nothing lies below the fingertips
    slides = [slide_m * line for line in (tail, along) for slide_m in _SLIDES_M]
    return all(lies_below(slide, _SKIN_M) or not lies_below(slide, _MOST_THICKNESS_M) for slide in slides)


def fits_spot(
    fit: HandFit, point: Array, outward: Array, openings: tuple[float, ...], *, side: Array | None = None
) -> bool:
    """Whether the hand, straight at a point of the part, touches the part and nothing else at every opening.

    The fingertips lie on the part with all of their area. The palm is wide along `side` (3,), frame of the link; None:
    along the hinge or, for a slider, across its travel.
    """
    part, hand, solids = fit.part, fit.hand, fit.solids
    fingers, palm = hand.boxes(0.0)
    tip = hand.tip_m
    skin = [
        np.array([[[tip, y - 0.001, z - 0.001], [tip + _GAP_M + _SKIN_M, y + 0.001, z + 0.001]]])
        for y, z in product((-_PAD_M, _PAD_M), repeat=2)
    ]
    for opening in openings:
        positions = fit.positions(opening)
        T_root_link = solids.model.link_pose(part.link, positions)
        T = T_root_link @ _tool_at(fit, point + outward * (_GAP_M + tip), outward, side)
        if solids.meets(fingers, T, positions) or solids.meets(palm, T, positions, margin_m=PALM_ROOM_M):
            return False
        if not all(solids.meets(box, T, positions, only=part.link) for box in skin):
            return False
    return True


def _tool_at(fit: HandFit, point: Array, outward: Array, side: Array | None = None) -> Pose:
    """Returns the tool frame of a push: straight in, the palm along `side`, which is that of `fits_spot`."""
    if side is None:
        side = fit.axes_link()[1] if fit.part.kind is PartKind.slider else fit.hinge_link()
    side = side - outward * float(side @ outward)
    side = side / np.linalg.norm(side)
    return Pose(np.column_stack([-outward, side, np.cross(-outward, side)]), point)


DRAG_SLIPS = {PartKind.slider: ("fixed",), PartKind.knob: ("fixed", "cone")}
"""Slip modes by the kinds of parts that are dragged. On a turning face, fingertips may stay upright while it turns."""
DRAG_APPROACH_M = 0.06
"""Length of the straight approach."""
_POINT_TOLERANCE_M = 0.0005
"""A millimetre off the face changes the force of a Panda by 0.8 to 6 N."""
_LEAN_RAD = 0.03
"""Largest lean of the hand: a leaning fingertip meets the face with its corner, too early by its lean times 2 cm."""
MET_EARLY_M = 0.001
"""Fingers meet a face this far before their surfaces do: Bullet adds a skin to meshes, and a leaning hand has a corner
ahead."""
_SIDE_RAD = 0.25
"""Tolerance of the direction of the palm."""
_DRAG_STEP_M = 0.03
_DRAG_REACH_M = 0.24
"""Half the width of the grid of spots about the head."""
_RADII_M = (0.12, 0.1, 0.14, 0.085, 0.16, 0.07, 0.05, 0.035)
"""Distances from the axis of a turning part that are tried. Near the axis, the friction has no lever; far from it, the
hand moves far."""
_AZIMUTHS = 8
_DRAG_APART_M = 0.06
"""Smallest distance between two spots."""
_MOST_DRAG_SPOTS = 4
_OPENINGS = 6
"""Number of openings along the way at which the hand must fit."""
_RIM_M = 0.015
"""The face is level this far about a spot: the fingertips lean, creep and are accurate to millimetres."""
_LEVEL_M = 0.001
_BEHIND = -0.3
"""A face is out of reach if it looks down or back by more than this cosine."""
_PARALLEL = 1e-6
_LEAST_ACROSS = 0.5


@dataclass(frozen=True)
class DragSpot:
    """Where closed fingertips press on a face; frame of the link."""

    point: Array
    """(3,) on the face [m]."""
    outward: Array
    """(3,) unit direction out of the face."""
    side: Array
    """(3,) unit direction along which the palm is wide."""


def can_be_dragged(part: Part) -> bool:
    """Returns whether a part may have a face that moves parallel to itself."""
    return part.kind in DRAG_SLIPS and not part.is_button and part.keypoint(SPOT).frame == "link"


def drag_spots(fit: HandFit, start: tuple[float, float], end: float) -> list[DragSpot]:
    """Returns spots of faces that fingertips can press on along the whole way, the most promising first.

    Args:
        fit: The hand and the part.
        start: Least and largest opening at the start, from closed [rad or m].
        end: Opening at the end of the way [rad or m].
    """
    if not can_be_dragged(fit.part):
        return []
    openings = tuple(dict.fromkeys((*start, *np.linspace(start[0], end, _OPENINGS).tolist())))
    found: list[DragSpot] = []
    for outward in _face_directions(fit):
        for point in _level_points(fit, outward):
            if any(np.linalg.norm(point - other.point) < _DRAG_APART_M for other in found):
                continue
            motion = opening_direction(fit.solids.model, fit.part, point)
            along = unit(motion - outward * float(motion @ outward))
            # the palm may be wide along the motion, or across it
            spots = (DragSpot(point, outward, side) for side in (along, np.cross(outward, along)))
            found += islice((spot for spot in spots if _fits(fit, spot, openings)), 1)
            if len(found) == _MOST_DRAG_SPOTS:
                return found
    return found


def drag_setting(part: Part, spot: DragSpot, *, threshold: float, end: float | None) -> PlannerSettingCfg:
    """Returns the planner setting for dragging a part by a spot of its face.

    Args:
        part: The part.
        spot: Where the fingertips press.
        threshold: What counts as success [rad or m].
        end: Opening to which the hand leads the part, from closed [rad or m]; None: as the skill says.
    """

    def numbers(vector: Array) -> list[float]:
        return (vector.round(6) + 0.0).tolist()

    shift = spot.point + MET_EARLY_M * spot.outward - part.keypoint(SPOT).xyz
    return PlannerSettingCfg(
        success_threshold=threshold,
        constraint_list=[
            Point2Point("tool_tip", SPOT, _POINT_TOLERANCE_M),
            FrameAxisParallel(
                "tool_head", "tool_side", _SIDE_RAD, target_axis=numbers(spot.side), target_inner_product=1
            ),
            FrameAxisParallel(
                "tool_head", "tool_tail", _LEAN_RAD, target_axis=numbers(spot.outward), target_inner_product=1
            ),
        ],
        slips=list(DRAG_SLIPS[part.kind]),
        approach_width_m=0.0,
        keypoint_shifts={SPOT: (shift.round(4) + 0.0).tolist()},
        press_direction=numbers(-spot.outward),
        pre_actuation_motions=[["translate_z", -DRAG_APPROACH_M]],
        post_actuation_motions=None if end is None else FollowJointCfg(to=rounded(part.openness.position(end))),
    )


def _face_directions(fit: HandFit) -> list[Array]:
    """Returns (3,) unit directions, frame of the link, in which faces look that move parallel to themselves.

    Those to the front come first, then those that look up and to the sides. A hand does not reach those that look down
    or back.
    """
    T_link_root = fit.solids.model.link_pose(fit.part.link, fit.positions(0.0)).inverse()
    front, left, up = (T_link_root.rotate(axis) for axis in np.eye(3))
    if fit.part.kind is PartKind.slider:
        motion = unit(opening_direction(fit.solids.model, fit.part, fit.part.keypoint(HEAD).xyz))
        across = [each - motion * float(each @ motion) for each in (front, up, left, -left)]
        found = [unit(each) for each in across if float(np.linalg.norm(each)) > _LEAST_ACROSS]
    else:
        axis = unit(fit.hinge_link())
        found = sorted((axis, -axis), key=lambda each: -float(each @ (front + up)))
    return [each for each in found if float(each @ front) > _BEHIND and float(each @ up) > _BEHIND]


def _level_points(fit: HandFit, outward: Array) -> list[Array]:
    """Returns points (3,) of the part's outermost face in a direction where it is level, the preferred ones first."""
    part, model = fit.part, fit.solids.model
    first = unit(np.cross(outward, np.eye(3)[int(np.argmin(np.abs(outward)))]))
    second = np.cross(outward, first)
    head = part.keypoint(HEAD).xyz
    if part.kind is PartKind.slider:
        steps = np.arange(-_DRAG_REACH_M, _DRAG_REACH_M + 1e-9, _DRAG_STEP_M)
        grid = np.array([head + u * first + v * second for u in steps for v in steps])
        order = np.argsort(np.linalg.norm(grid - head, axis=1).round(6), kind="stable")
    else:
        joint = model.joints[part.joint]
        centre = (model.link_pose(part.link).inverse() @ model.link_pose(joint.child)).p
        angles = 2.0 * np.pi * np.arange(_AZIMUTHS) / _AZIMUTHS
        grid = np.array([centre + r * (np.cos(a) * first + np.sin(a) * second) for r in _RADII_M for a in angles])
        order = np.arange(len(grid))
    solids = fit.solids.of_link(part.link)
    corners = [u * first + v * second for u in (-_RIM_M, _RIM_M) for v in (-_RIM_M, _RIM_M)]
    heights = _heights_along(solids, grid, outward)
    around = np.array([_heights_along(solids, grid + corner, outward) for corner in corners])
    with np.errstate(invalid="ignore"):  # beside the part, the heights are -inf, and their differences NaN
        level = np.isfinite(heights) & np.all(np.abs(around - heights) <= _LEVEL_M, axis=0)
    return [grid[i] + heights[i] * outward for i in order if level[i]]


def _heights_along(solids: tuple[ConvexSolid, ...], points: Array, direction: Array) -> Array:
    """Returns (N,) how far along a direction the lines through points (N, 3) leave the last solid [m]; -inf: never."""
    found = np.full(len(points), -np.inf)
    for solid in solids:
        slopes = solid.normals @ direction  # (P,)
        rooms = solid.offsets - points @ solid.normals.T  # (N, P)
        leaves, enters = slopes > _PARALLEL, slopes < -_PARALLEL
        with np.errstate(invalid="ignore"):
            last = np.min(rooms[:, leaves] / slopes[leaves], axis=1, initial=np.inf)
            first = np.max(rooms[:, enters] / slopes[enters], axis=1, initial=-np.inf)
        meets = (first <= last) & np.all(rooms[:, ~leaves & ~enters] >= 0.0, axis=1)
        found = np.where(meets, np.maximum(found, last), found)
    return found


def _fits(fit: HandFit, spot: DragSpot, openings: tuple[float, ...]) -> bool:
    """Whether the hand fits a spot at every opening, and on its straight approach at the first one."""
    if not fits_spot(fit, spot.point, spot.outward, openings, side=spot.side):
        return False
    positions, before = fit.positions(openings[0]), spot.point + spot.outward * (DRAG_APPROACH_M + fit.hand.tip_m)
    T = fit.solids.model.link_pose(fit.part.link, positions) @ _tool_at(fit, before, spot.outward, spot.side)
    return not fit.solids.meets(np.concatenate(fit.hand.boxes(0.0)), T, positions)
