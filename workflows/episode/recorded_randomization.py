"""What randomizes an episode: nothing, the rules of its configuration, or the values that another episode recorded.

Views and rules are loaded only where something varies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unlatch.simcore.errors import ConfigError, RecordingError
from unlatch.simcore.randomization.config import RandomizationCfg, VisualDraw
from unlatch.workflows.episode.scene import EpisodeScene

if TYPE_CHECKING:
    from unlatch.workflows.episode.randomization import EpisodeRandomization
    from unlatch.workflows.episode.visual_views import Room


_KEY = "randomization.from"


def make_randomization(
    scene: EpisodeScene,
    cfg: RandomizationCfg,
    seed: int,
    *,
    visual_draw: VisualDraw | None = None,
    room: Room | None = None,
) -> EpisodeRandomization | None:
    """Makes the randomization of a scene and resets it; returns None where nothing varies.

    `room` is the room of the configuration.

    Raises:
        ConfigError: A rule, or a value of the episode that `from` names, does not fit the scene.
        RecordingError: A recorded value does not fit the scene.
    """
    if not cfg.active and visual_draw is None:
        return None
    from unlatch.workflows.episode.randomization import EpisodeRandomization

    with _explain_misfit(cfg, {name: item.asset.instance for name, item in scene.objects.items()}):
        made = EpisodeRandomization(scene, cfg, visual_draw=visual_draw, room=room)
        made.reset(seed)
    return made


def recorded_randomization(applied: Mapping[str, Any], *, name: str) -> RandomizationCfg:
    """Returns the randomization that applies recorded values again; one without rules where there are none."""
    return RandomizationCfg(name=name, recorded=dict(applied) if applied else None)


@contextmanager
def _explain_misfit(cfg: RandomizationCfg, instances: Mapping[str, str]) -> Iterator[None]:
    """Explains an error of recorded values that do not fit an episode: where they come from, and what would fit.

    Raises:
        ConfigError: Recorded values do not fit the scene.
    """
    try:
        yield
    except (ConfigError, RecordingError) as exc:
        if cfg.source is None:
            raise
        here = ", ".join(f"{name} {instance}" for name, instance in instances.items())
        said = exc.message.replace("randomization.recorded.", "its ").removeprefix("Recorded randomization: ")
        for advice in (" Name one of them.", " Use the scene that it was recorded in."):
            said = said.removesuffix(advice)
        raise ConfigError(
            f"{_KEY}='{cfg.source}' does not fit an episode of {here}: {said} Name an episode of the same robot and "
            "objects, or keep the object the same by object.instance.",
            key=_KEY,
        ) from exc
