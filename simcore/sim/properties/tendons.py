"""Fixed tendons, which Bullet lacks: linear couplings of joints with a spring, a damper and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pybullet as p

from unlatch.simcore.errors import ConfigError, WorldError
from unlatch.simcore.ranges import NotNegative, check_ranges
from unlatch.simcore.sim.bodies import Body
from unlatch.simcore.sim.world import World

Array = np.ndarray


@dataclass
class TendonCfg:
    """One fixed tendon; a URDF cannot state it, so a view declares it.

    Its length is l = offset + sum of coefficient * joint position, and its tension

        f = stiffness (l - rest_length) + damping dl/dt + limit_stiffness (l - nearest limit, where l is beyond one)

    acts on each of its joints with the effort -coefficient * f, at every physics step.
    """

    joints: list[str] = field(default_factory=list)
    """Joints of the tendon."""
    coefficients: list[float] = field(default_factory=list)
    """Change of length by each joint [m/rad, or 1]."""
    rest_length: float = 0.0
    """Length at which the spring has no tension [m]."""
    stiffness: NotNegative = 0.0
    """Stiffness of the spring [N/m]."""
    damping: NotNegative = 0.0
    """Damping of the spring [N s/m]."""
    limit_stiffness: NotNegative = 0.0
    """Stiffness of the spring beyond a limit [N/m]."""
    lower_limit: float = -1e9
    """Least length [m]."""
    upper_limit: float = 1e9
    """Largest length [m]."""
    offset: float = 0.0
    """Length at joint positions of zero [m]."""

    def __post_init__(self) -> None:
        if not self.joints or len(self.joints) != len(self.coefficients):
            raise ConfigError(
                f"tendon.coefficients has {len(self.coefficients)} values for {len(self.joints)} joints. Expected at "
                "least one joint, and one coefficient a joint. Change one of them.",
                key="tendon.coefficients",
            )
        check_ranges(self, "tendon")


_VALUES = ("stiffness", "damping", "limit_stiffness", "lower_limit", "upper_limit", "rest_length", "offset")


class Tendons:
    """The tendons of one body; they act before every physics step until the world's next reset."""

    def __init__(self, world: World, body: Body, cfgs: Sequence[TendonCfg]) -> None:
        """Attaches tendons.

        Raises:
            WorldError: A joint of a tendon cannot move.
            FrameNotFoundError: A joint of a tendon does not exist.
        """
        self._body = body
        self._joints: list[Array] = []
        self._coefficients: list[Array] = []
        for cfg in cfgs:
            joints = [body.joint(name) for name in cfg.joints]
            for joint in joints:
                if not joint.movable:
                    raise WorldError(
                        f"A tendon of '{body.name}' runs over joint '{joint.name}', which is fixed. Name joints that "
                        "move.",
                        joint=joint.name,
                    )
            self._joints.append(np.array([joint.index for joint in joints]))
            self._coefficients.append(np.array(cfg.coefficients, dtype=float))
        self.values = {name: np.array([getattr(cfg, name) for cfg in cfgs], dtype=float) for name in _VALUES}
        """(T,) values by field of `TendonCfg`; they may be changed and act from the next step on."""
        if cfgs:
            world.call_before_step(self._apply_tensions)

    def __len__(self) -> int:
        return len(self._joints)

    def tension(self, index: int) -> float:
        """Returns the present tension of a tendon [N]."""
        states = p.getJointStates(self._body.body_id, self._joints[index].tolist(), physicsClientId=self._body.client)
        q, dq = np.array([state[:2] for state in states]).T
        coefficients = self._coefficients[index]
        values = {name: array[index] for name, array in self.values.items()}
        length = float(values["offset"] + coefficients @ q)
        beyond = min(0.0, length - values["lower_limit"]) + max(0.0, length - values["upper_limit"])
        return float(
            values["stiffness"] * (length - values["rest_length"])
            + values["damping"] * (coefficients @ dq)
            + values["limit_stiffness"] * beyond
        )

    def _apply_tensions(self) -> None:
        for index, joints in enumerate(self._joints):
            tension = self.tension(index)
            if tension == 0.0:
                continue
            for joint, coefficient in zip(joints, self._coefficients[index], strict=True):
                p.setJointMotorControl2(
                    self._body.body_id,
                    int(joint),
                    p.TORQUE_CONTROL,
                    force=float(-coefficient * tension),
                    physicsClientId=self._body.client,
                )
