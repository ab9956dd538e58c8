"""`unlatch convert`: one line an object, exit codes, nothing partial."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unlatch.simcore.urdf.reader import read_urdf
from unlatch.workflows.assets.convert import find_assets

URDF = """<?xml version="1.0"?>
<robot name="lamp">
<link name="foot"><visual><geometry><box size="0.3 0.3 0.02"/></geometry></visual>
<collision><geometry><box size="0.3 0.3 0.02"/></geometry></collision></link>
<link name="arm"><visual><origin xyz="0 0 0.2"/><geometry><mesh filename="arm.obj"/></geometry></visual></link>
<joint name="bend" type="revolute"><origin xyz="0 0 0.02"/><parent link="foot"/><child link="arm"/>
<axis xyz="1 0 0"/><limit lower="0" upper="1" effort="5" velocity="2"/></joint>
</robot>
"""
BOX = (
    "v 0 0 0\nv 0.1 0 0\nv 0.1 0.1 0\nv 0 0.1 0\nv 0 0 0.2\nv 0.1 0 0.2\nv 0.1 0.1 0.2\nv 0 0.1 0.2\n"
    "f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"
)


@pytest.fixture
def cwd(tmp_path, monkeypatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture
def lamp(cwd) -> Path:
    folder = cwd / "in"
    folder.mkdir()
    (folder / "arm.obj").write_text(BOX)
    path = folder / "lamp.urdf"
    path.write_text(URDF)
    return path


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(run_command) -> Run:
    return partial(run_command, "convert")


def test_one_urdf_is_one_line_and_is_converted_again_only_where_something_changed(run, lamp, cwd):
    code, out, err = run(lamp, "link_density=500")
    place = cwd / "work" / "converted" / "lamp" / "lamp.urdf"
    assert (code, out.count("\n"), err) == (0, 1, "")
    assert out.startswith(f"lamp: {place} (")
    assert read_urdf(place).links["arm"].inertial.mass_kg == pytest.approx(1.0, rel=1e-5)
    assert "(up to date)" in run(lamp, "link_density=500")[1]
    assert "(up to date)" not in run(lamp, "link_density=500", "force=true")[1]
    assert "(up to date)" not in run(lamp, "fix_base=false")[1]


def test_a_mesh_takes_the_keys_of_meshes(run, lamp, cwd):
    keys = ["mass=2.5", "scale=2", "translation=[0,0,1]", "collision_approximation=boundingCube"]
    assert run(lamp.parent / "arm.obj", *keys, f"out={cwd}/o")[0] == 0
    link = read_urdf(cwd / "o" / "arm" / "arm.urdf").links["base_link"]
    assert link.inertial.mass_kg == pytest.approx(2.5)
    assert link.collisions[0].size == pytest.approx((0.2, 0.2, 0.4))
    np.testing.assert_allclose(link.inertial.com_link, [0.1, 0.1, 1.2], atol=1e-6)


def test_a_partnet_folder_has_the_scale_of_its_info(run, lamp, cwd):
    folder = lamp.parent
    lamp.rename(folder / "mobility.urdf")
    (folder / "info.json").write_text('{"scale": 0.5}')
    assert run(folder)[0] == 0
    model = read_urdf(cwd / "work" / "converted" / "in" / "mobility.urdf")
    assert model.joints["bend"].T_parent_joint.p[2] == pytest.approx(0.01)


@pytest.fixture
def folder(lamp, cwd) -> Path:
    """Two good objects, and one whose mesh is missing."""
    root = cwd / "many"
    for name in ("a", "b/deep", "c"):
        shutil.copytree(lamp.parent, root / name)
    (root / "c" / "arm.obj").unlink()
    return root


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_folder_is_converted_object_by_object(workers, run, folder, cwd):
    code, out, err = run(folder, f"workers={workers}", "link_density=500")
    assert code == 2
    lines = out.splitlines()
    assert sorted(line.split("] ")[1].split(":")[0] for line in lines[:-1]) == ["a/lamp", "b/deep/lamp"]
    assert lines[-1].startswith("3 objects: 2 converted, 0 up to date, 1 failed; ")
    assert "c/lamp: " in err
    assert "file 'arm.obj' is missing" in err
    assert err.count("\n") == 1
    assert sorted(p.name for p in (cwd / "work" / "converted").iterdir()) == ["a", "b"]


def test_results_are_no_input_of_the_next_run(run, folder):
    run(folder, f"out={folder}/converted")
    before = find_assets(folder)
    assert sorted(before) == ["a/lamp", "b/deep/lamp", "c/lamp"]
    assert "2 up to date" in run(folder, f"out={folder}/converted")[1]


def test_files_of_one_name_keep_apart(lamp):
    lamp.unlink()
    import trimesh

    trimesh.creation.box().export(lamp.parent / "arm.stl")
    assert list(find_assets(lamp.parent)) == ["arm", "arm_stl"]


def test_of_a_package_the_urdfs_are_converted_not_their_meshes(run, lamp, cwd):
    package = cwd / "ws" / "lamp"
    for folder in ("urdf", "meshes"):
        (package / folder).mkdir(parents=True)
    shutil.copy(lamp.parent / "arm.obj", package / "meshes" / "arm.obj")
    (package / "urdf" / "lamp.urdf").write_text(URDF.replace("arm.obj", "package://lamp_description/meshes/arm.obj"))
    assert sorted(find_assets(package)) == ["meshes/arm", "urdf/lamp"]
    (package / "package.xml").write_text("<package><name>lamp_description</name></package>")
    assert list(find_assets(package)) == ["urdf/lamp"]
    code, said, _ = run(package)
    assert code == 0
    assert (cwd / "work" / "converted" / "urdf" / "lamp" / "source" / "meshes" / "arm.obj").is_file(), said
    _, said, _ = run(package)
    assert "up to date" in said
    (package / "meshes" / "arm.obj").write_text(BOX.replace("0.2", "0.3"))
    _, said, _ = run(package)
    assert "up to date" not in said


def test_the_report_measures_and_draws(run, lamp, cwd):
    code, out, _ = run(lamp, "report=true", "link_density=500", f"out={cwd}/o")
    assert code == 0
    assert "parts, 1.90 kg, " in out
    report = json.loads((cwd / "o" / "lamp.report.json").read_text())
    assert report["mass_kg"] == pytest.approx(500 * (0.3 * 0.3 * 0.02 + 0.1 * 0.1 * 0.2), abs=0.002)
    assert report["parts"] == 2
    assert report["joints"]["bend"]["travel"] == pytest.approx(1.0, abs=1e-2)
    assert set(report["joints"]["bend"]["overlap_m"]) == {"lower", "half", "upper"}
    assert report["links"]["arm"]["volume_ratio"] == pytest.approx(1.0, rel=1e-3)
    assert report["links"]["arm"]["hausdorff_m"] < 0.01
    assert report["links"]["arm"]["inertia"] == "sane"
    picture = np.asarray(Image.open(cwd / "o" / "lamp.report.png"))
    height, width = picture.shape[:2]
    upper = picture[: height // 2]
    assert np.abs(upper[:, : width // 2].astype(int) - upper[:, width // 2 :]).max() > 50  # closed is not open
    assert np.abs(picture[: height // 2].astype(int) - picture[height - height // 2 :]).max() > 50


@pytest.mark.parametrize(
    ("upper", "said"), [('upper="0"', "has no range"), ('upper="1"', "overlap the rest")], ids=["range", "overlap"]
)
def test_the_report_names_what_is_wrong(upper, said, run, lamp, cwd):
    lamp.write_text(URDF.replace('xyz="0 0 0.02"', 'xyz="0 0 -0.3"').replace('upper="1"', upper))
    run(lamp, "report=true", f"out={cwd}/o")
    problems = json.loads((cwd / "o" / "lamp.report.json").read_text())["problems"]
    assert any(said in problem for problem in problems)


def test_a_folder_with_files_of_the_user_is_not_written_into(assert_refused, lamp, cwd):
    (cwd / "lamp").mkdir()
    (cwd / "lamp" / "mine.txt").write_text("mine")
    said = assert_refused("convert", lamp, f"out={lamp.parent.parent}", text="", folder=cwd)
    assert re.search("holds files that no converter|holds the asset itself", said)


@pytest.mark.heavy
@pytest.mark.slow
def test_a_conversion_that_is_killed_leaves_nothing_that_counts(lamp, cwd):
    import trimesh

    rough = trimesh.creation.torus(0.4, 0.15, major_sections=40, minor_sections=20)
    rough.vertices += 0.004 * np.sin(97 * rough.vertices[:, ::-1])
    rough.export(lamp.parent / "arm.obj")
    command = [sys.executable, "-m", "unlatch", "convert", str(lamp), f"out={cwd}/o"]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list((cwd / "o").glob(".writing-*")) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    child.kill()
    child.wait()
    assert not (cwd / "o" / "lamp").exists()
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert (cwd / "o" / "lamp" / "lamp.urdf").is_file()
