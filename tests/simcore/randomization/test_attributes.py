"""Every attribute: its name and place in the calls, how many values it takes, and the law that what is read follows."""

import inspect
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from unlatch import randomization as dr
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose
from unlatch.simcore.randomization.config import PerceptionCfg
from unlatch.simcore.randomization.replicator import physics_view
from unlatch.simcore.sim.body_views import ArticulationView
from unlatch.simcore.sim.converted_body import load_converted
from unlatch.simcore.sim.joint_gates import GateKind, JointGate, JointGates
from unlatch.simcore.sim.joint_mechanisms import ClosedStop, TendonCfg
from unlatch.simcore.sim.world import World, WorldCfg

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "docs" / "_site"))
from data_tables import attribute_tables

pytestmark = pytest.mark.integration
ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "randomization.md").read_text(encoding="utf-8")
NUM_ENVS, RESETS = 4, 60
CALLS = {"ball": physics_view.randomize_rigid_prim_view, "rig": physics_view.randomize_articulation_view}
D, K, T = 2, 3, 2
"""Joints, links with the root, tendons."""
POSE = {"position": 3, "orientation": 3}
VELOCITIES = {"linear_velocity": 3, "angular_velocity": 3, "velocity": 6}
"""Of a root that is not fixed."""
TENDONS = ("stiffnesses", "dampings", "limit_stiffnesses", "lower_limits", "upper_limits", "rest_lengths", "offsets")
RIGID = {
    **POSE, **VELOCITIES, "force": 3, "mass": 1, "inertia": 3, "material_properties": 3, "contact_offset": 1,
    "rest_offset": 1,
}  # fmt: skip
ARTICULATION = {
    "stiffness": D, "damping": D, "joint_friction": D, "catch_efforts": D, "gasket_efforts": D,
    "mechanism_efforts": D, "mechanism_thresholds": D, **POSE, **VELOCITIES,
    "joint_positions": D, "joint_velocities": D, "lower_dof_limits": D, "upper_dof_limits": D, "max_efforts": D,
    "joint_armatures": D, "joint_max_velocities": D, "joint_efforts": D, "body_masses": K, "body_inertias": 3 * K,
    "material_properties": 3 * K, **{f"tendon_{name}": T for name in TENDONS},
}  # fmt: skip
FIXED_RIG = {name: width for name, width in ARTICULATION.items() if name not in VELOCITIES}
WRITTEN = {("ball", "orientation"), ("ball", "mass"), ("rig", "joint_friction"), ("rig", "material_properties")}
"""Attributes whose law is tested whenever code changes, those of the others every night."""
CASES = [("ball", *item) for item in RIGID.items()] + [("rig", *item) for item in FIXED_RIG.items()]


def names_of(call):
    return list(inspect.signature(call).parameters)


class TestNames:
    """Calls have the names, the arguments and the order of those that users of such layers know."""

    @pytest.mark.parametrize(
        ("call", "positional", "attributes"),
        [
            (dr.physics_view.randomize_simulation_context, ["operation"], ["gravity"]),
            (CALLS["ball"], ["view_name", "operation", "num_buckets"], list(RIGID)),
            (CALLS["rig"], ["view_name", "operation", "num_buckets"], list(ARTICULATION)),
        ],
    )
    def test_randomize_takes_view_operation_and_attributes_by_name(self, call, positional, attributes):
        found = list(inspect.signature(call).parameters.values())
        assert [p.name for p in found] == [*positional, *attributes]
        defaults = {"view_name": inspect.Parameter.empty, "operation": "direct"}
        assert {p.name: p.default for p in found} == {p.name: defaults.get(p.name) for p in found}
        assert all(p.kind is p.KEYWORD_ONLY for p in found[len(positional) :])
        assert inspect.signature(call).return_annotation == "None"

    @pytest.mark.parametrize(
        ("call", "names"),
        [
            (dr.trigger.on_rl_frame, ["num_envs"]),
            (dr.gate.on_env_reset, []),
            (dr.gate.on_interval, ["interval"]),
            (dr.physics_view.register_simulation_context, ["simulation_context"]),
            (dr.physics_view.register_rigid_prim_view, ["rigid_prim_view"]),
            (dr.physics_view.register_articulation_view, ["articulation_view"]),
            (dr.physics_view.step_randomization, ["reset_inds"]),
            (dr.utils.set_distribution_params, ["distribution", "parameters"]),
            (dr.utils.get_distribution_params, ["distribution", "parameters"]),
        ],
    )
    def test_signatures_of_the_other_calls(self, call, names):
        assert names_of(call) == names

    def test_every_attribute_is_on_the_page(self):
        words = set(re.findall(r"`(\w+)`", PAGE.partition("## Attributes")[2]))
        named = {*RIGID, *ARTICULATION}
        on_page = {name for name in {"gravity", *named} - set(VELOCITIES) if not name.startswith("tendon_")}
        assert on_page <= words
        table = attribute_tables()
        assert [name for name in named if f"\n| `{name}` | (" not in table] == []


def registered(stage, *, tendons=T):
    dr.new_setup()
    dr.physics_view.register_simulation_context(stage.world)
    dr.physics_view.register_rigid_prim_view(stage.ball)
    made = [TendonCfg(joints=[joint], coefficients=[1.0]) for joint in ("rail", "shaft")]
    rig = ArticulationView(stage.world, stage.rig.bodies, name="rig", tendons=made[:tendons])
    dr.physics_view.register_articulation_view(rig)
    return rig


class TestWidths:
    def test_all_attributes_are_tested(self, shared_stage):
        assert {name: each.width for name, each in shared_stage.ball.attributes.items()} == RIGID
        rig = registered(shared_stage)
        assert {name: each.width for name, each in rig.attributes.items()} == FIXED_RIG
        assert (rig.num_dof, rig.num_bodies) == (D, K)

    @pytest.mark.parametrize(("view", "name", "width"), CASES)
    def test_an_attribute_takes_its_width_and_no_other(self, shared_stage, view, name, width):
        registered(shared_stage)
        target = "all links" if name == "material_properties" and view == "rig" else ""
        with dr.trigger.on_rl_frame(num_envs=3), dr.gate.on_interval(1):
            for wrong in {width - 1, width + 1} - {0}:
                for values in ([0.5] * wrong, dr.distribution.uniform([0.1] * wrong, [0.2] * wrong)):
                    with pytest.raises(ConfigError, match=rf"{view}\.{name}: \w+ has shape \({wrong},\)") as caught:
                        CALLS[view](view, **{name: values})
                    assert f"Expected ({width},)" in caught.value.message
                    assert target in caught.value.message
                    assert caught.value.values["expected"][0] == width
            rows = {width: [0.1 + 0.01 * place for place in range(width)], 1: [0.5]}  # one number stands for all
            if target:
                rows[3] = [0.3, 0.2, 0.1]  # three values are those of every link
            for row in rows.values():
                CALLS[view](view, **{name: row if len(row) > 1 else row[0]})
        dr.orchestrator.run(np.random.default_rng(0))
        for rule, row in zip(dr.current().rules, rows.values(), strict=True):
            drawn = rule.draw(np.random.default_rng(0), np.arange(3))
            assert drawn == pytest.approx(np.tile(row, (3, width // len(row))))

    def test_gravity_has_three_values(self, shared_stage):
        registered(shared_stage)
        with dr.trigger.on_rl_frame(num_envs=3), dr.gate.on_interval(1):
            for wrong in (2, 4):
                with pytest.raises(ConfigError, match=rf"gravity: constant has shape \({wrong},\)\. Expected \(3,\)"):
                    dr.physics_view.randomize_simulation_context(gravity=[0.0] * wrong)

    def test_without_tendons_there_is_nothing_to_write(self, shared_stage):
        registered(shared_stage, tendons=0)
        with dr.trigger.on_rl_frame(num_envs=3), dr.gate.on_interval(1):
            for name in TENDONS:
                with pytest.raises(ConfigError, match=rf"View 'rig' .* has no 'tendon_{name}': it declares no tendons"):
                    CALLS["rig"]("rig", **{f"tendon_{name}": 1.0})


def follows(values, *laws):
    """Whether columns of values follow their laws, and environments are drawn one by one."""
    columns = values.reshape(len(values), -1).T if values.ndim == 2 else values.reshape(RESETS * NUM_ENVS, -1).T
    assert len(np.unique(columns[0])) == len(columns[0])
    return all(
        stats.kstest(column, law.cdf).pvalue > 1e-4
        for column, law in zip(columns, laws if len(laws) > 1 else laws * len(columns), strict=True)
    )


def fire(randomize, read):
    """(RESETS, members, width) values after each reset of all environments."""
    with dr.trigger.on_rl_frame(num_envs=NUM_ENVS), dr.gate.on_env_reset():
        randomize()
    dr.orchestrator.run(np.random.default_rng(0))
    seen = []
    for _ in range(RESETS):
        dr.physics_view.step_randomization(np.arange(NUM_ENVS))
        seen.append(read())
    return np.array(seen)


CART = """<robot name="cart"><link name="a">{0}</link><link name="b">{0}</link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit lower="-9" upper="9" effort="1" velocity="1"/></joint></robot>""".format(
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


class TestStatistics:
    """What is read back of every attribute follows the law that it was given, in every environment alike."""

    @pytest.mark.parametrize(
        ("view", "name"),
        [pytest.param(*case[:2], marks=[pytest.mark.heavy] * (case[:2] not in WRITTEN)) for case in CASES],
    )
    def test_every_attribute_follows_its_distribution(self, stage, view, name):
        made = stage(NUM_ENVS)
        lower, upper = {"orientation": (-1.0, 1.0), "material_properties": (0.1, 0.9)}.get(name, (0.5, 1.5))
        if name in ("catch_efforts", "gasket_efforts"):  # without which there is nothing to draw
            stop = ClosedStop(
                closed=0.0, sign=1.0, catch_effort=1.0, catch_reach=0.1, gasket_effort=1.0, gasket_reach=0.1
            )
            for joint, group in [item for groups in made.rig._groups for item in groups.items()]:
                group.set_closed_stop(joint, stop)
        if name in ("mechanism_efforts", "mechanism_thresholds"):
            values = {"effort": 1.0, "reach": 1.0, "low": 1.0, "high": 9.0, "play": 1.0}
            for body, groups in zip(made.rig.bodies, made.rig._groups, strict=True):
                first, second = groups
                kinds = GateKind.threshold | GateKind.either_way | GateKind.push
                pairs = ((first, second), (second, first))
                gates = JointGates(body, [JointGate(kinds, joint, 0.0, by=by, **values) for joint, by in pairs])
                for group in groups.values():
                    group.gates = gates
        target = made.ball if view == "ball" else made.rig
        values = fire(
            lambda: CALLS[view](view, **{name: dr.distribution.uniform(lower, upper)}), lambda: target.get(name)
        )
        if view == "rig" and name in ("body_masses", "body_inertias"):
            values = values[..., values.shape[-1] // 3 :]  # the root stands still
        assert follows(values, stats.uniform(lower, upper - lower))

    def test_velocities_of_a_free_articulation_follow_their_distribution(self, tmp_path):
        path = tmp_path / "cart.urdf"
        path.write_text(CART)
        with World(WorldCfg()) as world:
            carts = [
                load_converted(world, path, {}, name=f"cart_{i}", T_world_root=Pose.from_translation((i, 0.0, 0.0)))
                for i in range(NUM_ENVS)
            ]
            drives = [[each] for _, each in carts]
            view = ArticulationView(world, [body for body, _ in carts], name="cart", drives=drives)
            for name, width in VELOCITIES.items():
                dr.new_setup()
                dr.physics_view.register_articulation_view(view)
                lower, upper = np.arange(width) - 2.0, np.arange(width) + 1.0
                given = {name: dr.distribution.uniform(lower, upper)}
                values = fire(lambda given=given: CALLS["rig"]("cart", **given), lambda name=name: view.get(name))
                assert follows(values, *(stats.uniform(low, 3.0) for low in lower))
        dr.new_setup()

    def test_gravity_follows_its_distribution(self, stage):
        made, means, stds = stage(NUM_ENVS), (0, 0, -9.81), (0.1, 0.2, 0.3)
        law = dr.distribution.normal(means, stds)
        values = fire(lambda: physics_view.randomize_simulation_context(gravity=law), lambda: made.world.gravity_m_s2)
        assert follows(values, *(stats.norm(mean, std) for mean, std in zip(means, stds, strict=True)))

    @pytest.mark.parametrize(("operation", "mean"), [("additive", 1.0 + 3.0), ("scaling", 1.0 * 3.0)])
    def test_operations_transform_the_distribution(self, stage, operation, mean):
        made, law = stage(NUM_ENVS), dr.distribution.normal(3.0, 0.1)
        values = fire(lambda: CALLS["ball"]("ball", operation, mass=law), lambda: made.ball.get("mass"))
        assert follows(values, stats.norm(mean, 0.1))


class TestPerception:
    """Numbers of perception as rules, and as a data set keeps them."""

    def test_each_standard_deviation_makes_one_rule_per_object(self):
        made = PerceptionCfg(orientation_std_deg=180.0 / np.pi * 0.1, joint_std=0.02).rules(["a", "b"])
        names = [(name, attribute) for name in ("a", "b") for attribute in ("seen_orientation", "seen_joints")]
        assert [(rule.view, rule.attribute) for rule in made] == names
        assert [rule.distribution["std"] for rule in made[:2]] == pytest.approx([0.1, 0.02])

    def test_a_data_set_without_joint_std_is_resumed(self):
        kept = {"position_std_m", "orientation_std_deg", "keypoint_std_m"}
        assert set(PerceptionCfg(position_std_m=0.01).to_dict()) == kept
        assert PerceptionCfg(joint_std=0.1).to_dict()["joint_std"] == 0.1

    def test_an_impossible_standard_deviation_is_refused(self):
        with pytest.raises(ConfigError, match=r"perception.joint_std=0.7 is out of range. Expected 0 to 0.5"):
            PerceptionCfg(joint_std=0.7)


@pytest.mark.slow
def test_the_demo_resets_every_200_frames(capsys, monkeypatch):
    fired, step = [], dr.Setup.step_randomization

    def watched(self, reset_inds=None):
        step(self, reset_inds)
        fired.extend((self.steps - 1, rule.key) for rule in self.rules if len(rule.envs))

    monkeypatch.setattr(dr.Setup, "step_randomization", watched)
    runpy.run_path(str(ROOT / "examples" / "randomization_demo.py"))["main"](n_frames=401)
    setup = dr.current()
    dr.new_setup()
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("frame")] == ["frame 0", "frame 200", "frame 400"]
    assert len(lines) == 3 * 5
    # counters are 0 at a reset, so that frame 200 + 20 is the first multiple after the second one
    for key, frames in {
        "simulation_context.gravity on_interval(20)": [*range(20, 200, 20), *range(220, 400, 20)],
        "object_view.force on_interval(50)": [50, 100, 150, 250, 300, 350],
        "franka_view.joint_velocities on_interval(10)": [*range(10, 200, 10), *range(210, 400, 10)],
        "object_view.position on_env_reset()": [0, 200, 400],
        "franka_view.joint_positions on_env_reset()": [0, 200, 400],
    }.items():
        assert sorted({frame for frame, name in fired if name == key}) == frames, key
    positions = setup.rules[3].slot.last_reset
    assert np.all(positions[:, 2] == 0.2)  # heights are those of the default
    assert len({tuple(row) for row in positions.tolist()}) == 4
