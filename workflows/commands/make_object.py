"""`unlatch make-object`: writes generated objects as files, for any simulator."""

from __future__ import annotations

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.assets.make_object import USD_FOLDER, MakeObjectCfg, make_objects
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import is_pair
from unlatch.workflows.cli.console import OK, print_line, relative_path


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    names = [argument for argument in arguments if not is_pair(argument) and not argument.startswith("-")]
    if len(names) != 1:
        raise ConfigError(
            f"make-object got {len(names)} categories ({' '.join(names) or 'none'}), expected 1, then key=value. "
            "`unlatch list objects` lists them; `all` stands for every one."
        )
    cfg = read_pairs(MakeObjectCfg, [argument for argument in arguments if argument not in names])
    items, picture = make_objects(names[0], cfg)
    for item in items:
        parts = ", ".join(f"{name} ({part.kind.value})" for name, part in item.made.articulation.parts.items())
        usd = f"; {item.folder / USD_FOLDER / 'object.usd'}" if cfg.usd else ""
        print_line(f"{item.category} {item.seed}: {item.urdf}; {parts}{usd}")
    if picture is not None:
        print_line(f"picture: {relative_path(picture)}")
    return OK
