"""How well a planner is told where things are, as numbers of a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import radians

from unlatch.simcore.errors import ConfigError
from unlatch.simcore.randomization.rule_cfg import RuleCfg

_MOST = {"position_std_m": 0.5, "orientation_std_deg": 90.0, "keypoint_std_m": 0.5, "joint_std": 0.5}


@dataclass
class PerceptionCfg:
    """Standard deviations of what a planner is told of every object; success is judged on the truth."""

    position_std_m: float = 0.0
    """Of each coordinate of an object's position [m]."""
    orientation_std_deg: float = 0.0
    """Of its roll, pitch and yaw [degrees]."""
    keypoint_std_m: float = 0.0
    """Of each coordinate of each keypoint, beside the object's own error [m]."""

    joint_std: float = 0.0
    """Of the position of each of its joints: in rad of those that turn, in m of those that slide."""

    def __post_init__(self) -> None:
        for key, most in _MOST.items():
            if not 0.0 <= getattr(self, key) <= most:
                raise ConfigError(
                    f"perception.{key}={getattr(self, key):g} is out of range. Expected 0 to {most:g}. Change it.",
                    key=f"perception.{key}",
                )

    @property
    def active(self) -> bool:
        """Whether anything is told wrongly."""
        return any(getattr(self, key) > 0.0 for key in _MOST)

    def to_dict(self) -> dict[str, float]:
        """As in a YAML; `joint_std` only where it says something, since older data sets do not know it."""
        values = dict(vars(self))
        if self.joint_std == 0.0:
            del values["joint_std"]
        return values

    def rules(self, objects: Sequence[str]) -> list[RuleCfg]:
        """The same as rules: one draw an object and episode.

        Args:
            objects: Names of the objects.
        """
        stds = {
            "seen_position": self.position_std_m,
            "seen_orientation": radians(self.orientation_std_deg),
            "seen_keypoints": self.keypoint_std_m,
            "seen_joints": self.joint_std,
        }
        return [
            RuleCfg(view=name, attribute=attribute, distribution={"type": "normal", "mean": 0.0, "std": std})
            for name in objects
            for attribute, std in stds.items()
            if std > 0.0
        ]
