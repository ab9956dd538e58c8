"""The node view has the ports that it should, and stepping it does what stepping the set-up does."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simcore import randomization as dr

pytestmark = pytest.mark.integration
Stage = Any

FRAME = ({"run", "numEnvs"}, {"execOut", "resetInds", "frameNum"})
FILTER = ({"interval", "frameCounts", "indices", "ignoreInterval", "execIn"}, {"execOut", "indices", "on_reset"})
WRITE = (
    {
        "prims", "attribute", "operation", "distribution", "dist_param_1", "dist_param_2", "num_buckets", "values",
        "indices", "on_reset", "execIn",
    },
    {"execOut"},
)  # fmt: skip
PORTS = {
    "OgnOnRLFrame": FRAME,
    "OgnIntervalFiltering": FILTER,
    "OgnCountIndices": ({"indices"}, {"count"}),
    "Random3f": ({"minimum", "maximum"}, {"output"}),
    "OgnWritePhysicsSimulationContext": WRITE,
    "OgnWritePhysicsRigidPrimView": WRITE,
    "OgnWritePhysicsArticulationView": WRITE,
}


def set_up(stage: Stage) -> None:
    stage.world.set_gravity((0, 0, -9.81))
    for env in range(2):
        for name in ("mass", "force", "material_properties"):
            stage.ball.attribute(name).write(env, np.array({"mass": [1.0], "force": [0] * 3}.get(name, [0.5, 0.5, 0])))
        stage.rig.attribute("joint_positions").write(env, np.zeros(2))
    stage.register()
    with dr.trigger.on_rl_frame(num_envs=2):
        with dr.gate.on_interval(interval=2):
            dr.physics_view.randomize_simulation_context(
                operation="scaling", gravity=dr.distribution.uniform((1, 1, 0), (1, 1, 2))
            )
            dr.physics_view.randomize_rigid_prim_view("ball", force=dr.distribution.uniform((0, 0, 1), (0, 0, 2)))
        with dr.gate.on_env_reset():
            dr.physics_view.randomize_rigid_prim_view(
                "ball",
                num_buckets=4,
                mass=dr.distribution.normal(3.0, 0.1),
                material_properties=dr.distribution.uniform((0.1, 0.1, 0), (0.9, 0.9, 1)),
            )
            dr.physics_view.randomize_articulation_view(
                "rig",
                operation="additive",
                joint_positions=dr.distribution.combine([0.1, dr.distribution.normal(0, 1)]),
            )
    dr.orchestrator.run(np.random.default_rng(0))


def state(stage: Stage) -> list[float]:
    views = ((stage.ball, ("mass", "force", "material_properties")), (stage.rig, ("joint_positions",)))
    values = [view.get(name).ravel() for view, names in views for name in names]
    return np.concatenate([stage.world.gravity_m_s2, *values]).tolist()


RESETS = [[0, 1], None, [], [1], None, None, [0], None, None, None]


def test_every_node_has_its_ports(stage: Callable[[int], Stage]) -> None:
    set_up(stage(2))
    graph = dr.graph()
    graph.step([0, 1])
    graph.step()
    assert {node.type for node in graph.nodes} == set(PORTS)
    for node in graph.nodes:
        assert (set(node.inputs), set(node.outputs)) == PORTS[node.type], node.name
    assert [node.type for node in graph.nodes].count("OgnIntervalFiltering") == 2  # one a gate
    assert [node.type for node in graph.nodes].count("Random3f") == 3  # gravity, force, material


def test_stepping_the_graph_is_stepping_the_set_up(stage: Callable[[int], Stage]) -> None:
    made = stage(2)
    set_up(made)
    expected = []
    for inds in RESETS:
        dr.physics_view.step_randomization(inds)
        expected.append(state(made))
    set_up(made)
    graph = dr.graph()
    for inds, values in zip(RESETS, expected, strict=True):
        graph.step(inds)
        assert state(made) == values


def test_ports_hold_what_went_through_them(stage: Callable[[int], Stage]) -> None:
    made = stage(2)
    set_up(made)
    graph = dr.graph()
    graph.step([0, 1])
    by_attribute = {node.inputs["attribute"]: node for node in graph.nodes if "attribute" in node.inputs}
    reset, interval = graph.node("filter_1"), graph.node("filter_0")
    assert (reset.inputs["ignoreInterval"], reset.outputs["on_reset"]) == (True, True)
    assert (interval.inputs["interval"], interval.inputs["ignoreInterval"]) == (2, False)
    assert reset.outputs["indices"].tolist() == [0, 1]
    assert [graph.node(f"count_{i}").outputs["count"] for i in (0, 1)] == [0, 2]
    mass = by_attribute["mass"].inputs
    assert (mass["distribution"], mass["dist_param_1"], mass["dist_param_2"]) == ("normal", 3.0, 0.1)
    assert mass["values"].tolist() == made.ball.get("mass").tolist()
    assert by_attribute["material_properties"].inputs["num_buckets"] == 4
    graph.step([1])
    graph.step([])
    assert graph.frame.outputs["frameNum"].tolist() == [2, 1]
    force = by_attribute["force"]
    assert force.inputs["indices"].tolist() == [0]
    assert force.inputs["on_reset"] is False
    source = graph.node(force.name.replace("write", "random"))
    assert source.inputs["minimum"].tolist() == [0, 0, 1]
    assert np.array_equal(source.outputs["output"], force.inputs["values"])


def test_a_frame_that_does_not_run_changes_nothing(stage: Callable[[int], Stage]) -> None:
    made = stage(2)
    set_up(made)
    graph = dr.graph()
    graph.step([0, 1])
    before = state(made)
    graph.frame.inputs["run"] = False
    graph.step([0, 1])
    assert state(made) == before
    assert dr.current().steps == 1


def test_the_graph_is_data_and_a_drawing(stage: Callable[[int], Stage]) -> None:
    set_up(stage(2))
    graph = dr.graph()
    graph.step([0, 1])
    content = json.loads(json.dumps(graph.to_dict()))
    assert len(content["nodes"]) == len(graph.nodes)
    names = {node["name"] for node in content["nodes"]}
    assert all({edge["from_node"], edge["to_node"]} <= names for edge in content["edges"])
    texts = [element.text or "" for element in ET.fromstring(graph.to_svg()).iter() if element.tag.endswith("text")]
    for node in graph.nodes:
        assert f"{node.type}  {node.name}" in texts
    assert any(text.startswith("frameCounts: [0, 0]") for text in texts)
