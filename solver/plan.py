"""Problem and result of the planner: budget and work, request, keyframes, segments and plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.ranges import Range, Ranged
from unlatch.solver.kinematics import frozen_array
from unlatch.solver.path_solver import NO_ENDS
from unlatch.solver.scene import ArmModel, Array, PlanningScene, Slip, checked_joints
from unlatch.solver.setting import MotionReading, PlannerSettingCfg
from unlatch.solver.setting_reader import read_motions, read_scene
from unlatch.solver.solution import Solution

if TYPE_CHECKING:
    from unlatch.solver.diagnosis import Diagnosis


_PRICES = {
    "starts": 5,
    "candidates": 5,
    "rescues": 300,
    "queries": 1,
    "noise_draws": 400,
    "explanations": 3000,
    "loads": 250,
    "fits": 10,
}
"""Work of one piece of each count of a plan or a search; a unit takes about 0.1 ms on one core of a laptop.

`loads`: a scene is loaded into the simulation or into the collision checker. `fits`: a grasp or a spot is checked for
room for the hand.
"""


def work_of(counts: Mapping[str, int]) -> int:
    """Returns the work of the counts of a plan."""
    return sum(price * counts.get(name, 0) for name, price in _PRICES.items())


@dataclass
class WorkMeter:
    """The work that plans share: those of the strategies of one skill, or of all layouts of a search."""

    limit: int
    """Largest work; a plan that has begun finishes its first wave of starts beyond it."""
    spent: int = 0
    """Work of the plans so far."""
    allowance: int = 0
    """Work beside the plans, such as loading scenes, that does not count: the limit of a search is chosen for plans."""
    beside: int = 0
    """Work beside the plans so far."""

    def spend(self, piece: str, count: int = 1) -> None:
        """Counts pieces of work that belong to no plan: `loads` or `fits`."""
        self.beside += work_of({piece: count})

    def rest(self, limit: int) -> WorkMeter:
        """Returns a meter with what this one leaves of a larger limit and of its allowance."""
        used = self.limit - self.left
        return WorkMeter(max(1, limit - used), allowance=max(0, self.allowance - self.beside))

    @property
    def left(self) -> int:
        """Work that may still be spent; 0 or less if there is none."""
        return self.limit - self.spent - max(0, self.beside - self.allowance)

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0


_LEAST_WORK = 1000
"""Smallest work of a budget."""


@dataclass(frozen=True)
class PlannerCfg(Ranged, where="planner"):
    """How much the planner tries: a YAML file of the group `planner`.

    Every limit is a count, so that a plan does not depend on the machine.
    """

    goal_starts: Annotated[int, Range(4, 512)] = 32
    """Starts of the first wave, for each set of tool keypoints. Later waves take four times as many. A push first
    prefers some roll angles of the hand; if it finds no goal with them, it takes the same number of starts again.
    """
    goal_waves: Annotated[int, Range(1, 16)] = 3
    """Largest number of waves of starts; the search ends with the first plan."""
    candidates: Annotated[int, Range(1, 512)] = 24
    """Goals of the first wave that are ranked by a coarse path; four times as many in later waves."""
    coarse_waypoints: Annotated[int, Range(3, 64)] = 8
    """Waypoints of a coarse path."""
    waypoints: Annotated[int, Range(3, 128)] = 24
    """Waypoints of the final path, if the setting names no step."""
    blocked_before_search: Annotated[int, Range(1, 64)] = 4
    """Number of candidates with a blocked straight transit before a path around obstacles is searched."""
    searches: Annotated[int, Range(0, 64)] = 3
    """Number of searches for a path around obstacles."""
    rescues: Annotated[int, Range(0, 64)] = 2
    """Number of failed paths of a wave that are solved again, together with their goals. With 0, paths near a joint
    limit are not solved again either.
    """
    motion_queries: Annotated[int, Range(100, 1_000_000)] = 4000
    """Collision queries of one search for a path around obstacles."""
    noise_draws: Annotated[int, Range(1, 1_000)] = 20
    """Largest number of draws of `keypose_random_range`."""
    work: Annotated[int, Range(_LEAST_WORK, 100_000_000)] = 80_000
    """Largest work of planning a skill in all its strategies, or of a whole search for a layout. A unit is a collision
    query or something that takes as long, about 0.1 ms. Where it is spent, the search stops, and the refusal says so.
    """
    name: str = "standard"
    """Name of this budget."""


_ALLOWANCE_SHARE = 5
"""One part in so many of `work` is added for work beside the plans, such as loading scenes."""


@dataclass(frozen=True)
class PlanBudget(PlannerCfg):
    """How much one plan may cost; the search for a layout, the skill and the planner pass it on unchanged."""

    thorough: bool = True
    """Whether slower solvers search for another goal if no goal of the waves leads to a plan, and work out what exactly
    blocks the plan.

    If False, they search only if the waves find no goal at all, and a diagnosis says only how far the plan came. A
    search without a plan then takes a third of the time."""
    variety: float | None = None
    """How much plans vary, from 0 to 1; None: the first plan that serves is taken."""
    meter: WorkMeter = field(default_factory=lambda: WorkMeter(PlannerCfg.work), compare=False)
    """Counts the work of all plans that share it; its limit is that of `of` or `with_work`."""

    @classmethod
    def of(cls, cfg: PlannerCfg, *, variety: float | None = None) -> PlanBudget:
        """Returns the full budget of a configuration."""
        return cls(**vars(cfg), variety=variety, meter=_full_meter(cfg.work))

    def first_look(self) -> PlanBudget:
        """Returns the budget of a quick trial: the first wave of starts only, and a short diagnosis."""
        return replace(self, goal_waves=1, thorough=False)

    def with_work(self, work: int) -> PlanBudget:
        """Returns the same budget with another limit of work, of which nothing is spent yet."""
        return replace(self, work=work, meter=_full_meter(work))

    def with_part(self, share: float) -> PlanBudget:
        """Returns the same budget with a share of the work, from 0 to 1, and of the allowance."""
        return self.with_work(max(_LEAST_WORK, int(share * self.work)))

    def with_share(self, share: float) -> PlanBudget:
        """Returns the same budget with a share of the work, from 0 to 1, and the whole allowance."""
        return replace(self, meter=WorkMeter(int(share * self.work), allowance=self.meter.allowance))

    def after(self, earlier: PlanBudget) -> PlanBudget:
        """Returns the same budget with the work that an earlier part of the search has left of it."""
        return replace(self, meter=earlier.meter.rest(self.work))


def _full_meter(work: int) -> WorkMeter:
    return WorkMeter(work, allowance=work // _ALLOWANCE_SHARE)


class Carrying(Enum):
    """When the hand carries the free object of the scene."""

    taken = "taken"
    """From contact on: it picks the object up."""
    put = "put"
    """From the start to the retreat: it puts the object down."""
    throughout = "throughout"
    """All the time."""


@dataclass(frozen=True)
class PlanRequest:
    """One motion of one arm on one part of an object."""

    arm: ArmModel
    scene: PlanningScene
    """The object at its present joint position."""
    setting: PlannerSettingCfg
    """Constraints and motions."""
    q_current: Array
    """(n,) joints now [rad]."""
    q_preferred: Array | None = None
    """(n,) joints near which goals are preferred, such as those of an earlier plan [rad]; None: `q_current`."""
    follow_to: float | None = None
    """Joint position at the end of the motion [rad or m]; None = that of `follow_joint` of the setting."""
    closed_gripper: bool = False
    """Whether the fingers are closed throughout (pushing)."""
    part_pairs: frozenset[tuple[str, str]] = frozenset()
    """Pairs (finger link, object link) that may touch from contact on."""
    frame_s: float = 1.0 / 30.0
    """Time between two samples of a segment [s]."""
    slips: tuple[Slip, ...] | None = None
    """Freedoms of the hand on the part, in the order in which they are tried; None = about the bar, or with closed
    fingers a cone."""
    retreat_m: float = 0.10
    """Distance of the step back along the approach axis after the motion [m]; 0 = none."""
    gripper_open_m: float = 0.08
    """Opening of the open gripper [m]."""
    gripper_contact_m: float = 0.03
    """Assumed opening while the part is held [m]."""
    speed_scale: float = 0.8
    """Share of the joint speed limits to use; its square is the share of the acceleration limits."""
    approach_speed_m_s: float = 0.25
    """Speed of the hand in approach and retreat [m/s]."""
    part_speed: float | None = None
    """Speed of the part's joint; None = 0.5 rad/s or 0.15 m/s."""
    pace: float = 1.0
    """Share of all these speeds."""
    grasp_room_m: float = 0.0
    """Distance to either side of the head by which the grasp may move along the contact axis; for `variety` [m]."""
    asset: str | None = None
    """Name of the asset, for `additional_labels`."""
    carrying: Carrying | None = None
    """When the hand carries an object; None = never. The checker of the plan is then a `CarryingChecker`."""
    carried_tilt_rad: float | None = None
    """Largest tilt from upright of an object that the hand carries from the start on [rad]; None = any."""
    gripper_released_m: float | None = None
    """Opening on the retreat, where the hand has put something down [m]; None = `gripper_open_m`."""
    opens: bool | None = None
    """Whether the skill opens the part (True) or closes it (False); None = neither. Settings of other systems are read
    by it."""
    listed_ends: tuple[tuple[float, float], ...] = (NO_ENDS,)
    """Lower and upper joint positions of the part at which listed post motions end, tried in order [rad or m]."""
    budget: PlanBudget = field(default_factory=PlanBudget)

    def __post_init__(self) -> None:
        object.__setattr__(self, "q_current", checked_joints("q_current", self.q_current, self.arm.n_q))
        if self.q_preferred is not None:
            object.__setattr__(self, "q_preferred", checked_joints("q_preferred", self.q_preferred, self.arm.n_q))
        if self.follow_to is not None and not math.isfinite(self.follow_to):
            raise ConfigError(f"follow_to={self.follow_to} is no joint position.", key="follow_to")

    @property
    def q_reference(self) -> Array:
        """(n,) joints near which goals are preferred [rad]: `q_preferred`, the present ones, or with `variety` the home
        of the arm.

        The goal is then the same wherever the arm starts.
        """
        if self.budget.variety is not None:
            return self.arm.q_home
        return self.q_current if self.q_preferred is None else self.q_preferred

    @property
    def term_scene(self) -> PlanningScene:
        """The scene with the keypoints, axes and frames that the constraints of the setting mean."""
        return read_scene(self.setting, self.scene, opens=self.opens)

    def motion_reading(self, variant: str = "+") -> MotionReading:
        """Returns how listed motions move a hand that is at its goal with a set of tool keypoints."""
        turn = self.arm.variant_rotation(variant)
        return read_motions(self.setting, self.scene, self.arm.tool_keypoints, turn, opens=self.opens)

    @property
    def contact_links(self) -> tuple[str, ...]:
        """Links of the object that the fingers may touch, sorted."""
        return tuple(sorted({link for _, link in self.part_pairs}))

    def target_s(self) -> float | None:
        """Returns the joint position at the end [rad or m], or None if the part is not led along its joint."""
        if self.follow_to is not None:
            return self.follow_to
        follow = self.setting.follow_joint
        if follow is None:
            return None
        return follow.target(s_closed=self.scene.s_closed, s_open=self.scene.s_open)

    def waypoints(self) -> int:
        """Returns the number of waypoints: as many as the step of the setting requires, else that of the budget."""
        follow, target = self.setting.follow_joint, self.target_s()
        if follow is None or follow.step is None or target is None:
            return self.budget.waypoints
        return max(self.budget.coarse_waypoints, math.ceil(abs(target - self.scene.s) / follow.step - 1e-9))


@dataclass(frozen=True)
class Keyframe:
    """One pose of the motion."""

    T_base_ee: Pose
    """Pose of the ee in the arm's base frame."""
    q: Array
    """(n,) joints [rad]."""
    label: str
    """`current`, `pre`, `goal` or `post`."""
    s: float
    """Joint position of the part there [rad or m]."""


@dataclass(frozen=True)
class Segment:
    """One timed part of the motion, at rest at both ends unless it flows into the next one."""

    kind: str
    """`transit`, `approach`, `follow` or `retreat`."""
    q: Array
    """(T, n) joints every frame, the first row where the segment starts [rad]."""
    s: Array | None
    """(T,) position of the part's joint [rad or m]; None where the part does not move."""
    T_base_ee_end: Pose
    """Pose of the ee at the end; of a segment that flows, the corner that its end cuts."""
    flows: bool = False
    """Whether the next segment goes on from its end without a stop."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", frozen_array(self.q))
        if self.s is not None:
            object.__setattr__(self, "s", frozen_array(self.s))

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True, repr=False)
class KeyframePlan:
    """The whole motion, or the diagnosis why there is none."""

    found: bool
    """Whether everything from the present joints to the retreat was planned."""
    keyframes: tuple[Keyframe, ...] = ()
    """[current] + pre + [goal] + post; without a plan the current pose alone."""
    contact_pose_index: int = 0
    """Index of the keyframe at which the fingers meet the part; -1: they meet none."""
    segments: tuple[Segment, ...] = ()
    """In order of execution."""
    diagnosis: Diagnosis | None = None
    """Why no plan is found."""
    timings_ms: dict[str, float] = field(default_factory=dict)
    """Time spent by stage, and `total` [ms]."""
    counts: dict[str, int] = field(default_factory=dict)
    """Starts, goals, candidates, collision queries, draws of noise."""
    notices: tuple[str, ...] = ()
    """Messages for the user, such as a blocked straight transit."""
    solution: Solution | None = None
    """Residuals at the goal, or at the best compromise."""
    margin_rad: float = 0.0
    """Smallest distance of a joint to its limit while the part is led [rad]."""
    slip: Slip | None = None
    """Freedom of the hand on the part."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a record or a report; trajectories by their lengths."""
        return {
            "found": self.found,
            "contact_pose_index": self.contact_pose_index,
            "keyframes": [
                {
                    "label": k.label,
                    "p_base_ee": k.T_base_ee.p.tolist(),
                    "quat_xyzw": k.T_base_ee.quat_xyzw.tolist(),
                    "q": k.q.tolist(),
                    "s": k.s,
                }
                for k in self.keyframes
            ],
            "segments": [{"kind": segment.kind, "frames": len(segment)} for segment in self.segments],
            "diagnosis": self.diagnosis.to_dict() if self.diagnosis is not None else None,
            "solution": self.solution.to_dict() if self.solution is not None else None,
            "timings_ms": dict(self.timings_ms),
            "counts": dict(self.counts),
            "notices": list(self.notices),
            "margin_rad": self.margin_rad,
            "slip": self.slip.mode.value if self.slip is not None else None,
        }

    def __repr__(self) -> str:
        lines = [
            f"KeyframePlan(found={self.found}, total_ms={self.timings_ms.get('total', 0.0):.1f}); hand in the arm's "
            "base frame: p [m], q [rad], part at s [rad or m]"
        ]
        for i, keyframe in enumerate(self.keyframes):
            mark = " <- contact" if self.found and i == self.contact_pose_index else ""
            lines.append(
                f"  [{i}] {keyframe.label:8} p={np.round(keyframe.T_base_ee.p, 3).tolist()} "
                f"q={np.round(keyframe.q, 3).tolist()} s={keyframe.s:.3f}{mark}"
            )
        lines += [f"  {segment.kind}: {len(segment)} frames" for segment in self.segments]
        if self.diagnosis is not None:
            lines.append(f"  {self.diagnosis.code}: {self.diagnosis.message}")
        lines += [f"  note: {notice}" for notice in self.notices]
        return "\n".join(lines)


@dataclass(frozen=True)
class PlannedTurn:
    """One grasp, turn and release of the part."""

    s_from: float
    """Joint position at the grasp [rad]."""
    s_to: float
    """Joint position at the release [rad]."""
    plan: KeyframePlan
    tries: int
    """Number of angles tried, the largest first."""
    strategy: str

    @property
    def q_end(self) -> Array:
        """(n,) joints after the step back [rad]."""
        return self.plan.segments[-1].q[-1]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a record or a report."""
        return {
            "s_from": self.s_from,
            "s_to": self.s_to,
            "tries": self.tries,
            "strategy": self.strategy,
            "margin_rad": self.plan.margin_rad,
            "slip": None if self.plan.slip is None else self.plan.slip.mode.value,
        }


@dataclass(frozen=True, repr=False)
class TurningPlan(KeyframePlan):
    """The motions of all turns, or why there are none."""

    turns: tuple[PlannedTurn, ...] = ()
    """In order of execution; without a plan, the turns that were planned."""

    def to_dict(self) -> dict[str, Any]:
        """See `KeyframePlan.to_dict`; with the turns."""
        return {**super().to_dict(), "turns": [turn.to_dict() for turn in self.turns]}


MOST_TURNS = 8
"""Largest number of turns."""
LEAST_TURN_RAD = 0.15
"""Smallest turn that is worth a new grasp [rad]."""
