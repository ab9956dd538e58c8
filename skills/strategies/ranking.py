"""The strategies for a skill on a part, the most promising first, and those that turn a knob, lever or wheel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from unlatch.objects.annotation import SPOT, HandleType, Part, PartKind
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.robots.hand_shape import HandShape
from unlatch.simcore.errors import ConfigError
from unlatch.skills.catalog import derivable_skill
from unlatch.skills.context import SKIN_M
from unlatch.skills.grasping import needs_turns
from unlatch.skills.mechanism_steps import PressToPop, held_to_open, opened_by, press_of
from unlatch.skills.strategies.candidates import draw_candidates
from unlatch.skills.strategies.free_edge import edge_grip, edge_hook, free_edges
from unlatch.skills.strategies.hand_fit import HEAD, TAIL, HandFit, HandGrasp, held_at_edge
from unlatch.skills.strategies.open_close import (
    LITTLE_LED_SHARE,
    approach_m,
    front_setting,
    goal_value,
    grasp_setting,
    inside_push_setting,
    is_round,
    led_back,
    led_to,
    opened_to,
    push_setting,
    rounded,
)
from unlatch.skills.strategies.pushing import (
    DRAG_APPROACH_M,
    can_be_dragged,
    drag_setting,
    drag_spots,
    inner_spots,
    is_even,
    push_shifts,
)
from unlatch.solver.setting import FollowJointCfg, PlannerSettingCfg, SuccessMode

MOST_TURNED_RAD = {PartKind.knob: 1.5, PartKind.lever: 0.7}
"""Angle that counts as turned. A knob or wheel turns by more than a wrist can at half of its poses; a lever turns by
one sweep of the hand."""
TURNED_SHARE = 0.6
"""Largest such angle as a share of the part's range."""
_DRAWN_PUSHES = 8
"""Number of drawn pushes of a lever, or presses that open a rocker."""
_LEVER_END_SHARE = 0.5
"""Where the push of a lever ends, as a share of the distance from closed that counts as closed: a bail ends close to
its bucket, which the fingertips would meet."""
_PRESS_PAST_M, _USUAL_LEVER_M = 0.0095, 0.2
"""How far beyond the way of its latch a hand presses a part, to push against its stop [m], and where [m]."""
_POPPED_SHARE = 0.5
"""Least way of a part that pops out, as a share of that of its spring."""
_TURN_FACTOR = 1.2
"""The hand turns by this factor farther than is wanted: the part lags behind the soft pads."""
MAX_DURATION_S = 90.0
"""Longest episode: eight turns of ten seconds, and the transit."""


def check_turns(part: Part, *, held: bool = True) -> None:
    """Checks that a part can be turned in a hand; if not `held`, only that it turns.

    Raises:
        ConfigError: The skill does not fit it.
    """
    if part.kind not in MOST_TURNED_RAD:
        raise ConfigError(
            f"skill=rotate does not fit part '{part.name}': it is a {part.kind.value}, which is pulled or pushed. Use "
            "skill=open or skill=close, or name another part.",
            key="skill",
        )
    if held and part.handle.type is HandleType.none:
        raise ConfigError(
            f"skill=rotate does not fit part '{part.name}': nothing of it fits between fingers (handle.type is none). "
            "Name another part, or set the handle in an articulation.yaml.",
            key="skill",
        )


def turned_by(part: Part) -> float:
    """Returns the angle that counts as turned [rad]."""
    return rounded(min(MOST_TURNED_RAD[part.kind], TURNED_SHARE * part.openness.span))


def turned_to(part: Part) -> float:
    """Returns the angle from closed to which the hand turns a part [rad]."""
    led = _TURN_FACTOR * turned_by(part)
    return rounded(LITTLE_LED_SHARE * part.openness.span if part.moves_little else led)


def rotate_setting(part: Part, grasp: HandGrasp | None, *, along: bool = False) -> PlannerSettingCfg:
    """Returns the planner setting for turning a part from closed; see `grasp_setting` for `grasp` and `along`."""
    return replace(
        grasp_setting(part, (0.0, 0.0), grasp, along=along),
        success_threshold=turned_by(part),
        update_art_joint=True,
        post_actuation_motions=FollowJointCfg(to=rounded(part.openness.position(turned_to(part)))),
    )


Strategy = tuple[str, PlannerSettingCfg]
"""Name and planner setting."""

_ANGLES = 7
"""Number of angles of a blade at which a grasp along it is tried."""
_NEARLY_CLOSED = 0.1
"""A push must also fit at this share of the start, where the body is near."""
_UP = 0.5
"""A face that looks up by more than this cosine is reached from above."""
_INSIDE_FROM_RAD = 0.5
"""Smallest opening of a part that is pushed from inside [rad]."""
TURNS_ABOUT_HINGE = (PartKind.hinge_vertical, PartKind.hinge_horizontal, PartKind.lid)
KNOB_ALONG_SLIPS = ("side", "fixed")
KNOB_ACROSS_SLIPS = ("fixed", "side")
"""Slip modes for a knob that opens a part: the knob can turn about the line between the flat pads. About any other
line, it jams."""
UNEVEN_SLIPS = ("cone",)
"""Slip modes for a push on a face with slats: fingertips that slide sink in between them."""


def derive_strategies(
    skill: str,
    asset: ObjectAsset,
    part: Part,
    hand: HandShape,
    start: tuple[float, float],
    *,
    asked: float | None = None,
) -> list[Strategy]:
    """Returns names and planner settings of the strategies, in the order in which they are tried.

    A bar or an edge is held at its head or, if that cannot be planned, beside it. Strategies that the hand does not
    fit are used only if it fits none: in another layout, one that it fits may have a plan. Only then, as the last
    resort, fingertips drag the part by friction.

    `start` is the least and largest opening of the part at the start, `asked` that to which a user asks `open` to lead
    it; None: its default [rad or m from closed].

    Raises:
        ConfigError: The skill does not fit the part, or has no settings to derive.
    """
    skill, case = derivable_skill(skill), _Case(asset, part, hand, start)
    found = _derive_pushes(case) if skill == "close" else _derive_grasps(skill, case, asked)
    if not found:
        raise ConfigError(
            f"skill={skill} does not fit part '{part.name}': no place was found at which the hand could hold or push "
            "it without meeting the rest of the object. Name another part or robot.",
            key="skill",
        )
    if asked is None or skill == "close" or opened_by(asset.articulation, part) is not None:
        return found  # a pedal is pressed to its stop
    return [(name, led_to(setting, part, start, asked)) for name, setting in found]


@dataclass(frozen=True)
class _Case:
    """A part and the hand that acts on it."""

    asset: ObjectAsset
    part: Part
    hand: HandShape
    start: tuple[float, float]
    """Least and largest opening of the part at the start, from closed [rad or m]."""

    @cached_property
    def fit(self) -> HandFit:
        """Tests where the hand fits as it grasps the part."""
        return HandFit(self.asset, self.part, self.hand, approach_m=approach_m(self.part))

    @cached_property
    def push_fit(self) -> HandFit:
        """The same as it pushes the part: it has no straight approach."""
        return HandFit(self.asset, self.part, self.hand, approach_m=0.0)


def _derive_grasps(skill: str, case: _Case, asked: float | None) -> list[Strategy]:
    """Returns the strategies of a hand that grasps a part to open or turn it; see `derive_strategies`."""
    asset, part, start = case.asset, case.part, case.start
    lever = held_to_open(asset, part, start[1]) if skill == "open" else None
    if lever is not None:
        return _derive_grasps_of_other(case, lever)
    pedal = opened_by(asset.articulation, part) if skill == "open" else None
    if pedal is not None:
        return _derive_presses_of_pedal(case, pedal)
    if part.handle.type is HandleType.none and (drags := _derive_drags(skill, case, asked)):
        return drags
    if skill == "open" and part.is_button:
        presses = _draw_pushes("open", case, kinds=("tip",))
        if not presses:
            raise ConfigError(
                f"skill=open does not fit part '{part.name}': a finger presses it, and a hand cannot hold it. Use "
                "skill=close to press it, or name another part.",
                key="skill",
            )
        return presses
    if skill == "rotate":
        check_turns(part)
    elif part.kind is PartKind.lever and part.handle.type is HandleType.none:
        return _draw_pushes("open", case)
    fit = case.fit
    kind = "edge" if held_at_edge(part) else part.handle.type.value
    fitting: list[Strategy] = []
    others: list[Strategy] = []
    empty: list[Strategy] = []
    if skill == "open" and kind == "knob" and part.kind in TURNS_ABOUT_HINGE:
        # fingers that close along the hinge: while the part turns, the knob turns between them like a pin between two
        # pads. Those that close across it would have to turn with the part, or the knob would wedge between them.
        grasp = fit.grasp_over(start, along=True)
        if grasp is not None:
            setting = grasp_setting(part, start, grasp, along=True)
            fitting.append(("knob_along_hinge", replace(setting, slips=list(KNOB_ALONG_SLIPS))))
    for shift_m in fit.grasp_shifts(start) if skill == "open" else (0.0,):
        grasp = fit.grasp_over(start, shift_m=shift_m)
        if grasp is None and is_round(part):  # it may be held at any angle: something stands beside it
            grasp = fit.grasp_over(start, along=True)
        if shift_m != 0.0 and (grasp is None or not fit.closes_on_part(start[0], grasp, shift_m=shift_m)):
            continue  # a straight shift leads off the rim of a round door
        if skill == "rotate":
            setting = rotate_setting(part, grasp)
        else:
            setting = grasp_setting(part, start, grasp)
            if kind == "knob":
                setting = replace(setting, slips=list(KNOB_ACROSS_SLIPS))
        (others if grasp is None else fitting).append(_shifted(kind, setting, fit, shift_m))
        if skill == "open" and shift_m == 0.0:
            held = grasp is not None and fit.closes_on_part(start[0], grasp)
            front = _grasp_from_front(fit, start)
            empty = [] if held or grasp is None else fitting[-1:]
            fitting = [*fitting, *front] if held else [*front, *fitting]
    if skill == "open" and part.kind is PartKind.lever and not fitting:
        fitting += _draw_pushes("open", case)
    if skill == "open" and start[1] > 0.0:
        edges = free_edges(fit)
        # other strategies for a part that stands ajar: pinch its free edge, or hook it with closed fingers
        for name, make in (("edge", edge_grip), ("hook", edge_hook)):
            made = (make(asset, fit, edge, start) for edge in edges if name != kind)
            fitting += islice(((name, setting) for setting in made if setting is not None), 1)
        fitting += _derive_inside_pushes(case)
    if skill == "rotate" and (tips := _grasp_by_tips(fit, start, fitting)) is not None:
        fitting.append(tips)
    end = turned_to(part) if skill == "rotate" else opened_to(part, start, asked)
    turns = skill == "rotate" or needs_turns(part.kind, end - start[0])
    if part.kind is PartKind.knob and not is_round(part) and turns:
        # a spout may be in the way of the closed blade, and out of it after a quarter turn
        grasps = (fit.grasp(float(s), along=True) for s in np.linspace(start[0], end, _ANGLES))
        grasp = next((grasp for grasp in grasps if grasp is not None), None)
        if grasp is not None:
            setting = rotate_setting(part, grasp, along=True)
            if skill == "open":
                setting = replace(grasp_setting(part, start, grasp, along=True), slips=list(KNOB_ACROSS_SLIPS))
            fitting.append((f"{kind}_along", setting))
    if not fitting:
        return [*others, *_derive_drags(skill, case, asked)]
    sure = [strategy for strategy in fitting if strategy not in empty]
    return sure or _derive_drags(skill, case, asked) or empty  # the last closes on nothing


def _grasp_by_tips(fit: HandFit, start: tuple[float, float], found: Sequence[Strategy]) -> Strategy | None:
    """Returns the grasp of a knob with less of the pads, whose fingers meet nothing around it as they close.

    None if there is none, or if it is what was found before.
    """
    grasp = fit.grasp(start[0], closed=True)
    if grasp is None and is_round(fit.part):
        grasp = fit.grasp(start[0], along=True, closed=True)
    if grasp is None:
        return None
    setting = rotate_setting(fit.part, grasp)
    return None if any(setting == other for _, other in found) else ("tips", setting)


_LEVER_SLIPS = ("side", "gimbal", "bar", "fixed")
"""Slip modes on a lever that is turned and then leads a part: it turns about the line between the pads, and about its
own length."""


def _derive_grasps_of_other(case: _Case, held: Part) -> list[Strategy]:
    """Returns the strategies of a hand that leads a part by another one, such as a door by the lever that frees it."""
    part, start, fit = case.part, case.start, replace(case, part=held).fit
    found = []
    for shift_m in fit.grasp_shifts((0.0, 0.0)):
        grasp = fit.grasp_over((0.0,), shift_m=shift_m)
        if grasp is None and shift_m != 0.0:
            continue
        setting = replace(
            grasp_setting(held, (0.0, 0.0), grasp),
            held_part=held.name,
            slips=list(_LEVER_SLIPS),
            success_threshold=goal_value("open", part, start),
            post_actuation_motions=FollowJointCfg(to=rounded(part.openness.position(opened_to(part, start)))),
        )
        found.append(_shifted(held.name, setting, fit, shift_m))
    # the lever of a wide door leaves the reach of an arm that stands before it
    least = rounded(part.openness.position(start[1] + _TURN_FACTOR * goal_value("open", part, start)))
    return found + [
        (f"{name}_2", replace(setting, post_actuation_motions=FollowJointCfg(to=least))) for name, setting in found
    ]


def _derive_presses_of_pedal(case: _Case, pedal: Part) -> list[Strategy]:
    """Returns the pushes that press a pedal to its stop, which opens a part by its rod."""
    part, pressed = case.part, pedal.openness.span
    end = rounded(part.openness.open)
    changes: dict[str, Any] = {
        "held_part": pedal.name,
        "approach_width_m": 0.0,
        "success_threshold": goal_value("open", part, case.start),
        "post_actuation_motions": FollowJointCfg(to=end, reach=end),
    }
    pushes = _derive_pushes(replace(case, part=pedal, start=(pressed, pressed)))
    return [(name, replace(setting, **changes)) for name, setting in pushes]


def _shifted(name: str, setting: PlannerSettingCfg, fit: HandFit, shift_m: float) -> Strategy:
    """Returns the strategy of a hand that is shifted from the head along the contact axis [m], with its name."""
    if shift_m == 0.0:
        return name, setting
    _, along, _ = fit.axes_link()
    shift = [round(float(v), 4) for v in shift_m * along]
    return f"{name}{100 * shift_m:+.0f}cm", replace(setting, keypoint_shifts={HEAD: shift, TAIL: shift})


def _draw_pushes(skill: str, case: _Case, *, kinds: Sequence[str] = ("side", "tip")) -> list[Strategy]:
    """Returns pushes of a lever, or presses on what a rocker raises, with closed fingers at places drawn on its faces.

    The draw is the same each time. It is empty if the hand fits nowhere, as with a button that is pressed in.
    """
    part, start = case.part, case.start
    threshold = goal_value(skill, part, start)
    end = opened_to(part, start) if skill == "open" else _LEVER_END_SHARE * threshold
    base = PlannerSettingCfg(
        success_threshold=threshold,
        post_actuation_motions=FollowJointCfg(to=rounded(part.openness.position(end))),
    )
    rng = np.random.default_rng(0)
    return draw_candidates(skill, case.asset, part, case.hand, start, base, count=_DRAWN_PUSHES, rng=rng, kinds=kinds)


def dragged_start(asset: ObjectAsset, part: Part, hand: HandShape, start: tuple[float, float]) -> tuple[float, float]:
    """Returns the openings of `widened_start`, or closed if only friction opens the part, and opens it from there.

    An edge that no hand fits is no reason to open the part before the skill begins [rad or m from closed].
    """
    if start[0] == 0.0 or not _derive_drags("open", _Case(asset, part, hand, (0.0, 0.0))):
        return start
    found = derive_strategies("open", asset, part, hand, start)
    is_last_resort = any(setting.drags for _, setting in found)
    return (0.0, 0.0) if is_last_resort else start


def _derive_drags(skill: str, case: _Case, asked: float | None = None) -> list[Strategy]:
    """Returns the last resort: closed fingertips press on a face that moves parallel to itself and drag the part.

    None are returned for a part that has no such face within reach.
    """
    part, start = case.part, case.start
    if not can_be_dragged(part):
        return []
    threshold = turned_by(part) if skill == "rotate" else goal_value(skill, part, start)
    last = turned_to(part) if skill == "rotate" else opened_to(part, start, asked) if skill == "open" else 0.0
    end = None if skill == "close" and part.kind is PartKind.slider else last
    spots = drag_spots(HandFit(case.asset, part, case.hand, approach_m=DRAG_APPROACH_M), start, last)
    return _numbered("drag", [drag_setting(part, spot, threshold=threshold, end=end) for spot in spots])


def _derive_inside_pushes(case: _Case) -> list[Strategy]:
    """Returns pushes from inside with closed fingers, for a part that stands open so far that the hand fits there."""
    start = case.start
    if case.part.kind not in TURNS_ABOUT_HINGE or start[0] < _INSIDE_FROM_RAD:
        return []
    setting, fit, pushes = inside_push_setting(case.part, start), case.push_fit, []
    for spot in inner_spots(fit, tuple(dict.fromkeys(start))):
        push = replace(setting, keypoint_shifts={SPOT: (spot.round(4) + 0.0).tolist()})
        pushes.append(push if is_even(fit, spot, start[0]) else replace(push, slips=list(UNEVEN_SLIPS)))
    return _numbered("inside", pushes)


def _grasp_from_front(fit: HandFit, start: tuple[float, float], *, to_closed: bool = False) -> list[Strategy]:
    """Returns the strategies of a hand from the front at a slider that moves along the front, such as a lever.

    `to_closed` says that the hand leads it to closed, and must fit there too.
    """
    directions = fit.front_directions()
    openings = (*start, 0.0) if to_closed else start
    grasp = None if directions is None else fit.grasp_over(openings, directions=directions)
    if directions is None or grasp is None:
        return []
    settings = [front_setting(fit.part, start, directions, grasp, turned=turned) for turned in (False, True)]
    if to_closed:
        settings = [led_back(setting, fit.part, start) for setting in settings]
    return list(zip(("front", "front_2"), settings, strict=True))


def _derive_lever_returns(case: _Case) -> list[Strategy]:
    """Returns the strategies that lead a lever or bail back to closed: a grasp, if it fits there too, and pushes."""
    part, start = case.part, case.start
    found: list[Strategy] = []
    if part.handle.type is not HandleType.none:
        grasp = case.fit.grasp_over((*dict.fromkeys(start), 0.0))
        if grasp is not None:
            found.append((part.handle.type.value, led_back(grasp_setting(part, start, grasp), part, start)))
    return found + _draw_pushes("close", case)


def _derive_knob_returns(case: _Case) -> list[Strategy]:
    """Returns the strategies that turn a knob back to closed: the fingers close across it or, on a blade, along it.

    Raises:
        ConfigError: Nothing of the knob fits between the fingers.
    """
    part, start = case.part, case.start
    if part.handle.type is HandleType.none:
        drags = _derive_drags("close", case)
        if drags:
            return drags
        raise ConfigError(
            f"skill=close does not fit part '{part.name}': it is a knob, which is turned back, and nothing of it fits "
            "between fingers (handle.type is none). Name another part, or set the handle in an articulation.yaml.",
            key="skill",
        )
    fitting: list[Strategy] = []
    others: list[Strategy] = []
    kind = part.handle.type.value
    for name, along in ((kind, False), *(() if is_round(part) else ((f"{kind}_along", True),))):
        grasp = case.fit.grasp_over((*dict.fromkeys(start), 0.0), along=along)
        setting = grasp_setting(part, start, grasp or HandGrasp(case.hand.max_width_m, 0.0), along=along)
        setting = led_back(setting, part, start)
        if kind == "knob":
            setting = replace(setting, slips=list(KNOB_ACROSS_SLIPS))
        (others if grasp is None else fitting).append((name, setting))
    return fitting or [*others[:1], *_derive_drags("close", case)]


def _derive_pulls_back(case: _Case) -> list[Strategy]:
    """Returns the strategies that pull a part closed by its handle, or by the lever on it.

    They are for a part whose outer face is on its far side, such as a door that swings away: no arm reaches around it.
    """
    part, start = case.part, case.start
    held = held_to_open(case.asset, part, 0.0) or part
    if not _faces_away(case):
        return []
    if held.handle.type is HandleType.none or held_at_edge(held):
        return _draw_pushes("close", case)
    fit, found = replace(case, part=held).fit, []
    own = start if held is part else (0.0, 0.0)
    for shift_m in fit.grasp_shifts(own):
        grasp = fit.grasp_over((*dict.fromkeys(own), 0.0), shift_m=shift_m)
        if grasp is not None:
            setting = led_back(grasp_setting(held, own, grasp), part, start)
            if held is not part:
                setting = replace(setting, held_part=held.name, slips=list(_LEVER_SLIPS))
            found.append(_shifted(held.name, setting, fit, shift_m))
    return found


def _faces_away(case: _Case) -> bool:
    """Returns whether the outer face of a part looks away from the front of its object, and hardly up, at the start."""
    model, part = case.asset.model, case.part
    outward = [
        model.link_pose(part.link, case.push_fit.positions(opening)).rotate(case.push_fit.axes_link()[2])
        for opening in case.start
    ]
    return all(x < 0.0 and z < _UP for x, _, z in outward)


def _numbered(name: str, settings: list[PlannerSettingCfg]) -> list[Strategy]:
    """Returns strategies of one kind, named NAME, NAME_2 and so on."""
    return [(name if number == 1 else f"{name}_{number}", each) for number, each in enumerate(settings, start=1)]


def _derive_presses(case: _Case, press: PressToPop) -> list[Strategy]:
    """Returns the pushes on a part, or on its button, after which the part pops out."""
    part = case.part
    if press.at is not part:
        closed = press.at.openness.span
        ((name, setting),) = _derive_pushes(replace(case, part=press.at, start=(closed, closed)))
        setting = replace(setting, held_part=press.at.name)
        return [(name, _until_popped(setting, part, press, opening=press.pops_to))]
    # beyond the end of its way: the spring of the latch pushes the hand back, which is soft
    past = _PRESS_PAST_M * (1.0 if part.kind is PartKind.slider else 1.0 / _USUAL_LEVER_M)
    pushed = push_setting(part, case.asset, case.hand, (0.0, 0.0))
    setting = _until_popped(pushed, part, press, opening=-press.depth - past)
    return _numbered("push", _pushes_at(setting, case.push_fit, (0.0,)) or [setting])


def _pushes_at(setting: PlannerSettingCfg, fit: HandFit, openings: tuple[float, ...]) -> list[PlannerSettingCfg]:
    """Returns a push once for each spot at which the hand fits at every opening from closed [rad or m]."""
    shifts = [shift.round(4) + 0.0 for shift in push_shifts(fit, openings)]
    return [replace(setting, keypoint_shifts={SPOT: shift.tolist()} if shift.any() else {}) for shift in shifts]


def _until_popped(setting: PlannerSettingCfg, part: Part, press: PressToPop, *, opening: float) -> PlannerSettingCfg:
    """Returns a push that leads a part to an opening [rad or m], and succeeds where the part has popped out."""
    return replace(
        setting,
        success_mode=SuccessMode.dis_to_init,
        success_threshold=rounded(_POPPED_SHARE * press.pops_to),
        post_actuation_motions=FollowJointCfg(to=rounded(part.openness.position(opening))),
    )


def _derive_pushes(case: _Case) -> list[Strategy]:
    """Returns a push at the annotated spot, if the hand fits there, and at the nearest other spots where it fits.

    Levers and knobs are led back. A slider that moves along the front, such as the lever of a toaster, is also grasped
    and led back; the grasp comes first if a push fits nowhere.
    """
    part, start = case.part, case.start
    press = press_of(case.asset, part, start[1])
    if press is not None:
        return _derive_presses(case, press)
    if part.kind is PartKind.lever:
        return _derive_lever_returns(case)
    if part.kind is PartKind.knob:
        return _derive_knob_returns(case)
    setting = push_setting(part, case.asset, case.hand, start)
    if part.moves_little:
        _, _, outward = case.push_fit.axes_link()
        shift = (SKIN_M * outward).round(5) + 0.0
        return [("push", replace(setting, keypoint_shifts={SPOT: shift.tolist()}))]
    pushes = _pushes_at(setting, case.push_fit, (*dict.fromkeys(start), _NEARLY_CLOSED * start[0]))
    grasps = _grasp_from_front(case.fit, start, to_closed=True)
    pulls = _derive_pulls_back(case)
    if pushes:
        return [*_numbered("push", pushes), *pulls, *grasps]
    return [*grasps, *pulls, ("push", setting), *([] if grasps else _derive_drags("close", case))]
