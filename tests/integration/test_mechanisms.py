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
saloon revolute 0 0 1 -1.6 1.6 body 2.0 0.4
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
            friction=dict.fromkeys((line.split()[0] for line in JOINTS.split("\n")[1:-1]), friction),
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


def test_a_latched_door_is_held_until_the_lever_has_turned_and_snaps_in_again(make: Make) -> None:
    rig = make(m=LATCH, spring=LEVER_SPRING)
    assert rig.held() == [1]
    rig.push(1.0, hinge=40.0)
    assert 0.0 < rig.q("hinge") < 1.2 * LATCH["play"]
    assert rig.item.mechanisms.borne()["m"] == pytest.approx(40.0, rel=0.05)
    rig.push(1.0, hinge=5.0, lever=1.0)  # too little against the spring: 0.8 rad need 1.5 N m
    assert 0.2 < rig.q("lever") < 0.6
    assert rig.held() == [1]
    assert rig.q("hinge") < 1.2 * LATCH["play"]
    rig.push(0.3, lever=1.6)
    assert rig.q("lever") > 0.6
    assert rig.held() == [0]
    rig.push(0.6, hinge=3.0, lever=1.6)
    assert rig.q("hinge") > 0.3
    rig.push(0.5)
    assert rig.q("lever") < 0.1
    assert rig.held() == [0]  # it hangs open
    rig.push(2.0, hinge=-3.0)
    assert rig.held() == [1]
    rig.push(1.0, hinge=40.0)
    assert rig.q("hinge") < 1.2 * LATCH["play"]
    assert rig.problems() == []


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_saloon_door_is_closed_and_held_from_both_sides(make: Make, side: float) -> None:
    rig = make(c={**CLOSER, "joint": "saloon"}, m={**LATCH, "joint": "saloon"}, friction=0.1)
    rig.push(0.5, saloon=side * 40.0)
    assert abs(rig.q("saloon")) < 1.2 * LATCH["play"]
    assert rig.held() == [1]
    rig.push(1.0, saloon=side * 8.0, lever=1.0)
    assert side * rig.q("saloon") > 0.5
    rig.push(0.1, lever=-1.0, saloon=side * 8.0)
    assert rig.held() == [0]
    rig.push(6.0, lever=-0.1)
    assert abs(rig.q("saloon")) < 0.002
    assert rig.held() == [1]
    assert rig.problems() == []


def test_an_open_bolt_keeps_a_saloon_door_out_on_its_side(make: Make) -> None:
    rig = make(m={**LATCH, "joint": "saloon", "snaps": False})
    rig.item.set_joints({"saloon": -0.5})
    rig.push(1.5, saloon=20.0)
    assert rig.q("saloon") == pytest.approx(-LATCH["play"], abs=2e-3)
    assert rig.problems() == []


@pytest.mark.parametrize("kind", [{"kind": "closer"}, {"kind": "soft_close", "reach": 0.2}])
def test_what_has_closed_by_itself_opens_with_little_more_than_the_effort_that_closed_it(
    make: Make, kind: dict[str, Any]
) -> None:
    rig = make(c={**kind, "joint": "lever", "effort": 0.5, "speed": 0.4})
    rig.item.set_joints({"lever": 0.1})
    rig.push(3.0)
    assert abs(rig.q("lever")) < 1e-3
    rig.push(2.0, lever=0.7)
    assert rig.q("lever") > 0.1


def test_a_part_that_goes_a_little_beyond_closed_is_held_and_released_there(make: Make) -> None:
    release = {"kind": "release", "joint": "drawer", "by": "button", "at": 0.004, "pops_to": 0.05, "effort": 6.0}
    rig = make(m=release)
    rig.push(1.0, drawer=-20.0)
    assert rig.q("drawer") < -0.004
    assert rig.held() == [1]
    rig.push(0.5, button=-5.0)
    rig.push(1.0)
    assert rig.q("drawer") > 0.03
    assert rig.problems() == []


@pytest.mark.parametrize("speed", [2.0, 3.1, 4.3, 5.7])
def test_a_door_that_is_slammed_is_latched(make: Make, speed: float) -> None:
    rig = make(m=LATCH)
    rig.item.set_joints({"hinge": 0.5})
    rig.item.body.set_joint_positions(["hinge"], [0.5], [-speed])
    rig.push(1.0)
    assert rig.held() == [1]
    assert rig.problems() == []


@pytest.mark.parametrize("pull", [5.0, 5.45, 6.1, 7.3])
def test_a_part_that_pulled_at_its_latch_goes_back(make: Make, pull: float) -> None:
    rig = make(m=LATCH)
    rig.push(1.0, hinge=pull)
    rig.push(0.5, hinge=-5.0)
    assert rig.q("hinge") < 0.5 * LATCH["play"]


def test_two_springs_at_one_joint_add(make: Make) -> None:
    other = {"kind": "spring", "joint": "lever", "rest": 0.5, "stiffness": 1.5}
    rig = make(s=LEVER_SPRING, other=other, friction=0.0)
    rig.push(2.0)
    assert rig.q("lever") == pytest.approx(0.15, abs=0.01)
    rig.push(2.0, lever=0.6)
    assert rig.q("lever") == pytest.approx(0.35, abs=0.01)


def test_a_bolt_that_does_not_snap_keeps_an_open_door_out(make: Make) -> None:
    rig = make(m={**LATCH, "snaps": False}, spring=LEVER_SPRING)
    rig.item.set_joints({"hinge": 0.5})
    rig.push(1.5, hinge=-20.0)
    assert rig.q("hinge") == pytest.approx(LATCH["play"], abs=2e-3)
    assert rig.held() == [1]
    rig.push(1.0, hinge=-2.0, lever=1.6)
    assert rig.q("hinge") < LATCH["play"]
    rig.push(0.5)
    rig.push(1.0, hinge=20.0)
    assert rig.q("hinge") < 1.2 * LATCH["play"]
    assert rig.problems() == []


def test_a_latch_holds_with_its_strength_alone(make: Make) -> None:
    rig = make(m={**LATCH, "strength": 10.0})
    rig.push(1.0, hinge=9.0)
    assert rig.q("hinge") < 1.2 * LATCH["play"]
    rig.push(1.0, hinge=14.0)
    assert rig.q("hinge") > 0.1


PUSH_LATCH = {"kind": "push_latch", "joint": "drawer", "press": 0.004, "pops_to": 0.04, "effort": 8.0}


@pytest.mark.parametrize("names", [("strong", "weak"), ("weak", "strong")])
def test_of_two_latches_the_nearer_wall_and_the_stronger_bolt_hold_in_any_order(
    make: Make, names: tuple[str, str]
) -> None:
    bolts = {
        "strong": {"kind": "latch", "joint": "hinge", "by": "lever", "free_at": 0.6, "play": 0.05},
        "weak": {"kind": "latch", "joint": "hinge", "by": "dial", "free_at": 0.6, "play": 0.003, "strength": 5.0},
    }
    rig = make(**{name: bolts[name] for name in names})
    rig.push(hinge=20.0)
    assert rig.q("hinge") < 0.004


@pytest.mark.parametrize("name", ["gates", "held", "mechanisms", "a-b"])
def test_a_mechanism_may_have_any_name(make: Make, name: str) -> None:
    rig = make(**{name: LATCH})
    rig.push(hinge=20.0)
    assert rig.item.state_dict()


def test_a_push_latch_pops_when_it_is_let_go_and_stays_when_it_is_pressed_again(make: Make) -> None:
    rig = make(m=PUSH_LATCH, friction=0.5)
    rig.push(0.5, drawer=30.0)
    assert rig.q("drawer") < 0.002
    assert rig.held() == [1]
    rig.push(0.5, drawer=-6.0)  # less than the spring
    rig.push(0.5)
    assert rig.q("drawer") < 0.002
    rig.push(0.5, drawer=-15.0)
    assert rig.q("drawer") < -0.0035
    rig.push(1.0)
    assert rig.q("drawer") == pytest.approx(0.04, abs=0.005)
    assert rig.held() == [0]
    rig.push(1.0, drawer=-15.0)
    rig.push(1.0)
    assert rig.q("drawer") < 0.002
    assert rig.held() == [1]
    assert rig.problems() == []


def test_a_push_latch_gives_way_to_a_hand_that_presses_it_slowly(make: Make) -> None:
    rig = make(m=PUSH_LATCH, friction=0.5)
    rig.push(0.5)
    index = rig.item.body.joint("drawer").index
    rig.item.drives.set_effort("drawer", -15.0)
    speeds = []
    for _ in range(3):  # in contact with a hand, a joint keeps such errors at its wall
        p.resetJointState(rig.item.body.body_id, index, 0.001 + 1e-7, 1e-5, physicsClientId=rig.world.client)
        rig.world.step(1)
        speeds.append(rig.item.body.joint_states()[1][rig.item.joint_index("drawer")])
    assert min(speeds) < -0.01


@pytest.mark.parametrize("damping", [0.001, 0.02, 2.0, 100.0])
def test_a_light_part_with_much_damping_is_slowed_and_not_thrown(tmp_path: Path, damping: float) -> None:
    path = tmp_path / "lever.urdf"
    path.write_text(
        '<robot name="object"><link name="body"/><link name="lever"><inertial><mass value="0.001"/><inertia ixx="1e-6" '
        'iyy="1e-6" izz="1e-6" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="joint" type="continuous">'
        '<parent link="body"/><child link="lever"/><axis xyz="0 0 1"/></joint></robot>'
    )
    asset = ObjectAsset(
        *("lever", "lever", "0", "urdf", path, Articulation("lever", {}, {}), "", np.zeros((2, 3))),
        damping={"joint": damping},
    )
    with World(WorldCfg(gravity_m_s2=0.0)) as world:
        body = world.load_urdf(path, name="lever", T_world_root=Pose.identity())
        item = SceneObject(body, asset, world=world)
        p.resetJointState(body.body_id, 0, 0.0, 1.0, physicsClientId=world.client)
        speeds = []
        for _ in range(6):
            world.step(1)
            speeds.append(float(item.body.joint_states()[1][0]))
    assert speeds == sorted(speeds, reverse=True)
    assert 0.0 <= speeds[-1] < 1.0 - 0.3 * min(1.0, damping / 0.02)


def test_a_button_lets_the_door_spring_open(make: Make) -> None:
    release = {"kind": "release", "joint": "hinge", "by": "button", "at": 0.004, "pops_to": 0.3, "effort": 2.0}
    rig = make(m=release, s={"kind": "spring", "joint": "button", "rest": 0.001, "stiffness": 600.0, "damping": 1.0})
    rig.push(1.0, hinge=20.0)
    assert rig.q("hinge") < 0.005
    rig.push(0.5, button=-2.0)
    assert rig.held() == [1]
    rig.push(0.5, button=-5.0)
    rig.push(1.0)
    assert rig.q("hinge") == pytest.approx(0.3, abs=0.06)
    assert rig.q("button") == pytest.approx(0.0, abs=1e-3)
    rig.push(1.5, hinge=-4.0)
    assert rig.held() == [1]
    rig.push(1.0)
    assert rig.q("hinge") < 0.005
    assert rig.problems() == []


def test_one_drawer_is_open_at_a_time(make: Make) -> None:
    rig = make(m={"kind": "interlock", "joints": ["drawer", "second"]}, friction=1.0)
    rig.push(0.5, drawer=6.0)
    assert rig.q("drawer") > 0.05
    assert rig.held() == [0, 1]
    rig.push(0.5, second=40.0)
    assert rig.q("second") < 0.004
    rig.push(1.0, drawer=-6.0)
    assert rig.held() == [0, 0]
    rig.push(0.5, second=6.0)
    assert rig.q("second") > 0.05
    assert rig.held() == [1, 0]
    assert rig.problems() == []


def test_a_lever_turns_only_while_the_dial_is_at_its_place(make: Make) -> None:
    rig = make(m={"kind": "interlock", "joint": "lever", "by": "dial", "range": [1.9, 2.1]}, friction=0.02)
    rig.push(0.5, lever=5.0)
    assert rig.q("lever") < 0.004
    assert rig.held() == [1]
    rig.item.set_joints({"dial": 2.0})
    rig.push(0.2, lever=0.04)
    opened = rig.q("lever")
    assert 0.2 < opened < 0.85
    rig.item.set_joints({"dial": 3.0, "lever": opened})
    rig.push(0.5, lever=5.0)
    assert rig.q("lever") == pytest.approx(opened, abs=0.005)
    rig.push(0.5, lever=-5.0)
    assert rig.q("lever") == pytest.approx(opened, abs=0.005)


def test_a_childproof_cap_turns_open_only_while_it_is_pressed(make: Make) -> None:
    cap = {"kind": "press_and_turn", "joint": "dial", "by": "button", "at": 0.005}
    rig = make(m=cap, s={"kind": "spring", "joint": "button", "rest": 0.0, "stiffness": 3000.0})
    rig.push(0.5, dial=0.2)
    assert rig.q("dial") < 0.004
    rig.push(0.2, dial=0.05, button=-20.0)
    assert rig.q("dial") > 0.3
    rig.push(0.2)
    turned = rig.q("dial")
    rig.push(0.5, dial=0.2)
    assert rig.q("dial") == pytest.approx(turned, abs=0.01)
    rig.push(0.2, dial=-0.05)
    assert rig.q("dial") < turned - 0.3
    assert rig.problems() == []


def test_a_knob_clicks_into_its_positions(make: Make) -> None:
    knob = {"kind": "detent", "joint": "dial", "positions": [0.0, 0.5, 1.0], "effort": 0.1, "reach": 0.2}
    rig = make(m=knob, friction=0.01)
    rig.push(1.0, dial=0.06)
    assert rig.q("dial") < 0.11
    rig.push(0.5)
    assert rig.q("dial") == pytest.approx(0.0, abs=0.02)
    rig.item.set_joints({"dial": 0.36})
    rig.push(1.5)
    assert rig.q("dial") == pytest.approx(0.5, abs=0.02)
    rig.push(0.5, dial=0.13)
    assert rig.q("dial") > 0.7


def test_the_damping_of_a_detent_brakes_a_switch_that_snaps_over(make: Make) -> None:
    switch = {"kind": "detent", "joint": "dial", "positions": [0.0, 0.6], "effort": 0.2, "reach": 0.29}
    fastest = []
    for damping in (0.0, 0.06):
        rig = make(m={**switch, "damping": damping}, friction=0.01)
        rig.item.set_joints({"dial": 0.34})
        rig.push(1.5)
        assert rig.q("dial") == pytest.approx(0.6, abs=0.02)
        fastest.append(np.abs(rig.arrays()["objects.rig.joint_velocities"]).max())
    assert fastest[1] < 0.2 / 0.06 < fastest[0]  # the speed at which the damping takes the whole effort


def test_gears_move_each_other(make: Make) -> None:
    rig = make(m={"kind": "mimic", "joint": "second", "follows": "drawer", "ratio": 0.5, "offset": 0.01})
    rig.item.set_joints({"second": 0.01})
    rig.push(0.4, drawer=6.0)
    assert rig.q("drawer") > 0.05
    assert rig.q("second") == pytest.approx(0.01 + 0.5 * rig.q("drawer"), abs=2e-3)
    before = rig.q("drawer")
    rig.push(0.3, second=12.0)
    assert rig.q("drawer") > before + 0.02
    assert rig.q("second") == pytest.approx(0.01 + 0.5 * rig.q("drawer"), abs=2e-3)


def test_a_rack_turns_its_gear(make: Make) -> None:
    rig = make(m={"kind": "mimic", "joint": "dial", "follows": "drawer", "ratio": 10.0})
    rig.push(0.3, drawer=2.0)
    assert rig.q("drawer") > 0.02
    assert rig.q("dial") == pytest.approx(10.0 * rig.q("drawer"), abs=0.05)


def test_a_closer_shuts_the_door_at_its_speed(make: Make) -> None:
    rig = make(m={"kind": "closer", "joint": "hinge", "effort": 3.0, "speed": 0.4})
    rig.item.set_joints({"hinge": 1.2})
    rig.push(1.0)
    assert -rig.item.max_joint_speed() == pytest.approx(-0.4, abs=0.03)
    rig.push(3.0)
    assert rig.q("hinge") < 0.01
    rig.push(1.0, hinge=2.5)
    assert rig.q("hinge") < 0.01
    rig.push(1.0, hinge=3.5)
    assert rig.q("hinge") > 0.05


def test_a_soft_close_draws_a_drawer_in_from_its_reach_and_brakes_it(make: Make) -> None:
    rig = make(m={"kind": "soft_close", "joint": "drawer", "effort": 10.0, "reach": 0.05, "speed": 0.08}, friction=1.0)
    rig.item.set_joints({"drawer": 0.2})
    rig.push(1.0)
    assert rig.q("drawer") == pytest.approx(0.2, abs=1e-3)
    rig.item.set_joints({"drawer": 0.035})
    rig.push(1.5)
    assert rig.q("drawer") < 0.001
    rig.item.body.set_joint_positions(["drawer"], [0.04], [-0.5])
    rig.push(1 / 30)
    assert rig.item.max_joint_speed() < 0.2


def test_steps_together_and_again_end_alike_to_the_bit(make: Make) -> None:
    ends = []
    for _ in range(2):
        rig = make(m=LATCH, spring=LEVER_SPRING, p=PUSH_LATCH)
        rig.push(0.5, hinge=10.0, drawer=-15.0)
        rig.push(0.5, hinge=3.0, lever=1.6)
        ends.append((rig.world.signature(), rig.held("m"), rig.held("p")))
    assert ends[0] == ends[1]


def test_the_state_of_mechanisms_is_recorded_and_written_back(make: Make) -> None:
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


CAP_PRESS = {"kind": "press_and_turn", "joint": "dial", "by": "button", "at": 0.005}


@pytest.mark.parametrize("pressed_s", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("shut", [True, False])
def test_a_restored_state_goes_on_as_the_one_that_was_saved(make: Make, pressed_s: float, shut: bool) -> None:
    """The part of a push latch is pressed in, open or shut before, and let go; a cap is turned within its play."""
    ends = []
    for restores in (False, True):
        rig = make(p=PUSH_LATCH, c=CAP_PRESS, friction=0.5)
        rig.item.set_joints({"drawer": 0.0 if shut else 0.02})
        rig.push(pressed_s, drawer=-15.0, dial=0.6)
        rig.push(1 / 30)
        if restores:
            state = rig.item.state_dict()
            rig = make(p=PUSH_LATCH, c=CAP_PRESS, friction=0.5)
            rig.item.load_state_dict(state)
            rig.item.write_replay_data()
            rig.item.update_state()
            np.testing.assert_equal(rig.item.state_dict(), state)
        rig.push(1.0, dial=0.6)
        ends.append((rig.held("p"), rig.q("drawer"), rig.q("dial")))
    assert ends[1][0] == ends[0][0]
    assert ends[1][1:] == pytest.approx(ends[0][1:], abs=1e-4)


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
def test_a_tray_waits_for_the_door_before_it_unless_their_colliders_overlap_at_rest(
    tmp_path: Path, x: float, solid: bool, waits: bool
) -> None:
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


def test_a_door_that_opens_while_its_latch_holds_is_a_false_record(make: Make) -> None:
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
    said, again = rig.problems(**{"joint_positions": opened, "mechanisms.m": denied})
    assert "frame 5: 'hinge' is open by 0.5, and nothing freed it" in said
    assert again == "'objects.rig.gates' of frame 5: 'hinge' is held, and 'm' says the opposite (10 frames)."
    closed = positions.copy()
    closed[:, rig.item.joint_index("hinge")] = 0.0
    said, _ = rig.problems(**{"joint_positions": closed, "mechanisms.m": denied})
    assert "frame 5: it does not hold 'hinge', which is closed, and 'lever' does not free it" in said
    turned = positions.copy()
    turned[:, rig.item.joint_index("lever")] = 0.8
    (said,) = rig.problems(joint_positions=turned)
    assert "frame 0: it holds 'hinge', which 'lever' frees (15 frames)" in said


def test_a_push_latch_that_changes_unpressed_is_a_false_record(make: Make) -> None:
    rig = make(m=PUSH_LATCH, friction=0.5)
    rig.push(0.5)
    held = rig.arrays()["objects.rig.mechanisms.m"].copy()
    held[7:] = False
    said, _ = rig.problems(**{"mechanisms.m": held})
    assert "frame 7: it changes, and 'drawer' is at" in said


def test_a_frozen_lever_that_moves_is_a_false_record(make: Make) -> None:
    rig = make(m={"kind": "interlock", "joint": "lever", "by": "dial", "range": [1.9, 2.1]})
    rig.push(0.5)
    positions = rig.arrays()["objects.rig.joint_positions"].copy()
    positions[6:, rig.item.joint_index("lever")] = 0.4
    (said,) = rig.problems(joint_positions=positions)
    assert "frame 6: it holds 'lever', which moves by 0.4" in said


def test_efforts_and_thresholds_of_mechanisms_can_be_changed(make: Make) -> None:
    knob = {"kind": "detent", "joint": "dial", "positions": [0.0, 0.5], "effort": 0.1, "reach": 0.2}
    rig = make(m=LATCH, knob=knob)
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


DRAWERS = {"kind": "interlock", "joints": ["drawer", "second"]}
RELEASE = {"kind": "release", "joint": "hinge", "by": "lever", "at": 0.4, "pops_to": 0.3, "effort": 2.0}
CAP = {"kind": "press_and_turn", "joint": "dial", "by": "second", "at": 0.2}
KNOB = {"kind": "detent", "joint": "dial", "positions": [0.0, 0.5, 1.0], "effort": 0.1, "reach": 0.2}
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
    "both sides": (
        {**CLOSER, "joint": "saloon"},
        [(0.5, {"saloon": -9.0}), (1.0, {}), (5.0, {})],
    ),
    "soft_close": (SOFT, [(0.3, {"drawer": 14.0}), (0.1, {"drawer": -14.0}), (1.0, {})]),
}


@pytest.mark.parametrize("name", COMPARED)
def test_the_second_engine_has_the_same_rules(make: Make, name: str) -> None:
    mechanism, pushes = COMPARED[name]
    rig = make(m=mechanism, friction=0.02 if "dial" in str(mechanism) else 0.3)
    second = SecondRig(rig)
    for seconds, efforts in pushes:
        rig.push(seconds, **efforts)
        second.push(seconds, **efforts)
        for joint in mechanism.get("joints", [mechanism.get("joint")]):
            assert second.q[joint] == pytest.approx(rig.q(joint), abs=0.03, rel=0.05), (joint, efforts)
