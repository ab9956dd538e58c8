"""The values of one joint's motor; `unlatch.simcore.sim.drives` applies them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from unlatch.simcore.errors import WorldError
from unlatch.simcore.sim.impedance import MAX_DAMPING_RATIO


class DriveMode(Enum):
    """How a motor follows its target."""

    servo = "servo"
    """Follows the target position with at most `max_effort`, as stiffly as the time step allows."""
    spring = "spring"
    """Effort = stiffness * (target - q) - damping * dq, limited to `max_effort`, computed at every physics step."""
    impedance = "impedance"
    """Joint impedance control of an arm: a spring and a damper to a moving target, with the model's inertia, gravity
    and Coriolis torques fed forward, limited to `max_effort`; see `unlatch.simcore.sim.impedance`."""
    passive = "passive"
    """No target: dry friction and viscous damping, and a spring if it has a stiffness."""


@dataclass(frozen=True)
class JointDrive:
    """Motor of one joint."""

    mode: DriveMode
    stiffness: float = 0.0
    """N m per rad, or N per m; unused by a servo. A passive joint's spring pulls to where it was attached."""
    damping: float = 0.0
    """N m s per rad, or N s per m; of the joint itself if there is no spring. For impedance control, the damping ratio:
    1 is critical, at most `MAX_DAMPING_RATIO`."""
    armature: float = 0.0
    """Inertia added at a turning joint [kg m^2] or mass added at a sliding one [kg]: of hidden moving parts, such as a
    spindle or a rotor behind its gear."""
    friction: float = 0.0
    """Break-away effort [N m or N]."""
    max_effort: float = 0.0
    """Largest effort of the motor [N m or N]; 0 = none, but unlimited for a passive joint."""
    max_velocity: float = 0.0
    """Largest commanded speed of the motor [rad/s or m/s]."""
    position_gain: float = 0.15
    """Share of the position error that a servo removes in one physics step."""
    velocity_gain: float = 1.0
    """Share of the velocity error that a servo removes in one physics step."""
    counterbalance: float = 0.0
    """Effort of a spring beside the motor that carries a weight [N m]: the effort at position 0 of a turning joint. At
    other positions it is multiplied by the cosine of the position."""

    def __post_init__(self) -> None:
        for field, value in vars(self).items():
            if field not in ("mode", "counterbalance"):
                _check_range(self.mode, field, value)

    def having(self, field: str, value: float) -> JointDrive:
        """Returns a copy with one value changed.

        Raises:
            WorldError: It is negative, or a damping ratio above `MAX_DAMPING_RATIO`.
        """
        _check_range(self.mode, field, value)
        made = object.__new__(JointDrive)  # ten times as fast as `replace`, which checks all values again
        made.__dict__.update(self.__dict__)
        made.__dict__[field] = value
        return made


def _check_range(mode: DriveMode, field: str, value: float) -> None:
    if value < 0.0:
        raise WorldError(f"JointDrive.{field}={value} is negative. Give 0 or more.", field=field)
    if field == "damping" and mode is DriveMode.impedance and value > MAX_DAMPING_RATIO:
        raise WorldError(
            f"JointDrive.damping={value} of a joint with impedance control is above {MAX_DAMPING_RATIO}. It is a "
            "ratio; 1 is critical. With more, an arm follows slowly, and a stiff one shakes because the physics steps "
            f"are too long for it. Give at most {MAX_DAMPING_RATIO}.",
            field=field,
        )
