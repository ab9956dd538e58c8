"""The Panda for pictures is the Panda of the simulation with other visual meshes."""

import xml.etree.ElementTree as ET

import pytest

from unlatch.robots import made_models
from unlatch.robots.catalog import load_robot
from unlatch.robots.models import drawn_model_path, model_path

pytestmark = pytest.mark.skipif(made_models._find_meshes() is None, reason="the extra 'render' is not installed")


def without_visuals(path):
    robot = ET.parse(path).getroot()
    for link in robot.iter("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode").replace("package://", "")


def test_joints_masses_and_colliders_are_those_of_the_simulation():
    robot = load_robot("dual_panda")
    assert without_visuals(drawn_model_path(robot)) == without_visuals(model_path(robot))


def test_the_base_has_visual_meshes_of_several_colours_that_exist():
    path = drawn_model_path(load_robot("franka_panda"))
    base = next(link for link in ET.parse(path).getroot().iter("link") if link.get("name") == "panda_link0")
    colours = {color.get("rgba") for color in base.iterfind("visual/material/color")}
    meshes = [path.parent / mesh.get("filename", "") for mesh in base.iterfind("visual/geometry/mesh")]
    assert len(colours) == len(meshes) >= 2
    assert all("collision" not in str(mesh) and mesh.is_file() for mesh in meshes)


def test_without_the_package_of_meshes_the_model_of_the_simulation_is_drawn(monkeypatch):
    monkeypatch.setattr(made_models, "find_spec", lambda name: None)
    source = model_path("franka_panda")
    assert made_models._make_drawn_panda.__wrapped__(source.parent, source) == source
