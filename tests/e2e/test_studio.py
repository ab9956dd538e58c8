"""`unlatch studio` in a browser: run, save, and collect the saved file; drag a region, see a diagnosis, mend it."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.running import Commands, start
from unlatch.simcore.recording.data_set import DataSet
from unlatch.simcore.sim.visuals.pictures import LookAtCamera, project_points
from unlatch.workflows.studio.server import EYE_M, TARGET_M
from unlatch.workflows.viewing.recorded_scene import FOV_DEG

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

LIMIT_MS = 240_000
WAITS_S = (1.0, 6.0, 20.0, 60.0)
"""Times in which the browser builds what it has received of the scene, tried in turn: nothing says when it has."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DRAWS_WITHOUT_GPU = (
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--webgl-antialiasing-mode=none",  # a frame takes a quarter to a half of the time
)
NODES = "Object.keys(window.__viserSceneTree ? window.__viserSceneTree.getState() : {})"
"""Names of what viser has received, which it tells its own tests."""
IDLE = "window.studio && window.studio.scene && !Object.keys(window.studio.busy).length"
PLANNED = f"{IDLE} && window.studio.plan && !window.studio.plan_is_old"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="the extra `dev` brings playwright")
    path = next((found for name in NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(DRAWS_WITHOUT_GPU))
        yield opened
        opened.close()


@contextmanager
def studio(folder: Path, *arguments: str) -> Iterator[str]:
    """Serves the page with `folder` as the current one; yields its address."""
    process = start(["-m", "unlatch", "studio", *arguments, "port=0"], folder)
    try:
        found = re.match(r"studio: (http\S+)", process.stdout.readline())
        assert found is not None, process.communicate()[1]
        yield found[1]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60.0)
        # also while it draws or plans
        assert process.returncode == 0, errors
        assert not re.search(r"Traceback|Fatal|closed connection", errors), errors
    finally:
        process.kill()
        process.communicate(timeout=60.0)


def open_page(browser: Any, url: str) -> tuple[Any, list[str]]:
    """Returns the page once the first plan is there, and the list of errors of its script."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_default_timeout(LIMIT_MS)
    page.goto(url)
    stop_drawing(page)
    page.wait_for_function(PLANNED)
    return page, errors


def stop_drawing(page: Any) -> None:
    """Moves the scene out of sight until the page is loaded again.

    The scene follows all that happens, but is not drawn. Without a GPU, drawing keeps a core busy.
    """
    page.add_style_tag(content="#view { position: fixed; left: -200vw; }")


def pixel_of(page: Any, p_world: tuple[float, float, float]) -> tuple[float, float]:
    """Returns where the page shows a point of the world frame [m] as long as nobody has turned the view."""
    box = page.locator("#view").bounding_box()
    camera = LookAtCamera(EYE_M, TARGET_M, FOV_DEG)
    ((u, v),) = project_points(camera, np.array([p_world]), width=round(box["width"]), height=round(box["height"]))
    return box["x"] + float(u), box["y"] + float(v)


def scene_of(page: Any) -> Any:
    """Returns the frame of the page in which viser draws."""
    return next(frame for frame in page.frames if "/scene" in frame.url)


def wait_for_frames(page: Any, count: int) -> None:
    """Waits until the browser has drawn the scene so many times: without a GPU, that takes up to a second each."""
    scene = scene_of(page)
    scene.evaluate(
        "() => { const next = () => { window.drawn += 1; requestAnimationFrame(next); };"
        " if (window.drawn === undefined) next(); window.drawn = 0; }"
    )
    # not a promise in `evaluate`: that has no time limit, and a browser that no longer draws never keeps it
    scene.wait_for_function("(count) => window.drawn > count", arg=count, polling=50)


def wait_until_still(page: Any) -> None:
    """Waits until the text has not changed for a while: a browser without a GPU is late with what the mouse did."""
    texts = [""]
    for _ in range(60):
        if texts[-1] == texts[0] and len(texts) == 5:
            break
        page.wait_for_timeout(1000)
        texts = [*texts[-4:], page.input_value("#text")]
    page.wait_for_function(PLANNED)


def set_number(page: Any, field: str, value: str) -> None:
    page.fill(field, value)
    page.press(field, "Enter")


def test_a_task_is_run_saved_and_collected(browser: Any, tmp_path: Path, commands: Commands):
    with studio(tmp_path, "task=open_microwave") as url:
        page, errors = open_page(browser, url)
        assert page.input_value("#text").startswith("# @package _global_\ndefaults:\n  - open_microwave\n")
        page.click("#run")
        page.wait_for_function(f"{IDLE} && window.studio.run && !window.studio.run_is_old")
        assert page.evaluate("window.studio.run.outcome") == "success", page.evaluate("window.studio.run.notes")
        assert "success" in page.inner_text("#outcome")
        assert page.evaluate("window.studio.clock.of") == "run"
        page.wait_for_function("window.studio.clock.frame > 5")

        mistype_a_key(page)
        page.fill("#path", str(tmp_path / "mine" / "task" / "mine.yaml"))
        page.click("#save")
        page.wait_for_function("window.studio.document.is_saved")
        assert f"unlatch collect task=mine --config-dir {tmp_path / 'mine'}" in page.inner_text("#saved")
        text = page.input_value("#text")
        assert errors == []
        page.close()
    assert (tmp_path / "mine" / "task" / "mine.yaml").read_text() == text
    words = ["task=mine", "--config-dir", str(tmp_path / "mine"), "episodes=1", "executor=serial", "pictures=0"]
    done = commands.run(["unlatch", "collect", *words, "out=data"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert DataSet.open(tmp_path / "data").read(0).success


@pytest.mark.heavy
def test_a_region_is_dragged_and_a_contradiction_mended_by_its_remedy(browser: Any, tmp_path: Path):
    with studio(tmp_path, "task=open_microwave") as url:
        page, errors = open_page(browser, url)
        narrow_the_bar_of_phases(page)
        drag_region(page)
        mend_a_diagnosis(page)
        assert errors == []
        page.close()


def narrow_the_bar_of_phases(page: Any) -> None:
    """Words of the bar that do not fit are left out, not cut; they come back where there is room."""
    cut = "[...document.querySelectorAll('#band span')].filter((piece) => piece.scrollWidth > piece.clientWidth).length"
    left_out = "[...document.querySelectorAll('#band span')].some((piece) => !piece.textContent && piece.title)"
    assert page.inner_text("#band span:first-child") == "transit"
    page.set_viewport_size({"width": 360, "height": 900})
    page.wait_for_function(left_out)
    assert page.evaluate(cut) == 0
    page.set_viewport_size({"width": 1400, "height": 900})
    page.wait_for_function(f"!{left_out}")
    assert page.evaluate(cut) == 0


def drag_region(page: Any) -> None:
    """Drags the region towards the robot by its arrow; the layout of the episode moves with it."""
    (region,) = page.evaluate("window.studio.scene.regions")
    (x, y), low = region["center_m"], region["height_m"][0]
    for wait_s in WAITS_S:
        page.reload()  # a drag beside the arrow has turned the view
        page.wait_for_function(PLANNED)
        scene_of(page).wait_for_function(f"{NODES}.some((name) => name.startsWith('/region_corners/'))")
        page.wait_for_timeout(1e3 * wait_s)
        start, end = pixel_of(page, (x + 0.13, y, low)), pixel_of(page, (x + 0.08, y, low))
        wait_for_frames(page, 3)
        page.mouse.move(*start)
        wait_for_frames(page, 3)
        page.mouse.down()
        for share in np.linspace(0.0, 1.0, 6):
            page.mouse.move(*(a + share * (b - a) for a, b in zip(start, end, strict=True)))
            wait_for_frames(page, 3)
        page.mouse.up()
        wait_for_frames(page, 3)
        stop_drawing(page)
        wait_until_still(page)
        if page.evaluate("window.studio.document.can_undo"):
            break
    moved = page.evaluate("window.studio.scene.regions[0].center_m")
    assert moved[0] == pytest.approx(x - 0.05, abs=0.025)
    assert moved[1] == pytest.approx(y, abs=0.002), "the arrow moves it along x only"
    assert f"center_m: [{moved[0]}, " in page.input_value("#text")
    page.click("#undo")
    page.wait_for_function(f"window.studio.scene.regions[0].center_m[0] === {x}")
    assert "regions" not in page.input_value("#text"), "a drag is one change"
    page.click("#redo")
    page.wait_for_function(f"window.studio.scene.regions[0].center_m[0] === {moved[0]}")


def mend_a_diagnosis(page: Any) -> None:
    """Adds a constraint that contradicts another one, reads why there is no plan, and takes the remedy."""
    set_number(page, "#tolerance-0-1", "0.06")  # brings the list of constraints into the text
    page.wait_for_function(f"{PLANNED} && window.studio.document.text.includes('constraint_list')")
    entry = (
        "        - {type: point2point_constraint, keypoint_name: tool_head, "
        "target_keypoint_name: link_contact_point, tolerance: 0.01}\n"
    )
    after = "      hand: panda"
    page.fill("#text", page.input_value("#text").replace(after, entry + after))
    page.wait_for_function(f"{PLANNED} && !window.studio.plan.found")
    assert "not found" in page.inner_text("#planned")
    assert "contradict each other" in page.inner_text("#verdict")
    page.wait_for_function("document.getElementById('problem').textContent.includes('The plan below says which')")
    assert page.locator(".constraint.contradicts").count() == 2
    remedy = page.locator("#verdict li", has_text="constraint_list[3]")
    assert "a tolerance of" in remedy.inner_text()
    remedy.locator("button.apply").click()
    page.wait_for_function(f"{PLANNED} && !window.studio.plan.plans[0].contradictions.length")
    assert page.locator(".constraint.contradicts").count() == 0
    assert not page.is_visible("#problem")
    set_number(page, "#tolerance-0-3", "0.2")  # at the least tolerance, the hand meets the door
    page.wait_for_function(f"{PLANNED} && window.studio.plan.found")
    assert "target_keypoint_name: link_contact_point, tolerance: 0.2}" in page.input_value("#text")


def mistype_a_key(page: Any) -> None:
    """Types a wrong key: its line is marked, nothing is saved, and the scene stays."""
    right = page.input_value("#text")
    page.fill("#text", right.replace("task:\n", "task:\n  nmae: mine\n"))
    page.wait_for_function("window.studio.problem")
    line = right.splitlines().index("task:") + 2
    assert page.evaluate("window.studio.problem.line") == line
    assert "Did you mean 'name'" in page.inner_text("#problem")
    assert page.inner_text("#gutter b") == str(line)
    page.click("#save")
    page.wait_for_function("!document.getElementById('error').hidden")
    assert "Not saved" in page.inner_text("#error")
    page.fill("#text", right)
    page.wait_for_function(f"{IDLE} && !window.studio.problem")


@pytest.mark.heavy
def test_a_task_is_derived_from_an_object_and_its_setting_written_out(browser: Any, tmp_path: Path):
    with studio(tmp_path, "object=cabinet", "skill=open") as url:
        page, errors = open_page(browser, url)
        assert page.evaluate("window.studio.plan.found"), page.evaluate("window.studio.plan")
        assert page.is_disabled("#tolerance-1-0")
        page.click("#write-1")
        page.wait_for_function(f"{PLANNED} && !window.studio.scene.skills[1].derived")
        assert page.is_enabled("#tolerance-1-0")
        assert "constraint_list" in page.input_value("#text")
        first = page.evaluate("window.studio.scene.lines")
        page.click("#next")
        page.wait_for_function(f"{IDLE} && window.studio.scene.episode === 1")
        assert page.evaluate("window.studio.scene.lines") != first, "another instance"
        assert errors == []
        page.close()
