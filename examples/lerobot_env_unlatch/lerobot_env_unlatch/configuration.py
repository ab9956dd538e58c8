"""`--env.type=unlatch`: the options of an environment, and what LeRobot's policies are told of it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field

from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig

from lerobot_env_unlatch.env import LeRobotEnv


@EnvConfig.register_subclass("unlatch")
@dataclass
class UnlatchEnvConfig(EnvConfig):
    """Options of the environment; see README.md."""

    task: str | None = "open_microwave"
    fps: int = 30
    overrides: list[str] = field(default_factory=list)
    cameras: list[str] = field(default_factory=lambda: ["front", "wrist"])
    width: int = 128
    height: int = 128
    environment_state: bool = False
    success: str = "clean"

    def __post_init__(self) -> None:
        """Reads rate and shapes from an environment."""
        with closing(LeRobotEnv(self.task, render_mode=None, **self.gym_kwargs)) as env:
            self.fps = env.metadata["render_fps"]
            shapes = {key: space.shape for key, space in env.observation_space.items() if key != "pixels"}
            (size,) = env.action_space.shape
        kinds = {"agent_pos": FeatureType.STATE, "environment_state": FeatureType.ENV}
        self.features = {
            "action": PolicyFeature(FeatureType.ACTION, (size,)),
            **{key: PolicyFeature(kinds[key], shape) for key, shape in shapes.items()},
            **{
                f"pixels/{name}": PolicyFeature(FeatureType.VISUAL, (self.height, self.width, 3))
                for name in self.cameras
            },
        }
        self.features_map = {
            "action": "action",
            "agent_pos": "observation.state",
            "environment_state": "observation.environment_state",
            **{f"pixels/{name}": f"observation.images.{name}" for name in self.cameras},
        }

    @property
    def package_name(self) -> str:
        """First part of the names of the environments."""
        return "lerobot_env_unlatch"

    @property
    def gym_kwargs(self) -> dict:
        """Arguments of an environment beside its task."""
        keys = ("overrides", "cameras", "width", "height", "environment_state", "success")
        return {key: getattr(self, key) for key in keys}
