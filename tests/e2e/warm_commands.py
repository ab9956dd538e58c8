"""Runs commands of pages one after the other, each in a copy of a process that has everything imported.

Most of what a short command takes is the import of CasADi, SciPy and Hydra, and what is kept in memory from the first
plan on: the robot's model and the functions of the solver. This process imports them once, plans once, and forks for
every line of its input: `{"argv": [...], "cwd": ..., "typed": FILE, "out": FILE, "err": FILE, ...}`, as `WarmProcess`
writes it. It answers with the exit code, -14 where a command took longer than `LIMIT_S`. The first word of `argv` is
`unlatch`, `pytest`, or `python` with a file or `-c`.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import site
import sys
import traceback
from importlib.util import find_spec
from pathlib import Path

import pytest
from hydra.core.plugins import Plugins

import unlatch
from unlatch import command_table
from unlatch.simcore.registry import Catalog
from unlatch.workflows.commands import looking as plan
from unlatch.workflows.commands import looking as preview
from unlatch.workflows.runs.schema import RunCfg
from unlatch.workflows.viewing import clip as page_clip
from unlatch.workflows.viewing import phase_sheet as phase_pictures
from unlatch.workflows.viewing import report_examples as examples

LIMIT_S = 600
WITH_THREADS = ("unlatch.simcore.recording.export.lerobot", "unlatch.workflows.hub")
"""What starts threads when it is imported (pyarrow): a fork takes over the one that called it only."""
OTHERS = (
    *("av.filter", "casadi", "matplotlib.pyplot", "ompl.base", "PIL.Image", "pybullet_data", "pygfx"),
    *("scipy.interpolate", "scipy.ndimage", "scipy.spatial", "toppra", "trimesh.creation", "viser._gui_api"),
    "wgpu.backends.wgpu_native",
)
"""What our modules import inside functions, or on its first use."""


def make_pictures_small() -> None:
    """Without a graphics card, pixels take time: a clip of full size and length takes 8 s."""
    page_clip.MOST_CLIP_FRAMES, page_clip.CLIP_PX = 4, (160, 128)
    preview.PICTURE_SIZE = plan.PICTURE_SIZE = (320, 240)
    phase_pictures.OVERSAMPLED = examples.OVERSAMPLED = 1


def warm_up() -> None:
    RunCfg.__dataclass_fields__["pictures"].default = 1  # to draw an episode takes longer than to make it
    make_pictures_small()
    for module in pkgutil.walk_packages(unlatch.__path__, "unlatch."):
        if not module.name.startswith((*WITH_THREADS, "unlatch.__main__")):
            importlib.import_module(module.name)
    for name in OTHERS:
        if find_spec(name.partition(".")[0]):  # some are of extras
            importlib.import_module(name)
    Plugins.instance()  # Hydra looks for its plugins
    with contextlib.redirect_stdout(io.StringIO()):
        command_table.main(["plan", "task=close_drawer"])
    for found in gc.get_objects():
        if isinstance(found, Catalog):
            found._all = None  # a command sees what is installed by then
    tasks = Path("/proc/self/task")
    if tasks.is_dir() and len(list(tasks.iterdir())) > 1:
        raise RuntimeError("an import has started a thread, which a fork would not take over: see WITH_THREADS")


def run(argv: list[str]) -> int:
    program, *arguments = argv
    if program == "unlatch":
        sys.argv = ["unlatch", *arguments]
        return command_table.main(arguments)
    if program == "pytest":
        sys.argv = ["pytest", *arguments]
        return int(pytest.main(arguments))
    if arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        exec(compile(arguments[1], "<block of a page>", "exec"), {"__name__": "__main__"})
        return 0
    sys.argv = arguments
    runpy.run_path(arguments[0], run_name="__main__")
    return 0


def child(request: dict) -> int:
    """Like a process of its own: in the folder, which is the first place that modules are looked for in."""
    signal.alarm(LIMIT_S)
    os.dup2(os.open(request["typed"], os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdin = os.fdopen(0, closefd=False)  # the other one may have read ahead
    os.chdir(request["cwd"])
    os.environ.update(request["environment"])
    os.environ["PYTHONPATH"] = os.pathsep.join([request["cwd"], os.environ["PYTHONPATH"]])
    sys.path.insert(0, request["cwd"])
    if request["site"]:
        site.addsitedir(request["site"])
    importlib.invalidate_caches()
    try:
        return run(request["argv"])
    except SystemExit as exc:
        return exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does at its top
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warm_up()
    for line in sys.stdin:
        number = os.fork()
        if number == 0:
            code = child(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        answers.write(f"{os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])}\n")
        answers.flush()
