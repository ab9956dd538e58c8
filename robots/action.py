"""The action of a robot for one record frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from unlatch.simcore.geometry import Pose

Array = np.ndarray


@dataclass(frozen=True)
class ArmAction:
    """The action of one arm for one record frame."""

    joint_targets: Array
    """(n,) joint positions [rad]."""
    gripper_target_m: float
    """Opening between the pads [m]."""
    T_base_ee: Pose
    """The ee pose of those joints in the arm's base frame."""

    @classmethod
    def of(cls, q: Array, gripper_m: float, forward: Callable[[Array], Array]) -> ArmAction:
        """Returns the action that moves an arm to q (n,) [rad]; `forward` maps (n,) joints to (4, 4) `T_base_ee`."""
        return cls(np.array(q), gripper_m, Pose.from_matrix(forward(q)))


@dataclass(frozen=True)
class Action:
    """One record frame's action."""

    arms: Mapping[str, ArmAction]
    """Targets by arm name."""
    hold: Mapping[str, tuple[bool, ...]] = field(default_factory=dict)
    """By object: whether each of its joints is held, by no more than its own friction."""
    push: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By object: effort on each of its joints from outside [N m or N]; empty where nothing is pushed."""
