"""`unlatch import`: turns a task file of InternDataEngine or GenSim2 into a task file of Unlatch."""

from __future__ import annotations

from pathlib import Path

from unlatch.configs.config_files import yaml_files
from unlatch.configs.peer_tasks.importer import ImportCfg, ImportedTask, import_tasks, own_robot_file
from unlatch.simcore.errors import ConfigError, count_noun
from unlatch.simcore.files import path_word, user_path, write_whole_file
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_some_paths
from unlatch.workflows.cli.console import BAD_INPUT, OK, print_line, print_note, relative_path


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    paths, pairs = split_some_paths("import", arguments, least=0)
    if len(paths) != 1:
        raise ConfigError(
            f"import got {len(paths)} files, expected one YAML file, then key=value. `unlatch import --help` shows it."
        )
    (path,) = paths
    cfg = read_pairs(ImportCfg, pairs)
    found = import_tasks(path, cfg)
    files = {item.name: user_path(cfg.out) / "task" / f"{item.name}.yaml" for item in found}
    for item in found:
        _check_free(item.name, files[item.name], force=cfg.force)
    for item in found:
        _write(item, files[item.name], cfg)
    return OK if any(item.error is None for item in found) else BAD_INPUT


def _check_free(name: str, file: Path, *, force: bool) -> None:
    if name in yaml_files("task"):
        raise ConfigError(f"There is a task '{name}' already. Expected another name. Add name=NAME.", key="name")
    if file.exists() and not force:
        raise ConfigError(f"{file} exists already. Expected a new file. Add force=true, name= or out=.", key="out")


def _write(item: ImportedTask, file: Path, cfg: ImportCfg) -> None:
    """Writes one task, and prints what became of each value."""
    for line in sorted(item.lines, key=lambda line: not line.is_read):
        print_line(str(line))
    if item.error is not None:
        print_note(f"unlatch: {item.error.message}")
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole_file(file, item.text.encode())
    except OSError as exc:
        raise ConfigError(f"{file} cannot be written: {exc.strerror}. Choose another out=.", key="out") from exc
    robot = own_robot_file(cfg.robot)
    of_robot = [] if robot is None else [relative_path(robot.absolute().parent.parent)]
    folders = dict.fromkeys([str(file.parent.parent), *of_robot])
    where = " ".join(f"--config-dir {path_word(folder)}" for folder in folders)
    left = sum(not line.is_read for line in item.lines)
    print_line(f"task: {file}, {count_noun(len(item.lines) - left, 'value')} read, {left} without a counterpart")
    print_line(f"next: unlatch check task={item.name} {where}")
    print_line(f"      unlatch preview task={item.name} {where}")
    print_line(f"      unlatch collect task={item.name} {where} episodes=4 out=data/{item.name}")
