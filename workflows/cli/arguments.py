"""Arguments of the config commands: `key=value`, and the few flags that Hydra's own commands have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, cast

from unlatch.simcore.errors import ConfigError, close_matches
from unlatch.workflows.cli.console import banner_hidden

T = TypeVar("T")

FLAGS = """flags:
  --cfg job          print the composed configuration instead of running
  --resolve          with --cfg: references resolved
  -m, --multirun     run every combination of comma-separated values; launcher= says by whom
  --config-dir DIR   look for YAML files in DIR too
  -h, --help         print this

Any key of the configuration can be set: robot=franka_panda, world.solver_iterations=150, lists by index:
skills.0.planner_setting.success_threshold=0.8, task.regions.0.yaw_deg=10. `+key=value` adds, `~key` removes.
"""

_WITH_VALUE = {"--cfg": "cfg", "-c": "cfg", "--config-dir": "config_dir", "-cd": "config_dir"}
_SWITCHES = {
    "-h": "help",
    "--help": "help",
    "--hydra-help": "help",
    "--resolve": "resolve",
    "-r": "resolve",
    "-m": "multirun",
    "--multirun": "multirun",
}


@dataclass
class CommandLine:
    """The arguments of one command, taken apart."""

    overrides: list[str] = field(default_factory=list)
    """`key=value` and its siblings."""
    config_dirs: list[str] = field(default_factory=list)
    """Folders of YAML files of the user's own."""
    help: bool = False
    """Whether to print the help only."""
    show: bool = False
    """Whether to print the configuration only."""
    resolve: bool = False
    """Whether to print it with references resolved."""
    multirun: bool = False
    """Whether comma-separated values are swept over."""


def parse_command_line(arguments: Sequence[str]) -> CommandLine:
    """Takes the arguments of a config command apart.

    Raises:
        ConfigError: A flag is unknown or lacks its value.
    """
    found = CommandLine()
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            found.overrides.append(argument)
            continue
        name, equals, value = argument.partition("=")
        if name in _SWITCHES and not equals:
            setattr(found, _SWITCHES[name], True)
        elif name in _WITH_VALUE:
            if not equals:
                if not rest:
                    raise ConfigError(f"Flag {name} lacks its value. Give it after a space.", flag=name)
                value = rest.pop(0)
            if _WITH_VALUE[name] == "config_dir":
                found.config_dirs.append(value)
            elif value in ("job", "all"):
                found.show = True
            else:
                raise ConfigError(f"Flag {name} is given '{value}'. Expected job. Write --cfg job.", flag=name)
        else:
            raise ConfigError(
                f"Unknown flag '{argument}'. Expected key=value, --cfg job, --resolve, -m, --config-dir DIR or --help.",
                flag=argument,
            )
    return found


@dataclass
class Loaded:
    """A configuration, composed, read and checked."""

    cfg: Any
    """The dataclass."""
    yaml: str
    """As `--cfg job` prints it."""
    notices: list[str]
    """One line for each rewrite of an inherited form."""
    overrides: list[str]
    """The command line's, with the values of this job of a multirun."""


def load_configs(primary: str, schema: type[T], line: CommandLine) -> list[Loaded]:
    """Composes and reads what the command line asks for: one configuration, or all of a multirun.

    Args:
        primary: Name of the command's YAML file.
        schema: Dataclass of its configuration.
        line: The arguments.

    Raises:
        ConfigError: Anything is wrong with it; one line.
    """
    # on use: Hydra takes a third of a second to import, and --help needs none of it
    from omegaconf import OmegaConf

    from unlatch.configs.chain import check_chain_form
    from unlatch.configs.composition import Request, compose_config, expand_sweep, to_plain
    from unlatch.configs.cross_checks import check_episode
    from unlatch.configs.derivation.command_line import with_derived
    from unlatch.configs.experiment import check_swept, refuse_single, sweep_overrides
    from unlatch.configs.reading import read_dataclass
    from unlatch.workflows.episode.randomization.recorded_randomization import with_recorded

    makes_runs = any(item.name == "sweep" for item in fields(cast(Any, schema)))
    swept = sweep_overrides(line.overrides, line.config_dirs) if makes_runs else []
    if not line.multirun:
        refuse_single(swept)
    jobs = expand_sweep([*line.overrides, *swept]) if line.multirun else [line.overrides]
    loaded = []
    for overrides in jobs:
        with banner_hidden():  # a derived task needs the object, whose joints are read without the engine
            request = with_derived(primary, schema, Request(overrides, line.config_dirs))
        composed = compose_config(primary, schema, request)
        plain = to_plain(composed)
        notices: list[str] = []
        check_chain_form(plain)
        with banner_hidden():  # a type of sensor is code that may load the engine
            cfg: Any = read_dataclass(schema, plain, where="", notices=notices)
        check_episode(cfg)
        check_swept(getattr(cfg, "sweep", {}), overrides)
        cfg.randomization = with_recorded(cfg.randomization)
        cfg.object.root = _absolute(cfg.object.root)
        for item in cfg.objects:
            item.root = _absolute(item.root)
        yaml = OmegaConf.to_yaml(OmegaConf.create(plain) if line.resolve else composed)
        loaded.append(Loaded(cfg, yaml, notices, list(overrides)))
    return loaded


def _absolute(path: str | None) -> str | None:
    from pathlib import Path

    return None if path is None else str(Path(path).expanduser().absolute())


def split_paths(command: str, arguments: Sequence[str], *, count: int) -> tuple[list[str], list[str]]:
    """Takes the arguments of a data command apart: paths first, then `key=value`.

    Args:
        command: Name of the command.
        arguments: The arguments.
        count: How many paths it takes.

    Raises:
        ConfigError: There are more or fewer paths, or a flag.
    """
    paths, pairs = split_some_paths(command, arguments, least=0)
    if len(paths) != count:
        raise ConfigError(
            f"{command} got {len(paths)} folders ({' '.join(paths) or 'none'}), expected {count}, then key=value. "
            f"`unlatch {command} --help` shows it."
        )
    return paths, pairs


def split_some_paths(command: str, arguments: Sequence[str], *, least: int = 1) -> tuple[list[str], list[str]]:
    """Takes the arguments of a data command apart that takes any number of paths.

    Args:
        command: Name of the command.
        arguments: The arguments.
        least: How many paths it needs.

    Raises:
        ConfigError: There are fewer paths, or a flag.
    """
    flags = [argument for argument in arguments if argument.startswith("-")]
    if flags:
        raise ConfigError(f"Unknown flag '{flags[0]}'. Expected key=value or --help.", flag=flags[0])
    paths = [argument for argument in arguments if "=" not in argument]
    pairs = [argument for argument in arguments if "=" in argument]
    if len(paths) < least:
        raise ConfigError(
            f"{command} got {len(paths)} folders ({' '.join(paths) or 'none'}), expected at least {least}, then "
            f"key=value. `unlatch {command} --help` shows it."
        )
    return paths, pairs


def read_pairs(schema: type[T], arguments: Sequence[str], *, beside: Sequence[str] = ()) -> T:
    """Reads `key=value` arguments of a command that composes no configuration.

    Args:
        schema: Dataclass of what the command takes.
        arguments: The arguments; values as in YAML.
        beside: Keys that the command reads itself: known, and passed over here.

    Raises:
        ConfigError: One cannot be read, or is not in the schema.
    """
    import yaml

    from unlatch.configs.reading import read_dataclass

    values: dict[str, Any] = {}
    for argument in arguments:
        key, equals, text = argument.partition("=")
        if not equals or key.startswith("-"):
            raise ConfigError(f"'{argument}' cannot be read. Expected key=value.", argument=argument)
        if key in beside:
            continue
        try:
            values[key] = yaml.safe_load(text)
        except yaml.YAMLError as exc:
            raise ConfigError(f"'{argument}' cannot be read: {' '.join(str(exc).split())}.", argument=argument) from exc
    if beside:
        _check_keys(schema, list(values), beside)
    return read_dataclass(schema, values, where="")


def _check_keys(schema: type, keys: Sequence[str], beside: Sequence[str]) -> None:
    """Raises where a key is unknown; first one that is nearly of those beside, which may say what the others are."""
    from unlatch.configs.reading import unknown_key

    known = [item.name for item in fields(schema)]
    unknown = [key for key in keys if key not in known]
    for key in sorted(unknown, key=lambda key: not close_matches(key, beside)):
        raise unknown_key(key, key, [*beside, *known])
