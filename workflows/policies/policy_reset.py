"""The reset of an episode in which a policy acts: an object or a skill with a bug costs only this episode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import AssetError, UnlatchError

if TYPE_CHECKING:
    from unlatch.workflows.gym.env import UnlatchEnv


def reset_episode(env: UnlatchEnv, number: int) -> tuple[Any, dict[str, Any]] | None:
    """Resets an environment to an episode; returns observation and info, or None if the episode ended with a bug.

    Raises:
        UnlatchError: The configuration is wrong.
    """
    try:
        return env.reset(options={"episode": number})
    except Exception as exc:  # as in `EpisodeRunner.run`
        if isinstance(exc, UnlatchError) and not isinstance(exc, AssetError):
            raise
        env.episode.fail_with_bug(exc)
        return None
