"""`part=all` beside `object=` and `skill=`: one job for each part of the object that the skill fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unlatch.configs.composition import Request
from unlatch.configs.derivation.derived_request import describe_object_path, is_object_path, read_object_and_robot
from unlatch.configs.overrides import override_key
from unlatch.objects.library import chooses_instance, load_object
from unlatch.simcore.errors import ConfigError

ALL_PARTS = "all"
"""Value of `part=` that stands for each part in turn."""


def name_each_part(
    primary: str, schema: type, overrides: Sequence[str], config_dirs: Sequence[str]
) -> tuple[list[list[str]], dict[str, str]]:
    """Returns the overrides of a job for each part that the skill fits, the best to act on first.

    Without `part=all`, that is the one job as it is.

    Args:
        primary: Name of the command's YAML file.
        schema: Dataclass of its configuration.
        overrides: The overrides of one job, in Hydra's syntax.
        config_dirs: Folders of YAML files of the user's own.

    Returns:
        The jobs, and the reason for each part that is left out.

    Raises:
        ConfigError: `part=all` has no object and skill beside it, the object is drawn in each episode, or the skill
            fits none of its parts.
        AssetError: The object does not exist, is damaged, or has no moving part.
    """
    choices = {override_key(text): text.partition("=")[2] for text in overrides}
    if choices.get("part") != ALL_PARTS:
        return [list(overrides)], {}
    from unlatch.configs.derivation.derived_task import derive_task
    from unlatch.robots.hand_shape import hand_shapes

    if "object" not in choices or "skill" not in choices:
        raise ConfigError(
            "part=all stands for each part of an object in turn. Expected object=PATH skill=open, close or rotate "
            "beside it. Add them, or name a part.",
            key="part",
        )
    rest = [text for text in overrides if override_key(text) not in ("part", "skill", "openness")]
    request = Request(overrides=rest, config_dirs=list(config_dirs))
    if is_object_path(choices["object"], config_dirs):
        rest = [text for text in rest if override_key(text) != "object"]
        request = replace(request, overrides=rest, given={"object": describe_object_path(choices["object"], None)})
    cfg, robot = read_object_and_robot(primary, schema, request)
    if chooses_instance(cfg):
        raise ConfigError(
            f"part=all needs one object, and object={choices['object']} draws one in each episode. Name one, as in "
            "object=FOLDER/OBJECT.urdf or object.instance=0, or leave part out: each episode takes the first part that "
            "fits.",
            key="part",
        )
    asset = load_object(replace(cfg, part=None), rng=np.random.default_rng(0))
    hand, *_ = hand_shapes(robot)
    fitting, left_out = [], {}
    for name, part in asset.articulation.parts.items():
        try:
            derive_task(choices["skill"], asset, part, hand)
        except ConfigError as exc:
            left_out[name] = exc.message
        else:
            fitting.append(name)
    if not fitting:
        raise ConfigError(next(iter(left_out.values()), "the object has no part"), key="part")
    return [
        [text if override_key(text) != "part" else f"part={name}" for text in overrides] for name in fitting
    ], left_out
