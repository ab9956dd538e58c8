"""Joints of an MJCF model that no motor moves: loops of links, tendons and springs lead them.

A URDF is a tree, and its `<mimic>` follows one joint in proportion. So MuJoCo leads the motors of a hand from one end
of their range to the other, and a straight line says how each other joint follows.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from unlatch.simcore.meshes.mjcf import HINGE, SLIDE, CompiledMjcf

Array = np.ndarray

_PLACES = 9
"""Places along the range of the motors at which the other joints are read."""
_STEP_S, _LEAD_STEPS, _SETTLE_STEPS = 1e-3, 200, 300
_HELD = 1e4
"""Armature of the joints that are led or held, so that none that follows moves them [kg m^2 or kg]."""
_DAMPING = 0.01
"""Damping of the joints that follow: they come to rest, at the same place as without [N m s/rad or N s/m]."""
_LIGHTEST = 1e-3
"""Least armature of the joints that follow: the limits of lighter ones give way to any spring [kg m^2 or kg]."""
_STILL = 5e-3
"""A joint that moves by less stands still [rad or m]."""

_MUCH_LESS = 0.75
"""A motor that can be told less than this share of a joint's range is meant to use this part only."""


@dataclass(frozen=True)
class Follower:
    """A joint that follows another one: its position is `offset + factor` times that of the leader [rad or m]."""

    joint: int
    leader: int
    offset: float
    factor: float
    off: float
    """Largest distance from this line on the way of the leader [rad or m]."""


def find_followers(mjcf: CompiledMjcf) -> list[Follower]:
    """Returns the joints without a motor that loops or tendons connect to a joint with one, which leads them.

    Loops are closed by `<connect>` and `<weld>`. Tendons are `<fixed>` ones that no motor pulls. Joints that an
    equality couples are led as it says, and are not in the result.
    """
    coupled = {
        mjcf.number("joint", follower): (mjcf.number("joint", leader), *line)
        for follower, leader, line in mjcf.coupled_joints()
    }
    driven = {joint for joint in range(mjcf.model.njnt) if _has_motor(mjcf, joint)}
    equal = {*coupled, *(leader for leader, *_ in coupled.values())}
    leaders: dict[int, int] = {}
    for group in _connected_joints(mjcf):
        own = [joint for joint in sorted(group & driven) or sorted(group & equal) if mjcf.model.jnt_limited[joint]]
        if own:
            leaders |= {joint: _nearest(mjcf, joint, own) for joint in group - driven - equal}
    if not leaders:
        return []
    ways = _lead(mjcf, leaders, coupled)
    return [_fit(joint, leader, ways[leader], ways[joint]) for joint, leader in sorted(leaders.items())]


def _fit(joint: int, leader: int, x: Array, y: Array) -> Follower:
    """Returns the straight line through the (N,) positions of a joint over those of its leader."""
    factor, offset = np.polyfit(x, y, 1) if float(np.ptp(y)) > _STILL else (0.0, y.mean())
    return Follower(joint, leader, float(offset), float(factor), float(np.abs(offset + factor * x - y).max()))


def _connected_joints(mjcf: CompiledMjcf) -> list[set[int]]:
    """Returns the hinges and slides of each set of loops and tendons that share joints."""
    m, mujoco = mjcf.model, mjcf.mujoco
    closing = {int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)}
    found = []
    for number in range(m.neq):
        if int(m.eq_type[number]) in closing and m.eq_active0[number]:
            ends = [int(m.eq_obj1id[number]), int(m.eq_obj2id[number])]
            if m.eq_objtype[number] == mujoco.mjtObj.mjOBJ_SITE:
                ends = [int(m.site_bodyid[site]) for site in ends]
            if m.body_rootid[ends[0]] == m.body_rootid[ends[1]]:  # else a target that leads the whole arm
                found.append(_joints_above(mjcf, ends[0]) ^ _joints_above(mjcf, ends[1]))
    pulled = {
        int(m.actuator_trnid[motor, 0])
        for motor in range(m.nu)
        if m.actuator_trntype[motor] == mujoco.mjtTrn.mjTRN_TENDON
    }
    found += [set(_joints_of_tendon(mjcf, tendon)) for tendon in range(m.ntendon) if tendon not in pulled]
    groups: list[set[int]] = []
    for joints in found:
        own = {joint for joint in joints if m.jnt_type[joint] in (HINGE, SLIDE)}
        own = own.union(*(group for group in groups if group & own))
        groups = [*(group for group in groups if not group & own), own]
    return groups


def _joints_of_tendon(mjcf: CompiledMjcf, tendon: int) -> list[int]:
    """Returns the joints of a `<fixed>` tendon; empty for one that runs through space."""
    m, first = mjcf.model, int(mjcf.model.tendon_adr[tendon])
    wraps = range(first, first + int(m.tendon_num[tendon]))
    return [int(m.wrap_objid[w]) for w in wraps if m.wrap_type[w] == mjcf.mujoco.mjtWrap.mjWRAP_JOINT]


def _joints_above(mjcf: CompiledMjcf, body: int) -> set[int]:
    """Returns the joints that move a body."""
    m, found = mjcf.model, set[int]()
    while body > 0:
        found |= set(range(int(m.body_jntadr[body]), int(m.body_jntadr[body] + m.body_jntnum[body])))
        body = int(m.body_parentid[body])
    return found


def _has_motor(mjcf: CompiledMjcf, joint: int) -> bool:
    """Returns whether an actuator moves a joint, directly or by a tendon."""
    m, kinds = mjcf.model, mjcf.mujoco.mjtTrn
    for motor in range(m.nu):
        target = int(m.actuator_trnid[motor, 0])
        if m.actuator_trntype[motor] == kinds.mjTRN_JOINT and target == joint:
            return True
        if m.actuator_trntype[motor] == kinds.mjTRN_TENDON and joint in _joints_of_tendon(mjcf, target):
            return True
    return False


def _nearest(mjcf: CompiledMjcf, joint: int, leaders: list[int]) -> int:
    """Returns the one of some joints that moves a joint's body, or else the first."""
    above = _joints_above(mjcf, int(mjcf.model.jnt_bodyid[joint]))
    return next((leader for leader in leaders if leader in above), leaders[0])


def _lead(
    mjcf: CompiledMjcf, passive: Mapping[int, int], coupled: Mapping[int, tuple[int, float, float]]
) -> dict[int, Array]:
    """Returns (N,) positions of joints while the leaders move from one end of their range to the other [rad or m].

    Args:
        mjcf: The model. All other joints are held, without gravity, contacts and friction.
        passive: The leader of each joint that follows.
        coupled: For each joint of an equality the joint that it follows, the offset and the factor.
    """
    m, mujoco = copy.deepcopy(mjcf.model), mjcf.mujoco
    bits = mujoco.mjtDisableBit
    for bit in (bits.mjDSBL_CONTACT, bits.mjDSBL_GRAVITY, bits.mjDSBL_ACTUATION, bits.mjDSBL_FRICTIONLOSS):
        m.opt.disableflags |= int(bit)
    m.opt.timestep = _STEP_S
    dofs = [int(m.jnt_dofadr[joint]) for joint in passive]
    held = np.setdiff1d(np.arange(m.nv), dofs)
    m.dof_armature[held] = _HELD
    m.dof_damping[dofs] = _DAMPING
    m.dof_armature[dofs] = np.maximum(m.dof_armature[dofs], _LIGHTEST)
    data = mujoco.MjData(m)
    mujoco.mj_setConst(m, data)
    mujoco.mj_resetData(m, data)
    free = [int(m.jnt_qposadr[joint]) for joint in passive]
    led = _ranges(mjcf, {*passive.values(), *coupled}, coupled)
    places, reference = [], np.array(data.qpos)
    for share in np.linspace(0.0, 1.0, _PLACES):
        before, after = reference.copy(), reference.copy()
        for joint, (low, high) in led.items():
            after[m.jnt_qposadr[joint]] = low + share * (high - low)
        for step in range(_LEAD_STEPS + _SETTLE_STEPS):
            reference = before + min(1.0, (step + 1) / _LEAD_STEPS) * (after - before)
            reference[free] = data.qpos[free]
            data.qpos[:] = reference
            data.qvel[held] = 0.0
            mujoco.mj_step(m, data)
        reference[free] = data.qpos[free]
        places.append(reference)
    table = np.array(places)
    return {joint: table[:, m.jnt_qposadr[joint]] for joint in range(m.njnt)}


def _ranges(
    mjcf: CompiledMjcf, joints: Collection[int], coupled: Mapping[int, tuple[int, float, float]]
) -> dict[int, tuple[float, float]]:
    """Returns where joints are at both ends of the told range of those that they follow [rad or m]."""
    found = {}
    for joint in joints:
        leader, offset, factor, seen = joint, 0.0, 1.0, {joint}
        while leader in coupled and coupled[leader][0] not in seen:
            leader, more, times = coupled[leader]
            offset, factor = offset + factor * more, factor * times
            seen.add(leader)
        low, high = told_range(mjcf, leader)
        found[leader] = (low, high)
        found[joint] = (offset + factor * low, offset + factor * high)
    return found


def told_range(mjcf: CompiledMjcf, joint: int) -> tuple[float, float]:
    """Returns the limits of a joint, or what its position motor can be told of them if much less [rad or m]."""
    m, kinds = mjcf.model, mjcf.mujoco.mjtTrn
    lower, upper = (float(value) for value in m.jnt_range[joint])
    for motor in range(m.nu):
        is_own = m.actuator_trntype[motor] == kinds.mjTRN_JOINT and m.actuator_trnid[motor, 0] == joint
        gain, stiffness = float(m.actuator_gainprm[motor, 0]), -float(m.actuator_biasprm[motor, 1])
        is_servo = gain > 0.0 and gain == stiffness and m.actuator_gear[motor, 0] == 1.0
        if is_own and is_servo and m.actuator_ctrllimited[motor]:
            low, high = (float(value) for value in m.actuator_ctrlrange[motor])
            low, high = max(low, lower), min(high, upper)
            if 0.0 < high - low < _MUCH_LESS * (upper - lower):
                lower, upper = low, high
    return lower, upper
