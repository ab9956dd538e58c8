"""One task under the names that LeRobot expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import unlatch

STATE, OBJECTS, IMAGES = "observation.state", "observation.environment_state", "observation.images."
SUCCESSES = {"clean": "success", "goal": "goal_reached"}


class LeRobotEnv(gymnasium.Env):
    """A task of Unlatch; seed k of `reset` begins episode k of the configured run."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        task: str,
        *,
        overrides: Sequence[str] = (),
        cameras: Sequence[str] = ("front", "wrist"),
        width: int = 128,
        height: int = 128,
        environment_state: bool = False,
        success: str = "clean",
        render_mode: str | None = "rgb_array",
    ) -> None:
        """Makes the environment.

        Args:
            task: Name of the task.
            overrides: Keys of the configuration, such as `robot=ur5`.
            cameras: Names of the cameras in `pixels`.
            width: Their width [pixels].
            height: Their height [pixels].
            environment_state: Whether the state of the objects is observed.
            success: `clean` or `goal`: what `is_success` states.
            render_mode: `rgb_array`: `render` returns the image of the first camera, or a picture of the scene.

        Raises:
            ConfigError: A name or a value is wrong.
            ValueError: There is no such measure of success.
        """
        if success not in SUCCESSES:
            raise ValueError(f"success='{success}' is unknown. Expected one of: {', '.join(SUCCESSES)}.")
        sizes = [f"sensors.{k}.{key}={size}" for k in range(len(cameras)) for key, size in _sizes(width, height)]
        observed = [f"sensors=[{','.join(cameras)}]", *sizes, "observation.images=[rgb]"] if cameras else []
        fixed = ["observation.columns=true", "observation.keys=[]", "observation.keypoints=false"]
        end = f"end_at_violation={'true' if success == 'clean' else 'false'}"
        objects = f"observation.objects={'true' if environment_state else 'false'}"
        self.task = task
        self.task_description = ""
        self.render_mode = render_mode
        self._success = SUCCESSES[success]
        self._env = unlatch.make_env(
            task, *observed, *fixed, objects, end, *overrides, render_mode=None if cameras else render_mode
        )
        self.metadata = self._env.metadata
        self.action_space = self._env.action_space
        found = self._env.observation_space
        parts: dict[str, spaces.Space] = {"agent_pos": _as_float32(found[STATE])}
        if environment_state:
            parts["environment_state"] = _as_float32(found[OBJECTS])
        if cameras:
            parts["pixels"] = spaces.Dict({name: found[IMAGES + name] for name in cameras})
        self.observation_space = spaces.Dict(parts)
        self._seen: dict[str, Any] = {}
        cfg = self._env.cfg
        self._max_episode_steps = round(cfg.task.max_duration_s * cfg.world.record_hz)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begins episode `seed` of the run, or the next one; `options` has no effect."""
        observation, info = self._env.reset(options=None if seed is None else {"episode": int(seed)})
        self.task_description = info.pop("language")[0]
        return self._convert(observation), self._describe(info)

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Simulates one frame."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        if info[self._success] and not truncated:  # with `goal`, an episode that broke a rule ends here, too
            reward, terminated = 1.0, True
        return self._convert(observation), reward, terminated, truncated, self._describe(info)

    def render(self) -> np.ndarray | None:
        """Returns the image of the first camera, or a picture of the scene if there is none."""
        images = self._seen.get("pixels")
        return next(iter(images.values())) if images and self.render_mode else self._env.render()

    def close(self) -> None:
        """Closes the world."""
        self._env.close()

    def _convert(self, observation: dict[str, np.ndarray]) -> dict[str, Any]:
        self._seen = {"agent_pos": observation[STATE].astype(np.float32)}
        if OBJECTS in observation:
            self._seen["environment_state"] = observation[OBJECTS].astype(np.float32)
        if "pixels" in self.observation_space.spaces:
            self._seen["pixels"] = {name: observation[IMAGES + name] for name in self.observation_space["pixels"]}
        return self._seen

    def _describe(self, info: dict[str, Any]) -> dict[str, Any]:
        # a vector of environments joins these values; evidence has other keys each time
        return {"is_success": bool(info[self._success]), "episode": info["episode"], "code": info["code"] or ""}


def _sizes(width: int, height: int) -> tuple[tuple[str, int], tuple[str, int]]:
    return (("width", width), ("height", height))


def _as_float32(box: spaces.Box) -> spaces.Box:
    return spaces.Box(box.low.astype(np.float32), box.high.astype(np.float32), dtype=np.float32)
