"""A set-up as a graph of nodes with ports. The graph can be stepped, drawn, and returned as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unlatch.simcore.randomization.distribution import Uniform
from unlatch.simcore.randomization.node_drawing import draw_graph
from unlatch.simcore.randomization.replicator import current
from unlatch.simcore.randomization.rule import SIMULATION_CONTEXT, Gate, Rule
from unlatch.simcore.randomization.setup import Setup
from unlatch.simcore.sim.views.articulation_view import ArticulationView

Array = np.ndarray

FRAME = "OgnOnRLFrame"
FILTER = "OgnIntervalFiltering"
COUNT = "OgnCountIndices"
RANDOM = "Random3f"
WRITE_CONTEXT = "OgnWritePhysicsSimulationContext"
WRITE_RIGID = "OgnWritePhysicsRigidPrimView"
WRITE_ARTICULATION = "OgnWritePhysicsArticulationView"


@dataclass
class Node:
    """One node: its type and the values of its ports."""

    name: str
    """Name, unique in the graph."""
    type: str
    inputs: dict[str, Any] = field(default_factory=dict)
    """Input ports by name; connected ones hold the value of the last step."""
    outputs: dict[str, Any] = field(default_factory=dict)
    """Output ports by name."""


@dataclass(frozen=True)
class Edge:
    """A connection from an output port to an input port."""

    from_node: str
    from_port: str
    to_node: str
    to_port: str


class Graph:
    """The nodes of a set-up.

    There is one frame trigger. Every gate has an interval filter and a count of the indices that pass it. Every rule
    has a write node, and also a source of random values if it draws three uniform ones. `step` executes them in that
    order and leaves the values in the ports.
    """

    def __init__(self, setup: Setup) -> None:
        """Makes the nodes of the rules that the set-up has now."""
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self._setup = setup
        self._rules: list[tuple[Rule, Node, Node, Node | None]] = []
        none: Array = np.zeros(0, dtype=int)
        self.frame = self._add_node(
            "frame",
            FRAME,
            {"run": True, "numEnvs": setup.num_envs or 0},
            {"execOut": False, "resetInds": none, "frameNum": setup.counters.copy()},
        )
        filters: dict[Gate, Node] = {}
        for rule in setup.rules:
            if rule.gate not in filters:
                filters[rule.gate] = self._add_filter(rule.gate, len(filters))
            self._rules.append(
                (rule, filters[rule.gate], *self._add_writer(rule, filters[rule.gate], len(self._rules)))
            )

    def _add_node(self, name: str, kind: str, inputs: dict[str, Any], outputs: dict[str, Any]) -> Node:
        self.nodes.append(Node(name, kind, inputs, outputs))
        return self.nodes[-1]

    def _add_edge(self, source: Node, out_port: str, target: Node, in_port: str) -> None:
        self.edges.append(Edge(source.name, out_port, target.name, in_port))
        target.inputs[in_port] = source.outputs[out_port]

    def _add_filter(self, gate: Gate, number: int) -> Node:
        node = self._add_node(
            f"filter_{number}",
            FILTER,
            {"interval": gate.interval or 0, "ignoreInterval": gate.on_reset},
            {"execOut": False, "indices": np.zeros(0, dtype=int), "on_reset": gate.on_reset},
        )
        for out_port, in_port in (("execOut", "execIn"), ("resetInds", "indices"), ("frameNum", "frameCounts")):
            self._add_edge(self.frame, out_port, node, in_port)
        count = self._add_node(f"count_{number}", COUNT, {}, {"count": 0})
        self._add_edge(node, "indices", count, "indices")
        return node

    def _add_writer(self, rule: Rule, gate: Node, number: int) -> tuple[Node, Node | None]:
        view = self._setup.views.get(rule.slot.view)
        kind = WRITE_ARTICULATION if isinstance(view, ArticulationView) else WRITE_RIGID
        inputs = {
            "prims": rule.slot.view,
            "attribute": rule.slot.attribute.name,
            "operation": rule.operation.name,
            "num_buckets": rule.num_buckets,
            "values": rule.values,
        }
        node = self._add_node(
            f"write_{number}",
            WRITE_CONTEXT if rule.slot.view == SIMULATION_CONTEXT else kind,
            {**inputs, **_parameter_ports(rule)},
            {"execOut": False},
        )
        for port in ("indices", "on_reset"):
            self._add_edge(gate, port, node, port)
        self._add_edge(gate, "execOut", node, "execIn")
        if not (type(rule.distribution) is Uniform and (rule.distribution.width or rule.slot.attribute.width) == 3):
            return node, None
        source = self._add_node(f"random_{number}", RANDOM, {}, {"output": np.zeros((0, 3))})
        self._add_edge(source, "output", node, "values")
        return node, source

    def node(self, name: str) -> Node:
        """Returns a node by name."""
        return next(node for node in self.nodes if node.name == name)

    def step(self, reset_inds: Any = None) -> None:
        """Executes the nodes once, as `step_randomization` does; `reset_inds` are the environments that are reset.

        With `run` of the frame trigger off, nothing is executed and no counter changes.

        Raises:
            ConfigError: The set-up was not run, or there is no such environment.
        """
        setup, frame = self._setup, self.frame
        frame.outputs["execOut"] = bool(frame.inputs["run"])
        if not frame.inputs["run"]:
            return
        setup.begin_step(reset_inds)
        frame.outputs.update(resetInds=setup.reset_inds, frameNum=setup.counters.copy())
        for node in self.nodes:
            self._pull_inputs(node)
            if node.type == FILTER:
                node.outputs["indices"] = _filter_indices(node.inputs)
                node.outputs["execOut"] = len(node.outputs["indices"]) > 0
            elif node.type == COUNT:
                node.outputs["count"] = len(node.inputs["indices"])
        for index, (rule, _, write, source) in enumerate(self._rules):
            self._pull_inputs(write)
            setup.fire(index, write.inputs["indices"])
            write.inputs.update(_parameter_ports(rule))
            fired = len(rule.envs) > 0
            write.outputs["execOut"] = fired
            write.inputs["values"] = rule.values if fired else rule.values[:0]
            if source is not None:
                lower, upper = rule.distribution.range()
                source.inputs.update(minimum=np.broadcast_to(lower, 3), maximum=np.broadcast_to(upper, 3))
                source.outputs["output"] = rule.drawn if fired else rule.drawn[:0]
        setup.end_step()

    def _pull_inputs(self, node: Node) -> None:
        for edge in self.edges:
            if edge.to_node == node.name and edge.to_port != "values":
                node.inputs[edge.to_port] = self.node(edge.from_node).outputs[edge.from_port]

    def to_dict(self) -> dict[str, Any]:
        """Returns nodes with their ports, and edges, as plain values."""
        return {
            "nodes": [
                {"name": n.name, "type": n.type, "inputs": _plain_value(n.inputs), "outputs": _plain_value(n.outputs)}
                for n in self.nodes
            ],
            "edges": [vars(edge).copy() for edge in self.edges],
        }

    def to_svg(self) -> str:
        """Returns a drawing: nodes as boxes with their ports and values, edges as lines."""
        return draw_graph(self.to_dict())


def graph() -> Graph:
    """Returns the graph of the present set-up."""
    return Graph(current())


def _filter_indices(inputs: Mapping[str, Any]) -> Array:
    """Returns the indices whose frame count is a positive multiple of the interval, or all if it is ignored."""
    if inputs["ignoreInterval"]:
        return inputs["indices"]
    counts: Array = inputs["frameCounts"]
    return np.flatnonzero((counts > 0) & (counts % inputs["interval"] == 0))


def _parameter_ports(rule: Rule) -> dict[str, Any]:
    """Returns the ports of a distribution's parameters; with one parameter, the second port is empty."""
    values = [rule.distribution.get(name) for name in rule.distribution.parameters]
    plain = [[part.to_dict() for part in v] if isinstance(v, tuple) else v for v in values]
    first, second = (*plain, None)[:2]
    return {"distribution": rule.distribution.type, "dist_param_1": first, "dist_param_2": second}


def _plain_value(ports: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in ports.items()}
