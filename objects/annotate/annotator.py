"""Derives the annotation of an object from its joints, its meshes and the names in its files: all its entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from unlatch.objects.annotate.couplings import find_mechanisms, reachable_ends, stated_couplings
from unlatch.objects.annotate.grips import body_point, button_grip, find_grip, is_small_stud, is_uncovered, push_point
from unlatch.objects.annotate.joints import (
    MIN_RANGE_M,
    JointChoice,
    all_joint_ends,
    fitting_joints,
    joint_choices,
    rails_of,
)
from unlatch.objects.annotate.peer_info import PeerInfo, read_peer_info, with_peer_info
from unlatch.objects.annotate.posing import Ends, PosedObject, pose_object
from unlatch.objects.annotate.source import (
    LARGEST_EXTENT_M,
    ObjectGeometry,
    SourceObject,
    base_scale,
    check_extent,
    without_empty_colliders,
)
from unlatch.objects.annotate.view import HANDLE_NAMES, Grip, PartView, root_grip
from unlatch.objects.annotation import (
    GRIP_MAX_M,
    SMALL_RANGE_M,
    Articulation,
    FramedVector,
    Handle,
    Openness,
    Part,
    PartKind,
)
from unlatch.objects.mechanisms import Mechanism
from unlatch.objects.turned_object import scaled_model, scaled_pose
from unlatch.objects.validation import articulation_problems, raise_problems
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.ranges import Range, check_ranges
from unlatch.simcore.urdf.model import Link, UrdfModel


def shaped_link(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """Returns the link or, if it has no shapes, the first one with shapes that is fixed to it; and its frame."""
    if _has_shapes(model.links[link]):
        return link, Pose.identity()
    for joint in model.joints.values():
        if joint.parent == link and not joint.moves:
            found, pose = shaped_link(model, joint.child)
            if _has_shapes(model.links[found]):
                return found, joint.T_parent_joint @ pose
    return link, Pose.identity()


def shaped_base(model: UrdfModel, link: str) -> tuple[str, Pose]:
    """Returns the same for the base of a part. A base without shapes may also be fixed to a parent that has some."""
    found, pose = shaped_link(model, link)
    if _has_shapes(model.links[found]):
        return found, pose
    above = model.parent_joint(link)
    if above is not None and not above.moves:
        found, pose = shaped_base(model, above.parent)
        if _has_shapes(model.links[found]):
            return found, above.T_parent_joint.inverse() @ pose
    return link, Pose.identity()


def _has_shapes(link: Link) -> bool:
    return bool(link.visuals or link.collisions)


TAIL_M = 0.05
"""Distance from head to tail."""


def annotated_part(
    posed: PosedObject,
    view: PartView,
    grip: Grip,
    *,
    name: str,
    link: str,
    base: str,
    T_root_link: Pose,
    T_root_base: Pose,
) -> Part:
    """Returns the entry of one part.

    `cross(tail - head, contact axis)` is the outward direction. Head to tail is the direction in which the fingers
    close. For a slider, it is at right angles to the motion. For a part that turns, it is at right angles to the axis
    of the joint, or along this axis if a bar runs across.

    Args:
        posed: The closed object, root frame.
        view: The part, work frame.
        grip: Where the hand holds the part, work frame.
        name: Name of the entry.
        link: Link of the part in the annotated URDF.
        base: Link that it moves against.
        T_root_link: Frame of `link` in the root frame.
        T_root_base: Frame of `base` in the root frame.
    """
    T_link_root, T_base_root = T_root_link.inverse(), T_root_base.inverse()
    held = root_grip(grip, posed.R_root_work)
    across = posed.R_root_work @ grip_across(view, grip)
    if posed.kind is PartKind.slider:
        moving = ("link0_move_axis", posed.axis * posed.opens)
    else:
        # Exactly at a right angle to the axis or along it: in the data set it is off by some hundredths.
        along = float(across @ posed.axis)
        across = posed.axis * np.sign(along) if abs(along) > 0.9 else across - posed.axis * along
        across /= np.linalg.norm(across)
        moving = ("link0_rot_axis", posed.axis)

    def point(p_root: np.ndarray) -> FramedVector:
        return FramedVector.of("link", T_link_root @ p_root)

    def direction(v_root: np.ndarray) -> FramedVector:
        return FramedVector.of("link", T_link_root.rotate(v_root / np.linalg.norm(v_root)))

    body = body_point(posed)
    return Part(
        name=name,
        joint=posed.joint.name,
        link=link,
        base=base,
        kind=posed.kind,
        keypoints={
            "articulated_object_head": point(held.centre),
            "articulated_object_tail": point(held.centre + TAIL_M * across),
            "link_contact_point": point(posed.R_root_work @ push_point(view, grip)),
            "base_contact_point": FramedVector.of("base", T_base_root @ (T_root_base.p if body is None else body)),
        },
        axes={
            moving[0]: direction(moving[1]),
            "link0_contact_axis": direction(np.cross(posed.outward, across)),
            "base_front_axis": FramedVector.of("base", T_base_root.rotate(np.array([1.0, 0.0, 0.0]))),
        },
        handle=Handle(grip.type, grip.size, T_link_root @ Pose(held.R_handle, held.centre)),
        openness=Openness(closed=posed.closed, open=posed.open),
    )


def grip_across(view: PartView, grip: Grip) -> np.ndarray:
    """Returns (3,) the direction from head to tail in the work frame.

    The fingers of a hand close along it. At the horizontal bar of a slider, it points down, so that move axis x contact
    axis points up. At a hinged part, it runs from the hinge to the free side; if a long bar runs that way, it runs
    along the hinge instead. It crosses the blade of a knob, and follows the motion of a lever.
    """
    if view.slides:
        y = grip.R_handle[:, 1]
        return y if abs(float(y[1])) > 0.5 else np.array([0.0, 0.0, -1.0])
    if view.kind in (PartKind.knob, PartKind.lever):
        return grip.R_handle[:, 1]
    away = 1.0 if grip.centre[1] > view.origin[1] else -1.0
    if abs(float(grip.R_handle[1, 2])) > 0.7 and grip.is_graspable and float(grip.size[2]) > GRIP_MAX_M:
        # A bar from the hinge to the free side is too long to be held by its ends: the fingers close along the hinge.
        return np.array([0.0, 0.0, -away])
    return np.array([0.0, away, 0.0])


PARTNET_LICENCE = "PartNet-Mobility (SAPIEN), non-commercial research"
"""Licence of the data set."""

GROWTH = (1.0, 1.25, 1.5, 1.75, 2.0, 2.25)
"""An object is enlarged by these factors, one after the other, until a hand fits its handle."""
MAX_GROWTH = 1.3
"""An object is enlarged to at most this multiple of its usual size."""
_PART_NAMES = {
    PartKind.hinge_vertical: "door",
    PartKind.hinge_horizontal: "door",
    PartKind.slider: "drawer",
    PartKind.knob: "knob",
    PartKind.lever: "lever",
    PartKind.lid: "lid",
}


@dataclass(frozen=True)
class AnnotateCfg:
    """Options of an annotation."""

    scale: Annotated[float, Range(1e-6, 1e6)] | None = None
    """Metres per unit; None: `info.json`, the URDF itself or the category decides."""
    size_m: Annotated[float, Range(1e-6, 1e6)] | None = None
    """Largest extent of the closed object [m], instead of a scale."""
    use_info: bool = True
    """Whether to use the keypoints that others set by hand, from `info.json`."""

    def __post_init__(self) -> None:
        if self.scale is not None and self.size_m is not None:
            raise ConfigError("scale and size_m are both set, and each determines the other. Set one.", key="scale")
        check_ranges(self)


@dataclass(frozen=True)
class PosedPart:
    """A joint with its posed part, and where a hand holds it."""

    choice: JointChoice
    posed: PosedObject
    view: PartView
    grip: Grip
    """Where the hand holds the part, work frame."""
    is_button: bool
    """Whether a finger presses the part."""

    @property
    def is_large(self) -> bool:
        """Whether the part moves far, see `JointChoice`."""
        return self.choice.is_large and not self.is_button

    @property
    def word(self) -> str:
        """What the part is called: `door`, `drawer`, ..."""
        if self.is_button:
            return "button" if self.view.slides else "switch"
        if self.view.slides and (self.view.rises or self.view.front is not None):
            return "lid" if self.view.rises and self.posed.covers else "slider"
        return _PART_NAMES[self.posed.kind]

    @property
    def root_grip(self) -> Grip:
        """Where the hand holds the part, root frame."""
        return root_grip(self.grip, self.posed.R_root_work)


@dataclass(frozen=True)
class AnnotationResult:
    """An annotation, and what it was derived from."""

    articulation: Articulation
    """The annotation, in the links of the source's URDF, lengths in metres."""
    model: UrdfModel
    """The source's URDF in metres."""
    size_m: np.ndarray
    """(3,) extents of the closed object [m]."""
    refused: dict[str, str]
    """The reason for each joint that no skill fits, or whose part does not pass the validator."""
    reasons: dict[str, str]
    """What each part is and why, by the name of its entry, such as `door: a panel that turns about its edge`."""
    notices: tuple[str, ...] = ()
    """What a USD has that is left out, one line each."""
    warnings: tuple[str, ...] = ()
    """What may be wrong with a joint, one line each, such as a range that leads a part into the body."""


def annotate_source(source: SourceObject, cfg: AnnotateCfg | None = None) -> AnnotationResult:
    """Annotates an object in the frames of its own URDF.

    Raises:
        AssetError: No joint can be annotated, a mesh is damaged, the size is absurd, or no part passes the validator.
    """
    cfg = cfg or AnnotateCfg()
    geometry = ObjectGeometry(source)
    peer = read_peer_info(source) if cfg.use_info else None
    ends = reachable_ends(geometry.model, all_joint_ends(geometry))
    every = joint_choices(geometry, ends, scale=cfg.scale, size_m=cfg.size_m)
    choices = fitting_joints(geometry, every)
    parts = sized_parts(geometry, choices, ends, cfg, rigid_only=True)
    scale = parts[0].posed.scale
    solid = without_empty_colliders(source.model)
    model = scaled_model(solid, scale)
    bounds = parts[0].posed.bounds
    size = bounds[1] - bounds[0]
    whole = Articulation(
        category=source.category,
        source=_source_record(source),
        parts={},
        scale=scale,
        extra={"urdf": {"file": source.file.name, "scale": scale}},
    )
    hit = ObjectGeometry(replace(source, model=_without_visuals(solid)))
    entries: dict[str, Part] = {}
    reasons: dict[str, str] = {}
    problems: dict[str, list[str]] = {}  # by joint
    for item in parts:
        name = _name_entry(item.word, entries)
        entry = _make_entry(geometry, item, name, peer, scale)
        found = articulation_problems(replace(whole, parts={name: entry}), model, size_m=float(size.max()))
        if found:  # what is seen is not what is hit: the part is held by its colliders
            item = _pose_part(hit, item.choice, scale, ends, cfg, rigid_only=True)
            entry = _make_entry(hit, item, name, peer, scale)
            found = articulation_problems(replace(whole, parts={name: entry}), model, size_m=float(size.max()))
        if found:
            by_hand = peer is not None and peer.joint == item.choice.joint.name
            problems[item.choice.joint.name] = found if by_hand else [_in_terms_of_the_file(p, item) for p in found]
        else:
            entries[name] = entry
            reasons[name] = f"{item.word}: {item.posed.reason}"
    if not entries:
        raise_problems([problem for found in problems.values() for problem in found], where=str(source.file.parent))
    refused = {
        c.joint.name: c.refusal or f"its annotation does not pass the check: {problems[c.joint.name][0]}"
        for c in every
        if c.refusal or c.joint.name in problems
    }
    whole = replace(whole, parts=entries, mechanisms=_coupled(model, geometry, ends, scale, entries))
    notices = (*source.notices, *geometry.empty, *stated_couplings(model)[1])
    return AnnotationResult(whole, model, size, refused, reasons, notices)


def _coupled(
    model: UrdfModel, geometry: ObjectGeometry, ends: Ends, scale: float, parts: Mapping[str, Part]
) -> dict[str, Mechanism]:
    """Returns the mechanisms that couple annotated parts with other joints; `model` is in metres."""
    unit = {name: scale if joint.kind == "prismatic" else 1.0 for name, joint in model.joints.items()}
    metres = {name: (closed * unit[name], opened * unit[name]) for name, (closed, opened) in ends.items()}
    found = find_mechanisms(model, rails_of(geometry, ends), metres)
    reached = {part.joint for part in parts.values()}
    while more := {j for each in found.values() for j in each.joints_named if reached & {*each.joints_named}} - reached:
        reached |= more
    return {name: each for name, each in found.items() if reached & {*each.joints_named}}


def _without_visuals(model: UrdfModel) -> UrdfModel:
    """Returns a model whose links show their colliders, as far as they have some."""
    links = {name: replace(link, visuals=() if link.collisions else link.visuals) for name, link in model.links.items()}
    return replace(model, links=links)


def _in_terms_of_the_file(problem: str, item: PosedPart) -> str:
    """Returns a problem of a derived annotation without the names of its entries, which the user did not write."""
    if not re.search("keypoint|axis|head|tail", problem):
        return problem
    joint = item.choice.joint
    return (
        f"joint '{joint.name}': no place is found where a hand could hold or push link '{joint.child}': its colliders "
        "are not where its part is seen or moves. Correct its <collision>, or the axis and origin of the joint."
    )


def sized_parts(
    geometry: ObjectGeometry,
    choices: Sequence[JointChoice],
    ends: Ends,
    cfg: AnnotateCfg,
    *,
    usual_m: float | None = None,
    largest_m: float | None = None,
    rigid_only: bool = False,
) -> list[PosedPart]:
    """Poses every part at the scale of the object, and returns them with the best to act on first.

    Without a given scale, an object with handles is made larger, step by step, until a hand can take one of them: a
    data set of unit-size objects does not know how large they are.

    Args:
        geometry: The object.
        choices: The joints.
        ends: See `pose_object`.
        cfg: Scale or size, if they are given.
        usual_m: Largest extent of such an object [m]; without it, `cfg`, the files of the object or its category
            decide.
        largest_m: Largest allowed extent of the enlarged object [m]; without it, `MAX_GROWTH` times its usual size.
        rigid_only: See `pose_object`.

    Raises:
        AssetError: The size is absurd, or a part cannot be posed.
    """
    source = geometry.source
    unit = pose_object(geometry, choices[0].joint, scale=1.0, ends=ends, names=choices[0].names)
    extent = float(np.max(unit.bounds[1] - unit.bounds[0]))
    base, is_given = base_scale(source, extent, scale=cfg.scale, size_m=cfg.size_m)
    if usual_m is not None:
        base = usual_m / extent
    check_extent(base * extent, where=str(source.file.parent))
    named = any(
        shape.name.startswith(HANDLE_NAMES)
        for choice in choices
        for link in geometry.moving_links(choice.joint)
        for shape in geometry.model.links[link].visuals
    )
    usual = max(base * extent, LARGEST_EXTENT_M.get(source.category, 0.0))
    largest = largest_m if largest_m is not None else MAX_GROWTH * usual
    usual_parts: list[PosedPart] = []
    for factor in GROWTH if named and not is_given else GROWTH[:1]:
        if factor > 1.0 and base * factor * extent > largest:
            break
        parts = [_pose_part(geometry, choice, base * factor, ends, cfg, rigid_only=rigid_only) for choice in choices]
        deciding = [item for item in parts if item.is_large] or parts
        if any(item.grip.is_graspable for item in deciding):
            return sorted(parts, key=_rank_part)
        usual_parts = usual_parts or parts
    return sorted(usual_parts, key=_rank_part)


def _pose_part(
    geometry: ObjectGeometry, choice: JointChoice, scale: float, ends: Ends, cfg: AnnotateCfg, *, rigid_only: bool
) -> PosedPart:
    posed = pose_object(geometry, choice.joint, scale=scale, ends=ends, names=choice.names, rigid_only=rigid_only)
    view = PartView.of(posed, use_info=cfg.use_info)
    is_button = _is_button(choice, posed, view)
    return PosedPart(choice, posed, view, button_grip(view) if is_button else find_grip(view), is_button)


_BUTTON_NAMES = {"button", "key"}


def _is_button(choice: JointChoice, posed: PosedObject, view: PartView) -> bool:
    """Whether a finger presses a part: it slides a little, with nothing in front, and is a small stud or called so.

    A stud that its file draws fully out is a button also where it stands far out: other sliders are drawn closed.
    """
    travel_m = abs(posed.open - posed.closed)
    if posed.is_switch or not view.slides or travel_m >= SMALL_RANGE_M or not is_uncovered(view, travel_m):
        return posed.is_switch
    is_drawn_out = abs(posed.open) < MIN_RANGE_M < abs(posed.closed)
    is_stud = is_small_stud(view, stands_out=is_drawn_out) and (is_drawn_out or not choice.is_large)
    return is_stud or bool(_BUTTON_NAMES & set(choice.names.split()))


def _make_entry(geometry: ObjectGeometry, item: PosedPart, name: str, peer: PeerInfo | None, scale: float) -> Part:
    """Returns the entry of a part in the frames of the source's own links."""
    joint, model = item.choice.joint, geometry.model
    link, T_child_link = shaped_link(model, joint.child)
    base, T_parent_base = shaped_base(model, joint.parent)
    part = annotated_part(
        item.posed,
        item.view,
        item.grip,
        name=name,
        link=link,
        base=base,
        T_root_link=item.posed.T_root_link @ scaled_pose(T_child_link, scale),
        T_root_base=item.posed.T_root_base @ scaled_pose(T_parent_base, scale),
    )
    return part if peer is None else with_peer_info(part, peer, geometry, scale)


def _name_entry(word: str, used: Iterable[str]) -> str:
    """Returns `door`, `drawer`, ..., numbered from the second of its kind."""
    count = sum(bool(re.fullmatch(rf"{word}(_\d+)?", other)) for other in used)
    return word if count == 0 else f"{word}_{count + 1}"


def _rank_part(item: PosedPart) -> tuple[bool, bool, bool, float]:
    """Returns the sort key: parts that move far first, then those that open, then graspable ones, then large ones."""
    turns = item.posed.kind in (PartKind.knob, PartKind.lever)
    low, high = item.view.bounds
    front_area = float(np.prod((high - low)[1:]))
    return not item.is_large, turns, not item.grip.is_graspable, -front_area


def _source_record(source: SourceObject) -> dict[str, str]:
    if source.is_metric:
        return {"dataset": "urdf", "id": source.instance}
    return {"dataset": "partnet_mobility", "id": source.instance, "licence": PARTNET_LICENCE}
