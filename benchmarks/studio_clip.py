"""Makes the clip of docs/tasks.md: drives `unlatch studio` in a browser and takes a picture of every step.

Usage: python benchmarks/studio_clip.py [out=docs/images/studio.webp] [width=900]

It opens a task, moves the region, goes through the plan, adds a constraint that contradicts another one, takes the
remedy that the page offers, and runs the episode of the mended task. A step that does not lead to what the clip is to
show ends the script with what the page says. The packages of the extra `dev` and a Chromium are needed.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from unlatch.simcore.errors import UnlatchError, check_range
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded

WINDOW_PX = (1400, 860)
"""Size of the browser's window [pixels]."""
MOST_BYTES = 1_500_000
_IDLE = "window.studio && window.studio.scene_is_drawn && !Object.keys(window.studio.busy).length"
_PLANNED = f"{_IDLE} && window.studio.plan && !window.studio.plan_is_old"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_DRAWS_WITHOUT_GPU = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--webgl-antialiasing-mode=none",  # takes a quarter of the time; edges are smoothed as pictures are made smaller
)
_WAIT_MS = 240_000
CONSTRAINT = """\
        - type: point2point_constraint
          keypoint_name: tool_side
          target_keypoint_name: articulated_object_head
          tolerance: 0.01
"""
"""The constraint that is added: the task puts another point of the hand at the same point of the handle."""
REMEDY = "constraint_list[3]"
"""How the remedy begins that loosens it."""


@dataclass
class ClipCfg:
    """The keys of the script."""

    out: str = "docs/images/studio.webp"
    """File to write."""
    width: int = 900
    """Width of the clip [pixels]."""

    def __post_init__(self) -> None:
        check_range("width", self.width, 200, WINDOW_PX[0])


class Recorder:
    """Takes pictures of a page."""

    def __init__(self, page: Any, width: int) -> None:
        self._page, self._width = page, width
        self.pictures: list[Image.Image] = []
        self.durations_ms: list[int] = []

    def take(self, duration_ms: int) -> None:
        """Adds a picture once the browser has drawn what the page has sent."""
        scene = next(frame for frame in self._page.frames if "/scene" in frame.url)
        scene.evaluate(
            "() => new Promise((done) => { let drawn = 0;"
            " const next = () => (++drawn > 3 ? done() : requestAnimationFrame(next)); next(); })"
        )
        picture = Image.open(io.BytesIO(self._page.screenshot(timeout=_WAIT_MS))).convert("RGB")
        height = round(self._width * picture.height / picture.width)
        self.pictures.append(picture.resize((self._width, height), Image.Resampling.LANCZOS))
        self.durations_ms.append(duration_ms)

    def save(self, out: Path) -> int:
        """Writes the clip, with less quality where it would be too large; returns its bytes."""
        first, *rest = self.pictures
        for quality in (70, 50, 30):
            first.save(
                out, save_all=True, append_images=rest, duration=self.durations_ms, loop=0, quality=quality, method=6
            )
            if out.stat().st_size <= MOST_BYTES:
                break
        return out.stat().st_size


def main(arguments: list[str]) -> int:
    """Makes the clip; returns the exit code."""
    cfg = read_pairs(ClipCfg, arguments)
    path = next((found for name in _BROWSERS if (found := shutil.which(name))), None)
    with _studio() as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(_DRAWS_WITHOUT_GPU))
        page = browser.new_page(viewport={"width": WINDOW_PX[0], "height": WINDOW_PX[1]})
        page.set_default_timeout(_WAIT_MS)
        page.goto(url)
        _wait_for_plan(page)
        if page.is_visible("#slow"):
            page.click("#slow button")
            page.evaluate("document.getElementById('slow').style.visibility = 'hidden'")
        page.wait_for_timeout(5000)
        recorder = Recorder(page, cfg.width)
        _record(page, recorder)
        browser.close()
    size = recorder.save(Path(cfg.out))
    print_line(f"{cfg.out}: {len(recorder.pictures)} pictures, {size / 1e6:.2f} MB")
    return OK


def _record(page: Any, recorder: Recorder) -> None:
    """Does what the clip shows."""
    recorder.take(1500)
    for x in (0.65, 0.62):
        _fill(page, "#region-0-center_m-0", str(x), f"window.studio.scene.regions[0].center_m[0] === {x}")
        recorder.take(300)
    recorder.durations_ms[-1] = 1200
    for share in range(1, 6):
        _show(page, "plan", share / 5)
        recorder.take(350)
    recorder.durations_ms[-1] = 900
    _show(page, "scene", 0.0)
    _fill(page, "#tolerance-0-1", "0.06", "window.studio.document.text.includes('constraint_list')")
    page.fill("#text", add_constraint(page.input_value("#text")))
    _wait_for_plan(page, "!window.studio.plan.found")
    page.evaluate("document.getElementById('panels').scrollTop = 0")
    _show_end_of_text(page)
    recorder.take(3000)
    page.locator("#verdict li", has_text=REMEDY).locator("button.apply").click()
    _wait_for_plan(page, "!window.studio.plan.plans[0].contradictions.length")
    _check(page, "plan", "window.studio.plan.found")
    _show_end_of_text(page)
    recorder.take(2000)
    page.click("#run")
    page.wait_for_function(f"{_IDLE} && (window.studio.run_problem || window.studio.run && !window.studio.run_is_old)")
    _check(page, "run", "window.studio.run && window.studio.run.success")
    for share in range(1, 8):
        _show(page, "run", share / 7)
        recorder.take(350)
    recorder.durations_ms[-1] = 3000


def add_constraint(text: str) -> str:
    """Returns the text of the task with `CONSTRAINT` at the end of its list of constraints.

    Raises:
        UnlatchError: The text has no such list.
    """
    before, key, after = text.partition("constraint_list:\n")
    if not key:
        raise UnlatchError("The task file on the page has no constraint_list. Change the steps of the script.")
    item = CONSTRAINT.partition("-")[0]
    lines = after.splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if not line.startswith(item)), len(lines))
    return "".join([before, key, *lines[:end], CONSTRAINT, *lines[end:]])


def _wait_for_plan(page: Any, condition: str = "true") -> None:
    """Waits until the text on the page is planned and a condition holds.

    Raises:
        UnlatchError: The text has a mistake, or could not be planned, so that there will be no plan of it.
    """
    mistaken = f"{_IDLE} && (window.studio.scene_is_old || window.studio.plan_problem)"
    page.wait_for_function(f"({_PLANNED} && ({condition})) || ({mistaken})")
    _check(page, "plan", f"!({mistaken})")


def _check(page: Any, what: str, condition: str) -> None:
    """Raises what the page says where a condition does not hold."""
    if not page.evaluate(condition):
        said = " ".join(page.inner_text(place) for place in ("#problem", "#verdict") if page.is_visible(place))
        raise UnlatchError(f"The clip cannot show its {what}. Change the steps of the script. The page says: {said}")


def _show_end_of_text(page: Any) -> None:
    page.evaluate("() => { const text = document.getElementById('text'); text.scrollTop = text.scrollHeight; }")


def _fill(page: Any, field: str, value: str, condition: str) -> None:
    """Fills in a field, and waits until the condition says that the change has arrived, and is planned."""
    page.fill(field, value)
    page.press(field, "Enter")
    _wait_for_plan(page, condition)


def _show(page: Any, of: str, share: float) -> None:
    """Shows a moment of the plan or of the run, from 0 to 1."""
    page.evaluate(
        "async ([of, share]) => { const shown = window.studio[of]; const last = of === 'scene' ? 0 : shown.frames - 1;"
        " await fetch('/action', { method: 'POST', headers: { 'Content-Type': 'application/json' },"
        " body: JSON.stringify({ action: 'clock', of, frame: Math.round(share * last), playing: false }) }); }",
        [of, share],
    )
    page.wait_for_timeout(500)
    page.wait_for_function(_IDLE)


@contextmanager
def _studio() -> Iterator[str]:
    """Serves the page in a process of its own; yields its address."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "unlatch", "studio", "task=open_microwave", "port=0"],
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
        )
        try:
            found = re.match(r"studio: (http\S+)", process.stdout.readline() if process.stdout else "")
            if found is None:
                raise UnlatchError("unlatch studio did not start. Run it by itself to see why.")
            yield found[1]
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
