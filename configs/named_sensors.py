"""Names in a list of sensors, and cameras on the hands of a robot: `wrist_left` is `wrist` on the arm `left`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hydra.errors import MissingConfigException
from omegaconf import DictConfig, ListConfig, OmegaConf

from unlatch.configs.group_files import camera_names, option_names
from unlatch.configs.override_errors import explain_error
from unlatch.simcore.errors import ConfigError, unknown_name

_GROUP = "sensor"
_OPTION = re.compile(r"[A-Za-z0-9_-]+\Z")


def place_on_hands(entries: ListConfig, robot: Any) -> None:
    """Puts each camera that is fitted to the hand and names no link on every arm, as `<name>_<arm>` on several arms."""
    for index in reversed(range(len(entries))):
        if _is_on_every_hand(entry := entries[index]):
            del entries[index]
            for arm in reversed(robot.arms):
                entries.insert(index, _on_hand(entry, robot.arms, arm.name))


def _is_on_every_hand(entry: Any) -> bool:
    mount = entry.get("mount") if isinstance(entry, DictConfig) else None
    return isinstance(mount, DictConfig) and mount.get("fit") == "hand" and mount.get("link") is None


def _on_hand(entry: DictConfig, arms: Sequence[Any], arm: str) -> dict[str, Any]:
    """Returns a camera that is fitted to the hand, on the hand of one arm."""
    content: Any = OmegaConf.to_container(entry)
    number = [each.name for each in arms].index(arm)
    place = {"body": "${robot.name}", "link": f"${{robot.arms[{number}].ee_link}}"}
    name = f"{content['name']}_{arm}" if len(arms) > 1 else content["name"]
    return {**content, "name": name, "mount": {**content["mount"], **place}}


def split_arm(name: str, arms: Sequence[Any]) -> tuple[str, str | None]:
    """Returns the camera and the arm that `wrist_left` names; the arm is None if several have none of that name."""
    arm = next((each.name for each in arms if len(arms) > 1 and name.endswith(f"_{each.name}")), None)
    return name.removesuffix(f"_{arm}"), arm


def read_names(
    entries: ListConfig, robot: Any, known: Mapping[str, Any], read: Callable[[str], DictConfig], *, key: str
) -> None:
    """Replaces every name in the list at `key` by the sensor of that name in `known`, else by what `read` returns.

    Raises:
        ConfigError: There is no such sensor.
    """
    for index, name in enumerate(entries):
        if not isinstance(name, str):
            continue
        where = f"{key}[{index}]"
        try:
            entries[index] = known[name] if name in known else _read(name, read, where)
        except ConfigError as exc:
            camera, arm = split_arm(name, robot.arms)
            try:
                found = known.get(camera) or _read(camera if arm else name.rpartition("_")[0], read, where)
            except ConfigError:
                raise exc from None
            if not _is_on_every_hand(found):
                raise
            if arm is None:
                named = " or ".join(_on_hand(found, robot.arms, each.name)["name"] for each in robot.arms)
                raise ConfigError(
                    f"{where}={name} names no camera of '{robot.name}', whose arms are "
                    f"{', '.join(each.name for each in robot.arms)}. Expected {named}. Change it.",
                    key=where,
                ) from exc
            entries[index] = _on_hand(found, robot.arms, arm)


def _read(name: str, read: Callable[[str], DictConfig], where: str) -> DictConfig:
    if not _OPTION.match(name):
        raise ConfigError(
            f"{where}={name!r} cannot name a YAML file. Expected one of {', '.join(option_names(_GROUP))}, or one of "
            "your own. Change it.",
            key=where,
        )
    try:
        return read(name)
    except MissingConfigException as exc:
        if not where.startswith("sensors["):
            others = {*option_names(_GROUP)} - {*camera_names()}
            known = [option for option in exc.options or () if option not in others]
            raise unknown_name(
                name, "a known camera", where=where, known=known, listed_by="unlatch list sensors"
            ) from exc
        error = explain_error(exc)
        raise ConfigError(f"{where}: {error.message}", **error.values) from exc
