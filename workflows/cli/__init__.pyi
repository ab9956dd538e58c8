from .arguments import (
    CommandLine,
    configs_to_run,
    load_configs,
    parse_command_line,
    read_pairs,
    split_paths,
    split_some_paths,
)
from .camera_arguments import camera_command
from .command import run_guarded
from .console import (
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    OK,
    print_line,
    print_note,
    print_wrapped,
    relative_path,
    result_console,
    terminal_width,
)
from .multirun import run_jobs
from .run_report import run_and_report

__all__ = [
    "BAD_INPUT",
    "FAILED",
    "INTERRUPTED",
    "OK",
    "CommandLine",
    "camera_command",
    "configs_to_run",
    "load_configs",
    "parse_command_line",
    "print_line",
    "print_note",
    "print_wrapped",
    "read_pairs",
    "relative_path",
    "result_console",
    "run_and_report",
    "run_guarded",
    "run_jobs",
    "split_paths",
    "split_some_paths",
    "terminal_width",
]
