"""Joints of a file that follow each other: what the file states, and the rails of telescopic slides."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from unlatch.objects.annotate.posing import Ends
from unlatch.objects.annotate.source import ObjectGeometry
from unlatch.objects.mechanisms import GEAR_SLACK, Mechanism, Mimic
from unlatch.simcore.urdf.model import Joint, UrdfModel, rigid_links

_PARALLEL = 0.999
"""Axes are parallel from this cosine on."""


def stated_couplings(model: UrdfModel) -> tuple[dict[str, Mimic], list[str]]:
    """Returns the couplings that a model states by joint that follows, and a line for each that cannot be."""
    found: dict[str, Mimic] = {}
    notices = []
    for joint in model.joints.values():
        if joint.follows is None or not joint.moves:
            continue
        leader = model.joints.get(joint.follows.joint)
        chain, above = joint.follows.joint, {joint.name}
        while chain in found and chain not in above:
            above.add(chain)
            chain = found[chain].follows
        problem = (
            "which is not in the file"
            if leader is None
            else "which does not move"
            if not leader.moves
            else "which follows it, too"
            if chain in above
            else "with a ratio of 0"
            if joint.follows.ratio == 0.0
            else ""
        )
        if problem:
            notices.append(f"joint '{joint.name}' follows '{joint.follows.joint}', {problem}: it moves by itself")
        else:
            found[joint.name] = Mimic(joint.name, joint.follows.joint, joint.follows.ratio, joint.follows.offset)
    return found, notices


def reachable_ends(model: UrdfModel, ends: Ends) -> dict[str, tuple[float, float]]:
    """Returns the closed and open position of each joint, within what the joints that follow it allow [rad or m].

    A part that hangs on the one that it follows, such as the second leaf of a folding door, is closed where that one
    is: alone, it would fold into the body.

    Args:
        model: The model, in the unit of `ends`.
        ends: Closed and open position of each joint.
    """
    found = dict(ends)
    couplings, _ = stated_couplings(model)
    for mimic in couplings.values():
        joint = model.joints[mimic.joint]
        if not joint.is_limited:
            continue
        low, high = sorted((limit - mimic.offset) / mimic.ratio for limit in (joint.lower, joint.upper))
        slack = GEAR_SLACK / abs(mimic.ratio)
        closed, opened = (
            place if low - slack <= place <= high + slack else min(max(place, low), high)
            for place in found[mimic.follows]
        )
        if closed != opened:
            found[mimic.follows] = closed, opened

    def leaders(name: str) -> int:
        return 1 + leaders(couplings[name].follows) if name in couplings else 0

    for mimic in sorted(couplings.values(), key=lambda mimic: leaders(mimic.joint)):
        if hangs_on_leader(model, model.joints[mimic.joint]):
            closed, opened = (mimic.ratio * place + mimic.offset for place in found[mimic.follows])
            found[mimic.joint] = closed, opened
    return found


def hangs_on_leader(model: UrdfModel, joint: Joint) -> bool:
    """Returns whether a part turns on a part that it follows."""
    leader = None if joint.follows is None else model.joints.get(joint.follows.joint)
    turns = joint.kind != "prismatic" and leader is not None and leader.moves
    return turns and leader is not None and model.is_below(joint.parent, leader.child)


def find_rails(geometry: ObjectGeometry, is_hidden: Callable[[list[str]], bool]) -> dict[str, str]:
    """Returns the joints of rails of telescopic slides, each with the joint that slides on it the same way.

    A rail carries another slide along its own axis. Either one follows the other, or nothing of the rail itself is seen
    while the object is closed: `is_hidden` says this of links. A tray that slides in a drawer makes no rail of the
    drawer, whose front is seen.
    """
    model = geometry.model
    couplings, _ = stated_couplings(model)
    pairs = {frozenset((mimic.joint, mimic.follows)) for mimic in couplings.values()}
    found: dict[str, str] = {}
    for joint in model.joints.values():
        if joint.kind != "prismatic":
            continue
        own = rigid_links(model, joint.child)
        carried = [
            other
            for other in model.joints.values()
            if other.kind == "prismatic" and other.parent in own and is_parallel(model, joint, other)
        ]
        own_seen = [link for link in own if len(geometry.vertices(link))]
        for other in carried:
            if frozenset((joint.name, other.name)) in pairs or not own_seen or is_hidden(own):
                found[joint.name] = other.name
    return found


def is_parallel(model: UrdfModel, first: Joint, second: Joint) -> bool:
    """Returns whether the axes of two joints are parallel in the pose in which the file draws them."""
    axes = [model.link_pose(joint.child).rotate(joint.axis / np.linalg.norm(joint.axis)) for joint in (first, second)]
    return abs(float(axes[0] @ axes[1])) > _PARALLEL


def find_mechanisms(model: UrdfModel, rails: Mapping[str, str], ends: Ends) -> dict[str, Mechanism]:
    """Returns the mechanisms that couple joints of an object: those that its file states, and those of its rails.

    A rail without a statement moves in proportion to what slides on it, as that of a slide with progressive motion:
    both are open at once.

    Args:
        model: The model, in the unit of `ends`.
        rails: What `find_rails` returns.
        ends: Closed and open position of each joint.
    """
    found, _ = stated_couplings(model)
    pairs = {frozenset((mimic.joint, mimic.follows)) for mimic in found.values()}
    for rail, slide in rails.items():
        if rail in found or frozenset((rail, slide)) in pairs:
            continue
        (closed, opened), (slide_closed, slide_opened) = ends[rail], ends[slide]
        if opened == closed or slide_opened == slide_closed:
            continue
        ratio = (opened - closed) / (slide_opened - slide_closed)
        found[rail] = Mimic(rail, slide, ratio, closed - ratio * slide_closed)
    return {f"mimic_{i}" if i > 1 else "mimic": mimic for i, mimic in enumerate(found.values(), start=1)}
