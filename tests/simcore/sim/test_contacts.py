"""Contact views measure force by pair and keep the first one above the threshold; loads sum the forces on a finger."""

import numpy as np
import pybullet as p
import pytest

from unlatch.simcore.geometry import Pose, matrix_from_axis_angle
from unlatch.simcore.sim.contacts import (
    TURNED_RAD,
    ContactMonitor,
    ContactView,
    FingerLoads,
    ObjectView,
    TurnedContacts,
)
from unlatch.simcore.sim.drives import DriveGroup, DriveMode, JointDrive
from unlatch.simcore.sim.world import World, WorldCfg


def value(buffer):
    return float(buffer.get_value())


def run(world, monitor, steps):
    """Steps, and ends a frame after them."""
    for _ in range(steps):
        world.step()
        monitor.sample()
    monitor.end_frame()


def sample(view, *steps):
    """Adds physics steps, each with the forces of pairs by name such as `ab` [N]."""
    first = getattr(view, "steps_so_far", 1)
    view.steps_so_far = first + len(steps)

    def pairs_in(_view, place):
        return {tuple(pair.split()): force_n for pair, force_n in steps[place].items()}, first + place, 0.0

    view.sample([max(forces.values(), default=0.0) for forces in steps], pairs_in)


def feed(view, *steps_n):
    sample(view, *({"can table": force_n} if force_n else {} for force_n in steps_n))


class TestContactView:
    def test_the_first_violation_stays(self):
        view = ContactView("v", lambda *_: True)
        view.watch(1.0)
        sample(view, {"a b": 0.9}, {"a b": 1.1}, {"c d": 50.0})
        sample(view, {"c d": 60.0})
        found = view.violation
        assert (found.pair, found.force_n, found.physics_step) == (("a", "b"), 1.1, 2)

    def test_points_without_force_are_counted_and_not_judged(self):
        view = ContactView("v", lambda *_: True)
        view.watch(0.0)
        sample(view, {"a b": 0.0})
        view.note_pair("a", bears_force=False, without_force=1)
        assert (view.violation, view.zero_force_points) == (None, 1)

    def test_a_frame_is_the_largest_and_the_mean_over_its_steps(self):
        view = ContactView("v", lambda *_: True)
        sample(view, *({"a b": force, "a c": 0.5 * force} for force in (0.0, 2.0, 4.0, 2.0)))
        view.end_frame()
        assert (value(view.force_max_n), value(view.force_mean_n)) == (4.0, 2.0)
        view.end_frame()
        assert value(view.force_max_n) == 0.0


class TestObjectView:
    """A sustained force takes 5 steps of 240 Hz."""

    @staticmethod
    def make(rest_n=0.0):
        """Returns the view of an object that has borne a force at rest for one frame."""
        view = ObjectView("can.furniture", lambda *_: True, physics_hz=240.0)
        feed(view, *[rest_n] * 8)
        view.end_frame()
        return view

    def test_a_force_is_sustained_if_it_lasts_for_longer_than_20_ms(self):
        view = self.make()
        feed(view, 9.0, 9.0, 7.0, 9.0)
        view.end_frame()
        assert (value(view.force_max_n), value(view.force_sustained_n)) == (9.0, 0.0)
        feed(view, 8.0, 50.0, 0.0)
        view.end_frame()
        values = [value(buffer) for buffer in (view.force_max_n, view.force_mean_n, view.force_sustained_n)]
        assert values == [50.0, 58.0 / 3, 7.0], "the time of the sustained force began in the frame before"
        view.end_frame()
        assert value(view.force_sustained_n) == 0.0

    def test_an_impact_is_no_violation_and_a_squeeze_is(self):
        view = self.make()
        view.watch(30.0)
        feed(view, *[500.0] * 4, 0.0, *[30.0] * 8, *[31.0] * 4)
        assert view.violation is None
        feed(view, 40.0)
        assert (view.violation.force_n, view.violation.pair, view.exceeded_n) == (31.0, ("can", "table"), 30.0)

    def test_what_the_object_bears_at_rest_is_allowed_in_addition(self):
        view = self.make(40.0)
        view.watch(30.0)
        feed(view, *[70.0] * 8)
        assert view.violation is None
        view.end_frame()
        view.watch(30.0)  # the next skill: the object still is not at rest
        feed(view, *[71.0] * 8)
        assert view.violation is not None
        assert view.exceeded_n == 70.0

    @pytest.mark.parametrize(("rest_n", "touched"), [(0.0, True), (0.5, False)])
    def test_a_touch_is_a_violation_only_where_nothing_touched_the_object_at_rest(self, rest_n, touched):
        view = self.make(rest_n)
        view.watch(30.0, touch_n=1.0)
        feed(view, 1.0)
        assert view.violation is None
        feed(view, 1.5)
        assert (view.violation is not None) is touched
        view.watch(None, touch_n=1.0)
        feed(view, *[99.0] * 8)
        assert view.violation is None, "the rule is switched off"


def frames_of(steps_n, *, frame_steps=8, physics_hz=240.0):
    """Returns largest, mean and sustained force of each frame, (frames, 3), of the forces on two fingers by step."""
    loads = FingerLoads("r.a.fingers", [frozenset("l"), frozenset("r")], physics_hz=physics_hz)
    found = []
    for start in range(0, len(steps_n), frame_steps):
        loads.sample(steps_n[start : start + frame_steps])
        loads.end_frame()
        found.append([value(b) for b in (loads.force_max_n, loads.force_mean_n, loads.force_sustained_n)])
    return np.array(found)


def on_left(*forces_n):
    return [(force_n, 0.0) for force_n in forces_n]


class TestFingerLoads:
    @pytest.mark.parametrize(
        ("steps_n", "frame"),
        [
            # largest and mean are those of the finger that bears most
            ([(0.0, 0.0), (3.0, 1.0), (2.0, 9.0), (0.0, 4.0)], [9.0, 4.0, 0.0]),
            # sustained from the fifth step on at 240 Hz
            (on_left(*[9.0] * 4, *[0.0] * 4), [9.0, 4.5, 0.0]),
            (on_left(*[9.0] * 5, *[0.0] * 3), [9.0, 5.625, 9.0]),
            # the least of its steps, and the largest of the frame
            (on_left(5.0, 8.0, 7.0, 6.0, 9.0, 6.5, 1.0, 9.0), [9.0, 6.4375, 6.0]),
            # two fingers in turn bear nothing sustained
            ([(9.0, 0.0)] * 3 + [(0.0, 9.0)] * 3 + [(9.0, 0.0)] * 2, [9.0, 9.0, 0.0]),
        ],
    )
    def test_a_frame_has_the_largest_the_mean_and_the_sustained_force(self, steps_n, frame):
        assert frames_of(steps_n).tolist() == [frame]

    @pytest.mark.parametrize(("physics_hz", "steps"), [(100.0, 3), (240.0, 5), (250.0, 6), (480.0, 10), (1000.0, 21)])
    def test_sustained_means_longer_than_20_ms_at_every_rate(self, physics_hz, steps):
        for n, expected in ((steps - 1, 0.0), (steps, 7.0)):
            course = [(0.0, 7.0)] * n + [(0.0, 0.0)] * (40 - n)
            assert frames_of(course, frame_steps=40, physics_hz=physics_hz)[0, 2] == expected
        assert (steps - 1) / physics_hz <= 0.02 < steps / physics_hz

    @pytest.mark.parametrize("frame_steps", [1, 2, 3, 8])
    def test_a_sustained_force_may_span_frames(self, frame_steps):
        course = [tuple(pair) for pair in np.random.default_rng(4).uniform(0.0, 10.0, size=(24, 2)).tolist()]
        expected = []
        for end in range(frame_steps, 25, frame_steps):
            in_frame = range(max(end - frame_steps, 4), end)  # the last steps of the windows that count for the frame
            windows = [np.min(course[last - 4 : last + 1], axis=0).max() for last in in_frame]
            expected.append(max(windows, default=0.0))
        assert frames_of(course, frame_steps=frame_steps)[:, 2].tolist() == expected


def add_box(world, name, z=0.0, x=0.0, *, size=(0.2, 0.2, 0.2), **keys):
    return world.add_box(name, size_m=size, T_world_box=Pose.from_translation((x, 0, z)), **keys)


class TestForcesOfBodies:
    def test_force_is_that_of_the_motor_that_presses_on_the_finger_that_it_moves(self, world, sled_and_wheel):
        body = world.load_urdf(sled_and_wheel, name="robot", T_world_root=Pose.identity())
        add_box(world, "wall", x=0.2, size=(0.1, 1, 1))
        drives = DriveGroup(body, {"rail": JointDrive(DriveMode.servo, max_effort=7.0, max_velocity=1.0)})
        drives.set_targets(["rail"], np.array([0.5]), np.zeros(1))
        monitor = ContactMonitor(world, body)
        wall, nothing = (
            monitor.add(ContactView(f"robot.{name}", lambda _link, other, _l, name=name: other == name))
            for name in ("wall", "elsewhere")
        )
        sled, wheel = (
            monitor.add_loads(FingerLoads(f"r.{link}.fingers", [frozenset([link])], physics_hz=240.0))
            for link in ("sled", "wheel")
        )
        for view in (wall, nothing):
            view.watch(1.0)
        run(world, monitor, 240)
        assert value(sled.force_sustained_n) == pytest.approx(7.0, rel=0.02)
        assert value(wheel.force_max_n) == 0.0
        run(world, monitor, 8)
        assert value(wall.force_mean_n) == pytest.approx(7.0, rel=0.02)
        assert wall.violation.pair == ("sled", "wall")
        assert wall.violation.force_n > 1.0
        assert 0 < wall.violation.physics_step <= 240
        assert (nothing.violation, value(nothing.force_max_n)) == (None, 0.0)

    def test_two_boxes_bear_their_weights_and_the_robot_is_in_no_view_of_an_object(self, world):
        add_box(world, "floor", -0.05, size=(2, 2, 0.1))
        heights = (("lower", 0.1, 2.0), ("upper", 0.3, 1.0), ("robot", 0.5, 0.5))
        bodies = {name: add_box(world, name, z, mass_kg=mass_kg) for name, z, mass_kg in heights}
        monitor = ContactMonitor(world, bodies["robot"])
        pairs = (("lower", "floor"), ("lower", "upper"), ("upper", "lower"), ("upper", "robot"))
        views = {}
        for name, other in pairs:
            view = ObjectView(f"{name}.{other}", lambda _link, body, _l, other=other: body == other, physics_hz=240.0)
            views[name, other] = monitor.add_object_view(view, bodies[name])
        on_robot = monitor.add(ContactView("robot.environment", lambda *_: True))
        for _ in range(60):
            run(world, monitor, 8)
        kg = {key: value(view.force_sustained_n) / 9.81 for key, view in views.items()}
        assert kg["lower", "floor"] == pytest.approx(3.5, rel=0.02)
        assert kg["lower", "upper"] == kg["upper", "lower"] == pytest.approx(1.5, rel=0.02)
        assert kg["upper", "robot"] == 0.0
        assert value(on_robot.force_mean_n) == pytest.approx(0.5 * 9.81, rel=0.02)

    @pytest.mark.parametrize("order", [("robot", "ramp"), ("ramp", "robot")])
    def test_a_finger_that_rests_on_a_ramp_bears_its_own_weight(self, order):
        """Normal force and friction together carry the weight, whichever of the two bodies Bullet names first."""
        tilt = Pose.from_rpy((0.0, 0.0, 0.0), (0.0, 0.4, 0.0))
        above = tilt @ Pose.from_translation((0.0, 0.0, 0.15))
        boxes = {
            "robot": {"size_m": (0.2, 0.2, 0.2), "T_world_box": above, "mass_kg": 2.0},
            "ramp": {"size_m": (2, 2, 0.1), "T_world_box": tilt},
        }
        with World(WorldCfg(solver_tolerance=1e-4)) as world:
            for name in order:
                world.add_box(name, friction=1.0, **boxes[name])
            monitor = ContactMonitor(world, world.bodies["robot"])
            loads = monitor.add_loads(FingerLoads("r.a.fingers", [frozenset(["robot"])], physics_hz=240.0))
            normal = monitor.add(ContactView("r.environment", lambda *_: True))
            run(world, monitor, 240)
            run(world, monitor, 8)
        weight_n = 2.0 * 9.81
        assert value(loads.force_mean_n) == pytest.approx(weight_n, rel=1e-3)
        assert value(loads.force_sustained_n) == pytest.approx(weight_n, rel=1e-3)
        assert value(normal.force_mean_n) == pytest.approx(weight_n * np.cos(0.4), rel=1e-3)

    @pytest.mark.parametrize(
        ("weights", "kg"),
        [
            ([{"z": 0.3, "mass_kg": 30.0}], 30.0),  # squeezed between two bodies, it bears the force of one
            # forces of several bodies in one direction add up
            ([{"x": x, "z": 0.25, "size": (0.1, 0.1, 0.1), "mass_kg": 5.0} for x in (-0.06, 0.06)], 10.0),
        ],
    )
    def test_a_finger_on_a_floor_bears_what_lies_on_it(self, world, weights, kg):
        add_box(world, "floor", -0.05, size=(2, 2, 0.1))
        robot = add_box(world, "robot", 0.1, mass_kg=0.5)
        for number, weight in enumerate(weights):
            add_box(world, f"weight{number}", **weight)
        monitor = ContactMonitor(world, robot)
        loads = monitor.add_loads(FingerLoads("r.a.fingers", [frozenset(["robot"])], physics_hz=240.0))
        run(world, monitor, 479)
        world.step()
        monitor.sample()
        assert loads.frame_forces_n[-1] == pytest.approx([(kg + 0.5) * 9.81], rel=0.01)
        monitor.end_frame()
        assert value(loads.force_sustained_n) == pytest.approx((kg + 0.5) * 9.81, rel=0.05)


BLOCK = """<robot name="block"><link name="block">
<inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="box.obj" scale="{size} {size} 0.1"/></geometry></collision>
</link></robot>
"""


@pytest.mark.parametrize(("face_contacts", "most"), [(False, 1), (True, 4)])
def test_flat_faces_touch_with_several_points_at_once_where_a_body_is_loaded_so(world, tmp_path, face_contacts, most):
    # a mesh: two boxes of a URDF always touch with up to four points
    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners]
    lines += [f"f {a + 1} {b + 1} {c + 1}\nf {a + 1} {c + 1} {d + 1}" for a, b, c, d in quads]
    (tmp_path / "box.obj").write_text("\n".join(lines) + "\n")
    for name, size, z in (("below", 0.4, 0.0), ("above", 0.2, 0.099)):
        path, T = tmp_path / f"{name}.urdf", Pose.from_translation((0.0, 0.0, z))
        path.write_text(BLOCK.format(size=size))
        world.load_urdf(path, name=name, T_world_root=T, fixed=name == "below", face_contacts=face_contacts)
    world.step()
    points = p.getContactPoints(physicsClientId=world.client)
    assert len({tuple(point[5]) for point in points}) == most


LINK = """<link name="{0}"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>{1}</link>"""
JOINT = """<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="{4}"/><origin xyz="{5}"/>
<limit lower="-3" upper="3" effort="1000" velocity="10"/></joint>"""
PAD = '<collision><geometry><box size="0.02 0.02 0.06"/></geometry></collision>'
HAND = "\n".join(
    [
        '<robot name="hand">',
        *(LINK.format(*link) for link in (("base", ""), ("palm", ""), ("first", PAD), ("second", PAD))),
        JOINT.format("turn", "revolute", "base", "palm", "0 0 1", "0 0 0"),
        JOINT.format("close_first", "prismatic", "palm", "first", "0 -1 0", "0 0.05 0.1"),
        JOINT.format("close_second", "prismatic", "palm", "second", "0 1 0", "0 -0.05 0.1"),
        "</robot>",
    ]
)
"""A hand that turns about the vertical, with two fingers that close along its y axis."""
BULLETS_OWN = 0.0003
"""Tolerance of the solver with which Bullet keeps the contact points of this hand until its end."""


def largest_error_rad(world, path, *, renews):
    """Grips a can, turns it by 90 degrees, and returns how far the normals then are from the closing axis [rad]."""
    hand = world.load_urdf(path, name="hand", T_world_root=Pose.identity(), friction=1.0)
    world.set_gravity((0.0, 0.0, 0.0))
    turns = [matrix_from_axis_angle([0.0, 0.0, 1.0], a) for a in np.arange(24) * np.pi / 12]
    vertices = [(R @ [0.03, 0.0, z]).tolist() for R in turns for z in (-0.05, 0.05)]
    shape = p.createCollisionShape(p.GEOM_MESH, vertices=vertices, physicsClientId=world.client)
    can = p.createMultiBody(0.3, shape, basePosition=[0, 0, 0.1], physicsClientId=world.client)
    p.changeDynamics(can, -1, lateralFriction=1.0, physicsClientId=world.client)
    drives = {"turn": JointDrive(DriveMode.servo, max_effort=1000.0, max_velocity=5.0)}
    for finger in ("first", "second"):
        hand.set_contact_material(finger, friction=1.0, stiffness_n_m=5e4, damping_n_s_m=200.0)
        drives[f"close_{finger}"] = JointDrive(DriveMode.servo, max_effort=50.0, max_velocity=0.1)
    group, contacts = DriveGroup(hand, drives), TurnedContacts(hand)
    for step in range(720):
        angle = np.clip((step - 240) / 240, 0.0, 1.0) * np.pi / 2
        group.set_targets(list(drives), np.array([angle, 0.05, 0.05]), np.zeros(3))
        if renews and step % 8 == 0:
            contacts.update([hand.link_pose("palm").quat_xyzw])
        world.step()
    palm = hand.link_pose("palm").R
    assert abs(float(np.arctan2(palm[1, 0], palm[0, 0])) - np.pi / 2) < 0.02
    points = [point for point in p.getContactPoints(can, hand.body_id, physicsClientId=world.client) if point[9] > 0.1]
    assert {point[4] for point in points} == {hand.link_index("first"), hand.link_index("second")}
    return max(float(np.arccos(min(1.0, abs(np.dot(point[7], palm[:, 1]))))) for point in points)


@pytest.mark.parametrize(
    ("tolerance", "renews"), [(BULLETS_OWN, True), (WorldCfg().solver_tolerance, True), (BULLETS_OWN, False)]
)
def test_forces_in_a_hand_that_turns_stay_along_the_closing_axis_if_contacts_are_renewed(tmp_path, tolerance, renews):
    (tmp_path / "hand.urdf").write_text(HAND)
    with World(WorldCfg(solver_tolerance=tolerance)) as world:
        error_rad = largest_error_rad(world, tmp_path / "hand.urdf", renews=renews)
    # a facet of the can is 15 degrees wide; Bullet keeps the directions of contacts in the world
    assert error_rad < TURNED_RAD + np.radians(15.0) if renews else error_rad > np.radians(60.0)
