"""One task as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, PluginError, close_matches
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.export.columns import IMAGE, ObservationColumns, Part
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.visuals.pictures import take_picture
from unlatch.simcore.sim.world import World
from unlatch.simcore.state import Rendering
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.episode import Episode
from unlatch.workflows.gym.actions import ActionDecoder
from unlatch.workflows.gym.config import SuccessWhen
from unlatch.workflows.runs.loading import load_config
from unlatch.workflows.runs.schema import EnvCfg

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as exc:
    raise PluginError(
        "Package 'gymnasium' is not installed. It comes with the extra 'gym'. Install it: pip install 'unlatch[gym]'."
    ) from exc

Array = np.ndarray
Observation = dict[str, Array]

IMAGES = ("rgb", "depth", "segmentation", "normals")
"""Tags of image buffers."""
COLUMNS = "observation."
"""What the keys of an export's columns begin with."""
RENDER_SIZE = (480, 360)
"""Width and height of `render` [pixels]."""


class UnlatchEnv(gymnasium.Env[Any, Array]):
    """A task, one record frame a step: the scene, layout, contact checks and verdict of `unlatch collect`.

    `reset(seed=s, options={"episode": k})` begins episode k of the run with seed s, the same to the bit as
    `unlatch collect seed=s only=[k]`; without options, the next episode. The scene has then stood still for the first
    few frames. The reward is 1 in the step in which the episode succeeds, else 0. `terminated`: it has succeeded or
    broken a rule; `truncated`: `task.max_duration_s` is over. `info` holds `success`, `code`, `episode`, `seed`, and at
    the end `evidence`.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        task: str | None = None,
        *,
        overrides: Sequence[str] = (),
        config_dir: str | None = None,
        render_mode: str | None = None,
        cfg: EnvCfg | None = None,
    ) -> None:
        """Composes the configuration and opens a world.

        Args:
            task: Name of the task.
            overrides: `key=value` as on the command line, such as `action.mode=joint_delta`.
            config_dir: Folder of YAML files of your own.
            render_mode: None or "rgb_array".
            cfg: The configuration, composed already; then `task` and the others are not read.

        Raises:
            ConfigError: The configuration is wrong; one line that says where.
        """
        if cfg is None:
            if task is None:
                raise ConfigError("An environment needs task=NAME; `unlatch list tasks` tells which there are.")
            config_dirs = [config_dir] if config_dir else []
            cfg = load_config("env", EnvCfg, [f"task={task}", *overrides], config_dirs=config_dirs).cfg
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(f"render_mode={render_mode!r} is unknown. Expected None or 'rgb_array'.")
        check_assets(cfg)
        self.cfg: EnvCfg = cfg
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": cfg.world.record_hz}
        self._run_seed = cfg.seed
        self._next_episode = 0
        self._decoder = ActionDecoder(cfg.action, cfg.robot)
        self._columns = ObservationColumns(cfg.observation.as_export(), {"robot": plain(cfg.robot)})
        self._stack = ExitStack()
        self._world = self._stack.enter_context(
            World(cfg.world, visuals=render_mode is not None or bool(cfg.observation.images))
        )
        self._checker = self._stack.enter_context(BulletCollisionChecker())
        self._episode: Episode | None = None
        low, high = self._decoder.bounds()
        self.action_space = spaces.Box(low, high, dtype=np.float64)
        self._spaces = self._spaces_of(self._first_state())
        self.observation_space = spaces.Dict(dict(self._spaces))

    def _first_state(self) -> Mapping[str, Array]:
        """A state, for the keys and shapes of an observation."""
        self._episode = Episode(self.cfg, 0, self._world, self._checker)
        self._episode.reset()
        self._episode.frames.record_state()
        self._switch_images_on()
        state = self._values()
        self._episode = None
        return state

    def _switch_images_on(self) -> None:
        """Makes the configured images from here on, of the present state first."""
        scene = self.episode.scene.state_tree
        for kind in self.cfg.observation.images:
            scene.switch_rendering(Rendering[kind], on=True)
        if self.cfg.observation.images:
            scene.update_state()

    def _values(self) -> dict[str, Array]:
        """Everything that an observation may hold, by key."""
        episode = self.episode
        acted_on = list(dict.fromkeys(episode.planner.acted_on))
        values = {
            key: np.asarray(value)
            for key, value in episode.frames.state.items()
            if not key.startswith("keypoints.") or tuple(key.split(".")[1:3]) in acted_on
        }
        for name, arm in episode.scene.robot.arms.items():
            key = f"robots.{self.cfg.robot.name}.{name}.joint_positions"
            values[key] = arm.signals.reading(values[key])  # a policy knows what the encoders read
        parts = []
        for name, part in acted_on:
            item = episode.scene.objects[name]
            index = item.joint_index(item.asset.articulation.part(part).joint)
            parts.append((name, part, index))
            for key, plural in (("joint_position", "joint_positions"), ("joint_velocity", "joint_velocities")):
                values[f"parts.{name}.{part}.{key}"] = np.array(values[f"objects.{name}.{plural}"][index])
        if self.cfg.observation.images:
            values.update(episode.scene.state_tree.state_dict(include_tags=IMAGES))
        if self.cfg.observation.columns:
            values.update(self._columns_of(values, parts))
        return values

    def _columns_of(self, values: Mapping[str, Array], parts: Sequence[Part]) -> dict[str, Array]:
        """What a policy that was trained from an export saw there, of one frame."""
        robot = self.cfg.robot
        found = self._columns.make(
            {key: value[None] for key, value in values.items()},
            robot=robot.name,
            arms=sorted(arm.name for arm in robot.arms),
            parts=parts,
            number=self.episode.number,
        )
        images = {item.name: f"sensors.{item.name}.rgb_image" for item in self.cfg.all_sensors().values()}
        return {
            **{key: column.values[0] for key, column in found.items()},
            **{IMAGE + name: values[key] for name, key in images.items() if key in values},
        }

    def _spaces_of(self, state: Mapping[str, Array]) -> dict[str, spaces.Box]:
        patterns = self.cfg.observation.keys
        for pattern in patterns:
            if not pattern.startswith("sensors.") and not any(fnmatchcase(key, pattern) for key in state):
                raise ConfigError(
                    f"observation.keys has '{pattern}', which matches no record key.{close_matches(pattern, state)} "
                    f"Keys: {', '.join(sorted(state))}.",
                    key="observation.keys",
                )
        return {
            key: _space_of(value)
            for key, value in state.items()
            if key.startswith(COLUMNS) or any(fnmatchcase(key, pattern) for pattern in patterns)
        }

    @property
    def action_bounds(self) -> tuple[Array, Array]:
        """Lowest and highest action, (size,) each."""
        return self._decoder.bounds()

    @property
    def action_size(self) -> int:
        """Numbers in an action."""
        return self._decoder.size

    @property
    def episode(self) -> Episode:
        """The episode that runs.

        Raises:
            ResetNeeded: There is none yet.
        """
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("The environment was not reset. Call reset() before step() or render().")
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode.

        Args:
            seed: Seed of the run from here on; its episodes are counted from 0.
            options: `{"episode": k}` begins that one.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._run_seed, self._next_episode = int(seed), 0
        number = int((options or {}).get("episode", self._next_episode))
        self._next_episode = number + 1
        self._episode = episode = Episode(
            self.cfg,
            number,
            self._world,
            self._checker,
            run_seed=self._run_seed,
            arms_may_move=self.cfg.success_when is SuccessWhen.held,
        )
        episode.begin()
        self._switch_images_on()
        if episode.failure is None:
            episode.begin_due_skills()
        return self._observation(), {**self._info(), "language": episode.language()}

    def step(self, action: Array) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Simulates one record frame.

        Args:
            action: As `action_space` says; values outside it are clipped.

        Raises:
            ConfigError: It has another shape, or is not finite.
        """
        episode, judge = self.episode, self.episode.judge
        if episode.failure is None and not judge.over:
            skills = [stage.skill for stage in judge.current]
            episode.frames.advance(self._decoder.decode(action, episode.scene.robot), skills=skills)
            episode.frames.record_state()
            episode.begin_due_skills()
            if judge.over:
                episode.conclude()
        truncated = episode.failure is not None and episode.failure.code == "timeout"
        over = episode.failure is not None or judge.success
        return self._observation(), float(judge.success), over and not truncated, truncated, self._info()

    def finish(self) -> None:
        """Ends an episode that nobody drives any more; its record then says what it lacked."""
        self.episode.judge.break_off()
        self.episode.conclude()

    def record(self) -> EpisodeRecord:
        """The record of the episode so far, as `unlatch collect` would keep it; success only once it has succeeded."""
        return self.episode.record()

    def render(self) -> Any:
        """A picture (height, width, 3) uint8 of the scene, under `render_mode="rgb_array"`."""
        if self.render_mode is None:
            return None
        width, height = RENDER_SIZE
        return take_picture(self._world, self.episode.scene.view(), width=width, height=height)

    def close(self) -> None:
        """Closes the world."""
        self._stack.close()

    def _observation(self) -> Observation:
        values = self._values()
        observation = {}
        for key, space in self._spaces.items():
            if values[key].shape != space.shape:
                raise ConfigError(
                    f"Observation '{key}' has shape {list(values[key].shape)} in episode {self.episode.number}, "
                    f"{list(space.shape or ())} in the first: it varies with the object. Observe 'parts.*' instead, or "
                    "set object.instance.",
                    key="observation.keys",
                )
            observation[key] = np.array(values[key])
        return observation

    def _info(self) -> dict[str, Any]:
        episode = self.episode
        info: dict[str, Any] = {
            "episode": episode.number,
            "seed": episode.seed,
            "success": episode.judge.success,
            "code": None if episode.failure is None else episode.failure.code,
        }
        if episode.failure is not None:
            info["evidence"] = {"message": episode.failure.message, **episode.failure.evidence}
        return info


def _space_of(value: Array) -> spaces.Box:
    if value.dtype == np.uint8:
        return spaces.Box(0, 255, value.shape, np.uint8)
    if value.dtype.kind in "iu":
        info = np.iinfo(value.dtype)
        return spaces.Box(info.min, info.max, value.shape, value.dtype.type)
    return spaces.Box(-np.inf, np.inf, value.shape, value.dtype.type)
