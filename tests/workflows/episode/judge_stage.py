"""A scene for tests of the judge of an episode: contacts, forces, speeds and joints are set by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from unlatch.objects.annotation import PartKind
from unlatch.objects.carrying_conditions import ConditionKind, ObjectCondition, ObjectPoses
from unlatch.robots.arm_control import Action, ArmAction
from unlatch.simcore.geometry import Pose
from unlatch.simcore.recording.success_rules import SuccessRule
from unlatch.simcore.sim.contacts import Violation
from unlatch.skills.commands import Phase
from unlatch.skills.context import Failure, FrameSpeeds
from unlatch.tasks.task import GoalCfg
from unlatch.workflows.episode.criteria import PolicyRules
from unlatch.workflows.episode.judge import Judge
from unlatch.workflows.episode.skill_run import SkillRun

HZ = 30.0
SETTLE_FRAMES = 3
RULE = SuccessRule("abs", 0.7, True, True, True, 1.0, 140.0)
SLOW = FrameSpeeds(1.0, {"oven": 0.5})


class Value:
    """A buffer with one number."""

    def __init__(self) -> None:
        self.n = 0.0

    def get_value(self) -> np.ndarray:
        return np.array([self.n])[0]


def fake_view(name: str) -> Any:
    """Returns a contact view that notes from which force on it reports contacts."""
    watched: list[float] = []
    values = {"violation": None, "exceeded_n": 1.0, "zero_force_points": 0, "force_max_n": Value()}
    return SimpleNamespace(name=name, watched=watched, watch=watched.append, **values)


class FakeObject:
    """An object whose joint positions `s` are set by hand; its joints are named after its parts."""

    def __init__(self, *, closed: float = 0.0, opened: float = 1.6, moves_little: bool = False, **kinds: str) -> None:
        self.joint_names = [f"{part}_joint" for part in kinds]
        self.s = np.zeros(len(kinds))
        shared = {"openness": SimpleNamespace(closed=closed, open=opened), "moves_little": moves_little}
        parts = {
            part: SimpleNamespace(
                joint=f"{part}_joint",
                kind=PartKind.knob if part == "knob" else PartKind.hinge_horizontal,
                **shared,
            )
            for part in kinds
        }
        joints = {
            f"{part}_joint": SimpleNamespace(name=f"{part}_joint", kind=kind, parent="body", child=part, moves=True)
            for part, kind in kinds.items()
        }
        self.asset = SimpleNamespace(
            model=SimpleNamespace(root="body", joints=joints),
            articulation=SimpleNamespace(part=parts.__getitem__, parts=parts),
        )
        self.body = SimpleNamespace(joint_states=lambda: (self.s.copy(), np.full(len(kinds), 9.0)))
        self.can_move = False
        self.root = Pose.identity()
        self.root_position = SimpleNamespace(get_value=lambda: self.root.p)
        self.root_quat_xyzw = SimpleNamespace(get_value=lambda: self.root.quat_xyzw)

    def joint_index(self, name: str) -> int:
        return self.joint_names.index(name)

    def joint_position(self, name: str) -> float:
        return float(self.s[self.joint_index(name)])


class FakeCan:
    """A can that nothing holds in place: it has no joints."""

    def __init__(self) -> None:
        self.joint_names: list[str] = []
        self.p = np.zeros(3)
        self.asset = SimpleNamespace(free=True)
        self.body = SimpleNamespace(joint_states=lambda: (np.zeros(0), None))
        self.fingers = fake_view("panda.left.can.fingers_link")

    def poses(self) -> ObjectPoses:
        return ObjectPoses({"can": Pose(np.eye(3), self.p)}, {})


class Stage:
    """A judge, its scene, and skills that do what a test says."""

    def __init__(
        self,
        *skills: Any,
        arms: tuple[str, ...] = ("left",),
        policy: PolicyRules | None = None,
        goal: list[GoalCfg] | None = None,
    ) -> None:
        self.skills = list(skills)
        self.oven, self.can = FakeObject(door="revolute", knob="revolute"), FakeCan()
        names = [f"panda.{arm}.{rest}" for arm in arms for rest in ("oven.fingers_link", "oven.forbid_collision")]
        self.views = {name: fake_view(name) for name in [*names, "panda.environment"]}
        self.touch = {
            arm: {
                ("oven", part): SimpleNamespace(fingers_link=self.views[f"panda.{arm}.oven.fingers_link"])
                for part in ("door", "knob")
            }
            for arm in arms
        }
        self.touch["left"]["can", None] = SimpleNamespace(fingers_link=self.can.fingers)
        self.loads = {
            arm: SimpleNamespace(
                force_sustained_n=Value(), force_mean_n=Value(), fingers=[{"palm"}, {"f2", "f1"}], sustained_on=1
            )
            for arm in arms
        }
        self.acted: list[Any] = []
        self.world = SimpleNamespace(time_s=0.0)
        self.robot = SimpleNamespace(
            arms={arm: SimpleNamespace(q=np.zeros(2), gripper_opening_m=0.0, gripper_target_m=0.0) for arm in arms}
        )
        scene: Any = SimpleNamespace(
            objects={"oven": self.oven, "can": self.can},
            monitor=SimpleNamespace(views=self.views),
            views=self.touch,
            loads=self.loads,
            world=self.world,
            robot=self.robot,
            poses=self.can.poses,
            act_on=lambda *names, **options: self.acted.append((names, options)),
        )
        task = SimpleNamespace(goal=goal or [], settle_s=SETTLE_FRAMES / HZ, max_duration_s=2.0)
        cfg: Any = SimpleNamespace(
            skills=[skill.cfg for skill in skills],
            task=task,
            world=SimpleNamespace(record_hz=HZ),
            robot=SimpleNamespace(name="panda"),
        )
        self.targets = dict.fromkeys(arms, 0.0)
        self.judge = Judge(cfg, scene, [(skill.cfg.objects[0], skill.part) for skill in skills], policy=policy)

    @classmethod
    def started(cls, *skills: Any, **options: Any) -> tuple[Stage, SkillRun]:
        """Returns a stage with its first skill under way, and the run of that skill."""
        stage = cls(*skills or [make_skill()], **options)
        return stage, stage.begin()

    @property
    def failure(self) -> Any:
        """The failure by which the judge ended the episode; there must be one."""
        assert self.judge.failure is not None
        return self.judge.failure

    def begin(self, index: int = 0, *, earlier: SkillRun | None = None) -> SkillRun:
        skill = self.skills[index]
        return self.judge.begin_skill(skill, skill.part, chain_index=index, earlier=earlier)

    def violate(self, name: str, **options: Any) -> None:
        """Lets a view see a forbidden contact in the next frame."""
        self.views[name].violation = hit(name, **options)

    def swing(self, count: int) -> None:
        """Simulates frames in which the left arm's target moves."""
        for number in range(count):
            self.targets["left"] = 0.1 * number
            self.frame()

    def frame(
        self, *, s: float | None = None, touch: bool | None = None, speeds: FrameSpeeds = SLOW, arm: str = "left"
    ) -> None:
        """Simulates a record frame: sets the door's position and whether the fingers touch the oven."""
        self.world.time_s += 1.0 / HZ
        if s is not None:
            self.oven.s[0] = s
        if touch is not None:
            self.views[f"panda.{arm}.oven.fingers_link"].force_max_n.n = 5.0 if touch else 0.0
        arms = {name: ArmAction(np.array([q, 0.0]), 0.04, Pose.identity()) for name, q in self.targets.items()}
        self.judge.observe(Action(arms), speeds)

    def carry(self, *heights: float, grip: bool = True) -> None:
        """Simulates a record frame with the can at each height, whether or not the left hand grips it."""
        self.can.fingers.force_max_n.n = 5.0 if grip else 0.0
        for height in heights:
            self.can.p = np.array([0.0, 0.0, height])
            self.frame()

    def frames(self, count: int, **options: Any) -> None:
        for _ in range(count):
            self.frame(**options)

    def codes(self) -> list[str]:
        return [failure.code for failure in self.judge._failures]


def make_skill(part: str = "door", *, arm: str = "left", arms: tuple[str, ...] = ("left",), **changes: Any) -> Any:
    rule = replace(RULE, **{key: changes.pop(key) for key in [*changes] if hasattr(RULE, key)})
    skill = SimpleNamespace(
        cfg=SimpleNamespace(name="open", objects=["oven"], stage=changes.pop("stage", None), arm=arm),
        part=part,
        context=SimpleNamespace(arm=SimpleNamespace(name=arm), robot=SimpleNamespace(arms=dict.fromkeys(arms))),
        success_rule=rule,
        touched_link=None,
        closed_gripper=False,
        executes=True,
        declare_conditions=lambda cfg, assets: [],
        phase=Phase.follow,
        unmet=None,
        **changes,
    )
    skill.unmet_condition = lambda: skill.unmet
    return skill


def make_free(part: str = "door", **changes: Any) -> Any:
    """Returns a skill that needs no contact of the fingers."""
    return make_skill(part, finger_contact_required=False, **changes)


def make_pick(height: float = 0.1, **changes: Any) -> Any:
    """Returns a skill that acts on the can, which must then be lifted by this height."""
    skill = make_skill(success_mode=None, **changes)
    skill.part, skill.cfg.name, skill.cfg.objects = None, "pick", ["can"]
    condition = ObjectCondition(ConditionKind.lifted, "can", height)
    skill.declare_conditions = lambda cfg, assets: [condition] if cfg is skill.cfg and "can" in assets else []
    return skill


def two_arms(**changes: Any) -> tuple[Any, Any]:
    """Returns a skill of each arm, side by side in one stage."""
    both = ("left", "right")
    return (
        make_skill("door", arm="left", arms=both, stage=1, **changes),
        make_skill("knob", arm="right", arms=both, stage=1, **changes),
    )


NOT_OPEN = Failure("not_reached", "The door is not open", 0.1)
TOO_FAST = FrameSpeeds(99.0, {})


def hit(view: str, *, step: int = 5, force_n: float = 7.0) -> Violation:
    return Violation(view, ("hand", "frame"), force_n, step, 0.25)


def open_door(stage: Stage, frames: int = 4) -> None:
    """Opens the door by 0.2 rad a frame with the fingers on it."""
    for _ in range(frames):
        stage.frame(s=stage.oven.s[0] + 0.2, touch=True)
