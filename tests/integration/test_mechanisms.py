"""Mechanisms in physics, without a robot: a force on a joint, held before, free after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pybullet as p
import pytest

from unlatch.objects.annotation import Articulation
from unlatch.objects.annotation_reader import MappingReader, read_mechanism
from unlatch.objects.articulated_object import ObjectAsset
from unlatch.objects.scene_object import SceneObject
from unlatch.simcore.errors import WorldError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.sim.body_views import ArticulationView
from unlatch.simcore.sim.world import World, WorldCfg
from unlatch.workflows.checks.mechanism_states import mechanism_problems

pytestmark = pytest.mark.integration

JOINTS = """
hinge revolute 0 0 1 -0.02 1.6 body 2.0 0.4
lever revolute 1 0 0 0 0.9 hinge 0.3 0.12
drawer prismatic 1 0 0 -0.005 0.4 body 1.5 0.3
second prismatic 1 0 0 -0.005 0.4 body 1.5 0.3
button prismatic 1 0 0 -0.01 0 body 0.03 0.02
dial continuous 1 0 0 0 0 body 0.1 0.05
"""
"""Name, type, axis, limits, parent, mass [kg], size [m] of each joint and the cube that it moves."""


def urdf() -> str:
    links = ['<link name="body"/>']
    for line in JOINTS.split("\n")[1:-1]:
        name, kind, x, y, z, low, high, parent, mass, size = line.split()
        parent = parent if parent == "body" else f"{parent}_link"
        moment = float(mass) * float(size) ** 2 / 6.0
        links.append(
            f'<link name="{name}_link"><inertial><origin xyz="0 {float(size) / 2} 0"/><mass value="{mass}"/>'
            f'<inertia ixx="{moment}" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{name}_link"/>'
            f'<axis xyz="{x} {y} {z}"/><limit lower="{low}" upper="{high}" effort="100" velocity="10"/></joint>'
        )
    return f'<robot name="object">{"".join(links)}</robot>'


class Rig:
    """An object without parts in a world without gravity, whose joints get efforts."""

    def __init__(self, world: World, path: Path, mechanisms: dict[str, dict[str, Any]], friction: float) -> None:
        found = {name: read_mechanism(MappingReader(data, where=name)) for name, data in mechanisms.items()}
        articulation = Articulation("rig", {}, {}, mechanisms=found)
        asset = ObjectAsset(
            *("rig", "rig", "0", "urdf", path, articulation, "", np.zeros((2, 3))),
            friction=dict.fromkeys(("hinge", "lever", "drawer", "second", "button", "dial"), friction),
        )
        self.world = world
        self.item = SceneObject(world.load_urdf(path, name="rig", T_world_root=Pose.identity()), asset, world=world)
        self._frames: list[dict[str, np.ndarray]] = []

    def push(self, seconds: float = 0.5, **efforts: float) -> None:
        """Applies efforts to joints for a time, and nothing to the others [N m or N]."""
        for name in self.item.joint_names:
            self.item.drives.set_effort(name, efforts.get(name, 0.0))
        for _ in range(round(30 * seconds)):
            self.world.core.begin_frame()
            self.world.step(8)
            self.item.update_state()
            self._frames.append(self.item.state_dict())

    def arrays(self) -> dict[str, np.ndarray]:
        """Returns the states of all frames as a record has them."""
        return {f"objects.rig.{key}": np.array([frame[key] for frame in self._frames]) for key in self._frames[0]}

    def problems(self, **forged: np.ndarray) -> list[str]:
        """Returns what a check says of the states, some of which may be forged."""
        arrays = {**self.arrays(), **{f"objects.rig.{key}": value for key, value in forged.items()}}
        return list(mechanism_problems("rig", self.item.asset, arrays, frame_s=1 / 30))

    def mass(self, joint: str) -> float:
        """Returns the inertia at a joint [kg m^2 or kg]."""
        body, row = self.item.body, self.item.joint_index(joint)
        found = p.calculateMassMatrix(body.body_id, body.joint_states()[0].tolist(), physicsClientId=self.world.client)
        return float(found[row][row])

    def q(self, joint: str) -> float:
        return self.item.joint_position(joint)

    def held(self, name: str = "m") -> list[int]:
        return self.item.mechanisms.held()[name].tolist()


Make = Callable[..., Rig]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    path = tmp_path / "object.urdf"
    path.write_text(urdf())
    with World(WorldCfg(gravity_m_s2=0.0)) as world:

        def build(friction: float = 0.02, **mechanisms: dict[str, Any]) -> Rig:
            world.reset()
            return Rig(world, path, mechanisms, friction)

        yield build


LATCH = {"kind": "latch", "joint": "hinge", "by": "lever", "free_at": 0.6, "play": 0.005}
LEVER_SPRING = {"kind": "spring", "joint": "lever", "rest": -0.2, "stiffness": 1.5, "damping": 0.1}


PUSH_LATCH = {"kind": "push_latch", "joint": "drawer", "press": 0.004, "pops_to": 0.04, "effort": 8.0}
BUTTON = {"kind": "release", "joint": "hinge", "by": "button", "at": 0.004, "pops_to": 0.3, "effort": 2.0}
BUTTON_SPRING = {"kind": "spring", "joint": "button", "rest": 0.001, "stiffness": 600.0, "damping": 1.0}
DRAWERS = {"kind": "interlock", "joints": ["drawer", "second"]}
PLACE = {"kind": "interlock", "joint": "lever", "by": "dial", "range": [1.9, 2.1]}
PRESSED_CAP = {"kind": "press_and_turn", "joint": "dial", "by": "button", "at": 0.005}
CAP_SPRING = {"kind": "spring", "joint": "button", "rest": 0.0, "stiffness": 3000.0}
KNOB = {"kind": "detent", "joint": "dial", "positions": [0.0, 0.5, 1.0], "effort": 0.1, "reach": 0.2}
FAR = 99.0
IN_PLAY = (-FAR, 1.2 * LATCH["play"])
BEHAVIOURS: dict[str, tuple[dict[str, dict[str, Any]], float, list[Any]]] = {
    "a latched door is held until the lever has turned, and snaps in again": (
        {"m": LATCH, "spring": LEVER_SPRING},
        0.02,
        [
            (1.0, {"hinge": 40.0}, {"hinge": (0.0, IN_PLAY[1])}, [1]),
            (1.0, {"hinge": 5.0, "lever": 1.0}, {"lever": (0.2, 0.6), "hinge": IN_PLAY}, [1]),  # 0.8 rad need 1.5 N m
            (0.3, {"lever": 1.6}, {"lever": (0.6, FAR)}, [0]),
            (0.6, {"hinge": 3.0, "lever": 1.6}, {"hinge": (0.3, FAR)}, [0]),
            (0.5, {}, {"lever": (-FAR, 0.1)}, [0]),  # it hangs open
            (2.0, {"hinge": -3.0}, {}, [1]),
            (1.0, {"hinge": 40.0}, {"hinge": IN_PLAY}, [1]),
        ],
    ),
    "a bolt that does not snap keeps an open door out": (
        {"m": {**LATCH, "snaps": False}, "spring": LEVER_SPRING},
        0.02,
        [
            {"hinge": 0.5},
            (1.5, {"hinge": -20.0}, {"hinge": (0.003, 0.007)}, [1]),
            (1.0, {"hinge": -2.0, "lever": 1.6}, {"hinge": (-FAR, LATCH["play"])}, None),
            (0.5, {}, {}, None),
            (1.0, {"hinge": 20.0}, {"hinge": IN_PLAY}, None),
        ],
    ),
    "a latch holds with its strength alone": (
        {"m": {**LATCH, "strength": 10.0}},
        0.02,
        [(1.0, {"hinge": 9.0}, {"hinge": IN_PLAY}, None), (1.0, {"hinge": 14.0}, {"hinge": (0.1, FAR)}, None)],
    ),
    "a push latch pops when it is let go, and stays when it is pressed again": (
        {"m": PUSH_LATCH},
        0.5,
        [
            (0.5, {"drawer": 30.0}, {"drawer": (-FAR, 0.002)}, [1]),
            (0.5, {"drawer": -6.0}, {}, None),  # less than the spring
            (0.5, {}, {"drawer": (-FAR, 0.002)}, None),
            (0.5, {"drawer": -15.0}, {"drawer": (-FAR, -0.0035)}, None),
            (1.0, {}, {"drawer": (0.035, 0.045)}, [0]),
            (1.0, {"drawer": -15.0}, {}, None),
            (1.0, {}, {"drawer": (-FAR, 0.002)}, [1]),
        ],
    ),
    "a button lets the door spring open": (
        {"m": BUTTON, "s": BUTTON_SPRING},
        0.02,
        [
            (1.0, {"hinge": 20.0}, {"hinge": (-FAR, 0.005)}, None),
            (0.5, {"button": -2.0}, {}, [1]),
            (0.5, {"button": -5.0}, {}, None),
            (1.0, {}, {"hinge": (0.24, 0.36), "button": (-1e-3, 1e-3)}, None),
            (1.5, {"hinge": -4.0}, {}, [1]),
            (1.0, {}, {"hinge": (-FAR, 0.005)}, None),
        ],
    ),
    "one drawer is open at a time": (
        {"m": DRAWERS},
        1.0,
        [
            (0.5, {"drawer": 6.0}, {"drawer": (0.05, FAR)}, [0, 1]),
            (0.5, {"second": 40.0}, {"second": (-FAR, 0.004)}, None),
            (1.0, {"drawer": -6.0}, {}, [0, 0]),
            (0.5, {"second": 6.0}, {"second": (0.05, FAR)}, [1, 0]),
        ],
    ),
    "a lever turns only while the dial is at its place": (
        {"m": PLACE},
        0.02,
        [
            (0.5, {"lever": 5.0}, {"lever": (-FAR, 0.004)}, [1]),
            {"dial": 2.0},
            (0.2, {"lever": 0.04}, {"lever": (0.2, 0.85)}, None),
            {"dial": 3.0, "lever": 0.5},
            (0.5, {"lever": 5.0}, {"lever": (0.495, 0.505)}, None),
            (0.5, {"lever": -5.0}, {"lever": (0.495, 0.505)}, None),
        ],
    ),
    "a childproof cap turns open only while it is pressed": (
        {"m": PRESSED_CAP, "s": CAP_SPRING},
        0.02,
        [
            (0.5, {"dial": 0.2}, {"dial": (-FAR, 0.004)}, None),
            (0.2, {"dial": 0.05, "button": -20.0}, {"dial": (0.3, FAR)}, None),
            {"dial": 1.0, "button": 0.0},
            (0.5, {"dial": 0.2}, {"dial": (0.99, 1.01)}, None),
            (0.2, {"dial": -0.05}, {"dial": (-FAR, 0.7)}, None),
        ],
    ),
    "a knob clicks into its positions": (
        {"m": KNOB},
        0.01,
        [
            (1.0, {"dial": 0.06}, {"dial": (-FAR, 0.11)}, None),
            (0.5, {}, {"dial": (-0.02, 0.02)}, None),
            {"dial": 0.36},
            (1.5, {}, {"dial": (0.48, 0.52)}, None),
            (0.5, {"dial": 0.13}, {"dial": (0.7, FAR)}, None),
        ],
    ),
}
"""Mechanisms, friction, and steps: joints put to positions, or seconds, efforts, ranges of positions, what is held."""


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_a_mechanism_holds_and_frees_its_joint(make, behaviour):
    mechanisms, friction, steps = BEHAVIOURS[behaviour]
    rig = make(friction, **mechanisms)
    for number, step in enumerate(steps):
        if isinstance(step, dict):
            rig.item.set_joints(step)
            continue
        seconds, efforts, ranges, held = step
        rig.push(seconds, **efforts)
        for joint, (low, high) in ranges.items():
            assert low < rig.q(joint) < high, (number, joint)
        assert held is None or rig.held() == held, number
    if "strength" not in str(mechanisms) and not any(isinstance(step, dict) for step in steps[1:]):
        assert rig.problems() == []  # no bolt gave way, and nothing put a recorded joint elsewhere


def test_a_latch_bears_what_pulls_at_its_joint(make):
    rig = make(m=LATCH, spring=LEVER_SPRING)
    rig.push(1.0, hinge=40.0)
    assert rig.item.mechanisms.borne()["m"] == pytest.approx(40.0, rel=0.05)


@pytest.mark.parametrize("names", [("strong", "weak"), ("weak", "strong")])
def test_of_two_latches_the_nearer_wall_and_the_stronger_bolt_hold_in_any_order(make, names):
    bolts = {
        "strong": {"kind": "latch", "joint": "hinge", "by": "lever", "free_at": 0.6, "play": 0.05},
        "weak": {"kind": "latch", "joint": "hinge", "by": "dial", "free_at": 0.6, "play": 0.003, "strength": 5.0},
    }
    rig = make(**{name: bolts[name] for name in names})
    rig.push(hinge=20.0)
    assert rig.q("hinge") < 0.004


def test_a_mechanism_may_have_any_name(make):
    rig = make(**dict.fromkeys(("gates", "held", "mechanisms", "a-b"), LATCH))
    rig.push(hinge=20.0)
    assert rig.item.state_dict()


def test_gears_move_each_other(make):
    rig = make(m={"kind": "mimic", "joint": "second", "follows": "drawer", "ratio": 0.5, "offset": 0.01})
    rig.item.set_joints({"second": 0.01})
    rig.push(0.4, drawer=6.0)
    assert rig.q("drawer") > 0.05
    assert rig.q("second") == pytest.approx(0.01 + 0.5 * rig.q("drawer"), abs=2e-3)
    before = rig.q("drawer")
    rig.push(0.3, second=12.0)
    assert rig.q("drawer") > before + 0.02
    assert rig.q("second") == pytest.approx(0.01 + 0.5 * rig.q("drawer"), abs=2e-3)


def test_a_closer_shuts_the_door_at_its_speed(make):
    rig = make(m=CLOSER)
    rig.item.set_joints({"hinge": 1.2})
    rig.push(1.0)
    assert -rig.item.max_joint_speed() == pytest.approx(-0.4, abs=0.03)
    rig.push(3.0)
    assert rig.q("hinge") < 0.01
    rig.push(1.0, hinge=2.5)
    assert rig.q("hinge") < 0.01
    rig.push(1.0, hinge=3.5)
    assert rig.q("hinge") > 0.05


def test_a_soft_close_draws_a_drawer_in_from_its_reach_and_brakes_it(make):
    rig = make(m=SOFT, friction=1.0)
    rig.item.set_joints({"drawer": 0.2})
    rig.push(1.0)
    assert rig.q("drawer") == pytest.approx(0.2, abs=1e-3)
    rig.item.set_joints({"drawer": 0.035})
    rig.push(1.5)
    assert rig.q("drawer") < 0.001
    rig.item.body.set_joint_positions(["drawer"], [0.04], [-0.5])
    rig.push(1 / 30)
    assert rig.item.max_joint_speed() < 0.2


def test_the_state_of_mechanisms_is_recorded_and_written_back(make):
    rig = make(m=LATCH, p=PUSH_LATCH)
    rig.push(0.5, drawer=-15.0)
    rig.push(0.1)
    rig.item.update_state()
    state = rig.item.state_dict()
    assert state["mechanisms.m"].tolist() == [1]
    assert state["mechanisms.p"].tolist() == [0]
    other = make(m=LATCH, p=PUSH_LATCH)
    assert other.held("p") == [1]
    other.item.load_state_dict(state)
    other.item.write_replay_data()
    assert (other.held("m"), other.held("p")) == ([1], [0])


CUPBOARD = """<robot name="cupboard">
<link name="body"/>
<link name="door"><inertial><origin xyz="0 0.2 0"/><mass value="2"/>
<inertia ixx="0.03" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><origin xyz="0 0.2 0"/><geometry><box size="0.02 0.4 0.4"/></geometry></collision></link>
<link name="tray"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
<joint name="hinge" type="revolute"><parent link="body"/><child link="door"/><origin xyz="0 -0.2 0"/>
<axis xyz="0 0 -1"/><limit lower="0" upper="1.8" effort="9" velocity="9"/></joint>
<joint name="rail" type="prismatic"><parent link="body"/><child link="tray"/><origin xyz="{x} 0 0"/>
<axis xyz="1 0 0"/><limit lower="0" upper="0.3" effort="9" velocity="9"/></joint></robot>"""
"""A tray behind a door; at x = -0.12, 1 cm is between them."""


@pytest.mark.parametrize(("x", "solid", "waits"), [(-0.12, True, True), (-0.12, False, False), (-0.1, True, False)])
def test_a_tray_waits_for_the_door_before_it_unless_their_colliders_overlap_at_rest(tmp_path, x, solid, waits):
    path = tmp_path / "cupboard.urdf"
    path.write_text(CUPBOARD.format(x=x))
    closer = read_mechanism(
        MappingReader({"kind": "closer", "joint": "hinge", "effort": 20.0, "speed": 1.0}, where="closer")
    )
    articulation = Articulation("cupboard", {}, {}, mechanisms={"closer": closer}, parts_collide=solid)
    asset = ObjectAsset("it", "cupboard", "0", "urdf", path, articulation, "", np.zeros((2, 3)))
    with World(WorldCfg(gravity_m_s2=0.0)) as world:
        body = world.load_urdf(path, name="it", T_world_root=Pose.identity(), self_collision=solid)
        item = SceneObject(body, asset, world=world)
        item.drives.set_effort("rail", 4.0)
        world.step(120)
        assert (item.joint_position("rail") < 0.02) == waits
        item.set_joints({"rail": 0.0, "hinge": 1.7})
        item.drives.set_effort("hinge", 25.0)
        world.step(120)
        assert item.joint_position("rail") > 0.2


def test_a_door_that_opens_while_its_latch_holds_is_a_false_record(make):
    rig = make(m=LATCH, spring=LEVER_SPRING)
    rig.push(0.5, hinge=10.0)
    arrays = rig.arrays()
    positions, held = arrays["objects.rig.joint_positions"], arrays["objects.rig.mechanisms.m"]
    opened = positions.copy()
    opened[5:, rig.item.joint_index("hinge")] = 0.5
    (said,) = rig.problems(joint_positions=opened)
    assert said == "'objects.rig.mechanisms.m' of frame 5: it holds 'hinge', which is open by 0.5 (10 frames)."
    denied = held.copy()
    denied[5:] = False
    (said,) = rig.problems(**{"joint_positions": opened, "mechanisms.m": denied})
    assert "frame 5: 'hinge' is open by 0.5, and nothing freed it" in said
    closed = positions.copy()
    closed[:, rig.item.joint_index("hinge")] = 0.0
    (said,) = rig.problems(**{"joint_positions": closed, "mechanisms.m": denied})
    assert "frame 5: it does not hold 'hinge', which is closed, and 'lever' does not free it" in said
    turned = positions.copy()
    turned[:, rig.item.joint_index("lever")] = 0.8
    (said,) = rig.problems(joint_positions=turned)
    assert "frame 0: it holds 'hinge', which 'lever' frees (15 frames)" in said


def test_a_push_latch_that_changes_unpressed_and_a_frozen_lever_that_moves_are_false_records(make):
    rig = make(m=PUSH_LATCH, friction=0.5)
    rig.push(0.5)
    held = rig.arrays()["objects.rig.mechanisms.m"].copy()
    held[7:] = False
    (said,) = rig.problems(**{"mechanisms.m": held})
    assert "frame 7: it changes, and 'drawer' is at" in said
    rig = make(m=PLACE)
    rig.push(0.5)
    positions = rig.arrays()["objects.rig.joint_positions"].copy()
    positions[6:, rig.item.joint_index("lever")] = 0.4
    (said,) = rig.problems(joint_positions=positions)
    assert "frame 6: it holds 'lever', which moves by 0.4" in said


def test_efforts_and_thresholds_of_mechanisms_can_be_changed(make):
    rig = make(m=LATCH, knob=KNOB)
    view = ArticulationView(rig.world, [rig.item.body], name="it", drives=[[rig.item.drives]])
    at = {joint: view.joints.index(joint) for joint in view.joints}
    efforts, thresholds = view.get("mechanism_efforts")[0], view.get("mechanism_thresholds")[0]
    assert (efforts[at["dial"]], efforts.sum()) == (0.1, 0.1)
    assert (thresholds[at["hinge"]], thresholds.sum()) == (0.6, 0.6)
    view.attribute("mechanism_thresholds").write(0, 0.5 * thresholds)
    rig.item.set_joints({"lever": 0.4})
    rig.push(0.1)
    assert rig.held() == [0]
    with pytest.raises(WorldError, match="mechanism_efforts of joint 'hinge' is set to 1, but no mechanism"):
        view.attribute("mechanism_efforts").write(0, np.ones(len(at)))


class SecondRig:
    """The same object as `Rig` in the rules of the second engine, for joints that do not move each other."""

    def __init__(self, rig: Rig) -> None:
        benchmarks = str(Path(__file__).parents[2] / "benchmarks")
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(benchmarks)
            self._made = import_module("mujoco_mechanisms")
        self._efforts_of = self._made.object_mechanisms(rig.item.asset)
        body = rig.item.body
        self.mass = {joint: rig.mass(joint) for joint in rig.item.joint_names}
        self.friction = rig.item.asset.friction
        self.ends = {
            joint.name: (joint.lower, joint.upper) for joint in body.movable_joints if joint.lower < joint.upper
        }
        self.q = {joint: rig.q(joint) for joint in self.mass}
        self.dq = dict.fromkeys(self.q, 0.0)

    def push(self, seconds: float = 0.5, **efforts: float) -> None:
        dt = 1.0 / 960.0
        for _ in range(round(seconds / dt)):
            states = {j: self._made.JointState(self.q[j], self.dq[j], self.mass[j] / dt) for j in self.q}
            held = self._efforts_of(states, dt)
            for j, mass in self.mass.items():
                impulse = dt * (held.get(j, 0.0) + efforts.get(j, 0.0)) + mass * self.dq[j]
                braked = np.sign(impulse) * max(0.0, abs(impulse) - dt * self.friction[j])
                low, high = self.ends.get(j, (-np.inf, np.inf))
                q = self.q[j] + dt * braked / mass
                self.dq[j] = float(braked / mass) if low < q < high else 0.0
                self.q[j] = float(np.clip(q, low, high))


RELEASE = {"kind": "release", "joint": "hinge", "by": "lever", "at": 0.4, "pops_to": 0.3, "effort": 2.0}
CAP = {"kind": "press_and_turn", "joint": "dial", "by": "second", "at": 0.2}
CLOSER = {"kind": "closer", "joint": "hinge", "effort": 3.0, "speed": 0.4}
SOFT = {"kind": "soft_close", "joint": "drawer", "effort": 10.0, "reach": 0.05, "speed": 0.08}
COMPARED: dict[str, tuple[dict[str, Any], list[tuple[float, dict[str, float]]]]] = {
    "latch": (LATCH, [(0.5, {"hinge": 4.0}), (0.5, {"lever": 0.5}), (0.3, {"hinge": 4.0, "lever": 0.5})]),
    "bolt": ({**LATCH, "snaps": False}, [(0.3, {"lever": 0.5}), (0.3, {"hinge": 3.0, "lever": 0.5})]),
    "push_latch": (PUSH_LATCH, [(0.5, {"drawer": 5.0}), (0.5, {"drawer": -15.0}), (1.0, {})]),
    "release": (RELEASE, [(0.5, {"hinge": 5.0}), (0.5, {"lever": 0.5}), (1.0, {})]),
    "interlock": (
        DRAWERS,
        [(0.4, {"drawer": 3.0}), (0.4, {"second": 9.0}), (1.0, {"drawer": -3.0}), (0.3, {"second": 3.0})],
    ),
    "press_and_turn": (CAP, [(0.3, {"dial": 0.1}), (0.7, {"second": 3.0}), (0.3, {"dial": 0.03})]),
    "detent": (KNOB, [(0.5, {"dial": 0.07}), (0.5, {})]),
    "closer": (CLOSER, [(0.5, {"hinge": 9.0}), (1.0, {})]),
    "soft_close": (SOFT, [(0.3, {"drawer": 14.0}), (0.1, {"drawer": -14.0}), (1.0, {})]),
}


@pytest.mark.parametrize("name", COMPARED)
def test_the_second_engine_has_the_same_rules(make, name):
    mechanism, pushes = COMPARED[name]
    rig = make(m=mechanism, friction=0.02 if "dial" in str(mechanism) else 0.3)
    second = SecondRig(rig)
    for seconds, efforts in pushes:
        rig.push(seconds, **efforts)
        second.push(seconds, **efforts)
        for joint in mechanism.get("joints", [mechanism.get("joint")]):
            assert second.q[joint] == pytest.approx(rig.q(joint), abs=0.03, rel=0.05), (joint, efforts)
