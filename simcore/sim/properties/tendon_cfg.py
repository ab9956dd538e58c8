"""What a fixed tendon is; no engine is imported to read a configuration."""

from __future__ import annotations

from dataclasses import dataclass, field

from unlatch.simcore.errors import ConfigError


@dataclass
class TendonCfg:
    """One fixed tendon; a URDF has no word for it, so a view declares it.

    Its length is l = offset + sum of coefficient * joint position, and its tension

        f = stiffness (l - rest_length) + damping dl/dt + limit_stiffness (l - nearest limit, where l is beyond one)

    acts on each of its joints with the effort -coefficient * f, anew at every physics step.
    """

    joints: list[str] = field(default_factory=list)
    """Joints that it runs over."""
    coefficients: list[float] = field(default_factory=list)
    """Change of length by each joint [m/rad, or 1]."""
    rest_length: float = 0.0
    """Length at which the spring does not pull [m]."""
    stiffness: float = 0.0
    """[N/m]."""
    damping: float = 0.0
    """[N s/m]."""
    limit_stiffness: float = 0.0
    """Of the spring beyond a limit [N/m]."""
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
        for key in ("stiffness", "damping", "limit_stiffness"):
            if not getattr(self, key) >= 0.0:
                raise ConfigError(
                    f"tendon.{key}={getattr(self, key)} is out of range. Expected 0 or more. Change it.",
                    key=f"tendon.{key}",
                )
