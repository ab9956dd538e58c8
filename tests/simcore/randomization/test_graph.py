"""The node view has the ports that it should, and stepping it does what stepping the set-up does."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from unlatch import randomization as dr

pytestmark = pytest.mark.integration
FILTER = {"interval", "frameCounts", "indices", "ignoreInterval", "execIn", "execOut", "on_reset"}
WRITE = {
    "prims", "attribute", "operation", "distribution", "dist_param_1", "dist_param_2", "num_buckets", "values",
    "indices", "on_reset", "execIn", "execOut",
}  # fmt: skip
PORTS = {
    "OgnOnRLFrame": {"run", "numEnvs", "execOut", "resetInds", "frameNum"},
    "OgnIntervalFiltering": FILTER,
    "OgnCountIndices": {"indices", "count"},
    "Random3f": {"minimum", "maximum", "output"},
    "OgnWritePhysicsSimulationContext": WRITE,
    "OgnWritePhysicsRigidPrimView": WRITE,
    "OgnWritePhysicsArticulationView": WRITE,
}


def set_up(stage):
    stage.world.set_gravity((0, 0, -9.81))
    for env in range(2):
        for name, value in (("mass", [1.0]), ("force", [0.0] * 3), ("material_properties", [0.5, 0.5, 0.0])):
            stage.ball.attribute(name).write(env, np.array(value))
        stage.rig.attribute("joint_positions").write(env, np.zeros(2))
    stage.register()
    view, uniform = dr.physics_view, dr.distribution.uniform
    with dr.trigger.on_rl_frame(num_envs=2):
        with dr.gate.on_interval(interval=2):
            view.randomize_simulation_context(operation="scaling", gravity=uniform((1, 1, 0), (1, 1, 2)))
            view.randomize_rigid_prim_view("ball", force=uniform((0, 0, 1), (0, 0, 2)))
        with dr.gate.on_env_reset():
            view.randomize_rigid_prim_view(
                "ball",
                num_buckets=4,
                mass=dr.distribution.normal(3.0, 0.1),
                material_properties=uniform((0.1, 0.1, 0), (0.9, 0.9, 1)),
            )
            turned = dr.distribution.combine([0.1, dr.distribution.normal(0, 1)])
            view.randomize_articulation_view("rig", operation="additive", joint_positions=turned)
    dr.orchestrator.run(np.random.default_rng(0))
    return dr.graph()


@pytest.fixture
def made(stage):
    return stage(2)


@pytest.fixture
def graph(made):
    return set_up(made)


def state(stage):
    views = ((stage.ball, ("mass", "force", "material_properties")), (stage.rig, ("joint_positions",)))
    values = [view.get(name).ravel() for view, names in views for name in names]
    return np.concatenate([stage.world.gravity_m_s2, *values]).tolist()


def ports(node):
    """All ports of a node as plain values, inputs first."""
    plain = {**{f"in {k}": v for k, v in node.inputs.items()}, **{f"out {k}": v for k, v in node.outputs.items()}}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in plain.items()}


def test_stepping_the_graph_is_stepping_the_set_up(made):
    set_up(made)
    resets, expected = [[0, 1], None, [], [1], None, None, [0], None, None, None], []
    for inds in resets:
        dr.physics_view.step_randomization(inds)
        expected.append(state(made))
    graph = set_up(made)
    for inds, values in zip(resets, expected, strict=True):
        graph.step(inds)
        assert state(made) == values


def test_the_frame_trigger_outputs_resets_and_counters_and_changes_nothing_where_it_does_not_run(made, graph):
    still = {"in run": True, "in numEnvs": 2, "out execOut": False, "out resetInds": [], "out frameNum": [0, 0]}
    assert ports(graph.frame) == still
    for inds, reset, counts in (([0, 1], [0, 1], [0, 0]), (None, [], [1, 1]), ([1], [1], [2, 0])):
        graph.step(inds)
        assert ports(graph.frame) == still | {"out execOut": True, "out resetInds": reset, "out frameNum": counts}
    before = state(made)
    graph.frame.inputs["run"] = False
    graph.step([0, 1])
    assert graph.frame.outputs["execOut"] is False
    assert state(made) == before
    assert dr.current().steps == 3


def test_filters_pass_environments_at_the_interval_or_at_a_reset(graph):
    interval, reset = graph.node("filter_0"), graph.node("filter_1")
    always = {"in interval": 2, "in ignoreInterval": False, "out on_reset": False}
    ignoring = {"in interval": 0, "in ignoreInterval": True, "out on_reset": True}
    # reset of, frame counts then, through the filter of the interval, through that of resets
    for inds, counts, at_interval, at_reset in (
        ([0, 1], [0, 0], [], [0, 1]),
        ([], [1, 1], [], []),
        ([0], [0, 2], [1], [0]),
        ([], [1, 3], [], []),
        ([], [2, 4], [0, 1], []),
    ):
        graph.step(inds)
        shared = {"in frameCounts": counts, "in indices": inds, "in execIn": True}
        for node, own, through in ((interval, always, at_interval), (reset, ignoring, at_reset)):
            assert ports(node) == own | shared | {"out execOut": bool(through), "out indices": through}
            count = graph.node(node.name.replace("filter", "count"))
            assert ports(count) == {"in indices": through, "out count": len(through)}


def test_a_filter_that_ignores_its_interval_passes_all_inputs(made, graph):
    graph.node("filter_0").inputs.update(ignoreInterval=True)
    graph.step([1])
    assert graph.node("filter_0").outputs["indices"].tolist() == [1]
    force = made.ball.get("force")
    assert not force[0].any()
    assert 1.0 <= force[1][2] <= 2.0


def test_write_nodes_name_their_attribute_and_distribution_and_hold_the_values_of_the_last_step(made, graph):
    shared = {"in num_buckets": None, "in on_reset": True, "in execIn": True, "in indices": [1], "out execOut": True}
    none = shared | {"in on_reset": False, "in execIn": False, "in indices": [], "in values": [], "out execOut": False}
    names = ("in prims", "in attribute", "in operation", "in distribution", "in dist_param_1", "in dist_param_2")
    combined = [{"type": "constant", "value": 0.1}, {"type": "normal", "mean": 0.0, "std": 1.0}]
    rows = [
        ("simulation_context", "gravity", "scaling", "uniform", [1, 1, 0], [1, 1, 2]),
        ("ball", "force", "direct", "uniform", [0, 0, 1], [0, 0, 2]),
        ("ball", "mass", "direct", "normal", 3.0, 0.1),
        ("ball", "material_properties", "direct", "uniform", [0.1, 0.1, 0], [0.9, 0.9, 1]),
        ("rig", "joint_positions", "additive", "combine", combined, None),
    ]
    said = [dict(zip(names, row, strict=True)) for row in rows]
    graph.step([1])
    found = [ports(graph.node(f"write_{index}")) for index in range(5)]
    for index in (0, 1):
        assert found[index] == said[index] | none
    for index, view in ((2, made.ball), (3, made.ball), (4, made.rig)):
        values = view.get(rows[index][1])[[1]].tolist()
        buckets = {"in num_buckets": 4} if index == 3 else {}
        assert found[index] == said[index] | shared | buckets | {"in values": values}
    graph.step([])
    graph.step([])  # 2 frames after the reset of environment 1, 3 steps from the start
    gravity, force = (ports(graph.node(f"write_{index}")) for index in (0, 1))
    at_interval = {"in on_reset": False, "in num_buckets": None, "in execIn": True, "out execOut": True}
    assert gravity["in values"] == [made.world.gravity_m_s2.tolist()]
    assert gravity == said[0] | at_interval | {"in indices": [1], "in values": gravity["in values"]}
    assert force == said[1] | at_interval | {"in indices": [1], "in values": made.ball.get("force")[[1]].tolist()}
    # draws are scaled before they are written
    factors = graph.node("random_0").outputs["output"]
    assert gravity["in values"] == pytest.approx(factors * [0.0, 0.0, -9.81])
    assert 0.0 <= factors[0][2] <= 2.0
    assert factors[0][:2].tolist() == [1.0, 1.0]


def test_random_values_lie_in_the_range_of_their_node(graph):
    live, outputs = dr.current().rules[1].distribution, []
    for step in range(60):
        if step == 30:
            dr.utils.set_distribution_params(live, {"lower": (0, 0, 5), "upper": (1, 0, 6)})
        graph.step([])
        node = graph.node("random_1")
        if step % 2 == 0:  # where the interval is not
            assert not len(node.outputs["output"])
            continue
        lower, upper = ((0, 0, 1), (0, 0, 2)) if step < 30 else ((0, 0, 5), (1, 0, 6))
        assert (node.inputs["minimum"].tolist(), node.inputs["maximum"].tolist()) == (list(lower), list(upper))
        assert node.outputs["output"].shape == (2, 3)
        assert np.all((node.outputs["output"] >= lower) & (node.outputs["output"] <= upper))
        outputs.append(node.outputs["output"])
    assert len(np.unique([row[:, 2] for row in outputs])) == 60


def test_the_graph_is_data_and_a_drawing_of_nodes_with_all_their_ports(graph):
    graph.step([0, 1])
    assert {node.type for node in graph.nodes} == set(PORTS)
    for node in graph.nodes:
        assert {*node.inputs, *node.outputs} == PORTS[node.type], node.name
    types = [node.type for node in graph.nodes]
    assert types.count("OgnIntervalFiltering") == 2  # one a gate
    assert types.count("Random3f") == 3  # gravity, force, material
    content = json.loads(json.dumps(graph.to_dict()))
    assert len(content["nodes"]) == len(graph.nodes)
    names = {node["name"] for node in content["nodes"]}
    assert all({edge["from_node"], edge["to_node"]} <= names for edge in content["edges"])
    texts = [element.text or "" for element in ET.fromstring(graph.to_svg()).iter() if element.tag.endswith("text")]
    for node in graph.nodes:
        assert f"{node.type}  {node.name}" in texts
    assert any(text.startswith("frameCounts: [0, 0]") for text in texts)
