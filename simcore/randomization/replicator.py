"""Randomization by the names of Replicator: `from unlatch.simcore.randomization import replicator as dr`.

A script calls `dr.physics_view`, `dr.trigger`, `dr.gate`, `dr.orchestrator` and `dr.utils`, which are modules there
and classes of functions here. They act on the present set-up. `dr.distribution` has the distributions, and
`dr.graph()` is the set-up as a graph of nodes with ports, which can be stepped and drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from unlatch.simcore.errors import ConfigError, shorten
from unlatch.simcore.randomization import distribution as distribution
from unlatch.simcore.randomization.distribution import Distribution, Uniform
from unlatch.simcore.randomization.setup import SIMULATION_CONTEXT, Gate, Rule, Setup
from unlatch.simcore.sim.attribute_views import AttributeView
from unlatch.simcore.sim.body_views import ArticulationView, RigidPrimView
from unlatch.simcore.sim.world import World

Value = Distribution | float | Sequence[float]
"""The distribution of an attribute; numbers are constants."""
_current: ContextVar[Setup | None] = ContextVar("randomization_setup", default=None)


def current() -> Setup:
    """Returns the present set-up; an empty one is created on first use."""
    setup = _current.get()
    return setup if setup is not None else new_setup()


def new_setup() -> Setup:
    """Starts an empty set-up for all following calls; the previous one does not change."""
    return use(Setup())


def use(setup: Setup) -> Setup:
    """Makes all following calls act on a set-up, and returns it."""
    _current.set(setup)
    return setup


class trigger:  # noqa: N801 - a module of Replicator
    """The frame of a simulation with several environments."""

    @staticmethod
    def on_rl_frame(num_envs: int) -> AbstractContextManager[None]:
        """Opens the frame in which gates and rules are made: `with trigger.on_rl_frame(num_envs=4):`.

        Raises:
            ConfigError: A view has another number of members, or there is a frame already.
        """
        return current().on_rl_frame(num_envs)


class gate:  # noqa: N801 - a module of Replicator
    """Gates: rules write at resets, or at an interval of steps."""

    @staticmethod
    def on_env_reset() -> AbstractContextManager[None]:
        """Rules inside write for every environment that is reset: `with gate.on_env_reset():`.

        Their values last until the environment's next reset; `additive` and `scaling` start from the default.

        Raises:
            ConfigError: It is outside `on_rl_frame` or inside another gate.
        """
        return current().on_env_reset()

    @staticmethod
    def on_interval(interval: int) -> AbstractContextManager[None]:
        """Rules inside write for every environment whose counter is a positive multiple of the interval [steps].

        At a reset the counter is 0, and the rules do not fire: they would overwrite the values of the reset in the same
        step. `additive` and `scaling` start from the value of the last `on_env_reset`, never from their own last draw.

        Raises:
            ConfigError: It is no whole number from 1, or it is outside `on_rl_frame` or inside another gate.
        """
        return current().on_interval(interval)


class physics_view:  # noqa: N801 - a module of Replicator
    """Registers views and randomizes their attributes; `docs/randomization.md` explains each attribute."""

    @staticmethod
    def register_simulation_context(simulation_context: World) -> None:
        """Registers the world."""
        current().register_simulation_context(simulation_context)

    @staticmethod
    def register_rigid_prim_view(rigid_prim_view: RigidPrimView) -> None:
        """Registers a view of rigid bodies; errors as `Setup.register_view`."""
        current().register_view(rigid_prim_view, RigidPrimView)

    @staticmethod
    def register_articulation_view(articulation_view: ArticulationView) -> None:
        """Registers a view of articulated bodies; errors as `Setup.register_view`."""
        current().register_view(articulation_view, ArticulationView)

    @staticmethod
    def randomize_simulation_context(operation: str = "direct", *, gravity: Value | None = None) -> None:
        """Randomizes the gravity (3,) in the world frame [m/s^2], under the open gate.

        Raises:
            ConfigError: No gate is open, or the operation or the distribution does not fit.
        """
        current().randomize(SIMULATION_CONTEXT, {"gravity": gravity}, operation=operation)

    @staticmethod
    def randomize_rigid_prim_view(
        view_name: str,
        operation: str = "direct",
        num_buckets: int | None = None,
        *,
        position: Value | None = None,
        orientation: Value | None = None,
        linear_velocity: Value | None = None,
        angular_velocity: Value | None = None,
        velocity: Value | None = None,
        force: Value | None = None,
        mass: Value | None = None,
        inertia: Value | None = None,
        material_properties: Value | None = None,
        contact_offset: Value | None = None,
        rest_offset: Value | None = None,
    ) -> None:
        """Randomizes a view of rigid bodies, under the open gate.

        Args:
            view_name: Name of a registered RigidPrimView.
            operation: `direct`, `additive` or `scaling`.
            num_buckets: Number of evenly spaced values for `material_properties`.
            position: (3,) of the root in the frame of its environment [m]; the velocity stays.
            orientation: (3,) roll, pitch, yaw of the root as in URDF [rad]; `additive` and `scaling` act on each.
            linear_velocity: (3,) of the root link's frame [m/s]; not for a fixed body.
            angular_velocity: (3,) [rad/s]; not for a fixed body.
            velocity: (6,) linear, then angular [m/s, rad/s].
            force: (3,) at the centre of mass, in every physics step [N].
            mass: (1,) [kg]; the inertia changes in proportion, unless a rule sets it, whichever fires first.
            inertia: (3,) principal moments [kg m^2].
            material_properties: (3,) static friction, dynamic friction, restitution.
            contact_offset: (1,) distance from a surface at which impulses begin to brake a free body [m].
            rest_offset: (1,) distance from a surface at which it comes to rest [m].

        Raises:
            ConfigError: No gate is open, or a view, attribute, operation, bucket or distribution does not fit.
        """
        _randomize(locals(), RigidPrimView)

    @staticmethod
    def randomize_articulation_view(
        view_name: str,
        operation: str = "direct",
        num_buckets: int | None = None,
        *,
        stiffness: Value | None = None,
        damping: Value | None = None,
        joint_friction: Value | None = None,
        catch_efforts: Value | None = None,
        gasket_efforts: Value | None = None,
        mechanism_efforts: Value | None = None,
        mechanism_thresholds: Value | None = None,
        position: Value | None = None,
        orientation: Value | None = None,
        linear_velocity: Value | None = None,
        angular_velocity: Value | None = None,
        velocity: Value | None = None,
        joint_positions: Value | None = None,
        joint_velocities: Value | None = None,
        lower_dof_limits: Value | None = None,
        upper_dof_limits: Value | None = None,
        max_efforts: Value | None = None,
        joint_armatures: Value | None = None,
        joint_max_velocities: Value | None = None,
        joint_efforts: Value | None = None,
        body_masses: Value | None = None,
        body_inertias: Value | None = None,
        material_properties: Value | None = None,
        tendon_stiffnesses: Value | None = None,
        tendon_dampings: Value | None = None,
        tendon_limit_stiffnesses: Value | None = None,
        tendon_lower_limits: Value | None = None,
        tendon_upper_limits: Value | None = None,
        tendon_rest_lengths: Value | None = None,
        tendon_offsets: Value | None = None,
    ) -> None:
        """Randomizes a view of articulated bodies of D joints, K links and T tendons, under the open gate.

        Args:
            view_name: Name of a registered ArticulationView.
            operation: `direct`, `additive` or `scaling`.
            num_buckets: Number of evenly spaced values for `material_properties`.
            stiffness: (D,) of a `spring` drive [N m/rad or N/m], computed anew in every physics step. Of a `servo`: the
                share of the position error that a physics step removes (0.15 by default). Of the `impedance` drive of
                an arm: [N m/rad]. Of a `passive` joint: a spring to its present position.
            damping: (D,) of a `spring` drive or a `passive` joint [N m s/rad or N s/m]. Of a `servo`: the share of the
                velocity error that a physics step removes (1 by default). Of an `impedance` drive: the damping ratio
                (1 = critical), at most 1.5: with more, an arm follows slowly, and a stiff one shakes.
            joint_friction: (D,) dry friction [N m or N]: a motor brakes with at most that effort. For a servo that
                moves or starts to move, it is subtracted from its own largest effort; for one at rest, it is added.
            catch_efforts: (D,) efforts that must be exceeded to leave a catch [N m or N]; those to get in change in
                proportion. Joints without a catch keep 0.
            gasket_efforts: (D,) efforts of gaskets at the closed part [N m or N]; positive ones pull it closed.
            mechanism_efforts: (D,) efforts of springs of mechanisms at the joints, such as of detents and closers
                [N m or N]; joints without keep 0.
            mechanism_thresholds: (D,) how far another joint must move to free a joint, such as a lever to free a door
                [rad or m]; joints that none frees keep 0.
            position: (3,) of the root in the frame of its environment [m].
            orientation: (3,) roll, pitch, yaw of the root [rad]. The controller of an arm assumes an upright base: a
                tilted arm sags.
            linear_velocity: (3,) [m/s]; not for a fixed root.
            angular_velocity: (3,) [rad/s]; not for a fixed root.
            velocity: (6,) linear, then angular [m/s, rad/s].
            joint_positions: (D,) [rad or m], written directly, not through the motor.
            joint_velocities: (D,) [rad/s or m/s], written directly.
            lower_dof_limits: (D,) limits that stop the joints [rad or m].
            upper_dof_limits: (D,) [rad or m].
            max_efforts: (D,) largest efforts of servos, arms, spring drives and springs of passive joints [N m or N];
                0: no limit.
            joint_armatures: (D,) inertias of motors [kg m^2 or kg], added to the child link about the joint's axis; of
                a sliding joint to the link's mass, with a force that cancels its weight.
            joint_max_velocities: (D,) largest speeds that servos and arms request [rad/s or m/s]. Another joint that is
                faster is slowed to it in the next physics step, so single steps may exceed it; 1e9: no limit.
            joint_efforts: (D,) added to the drives in every physics step [N m or N].
            body_masses: (K,) [kg]; inertias change in proportion, unless a rule sets them. That of a fixed root has no
                effect.
            body_inertias: (K * 3,) principal moments [kg m^2].
            material_properties: (3,) for all links, or (K * 3,): static friction, dynamic friction, restitution.
            tendon_stiffnesses: (T,) of fixed tendons [N/m].
            tendon_dampings: (T,) [N s/m].
            tendon_limit_stiffnesses: (T,) [N/m].
            tendon_lower_limits: (T,) [m].
            tendon_upper_limits: (T,) [m].
            tendon_rest_lengths: (T,) [m].
            tendon_offsets: (T,) [m].

        Raises:
            ConfigError: No gate is open, or a view, attribute, operation, bucket or distribution does not fit.
        """
        _randomize(locals(), ArticulationView)

    @staticmethod
    def step_randomization(reset_inds: Any = None) -> None:
        """Counts one step and fires the rules with an open gate; call it once before every step of the simulation.

        `reset_inds` are the environments that are reset in this step: a list, array or tensor of numbers; None: none.

        Raises:
            ConfigError: `orchestrator.run` was not called, or there is no such environment.
        """
        current().step_randomization(reset_inds)


class orchestrator:  # noqa: N801 - a module of Replicator
    """Starts a set-up."""

    @staticmethod
    def run(rng: np.random.Generator | None = None) -> None:
        """Arms the set-up: the present values of the attributes become their defaults, and all counters are 0.

        The random generator is required, unlike in Replicator: there is no global seed.

        Raises:
            ConfigError: No random generator is given, or there was no `on_rl_frame`.
        """
        if not isinstance(rng, np.random.Generator):
            raise ConfigError(
                f"orchestrator.run() got {'no random generator' if rng is None else repr(rng)}. Expected "
                "orchestrator.run(np.random.default_rng(seed)): unlike in Replicator, there is no global seed.",
                key="rng",
            )
        current().run(rng)


class utils:  # noqa: N801 - a module of Replicator
    """Parameters of distributions that are in use."""

    @staticmethod
    def set_distribution_params(distribution: Distribution, parameters: Mapping[str, Any]) -> None:
        """Changes parameters of a distribution from the next firing on, as `Distribution.set`: `{"lower": 0.1}`."""
        distribution.set(parameters)

    @staticmethod
    def get_distribution_params(distribution: Distribution, parameters: Sequence[str]) -> list[Any]:
        """Returns the values of the named parameters of a distribution, as `Distribution.get`."""
        return [distribution.get(name) for name in parameters]


def _randomize(arguments: dict[str, Any], kind: type[AttributeView]) -> None:
    """Makes the rules of a call from its arguments by name: the options, and one argument per attribute."""
    options = {name: arguments.pop(name) for name in ("view_name", "operation", "num_buckets")}
    current().randomize(options.pop("view_name"), arguments, kind=kind, **options)


_COLUMNS = {"OgnOnRLFrame": 0, "OgnIntervalFiltering": 1, "OgnCountIndices": 1, "Random3f": 2}
"""Column of a node by its type; all others are in the last column."""
_LAST = 3
_WIDTH, _GAP_X, _GAP_Y, _LINE, _MARGIN = 300, 110, 26, 16, 20
_MAX_TEXT = 40
_FILLS = ("#dbe9f6", "#e3f1dc", "#fdf0cf", "#f7dfdb")


def draw_graph(content: Mapping[str, Any]) -> str:
    """Returns the SVG of a graph in the form of `Graph.to_dict`."""
    heights = [_MARGIN] * (_LAST + 1)
    boxes: list[str] = []
    ports: dict[tuple[str, str, str], tuple[float, float]] = {}
    for node in content["nodes"]:
        column = _COLUMNS.get(node["type"], _LAST)
        x, y = _MARGIN + column * (_WIDTH + _GAP_X), heights[column]
        lines = [(side, *port) for side in ("in", "out") for port in node[f"{side}puts"].items()]
        height = _LINE * (len(lines) + 2)
        boxes.append(f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="5" fill="{_FILLS[column]}"/>')
        boxes.append(_draw_text(x + 8, y + _LINE, f"{node['type']}  {node['name']}", weight="bold"))
        for row, (side, name, value) in enumerate(lines, start=2):
            at = y + row * _LINE
            words = name if value is None else f"{name}: {value}"
            anchor = "start" if side == "in" else "end"
            edge, inset = (x, 8) if side == "in" else (x + _WIDTH, -8)
            boxes.append(_draw_text(edge + inset, at, shorten(words, _MAX_TEXT), anchor=anchor))
            ports[node["name"], side, name] = (edge, at - 0.25 * _LINE)
        heights[column] = y + height + _GAP_Y
    lines_drawn = [
        _draw_curve(ports[edge["from_node"], "out", edge["from_port"]], ports[edge["to_node"], "in", edge["to_port"]])
        for edge in content["edges"]
    ]
    width, height = 2 * _MARGIN + (_LAST + 1) * _WIDTH + _LAST * _GAP_X, max(heights)
    body = "\n".join([*lines_drawn, *boxes])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _draw_text(x: float, y: float, words: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def _draw_curve(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x0, y0), (x1, y1) = start, end
    bend = max(40.0, 0.5 * abs(x1 - x0))
    return (
        f'<path d="M {x0} {y0} C {x0 + bend} {y0}, {x1 - bend} {y1}, {x1} {y1}" fill="none" stroke="#777" '
        'stroke-width="1"/>'
    )


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
                indices, counts = node.inputs["indices"], node.inputs["frameCounts"]
                if not node.inputs["ignoreInterval"]:
                    indices = np.flatnonzero((counts > 0) & (counts % node.inputs["interval"] == 0))
                node.outputs.update(indices=indices, execOut=len(indices) > 0)
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


def _parameter_ports(rule: Rule) -> dict[str, Any]:
    """Returns the ports of a distribution's parameters; with one parameter, the second port is empty."""
    values = [rule.distribution.get(name) for name in rule.distribution.parameters]
    plain = [[part.to_dict() for part in v] if isinstance(v, tuple) else v for v in values]
    first, second = (*plain, None)[:2]
    return {"distribution": rule.distribution.type, "dist_param_1": first, "dist_param_2": second}


def _plain_value(ports: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in ports.items()}
