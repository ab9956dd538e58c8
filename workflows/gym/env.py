"""One task as a Gymnasium environment."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from operator import index
from typing import Any

import numpy as np

from unlatch.configs.schema import EpisodeCfg
from unlatch.robots.arm_control import ArmAction
from unlatch.simcore.catalogs import RENDERERS
from unlatch.simcore.errors import ConfigError, PluginError, check_range, close_matches
from unlatch.simcore.extras import install_command
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.recording.episode_folders import MAX_NUMBER
from unlatch.simcore.recording.export.columns import IMAGE, ObservationColumns, Part
from unlatch.simcore.recording.json_values import plain
from unlatch.simcore.recording.keys import convert_to_stored_types
from unlatch.simcore.recording.observed_scene import ObservedScene
from unlatch.simcore.sim.collision import BulletCollisionChecker
from unlatch.simcore.sim.visuals.pictures import take_picture
from unlatch.simcore.sim.world import World
from unlatch.workflows.episode.asset_checks import check_assets
from unlatch.workflows.episode.criteria import Actor, PolicyRules
from unlatch.workflows.episode.episode import Episode, EpisodeOptions
from unlatch.workflows.episode.observed_scene import acted_parts, observed_scene
from unlatch.workflows.gym.config import ObservationCfg, SuccessWhen
from unlatch.workflows.gym.spaces import ActionDecoder, Bounds, ObservedImages, column_bounds, observation_bounds
from unlatch.workflows.runs.loading import config_as, load_config, task_overrides
from unlatch.workflows.runs.schema import EnvCfg

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as exc:
    raise PluginError(
        f"Package 'gymnasium' is not installed. It comes with the extra 'gym'. Install it: {install_command('gym')}"
    ) from exc

Array = np.ndarray
Observation = dict[str, Array]

COLUMNS = "observation."
"""Prefix of the keys of an export's columns."""
_ARGUMENTS = ("task", "overrides", "config_dir", "render_mode", "cfg")
RENDER_SIZE = (480, 360)
"""Width and height of `render` [pixels]."""


class UnlatchEnv(gymnasium.Env[Any, Array]):
    """One task; each step is one record frame.

    Scenes, layouts, contact checks and verdicts are those of `unlatch collect`. `reset(seed=s, options={"episode": k})`
    begins episode k of the run with seed s, exactly as `unlatch collect seed=s only=[k]`; without options, the next
    episode. The reset simulates the first few frames, in which the arms stand still. The reward is 1 in the step in
    which the episode succeeds, else 0. `terminated`: the episode has succeeded or broken a rule; `truncated`:
    `task.max_duration_s` is over. With `end_at_violation=false`, an episode that broke a rule goes on until the goal is
    reached. `info` holds `success` (the goal is reached and no rule is broken), `goal_reached` (whatever was broken),
    `code`, `episode`, `seed`, and once a rule is broken `evidence`.
    """

    action_space: spaces.Box
    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        task: str | None = None,
        *,
        overrides: Sequence[str] = (),
        config_dir: str | None = None,
        render_mode: str | None = None,
        cfg: EpisodeCfg | None = None,
        **unknown: object,
    ) -> None:
        """Composes the configuration and opens a world.

        Args:
            task: Name of the task.
            overrides: `key=value` as on the command line, such as `action.mode=joint_delta`.
            config_dir: Folder of YAML files of your own.
            render_mode: None or "rgb_array".
            cfg: A composed configuration; `task`, `overrides` and `config_dir` are then ignored.
            unknown: Other arguments, such as of `gymnasium.make`; they are refused.

        Raises:
            ConfigError: The configuration or an argument is wrong; the message names the key.
        """
        for name in unknown:
            raise ConfigError(
                f"{name}= is not an argument of an environment.{close_matches(name, _ARGUMENTS)} Expected some of "
                f"{', '.join(_ARGUMENTS)}. Set a key of the configuration by overrides=['{name}=...'].",
                key=name,
            )
        if cfg is None:
            if task is None:
                raise ConfigError("An environment needs task=NAME; `unlatch list tasks` tells which there are.")
            config_dirs = [config_dir] if config_dir else []
            cfg = load_config("env", EnvCfg, task_overrides(task, overrides), config_dirs=config_dirs).cfg
        if not isinstance(cfg, EpisodeCfg):
            raise ConfigError(f"cfg is of type {type(cfg).__name__}. Expected what unlatch.load returns.", key="cfg")
        cfg = cfg if isinstance(cfg, EnvCfg) else config_as(EnvCfg, cfg)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ConfigError(f"render_mode={render_mode!r} is unknown. Expected None or 'rgb_array'.")
        check_assets(cfg)
        self.cfg: EnvCfg = cfg
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": cfg.world.record_hz}
        self.options = EpisodeOptions(
            actor=Actor.policy,
            policy=PolicyRules(
                arms_may_move=cfg.success_when is SuccessWhen.held, end_at_violation=cfg.end_at_violation
            ),
            run_seed=cfg.seed,
        )
        """Those of later episodes."""
        self._next_episode = 0
        self._decoder = ActionDecoder(cfg.action, cfg.robot)
        self._columns = ObservationColumns(cfg.observation.as_export(), {"robot": plain(cfg.robot)})
        self._episode: Episode | None = None
        self._images: ObservedImages
        self._scene: tuple[Episode, ObservedScene] | None = None
        self._column_names: dict[str, Sequence[str]] = {}
        self._closed = False
        with ExitStack() as stack:  # closes the world if a key of the observation is wrong
            self._world = stack.enter_context(
                World(
                    cfg.world,
                    visuals=render_mode is not None or cfg.observation.has_images,
                    renderer=RENDERERS.load(cfg.observation.renderer)(),
                )
            )
            self._checker = stack.enter_context(BulletCollisionChecker())
            self._spaces = self._make_spaces(self._read_first_state())
            self._stack = stack.pop_all()
        self.action_space = spaces.Box(*self._decoder.bounds(), dtype=np.float64)
        self._clipped = {
            key
            for key, box in self._spaces.items()
            if box.dtype is not None and box.dtype.kind == "f" and (box.bounded_below | box.bounded_above).any()
        }
        """Observations that are set to their bounds where simulation goes beyond them."""
        self.observation_space = spaces.Dict(dict(self._spaces))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles and copies the configuration and the count of episodes, not the world.

        The copy is an environment of its own, in which the next `reset` begins the same episode; call it before `step`.
        """
        kept = ("spec", "action_space", "_np_random", "_np_random_seed", "_next_episode")
        state = {name: deepcopy(value) for name, value in vars(self).items() if name in kept}
        state["options"] = replace(self.options, on_bug=None, on_state=None)
        return partial(type(self), cfg=self.cfg, render_mode=self.render_mode), (), state

    def _read_first_state(self) -> Mapping[str, Array]:
        """Returns a state, for the keys and shapes of an observation."""
        self._episode = Episode(self.cfg, 0, self._world, self._checker, self.options)
        self._episode.reset()
        self._episode.frames.record_state()
        self._images = ObservedImages(self.episode.scene, self.cfg.observation)
        state = self._observable_values()
        self._bounds = observation_bounds(self.cfg, self.episode.scene)
        self._episode = None
        return state

    def _observable_values(self) -> dict[str, Array]:
        """Returns all values that an observation may hold, by key."""
        episode = self.episode
        acted_on = list(dict.fromkeys(episode.planner.acted_on))
        values = {
            key: np.asarray(value)
            for key, value in episode.frames.state.items()
            if not key.startswith("keypoints.") or tuple(key.split(".")[1:3]) in acted_on
        }
        for name, arm in episode.scene.robot.arms.items():
            key = f"robots.{self.cfg.robot.name}.{name}.joint_positions"
            values[key] = arm.signals.reading(values[key])  # a policy sees the readings of the encoders
        parts = []
        for name, part in ((name, part) for name, part in acted_on if part is not None):
            item = episode.scene.objects[name]
            index = item.joint_index(item.asset.articulation.part(part).joint)
            parts.append((name, part, index))
            for key, plural in (("joint_position", "joint_positions"), ("joint_velocity", "joint_velocities")):
                values[f"parts.{name}.{part}.{key}"] = np.array(values[f"objects.{name}.{plural}"][index])
        values.update(self._images.values)
        if self.cfg.observation.columns:
            values.update(self._export_columns(values, parts))
        return values

    def _export_columns(self, values: Mapping[str, Array], parts: Sequence[Part]) -> dict[str, Array]:
        """Returns one frame of the columns of an export, for policies that were trained on one."""
        robot = self.cfg.robot
        step = self.episode.frames.recorder.last_step()
        if self._scene is None or self._scene[0] is not self.episode:
            assets = {name: item.asset for name, item in self.episode.scene.objects.items()}
            self._scene = (self.episode, observed_scene(robot, lambda: assets, seed=self.episode.seed))
        found = self._columns.make(
            convert_to_stored_types({key: value[None] for key, value in {**step, **values}.items()}),
            robot=robot.name,
            arms=sorted(arm.name for arm in robot.arms),
            parts=parts,
            number=self.episode.number,
            acted=acted_parts(self.episode),
            scene=self._scene[1],
            views=[self._images.views],
        )
        self._column_names = {key: column.names for key, column in found.items()}
        images = {item.name: f"sensors.{item.name}.rgb_image" for item in self.cfg.all_sensors().values()}
        return {
            **{key: column.values[0] for key, column in found.items()},
            **{IMAGE + name: values[key] for name, key in images.items() if key in values},
        }

    def _make_spaces(self, state: Mapping[str, Array]) -> dict[str, spaces.Box]:
        patterns = self.cfg.observation.keys
        for pattern in patterns:
            may_miss = pattern in ObservationCfg().keys or pattern.startswith("sensors.")  # a task may have no part
            if not may_miss and not any(fnmatchcase(key, pattern) for key in state):
                raise ConfigError(
                    f"observation.keys has '{pattern}', which matches no record key.{close_matches(pattern, state)} "
                    f"Keys: {', '.join(sorted(state))}.",
                    key="observation.keys",
                )
        return {
            key: _make_space(key, value, self._bounds_of(key, value))
            for key, value in state.items()
            if key.startswith(COLUMNS) or any(fnmatchcase(key, pattern) for pattern in patterns)
        }

    def _bounds_of(self, key: str, value: Array) -> Bounds | None:
        """Returns the bounds of an observation of floats; None: it can have any value."""
        if key in self._column_names and value.shape == (len(self._column_names[key]),):
            return column_bounds(self._column_names[key], self.cfg, self._bounds)
        return self._bounds.get(key)

    @property
    def episode(self) -> Episode:
        """The running episode.

        Raises:
            ResetNeeded: No episode has begun.
        """
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("The environment was not reset. Call reset() before step() or render().")
        return self._episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begins an episode.

        Args:
            seed: Seed of the run from now on, 0 or more; its episodes are counted from 0.
            options: `{"episode": k}` begins episode k.

        Raises:
            ConfigError: The seed or an option is wrong.
            ClosedEnvironmentError: The environment is closed.
        """
        self._check_open()
        number = _read_episode(options)
        if seed is not None:
            seed = _read_whole_number("seed", seed)
            self.options, self._next_episode = replace(self.options, run_seed=seed), 0
        super().reset(seed=seed)
        number = self._next_episode if number is None else number
        self._next_episode = number + 1
        self._episode = episode = Episode(self.cfg, number, self._world, self._checker, self.options)
        episode.begin()
        self._images = ObservedImages(episode.scene, self.cfg.observation)
        if episode.failure is None:
            episode.begin_due_skills()
        return self._observation(), {**self._info(), "language": episode.language()}

    def step(self, action: Array) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Simulates one record frame; after the end of an episode, it changes nothing and the reward is 0.

        Args:
            action: A value of `action_space`; values outside it are clipped.

        Raises:
            ConfigError: It has another shape, or is not finite.
            ResetNeeded: No episode has begun.
            ClosedEnvironmentError: The environment is closed.
        """
        self._check_open()
        episode, judge = self.episode, self.episode.judge
        runs = episode.failure is None and not judge.over
        if runs:
            skills = [run.skill for run in judge.current]
            arms = self._decoder.decode(action, episode.scene.robot)
            with self._images.frame():
                episode.frames.advance(arms, skills=skills)
            episode.frames.record_state()
            episode.begin_due_skills()
            if judge.over:
                episode.conclude()
        truncated = episode.failure is not None and judge.timed_out
        over = episode.failure is not None or judge.success
        reward = float(runs and judge.success)
        return self._observation(), reward, over and not truncated, truncated, self._info()

    def decode(self, action: Array) -> dict[str, ArmAction]:
        """Returns the targets by arm that an action stands for now."""
        return self._decoder.decode(action, self.episode.scene.robot)

    def hold_action(self) -> Array:
        """Returns the action that leaves the targets of all arms as they are now."""
        return self._decoder.hold(self.episode.scene.robot)

    def finish(self) -> None:
        """Ends an episode early; its record then has the conditions that were not met."""
        self.episode.judge.break_off()
        self.episode.conclude()

    def record(self) -> EpisodeRecord:
        """Returns the record of the episode, as `unlatch collect` writes it."""
        return self.episode.record()

    def render(self) -> Any:
        """A picture (height, width, 3) uint8 of the scene, under `render_mode="rgb_array"`."""
        self._check_open()
        if self.render_mode is None:
            return None
        from unlatch.workflows.viewing.scene_picture import whole_view  # few environments are drawn

        width, height = RENDER_SIZE
        return take_picture(self._world, whole_view(self.episode.scene), width=width, height=height)

    def close(self) -> None:
        """Closes the world; a second call does nothing."""
        self._closed = True
        self._stack.close()

    def _check_open(self) -> None:
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError(
                f"The environment of task '{self.cfg.task.name}' is closed. Make a new one, or close it later."
            )

    def _observation(self) -> Observation:
        values = self._observable_values()
        observation = {}
        for key, space in self._spaces.items():
            if key not in values:
                raise ConfigError(
                    f"Observation '{key}' is not in episode {self.episode.number}, but in the first: it varies with "
                    "the part that is acted on. Set observation.keys=[robots.*], or observation.columns=true with "
                    "observation.keys=[], or object.instance.",
                    key="observation.keys",
                )
            if values[key].shape != space.shape:
                raise ConfigError(
                    f"Observation '{key}' has shape {list(values[key].shape)} in episode {self.episode.number}, "
                    f"{list(space.shape or ())} in the first: it varies with the object. Observe 'parts.*' instead, or "
                    "set object.instance.",
                    key="observation.keys",
                )
            value = values[key].clip(space.low, space.high) if key in self._clipped else values[key]
            observation[key] = np.array(value)
        return observation

    def _info(self) -> dict[str, Any]:
        episode = self.episode
        failure = episode.failure or episode.judge.failure
        info: dict[str, Any] = {
            "episode": episode.number,
            "seed": episode.seed,
            "success": episode.judge.success,
            "goal_reached": episode.judge.goal_frame is not None,
            "code": None if failure is None else failure.code,
        }
        if failure is not None:
            info["evidence"] = {"message": failure.message, **failure.evidence}
        return info


def _read_episode(options: Mapping[str, Any] | None) -> int | None:
    """Returns the number of the episode in the options of a reset; None if they name none.

    Raises:
        ConfigError: They have another form.
    """
    if options is None:
        return None
    example = "Expected {'episode': k}, which begins episode k, or None."
    if not isinstance(options, Mapping):
        raise ConfigError(f"options={options!r} of reset is of type {type(options).__name__}. {example}", key="options")
    for key in options:
        if key != "episode":
            near = close_matches(str(key), ["episode"])
            raise ConfigError(f"options of reset has the unknown key {key!r}.{near} {example}", key="options")
    return _read_whole_number("options['episode']", options["episode"], most=MAX_NUMBER) if options else None


def _read_whole_number(key: str, value: Any, *, most: float = math.inf) -> int:
    """Returns a value of reset as a whole number of 0 to `most`.

    Raises:
        ConfigError: It is none.
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else index(value)
    except TypeError:
        number = None
    if number is None:
        raise ConfigError(f"{key}={value!r} of reset is not a whole number. Expected one, 0 or more.", key=key)
    check_range(key, number, 0, most)
    return number


def _make_space(key: str, value: Array, bounds: Bounds | None) -> spaces.Box:
    """Returns the space of an observation of floats with bounds, or of another observation, whose bounds are None."""
    low, high = (-np.inf, np.inf) if bounds is None else bounds
    if value.dtype.kind in "iu":
        low, high = np.iinfo(value.dtype).min, np.iinfo(value.dtype).max
    elif value.dtype.kind == "b":
        low, high = False, True
    elif key.endswith("quat_xyzw"):
        low, high = -1.0, 1.0
    elif key == "time":
        low = 0.0
    ends = (np.broadcast_to(end, value.shape).astype(value.dtype) for end in (low, high))
    return spaces.Box(*ends, dtype=value.dtype.type)
