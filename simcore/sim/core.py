"""The physics loop in C, seen from Python: bodies, what acts on their joints at every physics step, and contacts.

`simcore/sim/native/core.c` runs the physics steps of a frame in one call. It reads and writes the NumPy arrays of this
module, so a value that Python sets acts from the next step on.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from enum import IntFlag
from functools import cache
from typing import Any

import numpy as np
import pybullet as p

from unlatch.simcore.errors import WorldError
from unlatch.simcore.process import load_library

Array = np.ndarray
MAX_SERVO_JOINTS = 32
"""Largest number of joints with impedance control together."""
MAX_JOINTS = 96
"""Largest number of movable joints of a body."""
MAX_VIEWS = 64
"""Largest number of contact views in a world."""
_POINTER = ctypes.c_void_p
_INT = ctypes.c_int32
NO_MASS_MATRIX, NOT_POSITIVE_DEFINITE = -2, -3
"""Answers of the core about an inertia."""
_UNKNOWN_CONTACT = 1


class Acts(IntFlag):
    """What acts on a joint beside its motor."""

    spring = 1
    effort = 2
    stop = 4
    counterbalance = 8
    speed_limit = 16
    sliding_armature = 32


MECHANISM = np.dtype(
    [(name, np.int32) for name in ("kinds", "is_held", "is_braked", "is_gated")]
    + [
        (name, np.float64)
        for name in (
            *("friction", "held_at", "spring_target", "spring_stiffness", "spring_damping", "spring_limit", "effort"),
            *("stop_closed", "stop_sign", "stop_reach", "catch_effort", "enter_effort", "catch_reach"),
            *("gasket_effort", "gasket_reach", "drawing_speed", "counterbalance", "speed_limit", "armature_mass"),
        )
    ]
)
"""What acts on one joint: `Mechanism` of core.h."""
GATE = np.dtype(
    [(name, np.int32) for name in ("kinds", "row", "by", "is_inside", "is_held", "is_ready")]
    + [
        (name, np.float64)
        for name in (
            *("closed", "sign", "play", "rest", "by_sign", "low", "high", "strength", "press", "effort", "reach"),
            *("speed", "brake", "held_at", "borne"),
        )
    ]
)
"""What holds, pushes or pulls a joint by its opening and by another joint: `Gate` of core.h."""
FORCE_ROW = np.dtype(
    [(name, np.int32) for name in ("step", "body_a", "body_b", "link_a", "link_b", "contact")]
    + [("normal_n", np.float64), ("force_n", np.float64, 3)]
)
"""Forces between two links in one physics step: `ForceRow` of core.h."""
NEAR_POINT = np.dtype(
    [(name, np.int32) for name in ("body_a", "body_b", "link_a", "link_b", "is_contact", "unused")]
    + [("distance_m", np.float64), ("place", np.float64, 3)]
)
"""A point at which two links touch or are near each other: `NearPoint` of core.h."""


def _fields(**kinds: str) -> list[tuple[str, Any]]:
    """Returns the fields of a structure from names by C type."""
    types = {"ints": _INT, "pointers": _POINTER, "numbers": ctypes.c_double}
    return [(name, types[kind]) for kind, names in kinds.items() for name in names.split()]


class _Servo(ctypes.Structure):
    _fields_ = _fields(
        ints="n n_armatures n_axes step frame_steps late_steps is_dropped n_sent most_sent has_arrived is_ready "
        "is_told repeats_fingers unused",
        numbers="frame_s opening told_opening",
        pointers="rows points offsets sent arrived stiffness root_of_ratio limits M K D inertia_at torque torque_sum "
        "axis_links axes armature_axes armatures moves",
    )


class _Body(ctypes.Structure):
    _fields_ = [
        *_fields(ints="id n_joints n_links n_servos n_gates is_known fastest unused"),
        ("max_speed", ctypes.c_double),
        *_fields(pointers="joints q_index u_index q dq effort root after links mechanisms servos gates"),
    ]


class _Contacts(ctypes.Structure):
    _fields_ = _fields(
        ints="n_contacts n_pairs n_views n_fingers n_sums n_steps",
        pointers="contacts pairs_of sums_of signs views_of finger_of pair_force view_force finger_force",
    )


class _NearQuery(ctypes.Structure):
    _fields_ = [
        *_fields(pointers="body part", ints="n_q n_s n_others unused"),
        *_fields(pointers="rows part_rows q s others"),
        ("distance", ctypes.c_double),
    ]


class _World(ctypes.Structure):
    _fields_ = [
        ("client", _POINTER),
        *_fields(ints="n_bodies n_rows most_rows is_timed", pointers="bodies rows"),
        ("gravity", ctypes.c_double * 3),
        ("dt", ctypes.c_double),
        ("spent", ctypes.c_double * 4),
        *_fields(pointers="near", ints="n_near most_near"),
    ]


@cache
def bound_library() -> Any:
    """Loads the core and binds it to PyBullet, once.

    Raises:
        WorldError: It is not built, or does not fit this PyBullet.
    """
    library = load_library()
    for name, *arguments in (
        ("core_read", _POINTER, _POINTER),
        ("core_begin_frame", _POINTER),
        ("core_find_moved", _POINTER),
        ("core_place_point", _POINTER, _INT, _POINTER, _POINTER),
        ("core_settle_gates", _POINTER, _POINTER),
        ("core_run", _POINTER, _INT, _INT),
        ("core_measure", _POINTER, _POINTER, _POINTER),
        ("core_update_gains", _POINTER, _POINTER, ctypes.c_double),
        ("core_refresh_inertia", _POINTER, _POINTER, _POINTER, ctypes.c_double, ctypes.c_double),
        ("core_transmit", _POINTER),
        ("core_free_rows", _POINTER),
        ("core_find_near", _POINTER, _POINTER),
        ("core_bind", ctypes.c_char_p),
        ("core_sizes", _POINTER),
        ("core_last_client",),
    ):
        getattr(library, name).argtypes = arguments
    library.core_last_client.restype = _POINTER
    sizes: Array = np.zeros(12, dtype=np.int32)
    library.core_sizes(sizes.ctypes.data)
    expected = [MECHANISM.itemsize, *map(ctypes.sizeof, (_Servo, _Body)), FORCE_ROW.itemsize]
    expected += [
        ctypes.sizeof(_Contacts),
        ctypes.sizeof(_World),
        MAX_JOINTS,
        MAX_SERVO_JOINTS,
        MAX_VIEWS,
        GATE.itemsize,
        NEAR_POINT.itemsize,
        ctypes.sizeof(_NearQuery),
    ]
    missing = library.core_bind(p.__file__.encode())
    if missing or sizes.tolist() != expected:
        raise WorldError(
            f"The physics loop of Unlatch does not fit: {missing} functions of PyBullet are missing, and its "
            f"structures and limits are {sizes.tolist()} (expected {expected}). Install Unlatch and PyBullet anew, in "
            "a clone with: pip install --force-reinstall pybullet && pip install -e .",
        )
    return library


_SERVO_ARRAYS = (
    *("rows", "points", "offsets", "arrived", "stiffness", "root_of_ratio", "limits"),
    *("M", "K", "D", "inertia_at", "torque", "torque_sum"),
)
MAX_LATE_STEPS = 2400
"""Longest latency of commands [physics steps]."""


class ServoState:
    """Joint impedance control of some joints of a body, in the core: targets, gains and torques."""

    def __init__(self, rows: Sequence[int]) -> None:
        """Makes a servo of joints, by their rows among the movable joints of the body."""
        n = len(rows)
        if n > MAX_SERVO_JOINTS:
            raise WorldError(f"An arm has {n} joints with impedance control, expected at most {MAX_SERVO_JOINTS}.")
        self.rows = np.array(rows, dtype=np.int32)
        self.stiffness, self.root_of_ratio, self.limits = np.zeros(n), np.zeros(n), np.full(n, np.inf)
        self.M, self.K, self.D = (np.zeros((n, n)) for _ in range(3))
        self.inertia_at = np.full(n, np.inf)
        self.torque, self.torque_sum = np.zeros(n), np.zeros(n)
        """(n,) torques of the last physics step, and their sum over the steps of this frame [N m]."""
        self.points, self.offsets = np.zeros((4, n)), np.zeros(n)
        """(4, n) control points of the spline of the targets; (n,) errors of the encoders [rad]."""
        self.arrived = np.zeros(3 * n + 1)
        """Positions, velocities and accelerations (n,) that the motors follow, and the opening of the gripper [m]."""
        self.sent = np.zeros((MAX_LATE_STEPS + 1, 3 * n + 1))
        """The last commands, in a ring."""
        self.struct = _Servo(n=n, frame_steps=1, frame_s=1.0, most_sent=MAX_LATE_STEPS + 1)
        for name in _SERVO_ARRAYS:
            setattr(self.struct, name, getattr(self, name).ctypes.data)
        self.struct.sent = self.sent.ctypes.data
        self._armatures: tuple[Array, ...] = ()

    def transmit(self) -> Array:
        """Sends the command of the next physics step, as `Core.run` does; returns the `arrived` command, a copy."""
        bound_library().core_transmit(ctypes.addressof(self.struct))
        return self.arrived.copy()

    def set_armatures(self, links: Array, axes: Array, armature_axes: Array, armatures: Array, moves: Array) -> None:
        """Sets the armatures; see `Servo` of core.h."""
        arrays = (
            np.ascontiguousarray(links, dtype=np.int32),
            np.ascontiguousarray(axes, dtype=float),
            np.ascontiguousarray(armature_axes, dtype=np.int32),
            np.ascontiguousarray(armatures, dtype=float),
            np.ascontiguousarray(moves, dtype=float),
        )
        self._armatures, struct = arrays, self.struct
        struct.axis_links, struct.axes, struct.armature_axes, struct.armatures, struct.moves = (
            array.ctypes.data for array in arrays
        )
        struct.n_axes, struct.n_armatures = len(arrays[0]), len(arrays[3])


class BodyState:
    """The state of one body, and what acts on its joints."""

    def __init__(self, body_id: int, joints: Sequence[tuple[int, int, int]], n_links: int) -> None:
        """Makes the arrays of a body.

        Args:
            body_id: Bullet's number.
            joints: Bullet's numbers of each movable joint: link, place in positions, place in velocities.
            n_links: Number of links without the root.
        """
        n = len(joints)
        if n > MAX_JOINTS:
            raise WorldError(f"Body {body_id} has {n} movable joints, expected at most {MAX_JOINTS}.")
        self._indices = np.array(joints, dtype=np.int32).reshape(n, 3).T.copy()
        self.joints = np.zeros((3, n))
        """(3, n) positions, velocities and efforts of the movable joints [rad or m, N m or N]."""
        self.q, self.dq, self.effort = self.joints
        self.root = np.zeros(13)
        """Centre of mass of the root: position, quaternion xyzw, linear and angular velocity, world frame."""
        self.after = np.zeros(2 * n + 7)
        """Positions, velocities, and pose of the root's centre of mass after the last physics step."""
        self.links = np.zeros((n_links, 7))
        """Frames of the links by Bullet's number: position and quaternion xyzw, world frame."""
        self.mechanisms: Array = np.zeros(n, dtype=MECHANISM)
        """What acts on each joint beside its motor."""
        self.gates: Array = np.zeros(0, dtype=GATE)
        """What holds, pushes or pulls joints by their openings and by other joints; see `set_gates`."""
        self.servos: list[ServoState] = []
        self.struct = _Body(id=body_id, n_joints=n, n_links=n_links)
        struct = self.struct
        struct.joints, struct.q_index, struct.u_index = (row.ctypes.data for row in self._indices)
        for name in ("q", "dq", "effort", "root", "after", "links", "mechanisms"):
            setattr(struct, name, getattr(self, name).ctypes.data)
        self.address = ctypes.addressof(struct)

    def set_gates(self, gates: Array) -> None:
        """Sets the gates, (n,) of `GATE`."""
        self.gates = gates
        self.struct.gates, self.struct.n_gates = gates.ctypes.data, len(gates)

    def add_servo(self, servo: ServoState) -> None:
        """Adds impedance control of some of the joints."""
        self.servos.append(servo)
        self._servo_addresses = (_POINTER * len(self.servos))(*(ctypes.addressof(s.struct) for s in self.servos))
        self.struct.servos, self.struct.n_servos = ctypes.addressof(self._servo_addresses), len(self.servos)

    def point_reader(self, link: int, point: Array) -> Callable[[], Array]:
        """Returns a function that returns where a point (3,) of a link's frame is, by Bullet's number of the link.

        It returns (7,): quaternion xyzw of the frame, w >= 0, and the place of the point [m], in the world frame. The
        frames of the links must be known.

        Raises:
            WorldError: The body has no such link.
        """
        if not 0 <= link < self.struct.n_links:
            raise WorldError(f"Body {self.struct.id} has no link {link}, expected 0 to {self.struct.n_links - 1}.")
        place, numbers = bound_library().core_place_point, np.array([*np.zeros(7), *point])
        read_to = numbers.ctypes.data
        read_from = numbers[7:].ctypes.data

        def read() -> Array:
            place(self.address, link, read_from, read_to)  # both arrays live as long as this function
            return numbers[:7].copy()

        return read

    def set_acting(self, row: int, what: Acts, *, on: bool) -> None:
        """Switches a mechanism of a joint on or off."""
        kinds = self.mechanisms["kinds"]
        kinds[row] = kinds[row] | what if on else kinds[row] & ~what


class NearQuery:
    """Asks `Core.find_near` for what a body is near to in a configuration of its joints, and of those of a part."""

    def __init__(
        self,
        body: BodyState,
        rows: Sequence[int],
        others: Sequence[int],
        part: BodyState | None = None,
        part_rows: Sequence[int] = (),
    ) -> None:
        """Makes a query of some joints of a body, by their rows, and of some joints of the body of a part.

        Distances are measured to `others`, by Bullet's numbers; those of the root link are left out.
        """
        self._bodies = body, part
        self._numbers = [np.array(each, np.int32) for each in (rows, part_rows, others)]
        self.q, self.s = np.zeros(len(rows)), np.zeros(len(part_rows))
        """Positions of these joints, which the query sets, at rest [rad or m]."""
        self.struct = _NearQuery(body=body.address, part=None if part is None else part.address, distance=-1.0)
        self.struct.n_q, self.struct.n_s, self.struct.n_others = map(len, self._numbers)
        self.struct.rows, self.struct.part_rows, self.struct.others = (each.ctypes.data for each in self._numbers)
        self.struct.q, self.struct.s = self.q.ctypes.data, self.s.ctypes.data
        self.address = ctypes.addressof(self.struct)


class Core:
    """The physics loop of one Bullet client."""

    def __init__(self, client: int, *, dt: float) -> None:
        """Takes a client of Bullet; `dt` is the length of a physics step [s].

        Raises:
            WorldError: The core is not built or does not fit; see `bound_library`.
        """
        self._library = bound_library()
        self.client = client
        """Bullet's client number."""
        if p.loadPlugin(self._library._name, "_unlatch", physicsClientId=client) < 0:
            raise WorldError(f"Bullet refuses the physics loop '{self._library._name}'. Install Unlatch anew.")
        self._struct = _World(client=self._library.core_last_client(), dt=dt)
        self._address = ctypes.addressof(self._struct)
        self._bodies: list[BodyState] = []
        self.finger_motors: list[Callable[[], None]] = []
        """Each sets the targets of the fingers of an arm for the command that has arrived."""
        self.steps = 0
        """Number of physics steps whose contacts are kept: those of `run` since a call with `first=0`."""

    def close(self) -> None:
        """Gives memory back."""
        self._library.core_free_rows(self._address)

    def set_bodies(self, bodies: Sequence[BodyState]) -> None:
        """Sets the bodies of the world."""
        self._bodies = list(bodies)
        self._body_addresses = (_POINTER * len(bodies))(*(body.address for body in bodies))
        self._struct.bodies, self._struct.n_bodies = ctypes.addressof(self._body_addresses), len(bodies)

    def set_gravity(self, gravity_m_s2: Array) -> None:
        """Sets gravity (3,), world frame [m/s^2]: sliding armatures are weightless."""
        self._struct.gravity[:] = gravity_m_s2.tolist()

    def begin_frame(self) -> None:
        """Begins a record frame: largest speeds and sums of torques count from here."""
        self._library.core_begin_frame(self._address)

    def measure_time(self) -> None:
        """Measures the CPU time of each part of the physics steps from now on; see `times`."""
        self._struct.is_timed = 1
        self._struct.spent[:] = [0.0] * 4

    @property
    def times(self) -> dict[str, float]:
        """CPU time since `measure_time` by part: motor targets, Bullet's own steps, states and contacts [s]."""
        return dict(zip(("motor targets", "physics", "state", "contacts"), self._struct.spent, strict=True))

    def run(self, steps: int, *, first: int = 0) -> None:
        """Runs physics steps; `first` is the number of the first one among those whose contacts are kept."""
        done = 0
        while True:
            ran = self._library.core_run(self._address, steps - done, first + done)
            if ran < 0:
                raise WorldError("Bullet refused a physics step. Close this World and open a new one.")
            done += ran
            if done == steps:
                break
            for move_fingers in self.finger_motors:
                move_fingers()
        self.steps = first + steps

    def find_moved(self) -> int | None:
        """Reads all bodies anew; returns the place of the first one that moved since the last step, or None."""
        place = self._library.core_find_moved(self._address)
        return None if place < 0 else int(place)

    def read(self, body: BodyState) -> None:
        """Reads the state of a body, unless it is known."""
        if self._library.core_read(self._address, body.address) < 0:
            raise WorldError(f"Bullet does not report the state of body {body.struct.id}. It may have been removed.")

    def settle_gates(self, body: BodyState) -> None:
        """Lets gates of a body whose state is not known (-1) find it from the positions of the joints."""
        if self._library.core_settle_gates(self._address, body.address) < 0:
            raise WorldError(f"Bullet does not report the state of body {body.struct.id}. It may have been removed.")

    def update_gains(self, servo: ServoState, most_phase: float) -> int:
        """Computes a servo's gains for its inertia; returns `NOT_POSITIVE_DEFINITE` if the inertia is not.

        `most_phase` is the largest phase of a mode in a physics step [rad].
        """
        return int(self._library.core_update_gains(self._address, ctypes.addressof(servo.struct), most_phase))

    def refresh_inertia(self, body: BodyState, servo: ServoState, least_motion_rad: float, most_phase: float) -> int:
        """Computes the inertia and the gains of a servo, unless no joint has moved by `least_motion_rad` since.

        Returns:
            `NO_MASS_MATRIX` if Bullet computes none of the body, `NOT_POSITIVE_DEFINITE` if that of the joints is not,
            else 0 or more.

        Raises:
            WorldError: Bullet does not report the state of the body.
        """
        answer = self._library.core_refresh_inertia(
            self._address, body.address, ctypes.addressof(servo.struct), least_motion_rad, most_phase
        )
        if answer < 0 and answer not in (NO_MASS_MATRIX, NOT_POSITIVE_DEFINITE):
            raise WorldError(f"Bullet does not report the state of body {body.struct.id}. It may have been removed.")
        return int(answer)

    @property
    def has_contacts(self) -> bool:
        """Whether anything touched in the kept steps."""
        return bool(self._struct.n_rows)

    def rows(self) -> Array:
        """Returns the forces between links in the kept steps, (rows,) of `FORCE_ROW`; valid until the next run."""
        n = self._struct.n_rows
        if not n:
            return np.zeros(0, dtype=FORCE_ROW)
        return _view(self._struct.rows, n, FORCE_ROW)

    def find_near(self, query: NearQuery) -> list[tuple[Any, ...]]:
        """Sets the joints of a query and detects collisions.

        Returns:
            Rows of `NEAR_POINT`: contacts of the body and, with a distance, the points nearer than that to the others.
        """
        n = self._library.core_find_near(self._address, query.address)
        if n < 0:
            raise WorldError("Bullet does not report contacts. Close this World and open a new one.")
        return _view(self._struct.near, n, NEAR_POINT).tolist() if n else []

    def measure(self, contacts: ContactTable) -> bool:
        """Measures the contacts of the kept steps; returns False if the table lacks one of them."""
        contacts.prepare(self.steps)
        answer = self._library.core_measure(self._address, contacts.address, contacts.sums.ctypes.data)
        return bool(answer != _UNKNOWN_CONTACT)


def _view(address: int, n: int, dtype: np.dtype[Any]) -> Array:
    """Returns n rows at an address of the core."""
    return np.frombuffer((ctypes.c_char * (n * dtype.itemsize)).from_address(address), dtype=dtype)


class ContactTable:
    """Which views and fingers each contact of two links belongs to, and what they measured."""

    def __init__(self, n_views: int, n_fingers: int) -> None:
        if n_views > MAX_VIEWS:
            raise WorldError(f"A world has {n_views} contact views, expected at most {MAX_VIEWS}.")
        self._n_views, self._n_fingers = n_views, n_fingers
        self._contacts: list[tuple[int, ...]] = []
        self._pairs_of: list[tuple[int, ...]] = []
        self._sums_of: list[tuple[int, int]] = []
        self._signs: list[tuple[float, float]] = []
        self._views_of: list[int] = []
        self._finger_of: list[int] = []
        self._arrays: dict[str, Array] = {}
        self._steps = 0

    def knows(self, contact: tuple[int, ...]) -> bool:
        """Whether a contact was added: bodies and links by Bullet's numbers."""
        return contact in self._contacts

    def add_pair(self, views: Sequence[int]) -> int:
        """Adds a pair of links that some views see; returns its number."""
        self._views_of.append(sum(1 << view for view in views))
        return len(self._views_of) - 1

    def add_sum(self, finger: int) -> int:
        """Adds a sum of forces on a finger from one link; returns its number."""
        self._finger_of.append(finger)
        return len(self._finger_of) - 1

    def add(self, contact: tuple[int, ...], pairs: Sequence[int], sums: Sequence[tuple[int, float]]) -> None:
        """Adds a contact: at most two pairs, and at most two sums with the sign of its force in each."""
        both = [*sums, (-1, 0.0), (-1, 0.0)][:2]
        self._contacts.append(contact)
        self._pairs_of.append(tuple([*pairs, -1, -1][:2]))
        self._sums_of.append((both[0][0], both[1][0]))
        self._signs.append((both[0][1], both[1][1]))
        self._arrays = {}

    def prepare(self, steps: int) -> None:
        """Makes the arrays for the core, if contacts or the number of steps have changed."""
        if self._arrays and self._steps == steps:
            return
        self._steps, n_pairs = steps, len(self._views_of)
        self.sums = np.zeros((len(self._finger_of) + 1, 3))
        self.pair_force = np.zeros((steps, n_pairs))
        """(steps, pairs) normal force of each pair [N]; -1: no contact."""
        self.view_force = np.zeros((steps, self._n_views))
        """(steps, views) largest force of a pair [N]."""
        self.finger_force = np.zeros((steps, self._n_fingers))
        """(steps, fingers) force on each finger, see `FingerLoads` [N]."""
        self._arrays = {
            "contacts": np.array(self._contacts, dtype=np.int32).reshape(-1, 4),
            "pairs_of": np.array(self._pairs_of, dtype=np.int32).reshape(-1, 2),
            "sums_of": np.array(self._sums_of, dtype=np.int32).reshape(-1, 2),
            "signs": np.array(self._signs).reshape(-1, 2),
            "views_of": np.array(self._views_of, dtype=np.uint64),
            "finger_of": np.array(self._finger_of, dtype=np.int32),
            "pair_force": self.pair_force,
            "view_force": self.view_force,
            "finger_force": self.finger_force,
        }
        self._struct = _Contacts(
            n_contacts=len(self._contacts),
            n_pairs=n_pairs,
            n_views=self._n_views,
            n_fingers=self._n_fingers,
            n_sums=len(self._finger_of),
            n_steps=steps,
            **{name: array.ctypes.data for name, array in self._arrays.items()},
        )
        self.address = ctypes.addressof(self._struct)
