"""Makes episodes of one configuration, one after the other."""

from __future__ import annotations

import time
from contextlib import ExitStack, suppress

import numpy as np

from configs.schema import EpisodeCfg
from simcore.errors import AssetError, ConfigError, SimCoreError
from simcore.recording.episode import EpisodeRecord
from simcore.sim.camera import View, take_picture
from simcore.sim.collision import BulletCollisionChecker
from simcore.sim.world import World
from skills.skill import Skill
from workflows.attempt import Attempt
from workflows.episode_scene import EpisodeScene

Array = np.ndarray


class EpisodeRunner:
    """Makes episodes of one configuration; use as a context manager, one a worker.

    An episode depends on the configuration and its number only: world, checker and skills start anew for each.
    """

    def __init__(self, cfg: EpisodeCfg) -> None:
        self.cfg = cfg
        self._stack = ExitStack()
        self._world = World(cfg.world)
        self._checker = BulletCollisionChecker()

    def __enter__(self) -> EpisodeRunner:
        self._stack.enter_context(self._world)
        self._stack.enter_context(self._checker)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def run(self, number: int) -> EpisodeRecord:
        """Makes one episode; whatever happens, there is a record of it.

        Args:
            number: Episode number, from 0.

        Raises:
            ConfigError, AssetError: The configuration asks for what is not there; no episode can be made.
        """
        attempt = Attempt(self.cfg, number, self._world, self._checker)
        try:
            attempt.run()
        except (ConfigError, AssetError):
            raise
        except Exception as exc:  # noqa: BLE001 - the one place: a bug ends this episode, not the run
            attempt.fail_with_bug(exc)
        return attempt.record()

    def plan(self, number: int) -> Skill:
        """Plans the first skill of an episode as `run` would, without executing it.

        Args:
            number: Episode number, from 0.

        Returns:
            The skill, which holds its plan or its failure.
        """
        attempt = Attempt(self.cfg, number, self._world, self._checker)
        attempt.begin()
        skill = attempt.make_skill(0)
        skill.plan(attempt.streams["planner"])
        return skill

    def warm_up(self) -> None:
        """Plans one episode and forgets it: what a process imports and compiles once is no episode's planning time."""
        with suppress(SimCoreError):  # it is told of the episode that it concerns
            self.plan(0)

    def reset(self, number: int) -> EpisodeScene:
        """Builds the scene of an episode and leaves it at its start."""
        attempt = Attempt(self.cfg, number, self._world, self._checker)
        attempt.reset()
        return attempt.episode

    def render_frames(
        self, record: EpisodeRecord, frames: list[int], *, width: int, height: int, view: View | None = None
    ) -> list[Array]:
        """Pictures (height, width, 3) uint8 of recorded states.

        Args:
            record: An episode of this configuration.
            frames: State frames to show.
            width: Pixels across.
            height: Pixels down.
            view: The camera; one that sees robot and object by default.
        """
        with World(self.cfg.world, visuals=True) as world:
            attempt = Attempt(self.cfg, record.number, world, self._checker)
            attempt.reset()
            pictures = []
            scene = attempt.episode.scene
            paths = dict(scene.named_buffers())
            for frame in frames:
                state = {key: value for key, value in record.state_at(frame).items() if key in paths}
                scene.load_state_dict(state)
                scene.write_replay_data()
                pictures.append(take_picture(world, view or attempt.view(), width=width, height=height))
            return pictures

    def replay_actions(self, record: EpisodeRecord) -> tuple[float, dict[str, Array]]:
        """Drives a fresh world with recorded actions, all sensors off: nothing is read until the end.

        Args:
            record: An episode of this configuration.

        Returns:
            Wall time of the physics alone [s], and the state at the end by record key.
        """
        attempt = Attempt(self.cfg, record.number, self._world, self._checker)
        attempt.reset()
        episode, rates = attempt.episode, self.cfg.world
        actions = [episode.action_at(record.arrays, index) for index in range(record.n_actions)]
        start = time.perf_counter()
        for action in actions:
            episode.apply(action)
            for control_step in range(rates.control_steps):
                episode.robot.control_step(control_step)
                for _ in range(rates.physics_steps):
                    self._world.step()
        seconds = time.perf_counter() - start
        episode.scene.update_state()
        return seconds, episode.scene.state_dict()
