"""How views, gates, operations and distributions work together, and what of them is refused."""

from typing import Any

import numpy as np
import pytest

from unlatch import randomization as dr
from unlatch.simcore.errors import ConfigError
from unlatch.simcore.geometry import Pose

pytestmark = pytest.mark.integration
step = dr.physics_view.step_randomization
uniform, combine = dr.distribution.uniform, dr.distribution.combine


def ball(operation="direct", **values):
    dr.physics_view.randomize_rigid_prim_view("ball", operation, **values)


def rig(operation="direct", **values):
    dr.physics_view.randomize_articulation_view("rig", operation, **values)


def gate(interval):
    return dr.gate.on_env_reset() if interval is None else dr.gate.on_interval(interval)


def write_rules(attribute, rules):
    """Makes rules of (interval or None for resets, operation, items in turn)."""
    for interval, operation, items in rules:
        with gate(interval):
            values = dr.distribution.sequence(items)
            if attribute == "gravity":
                dr.physics_view.randomize_simulation_context(operation, gravity=values)
            else:
                ball(operation, **{attribute: values})


RESET_EACH = [[0], [0]]
TWOS, THREES = ((n, "additive", [(0.0, 0.0, float(n))]) for n in (2, 3))


class TestRules:
    @pytest.mark.parametrize(
        ("rules", "resets", "expected"),
        [
            pytest.param(
                [(3, "direct", [10.0, 20.0, 30.0])],
                [[0, 1], [], [], [], [1], [], [], []],  # counters of 0: 0 1 2 3 4 5 6 7, of 1: 0 1 2 3 0 1 2 3
                [[1, 1], [1, 1], [1, 1], [10, 10], [10, 10], [10, 10], [20, 10], [20, 20]],
                id="on_interval writes when the counter is a positive multiple",
            ),
            pytest.param(
                [(None, "direct", [10.0, 20.0])],
                [[1], None, [0, 1]],
                [[1, 10], [1, 10], [10, 20]],
                id="on_env_reset writes for the environments that are reset",
            ),
            pytest.param(
                [(None, "direct", [4.0, 5.0]), (1, "direct", [6.0])],
                [[0], [], [0], []],
                [[4], [6], [5], [6]],
                id="direct sets the value",
            ),
            *(
                pytest.param([(interval, operation, [2.0, 3.0])], resets, expected, id=f"{operation} {said}")
                for interval, resets, said in (
                    (None, RESET_EACH, "at a reset starts from the default"),
                    (1, [None, None], "at an interval without a reset starts from the default"),
                )
                for operation, expected in (("additive", [[3], [4]]), ("scaling", [[2], [3]]))
            ),
            *(
                pytest.param(
                    [(None, "direct", [4.0, 9.0]), (1, operation, [2.0, 3.0, 2.0])],
                    [[0], [], [], [0], []],
                    expected,
                    id=f"{operation} at an interval starts from what the last reset wrote",
                )
                for operation, expected in (
                    ("additive", [[4], [6], [7], [9], [11]]),
                    ("scaling", [[4], [8], [12], [9], [18]]),
                )
            ),
        ],
    )
    def test_masses(self, stage, rules, resets, expected):
        made = stage(len(expected[0]))
        with made.rules():
            write_rules("mass", rules)
        for inds, masses in zip(resets, expected, strict=True):
            step(inds)
            assert made.masses() == masses

    @pytest.mark.parametrize(
        ("rules", "resets", "expected"),
        [
            # a force at a reset lasts until the next one, and one at an interval for one step
            (
                [(None, "direct", [(1, 0, 0), (2, 0, 0)]), (3, "additive", [(0, 5, 0)])],
                [[0], [], [], [], [], [0], []],
                [[1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 5, 0], [1, 0, 0], [2, 0, 0], [2, 0, 0]],
            ),
            # when two intervals coincide, the last rule wins
            ([TWOS, THREES], [None] * 7, [[0, 0, z] for z in (0, 2, 3, 2, 0, 3, 0)]),
            ([THREES, TWOS], [None] * 7, [[0, 0, z] for z in (0, 2, 3, 2, 0, 2, 0)]),
        ],
    )
    def test_forces(self, stage, rules, resets, expected):
        made = stage(1)
        with made.rules():
            write_rules("force", rules)
        for inds, force in zip(resets, expected, strict=True):
            step(inds)
            assert made.ball.get("force")[0].tolist() == force

    @pytest.mark.parametrize(
        ("rules", "resets", "expected"),
        [
            # one for all environments, which fires when any does: counters 1 0, 2 1, 3 2, 4 3
            ([(2, "scaling", [(1, 1, 0.5), (1, 1, 2.0)])], [[1], [], [], []], [-9.81, -4.905, -19.62, -4.905]),
            (
                [(None, "additive", [(0, 0, -1), (0, 0, -2)]), (1, "scaling", [(1, 1, 0.5)])],
                [[0, 1], [], [0, 1], []],
                [-10.81, -5.405, -11.81, -5.905],
            ),
        ],
    )
    def test_gravity(self, stage, rules, resets, expected):
        made, seen = stage(2), []
        with made.rules():
            write_rules("gravity", rules)
        for inds in resets:
            step(inds)
            seen.append(made.world.gravity_m_s2[2])
        assert seen == pytest.approx(expected)

    def test_a_step_zeroes_the_counters_of_the_environments_that_are_reset_and_raises_the_others(self, stage):
        with stage(3).rules(), gate(None):
            ball(mass=2.0)
        counters = [dr.current().counters.tolist()]
        for inds in ([0, 1, 2], [], [1], None, np.array([0, 2])):
            step(inds)
            counters.append(dr.current().counters.tolist())
        assert counters == [[0, 0, 0], [0, 0, 0], [1, 1, 1], [2, 0, 2], [3, 1, 3], [0, 2, 0]]

    def test_a_reset_does_not_touch_attributes_that_no_reset_gate_writes(self, stage):
        made = stage(1)
        with made.rules():
            with gate(None):
                ball(linear_velocity=(0, 0, 0))
            with gate(1):
                ball(mass=5.0)
        step()
        step([0])
        assert made.masses() == [5.0]

    def test_values_below_the_meaningful_range_are_raised(self, stage):
        made = stage(1)
        with made.rules(), gate(None):
            ball("additive", mass=-5.0)
        step([0])
        assert made.masses() == dr.current().rules[0].values[0].tolist() == [1e-6]

    def test_orientations_are_added_angle_by_angle(self, stage):
        made = stage(1)
        made.ball.attribute("orientation").write(0, np.array([0.1, -0.2, 0.3]))
        with made.rules(), gate(None):
            ball("additive", orientation=(0.2, 0.1, -0.5))
        step([0])
        wanted = Pose.from_rpy((0.0, 0.0, 0.0), (0.3, -0.1, -0.2)).R
        np.testing.assert_allclose(made.ball.bodies[0].root_pose().R, wanted, atol=1e-6)

    def test_buckets_are_of_the_material_alone_and_three_values_are_those_of_all_links(self, stage):
        made, material = stage(4), uniform((0.2, 0.2, 0.0), (0.6, 0.6, 0.4))
        with made.rules(), gate(None):
            ball(num_buckets=3, material_properties=material, mass=uniform(1.0, 2.0))
            rig(num_buckets=3, material_properties=material)
        step([0, 1, 2, 3])
        links = made.rig.get("material_properties").reshape(4, -1, 3)
        assert np.all(links == links[:, :1])
        for rows in (made.ball.get("material_properties"), links[:, 0]):
            assert set(rows[:, 0].round(9)) <= {0.2, 0.4, 0.6}
            assert set(rows[:, 2].round(9)) <= {0.0, 0.2, 0.4}
        assert not set(np.round(made.masses(), 9)) & {1.0, 1.5, 2.0}

    @pytest.mark.parametrize("inertia_first", [True, False])
    def test_the_drawn_inertia_does_not_depend_on_earlier_masses(self, stage, inertia_first):
        made, masses = stage(2), (2.0, 7.0, 0.5)
        drawn = [(0.01, 0.02, 0.03), (0.04, 0.05, 0.06), (0.02, 0.03, 0.04)]
        rules = [{"inertia": dr.distribution.sequence(drawn)}, {"mass": dr.distribution.sequence(masses)}]
        with made.rules(), gate(None):
            for values in rules if inertia_first else reversed(rules):
                ball(**values)
        for mass, moments in zip(masses, drawn, strict=True):
            step([0, 1])
            assert made.masses() == [mass] * 2
            assert made.ball.get("inertia") == pytest.approx(np.array([moments] * 2))

    def test_inertia_of_a_reset_does_not_depend_on_masses_of_intervals_before_it(self, stage):
        made = stage(1)
        with made.rules():
            with gate(None):
                rig(body_inertias=0.05)
            with gate(1):
                rig("scaling", body_masses=uniform(0.5, 2.0))
        for inds in ([0], [], [], [0], []):
            step(inds)
            assert made.rig.get("body_inertias")[0][3:] == pytest.approx([0.05] * 6)

    def test_an_effort_of_an_interval_pushes_for_one_step_and_one_of_a_reset_until_the_next(self, stage):
        made, speeds = stage(1), [0.0]
        with made.rules():
            with gate(None):
                rig(joint_efforts=[4.8, 0.0])
            with gate(2):
                rig("additive", joint_efforts=[48.0, 0.0])
        for number in range(6):
            step([0] if number == 0 else [])
            made.world.step()
            speeds.append(float(made.rig.get("joint_velocities")[0][0]))
        # the sled of 2 kg gains 4.8 N / 2 kg / 240 Hz in every step, and eleven times that in those of the interval
        assert np.diff(speeds) == pytest.approx([0.01, 0.01, 0.11, 0.01, 0.11, 0.01], rel=0.02)

    def test_environments_do_not_touch(self, stage):
        made = stage(2)
        made.world.set_gravity((0, 0, 0))
        # the ball of one lies in that of the other, and the sled of one in both
        for body in (made.ball.bodies[1], made.rig.bodies[0]):
            body.set_root_pose(made.ball.bodies[0].root_pose())
        made.rig.bodies[0].ignore_collision(made.ball.bodies[0], "sled", made.ball.bodies[0].root_link)
        for _ in range(24):
            made.world.step()
        assert np.allclose(made.ball.get("velocity"), 0.0, atol=1e-12)
        assert np.allclose(made.rig.get("joint_velocities"), 0.0, atol=1e-12)


class Tensor:
    """As those of a learning framework that lie in main memory."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array([1], dtype=dtype)


@pytest.mark.parametrize("inds", [[1], (1,), np.array([1]), np.array([1], dtype=np.int32), Tensor()])
def test_reset_inds_is_a_list_an_array_or_a_tensor(stage, inds):
    made = stage(2)
    with made.rules(), gate(None):
        ball(mass=7.0)
    step(inds)
    assert made.masses() == [1.0, 7.0]


class TestDraws:
    @staticmethod
    def drawn(seed, attributes, made):
        made.register()
        with dr.trigger.on_rl_frame(num_envs=2), gate(2):
            for name in attributes:
                ball(**{name: uniform(1.0, 2.0)})
        dr.orchestrator.run(np.random.default_rng(seed))
        found = {name: [] for name in attributes}
        for number in range(6):
            step([])
            for rule in dr.current().rules if number % 2 else ():
                found[rule.slot.attribute.name].append(rule.values.copy())
        return {name: np.array(values) for name, values in found.items()}

    def test_the_same_generator_draws_the_same_whatever_other_rules_there_are(self, stage):
        made = stage(2)
        alone, other = (self.drawn(seed, ["mass"], made)["mass"] for seed in (1, 2))
        with_others = self.drawn(1, ["position", "mass", "inertia"], made)
        assert np.array_equal(alone, with_others["mass"])
        assert not np.array_equal(alone, other)
        assert not np.array_equal(with_others["mass"][..., 0], with_others["inertia"][..., 0])

    def test_recorded_firings_are_written_again(self, stage):
        made = stage(2)

        def run(start):
            setup, seen = dr.Setup(keep_firings=True), []
            made.world.set_gravity((0.0, 0.0, -9.81))
            for env in range(2):
                for name, value in (("mass", [1.0]), ("force", [0.0] * 3)):
                    made.ball.attribute(name).write(env, np.array(value))
            setup.register_simulation_context(made.world)
            setup.register_view(made.ball)
            normal = dr.distribution.normal
            with setup.on_rl_frame(2):
                with setup.on_env_reset():
                    setup.randomize("ball", {"mass": uniform(1, 2), "force": normal(0, 1)})
                with setup.on_interval(2):
                    setup.randomize("ball", {"force": normal(0, 1)}, operation="additive")
                    setup.randomize("simulation_context", {"gravity": uniform(-9, -8)})
            start(setup)
            for number in range(7):
                setup.step_randomization([0, 1] if number == 0 else [1] if number == 4 else [])
                row = [made.ball.get("mass").ravel(), made.ball.get("force").ravel(), made.world.gravity_m_s2]
                seen.append(np.concatenate(row))
            return setup.firings, np.array(seen)

        firings, expected = run(lambda setup: setup.run(np.random.default_rng(0)))
        again, found = run(lambda setup: setup.run_recorded(firings))
        assert np.array_equal(found, expected)
        assert [f.step for f in again] == [f.step for f in firings]

    def test_a_set_up_that_wrote_a_record_draws_again(self, stage):
        made, setup = stage(1), dr.Setup(keep_firings=True)
        setup.register_view(made.ball)
        with setup.on_rl_frame(1), setup.on_env_reset():
            setup.randomize("ball", {"mass": 3.0})
        setup.run_recorded([dr.Firing(0, 0, np.zeros(1, dtype=int), np.array([[7.0]]))])
        setup.step_randomization([0])
        assert made.masses() == [7.0]
        setup.run(np.random.default_rng(0))
        setup.step_randomization([0])
        assert made.masses() == [3.0]


class TestLiveChange:
    @pytest.mark.parametrize(
        ("live", "change"),
        [
            (dr.distribution.normal(2.0, 0.0), {"mean": 5.0}),
            (dr.distribution.choice([2.0]), {"choices": [5.0]}),
            (dr.distribution.sequence([2.0]), {"items": [5.0]}),
            (dr.distribution.log_uniform(2.0, 2.0), {"lower": 5.0, "upper": 5.0}),
            (combine([uniform(2.0, 2.0)]), {"distributions": [5.0]}),
        ],
    )
    def test_of_any_distribution_counts_from_the_next_reset(self, stage, live, change):
        made = stage(1)
        with made.rules(), gate(None):
            ball(mass=live)
        step([0])
        dr.utils.set_distribution_params(live, change)
        assert made.masses() == pytest.approx([2.0])
        step([0])
        assert made.masses() == pytest.approx([5.0])

    def test_of_a_part_of_a_combined_distribution_counts_from_the_next_firing(self, stage):
        made, part, seen = stage(1), dr.distribution.log_uniform(2.0, 3.0), []
        with made.rules(), gate(2):
            ball(position=combine([0.5, part, 1.0]))
        for number in range(5):
            if number == 2:
                dr.utils.set_distribution_params(part, {"lower": 20.0, "upper": 30.0})
            step()
            seen.append(made.ball.get("position")[0])
        assert 2.0 <= seen[1][1] <= 3.0
        assert np.array_equal(seen[1], seen[2])
        assert 20.0 <= seen[3][1] <= 30.0
        assert seen[3][[0, 2]] == pytest.approx([0.5, 1.0])

    @pytest.mark.parametrize(
        ("operation", "live", "change", "message"),
        [
            ("direct", uniform(1.0, 2.0), {"lower": -1.0}, r"uniform\(lower=-1\.0, upper=2\.0\) under direct"),
            (
                "direct",
                dr.distribution.normal(1.0, 2.0),
                {"mean": -1.0},
                r"normal.* down to -1\. Expected 1e-06 or more",
            ),
            ("scaling", dr.distribution.choice([1.0]), {"choices": [2.0, -3.0]}, r"down to -3\. Expected 0 or more"),
            ("scaling", dr.distribution.sequence([1.0]), {"items": [-1.0]}, r"under scaling goes down to -1"),
            ("direct", combine([1.0]), {"distributions": [-1.0]}, r"combine.* goes down to -1"),
        ],
    )
    def test_that_rules_refuse_is_undone(self, stage, operation, live, change, message):
        made = stage(1)
        with made.rules(), gate(1):
            ball(operation, mass=live)
        before = live.to_dict()
        with pytest.raises(ConfigError, match=rf"ball\.mass: .*{message}"):
            dr.utils.set_distribution_params(live, change)
        assert live.to_dict() == before
        for _ in range(20):
            step()
            assert made.masses()[0] >= 1e-6

    def test_of_a_part_is_judged_by_the_rules_of_the_whole(self, stage):
        stage(1)
        part, late = dr.distribution.normal(1.0, 1.0), uniform(1.0, 2.0)
        whole = combine([part, 1.0, 1.0])
        with dr.trigger.on_rl_frame(num_envs=1), gate(None):
            ball(inertia=whole)
        for given in (part, late):
            with pytest.raises(ConfigError, match=r"ball\.inertia: combine.* goes down to -2\. Expected 1e-09 or more"):
                dr.utils.set_distribution_params(given, {given.parameters[0]: -2.0})
            assert float(given.get(given.parameters[0])) == 1.0
            dr.utils.set_distribution_params(whole, {"distributions": [late, 1.0, 1.0]})

    def test_is_not_judged_by_a_deleted_set_up(self, stage):
        made, live = stage(1), uniform(1.0, 2.0)
        for values in ({"mass": live}, {"position": live}):
            made.register()
            with dr.trigger.on_rl_frame(num_envs=1), gate(None):
                ball(**values)
        dr.utils.set_distribution_params(live, {"lower": -1.0})


class TestMisuse:
    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: step([0]), r"before orchestrator\.run\(\)"),
            (lambda: dr.orchestrator.run(np.random.default_rng(0)), r"on_rl_frame was not entered"),
            (
                lambda: dr.orchestrator.run(),
                r"run\(\) got no random generator\. Expected orchestrator\.run\(np\.random\.default_rng\(seed\)\)",
            ),
            (lambda: dr.orchestrator.run(7), r"orchestrator\.run\(\) got 7\. Expected"),
            (lambda: ball(mass=1.0), r"'ball' is randomized outside of a gate"),
            (lambda: gate(None).__enter__(), r"on_env_reset\(\) is outside on_rl_frame"),
            (lambda: gate(2).__enter__(), r"on_interval\(2\) is outside on_rl_frame"),
            (lambda: dr.trigger.on_rl_frame(0).__enter__(), r"num_envs=0 is out of range"),
        ],
    )
    def test_calls_in_the_wrong_order_are_refused(self, stage, call, message):
        stage(1)
        with pytest.raises(ConfigError, match=message):
            call()

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: ball("add", mass=1.0), r"operation='add' is not a known operation\. Did you mean 'additive'"),
            (
                lambda: ball(position=(1, 2)),
                r"ball\.position: constant has shape \(2,\)\. Expected \(3,\), or one number",
            ),
            (lambda: ball(mass=-1.0), r"ball\.mass: .* under direct goes down to -1\. Expected 1e-06 or more \[kg\]"),
            (lambda: ball("scaling", mass=uniform(-1, 1)), r"goes down to -1\. Expected 0 or more"),
            (lambda: ball(mass=1.0, num_buckets=4), r"num_buckets=4 of 'ball' has no effect"),
            (lambda: ball(material_properties=(1, 1, 0), num_buckets=0), r"num_buckets=0 is out of range"),
            (lambda: gate(2).__enter__(), r"on_interval\(2\) is inside on_env_reset\(\)"),
            (lambda: [ball(mass=1.0), ball(mass=2.0)], r"ball\.mass is randomized on_env_reset twice"),
            (
                lambda: rig(joint_positions=[0.0] * 7),
                r"rig\.joint_positions: constant has shape \(7,\)\. Expected \(2,\), or one number for all "
                r"\(one per joint: rail, shaft\) \[rad or m\]",
            ),
            (lambda: rig(material_properties=[0.0] * 4), r"Expected \(9,\) or \(3,\)"),
            (
                lambda: dr.physics_view.randomize_rigid_prim_view("bal", mass=1.0),
                r"View 'bal' is not registered\. Did you mean 'ball'\? Registered: ball, ",
            ),
            (
                lambda: dr.physics_view.randomize_rigid_prim_view("rig", position=(0, 0, 0)),
                r"View 'rig' is a ArticulationView, expected a RigidPrimView",
            ),
        ],
    )
    def test_rules_that_do_not_fit_are_refused(self, stage, call, message):
        stage(1)
        with dr.trigger.on_rl_frame(num_envs=1), gate(None), pytest.raises(ConfigError, match=message):
            call()

    @pytest.mark.parametrize("interval", [0, -1, 1.5, True, None])
    def test_an_interval_is_a_whole_number_from_one(self, stage, interval):
        stage(1)
        with dr.trigger.on_rl_frame(num_envs=1), pytest.raises(ConfigError, match=r"interval=.* is out of range"):
            dr.gate.on_interval(interval).__enter__()

    def test_all_views_have_as_many_members_as_there_are_environments(self, stage):
        made, setup = stage(2), dr.Setup()
        with (
            pytest.raises(ConfigError, match=r"View 'ball' has 2 members, on_rl_frame has num_envs=3"),
            dr.trigger.on_rl_frame(num_envs=3),
        ):
            pass
        with setup.on_rl_frame(num_envs=3), pytest.raises(ConfigError, match="has 2 members"):
            setup.register_view(made.ball)

    def test_a_view_is_registered_by_the_call_of_its_kind_and_once_and_the_context_too(self, stage):
        made = stage(1)
        with pytest.raises(ConfigError, match=r"is a ArticulationView\. Expected a RigidPrimView"):
            dr.physics_view.register_rigid_prim_view(made.rig)
        with pytest.raises(ConfigError, match=r"A view named 'ball' is registered already"):
            dr.physics_view.register_rigid_prim_view(made.ball)
        dr.new_setup()
        with (
            dr.trigger.on_rl_frame(num_envs=1),
            gate(None),
            pytest.raises(ConfigError, match=r"No simulation context is registered"),
        ):
            dr.physics_view.randomize_simulation_context(gravity=(0, 0, -1))

    def test_a_rule_made_after_run_needs_another_run(self, stage):
        stage(1)
        with dr.trigger.on_rl_frame(num_envs=1):
            dr.orchestrator.run(np.random.default_rng(0))
            with gate(None):
                ball(mass=1.0)
        with pytest.raises(ConfigError, match=r"before orchestrator\.run\(\)"):
            step([0])

    @pytest.mark.parametrize("inds", [[2], [-1], [0.5], [True, False], [[0]], ["a"]])
    def test_reset_inds_outside_the_environments_are_refused(self, stage, inds):
        with stage(2).rules():
            pass
        with pytest.raises(ConfigError, match=r"do not name environments\. Expected whole numbers from 0 to 1"):
            step(inds)
