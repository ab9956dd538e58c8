"""`unlatch make-object`: writes generated objects as files, for any simulator."""

from __future__ import annotations

from collections.abc import Sequence

from unlatch.simcore.errors import ConfigError
from unlatch.workflows.assets.make_object import USD_FOLDER, MakeObjectCfg, make_objects
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import run_command
from unlatch.workflows.cli.console import OK, print_line

HELP = """usage: unlatch make-object CATEGORY|all [key=value ...]

Writes generated objects: object.urdf, articulation.yaml, and the meshes and textures of what is textured. Colliders are
boxes, cylinders and spheres only. The same category and seed give the same bytes. `unlatch list objects` lists the
categories.

  seed=0             number of the instance, from 0
  count=1            how many instances, starting with that seed
  out=FOLDER         default: CATEGORY_SEED; for several objects: objects, with a folder for each
  force=false        replace files with another content
  usd=false          write usd/object.usd too (extra usd)
  picture=false      draw the objects: objects.png, a row for each category, opened further from left to right

  unlatch make-object oven seed=3 out=oven_3
  unlatch make-object all count=6 picture=true out=objects
"""


def main(argv: Sequence[str]) -> int:
    """Runs the command; returns its exit code."""
    return run_command(argv, HELP, _run)


def _run(arguments: list[str]) -> int:
    names = [argument for argument in arguments if "=" not in argument and not argument.startswith("-")]
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
        print_line(f"picture: {picture}")
    return OK
