"""Collects corrections: a policy acts first, then the planner takes over and shows how the episode is completed.

This is how DAgger (Ross et al. 2011) gets its labels, with the planner as the teacher.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from unlatch.simcore.errors import AssetError, ConfigError, UnlatchError
from unlatch.simcore.recording.episode import EpisodeRecord
from unlatch.simcore.rng import stream
from unlatch.workflows.episode.actor import TAKEOVER, Actor
from unlatch.workflows.episode.attempt import Attempt
from unlatch.workflows.episode.episode import EpisodeOptions
from unlatch.workflows.gym.config import SuccessWhen
from unlatch.workflows.policies.catalog import load_policy
from unlatch.workflows.policies.labels import PlannerLabels
from unlatch.workflows.policies.policy import Policy
from unlatch.workflows.policies.policy_reset import reset_episode
from unlatch.workflows.policies.takeover import FailureWatch, TakeoverRule
from unlatch.workflows.runs.loading import config_as
from unlatch.workflows.runs.schema import CollectCfg, EnvCfg

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv


@contextmanager
def open_corrections(cfg: CollectCfg, options: EpisodeOptions) -> Iterator[Callable[[int], EpisodeRecord]]:
    """Opens an environment and the policy of a run; yields the function that makes an episode by its number.

    The episodes call `on_bug` and `on_state` of the options.

    Raises:
        ConfigError: The policy cannot be made.
    """
    from unlatch.workflows.gym.env import UnlatchEnv

    if cfg.policy is None:
        raise ConfigError("policy is missing. Expected the policy that acts before the planner.", key="policy")
    env_cfg = config_as(EnvCfg, cfg, success_when=SuccessWhen.still)
    with closing(UnlatchEnv(cfg=env_cfg)) as env:
        env.options = replace(env.options, actor=Actor.both, on_bug=options.on_bug, on_state=options.on_state)
        with closing(load_policy(cfg.policy, env, timeout_s=cfg.policy_timeout_s)) as policy:
            rule = TakeoverRule.parse(cfg.takeover)
            yield partial(run_correction, env, policy, rule, cfg.policy, label_every=cfg.label_every)


def run_correction(
    env: UnlatchEnv, policy: Policy, rule: TakeoverRule, name: str, number: int, *, label_every: int = 0
) -> EpisodeRecord:
    """Lets a policy act until the planner takes over, and the planner until the end; returns the record.

    With `label_every` the frames of the policy have labels too, from plans that are made every so many frames.
    An episode that is over before ends as the policy left it. An exception in the policy, or an object that cannot be
    used, ends the episode with code `error`, not the run.

    Raises:
        UnlatchError: The configuration, an action's shape or the policy's server is wrong.
    """
    begun = reset_episode(env, number)
    if begun is None:
        return env.record()
    observation, info = begun
    episode = env.episode
    wanted = rule.draw(stream(episode.seed, "disturb.takeover"))
    watch, reason, acted = FailureWatch(episode), "as drawn", 0
    labels = PlannerLabels(episode, every=label_every)
    over, start = info["code"] is not None, time.perf_counter()
    episode.frames.labels_are_valid = False
    try:
        if not over:
            policy.reset(observation, info)
        while not over and acted != wanted:
            action = policy.act(observation)
            if action is None:
                reason = "the policy ended"
                break
            failing = None if wanted is not None else watch.sees_failure(env.decode(action))
            if failing is not None:
                reason = failing
                break
            episode.frames.labels = labels.next_labels()
            episode.frames.labels_are_valid = bool(episode.frames.labels)
            observation, _, terminated, truncated, _ = env.step(action)
            over, acted = terminated or truncated, acted + 1
    except AssetError as exc:  # a later skill does not fit the drawn object
        episode.fail_with_bug(exc)
        over = True
    except UnlatchError:
        raise
    except Exception as exc:  # noqa: BLE001 - code of a user: a bug in it ends this episode, not the run
        episode.fail_with_bug(exc)
        over = True
    episode.timings_ms["execute"] += 1e3 * (time.perf_counter() - start)
    episode.frames.labels, episode.frames.labels_are_valid = {}, True
    if over:
        env.finish()
        return env.record()
    frame = episode.frames.frame
    episode.events.append({"event": TAKEOVER, "frame": frame, "policy": name, "reason": reason})
    try:
        Attempt(episode).run_from_here()
    except ConfigError:
        raise
    except Exception as exc:  # noqa: BLE001 - as in EpisodeRunner.run: a bug ends this episode only
        episode.fail_with_bug(exc)
    return env.record()
