"""`unlatch schema`: writes the JSON Schema of task files, for editors."""

from __future__ import annotations

import json

from unlatch.configs.json_schema import task_schema
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.files import user_path
from unlatch.workflows.cli.command import command
from unlatch.workflows.cli.command_line import split_paths
from unlatch.workflows.cli.console import OK, print_line


@command
def main(arguments: list[str]) -> int:
    """Runs the command; returns its exit code."""
    _, rest = split_paths("schema", arguments, count=0)
    out = [text.removeprefix("out=") for text in rest]
    if len(out) > 1 or any(not text.startswith("out=") for text in rest):
        raise ConfigError(f"schema got '{' '.join(rest)}', expected out=FILE or nothing. Remove the rest.")
    text = json.dumps(task_schema(), indent=1)
    if not out:
        print_line(text)
        return OK
    path = user_path(out[0])
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror}. Choose another out=.", key="out") from exc
    print_line(f"schema: {path}")
    return OK
