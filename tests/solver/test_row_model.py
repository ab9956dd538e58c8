"""Rows of every term as the exact finish sees them: Jacobians and second derivatives by finite differences."""

import casadi as ca
import numpy as np
import pytest

from tests.solver.builders import HEAD, LINE, TAIL, axis, point, setting_of
from unlatch.simcore.geometry import Pose, matrix_from_rpy
from unlatch.solver.kinematics import ChainJoint, Kinematics
from unlatch.solver.parameter_layout import Nearness, ParameterLayout, RowCounts
from unlatch.solver.row_model import MU, SCALE, RowModel, add_cost, add_rows
from unlatch.solver.term import AxisRow, ExpressionRow, PlaneRow, PointRow, RowKind

PLANE = {"keypoint_name": "tool_side", "target_keypoint_name": TAIL, "plane_normal": [0, 1, 1]}
TOOL = ("tool_tail", "tool_head")
TERMS = {
    "point2point_constraint": point(tolerance=0.01),
    "point2plane_constraint": {**PLANE, "tolerance": 0.01},
    "frame_axis_parallel": axis(TOOL, target_axis=[0, 0, 1]),
    "frame_axis_orthogonal": axis(TOOL, target_axis=[0, 1, 0]),
    "keypoint_axis_parallel": axis(TOOL, **LINE),
    "keypoint_axis_orthogonal": axis(TOOL, **LINE),
    "point2point_cost": {"keypoint_name": "tool_head", "target_keypoint_name": HEAD, "weight": 3.0},
    "point2plane_cost": {**PLANE, "weight": 5.0},
}


def row_of(kind, arm, scene):
    entry = {**TERMS[kind], "type": kind}
    setting = setting_of(point(), costs=[entry]) if kind.endswith("_cost") else setting_of(entry)
    (term,) = setting.cost_list or setting.constraint_list
    return term.row(arm.tool_keypoints, scene)


def near_cost(n):
    T = Pose(matrix_from_rpy([0.3, -0.2, 0.5]), np.array([0.3, 0.1, 0.4]))
    return Nearness(np.linspace(0.5, 2.0, n), T, 1.5, 0.7)


class Evaluated:
    """A row model of one list of rows as CasADi functions of the joints."""

    def __init__(self, kinematics, rows, *, lower, upper):
        n = kinematics.n_q
        layout = ParameterLayout(RowCounts.of(rows), n, True)
        limits = {"lower": lower, "upper": upper, "box": np.array([[-0.2] * 3, [0.4] * 3])}
        P = layout.pack(rows, tighten=1.0, nearness=near_cost(n), **limits)
        q, u = ca.SX.sym("q", n), ca.SX.sym("u", layout.scalar_rows)
        model = RowModel(kinematics, q)
        add_rows(model, layout, ca.SX(ca.DM(P)))
        add_cost(model, layout, ca.SX(ca.DM(0.5 * (lower + upper))), ca.SX(ca.DM(P)))
        y = ca.vertcat(*model.y)
        r = model.residual(y + u)
        g, W = model.gradient(r)
        S = model.stiffness(y + u)
        H = [W[max(i, j)][min(i, j)] + S[max(i, j)][min(i, j)] for i in range(n) for j in range(n)]
        self._rows = ca.Function("y", [q], [y])
        self.jacobian = ca.Function("J", [q], [ca.vertcat(*[ca.horzcat(*row) for row in model.J])])
        self.lagrangian = ca.Function("L", [q, u], [model.cost + 0.5 * MU * ca.sumsqr(r)])
        self.gradient = ca.Function("g", [q, u], [ca.vertcat(*g)])
        self.hessian = ca.Function("H", [q, u], [ca.reshape(ca.vertcat(*H), n, n)])
        self.n_rows = layout.scalar_rows

    def rows(self, q):
        return self._rows(q).toarray().ravel()


def of_arm(arm, *rows):
    return Evaluated(arm.kinematics, list(rows), lower=arm.q_lower, upper=arm.q_upper)


def differences(f, q, step=1e-6):
    return np.array([(f(q + step * e) - f(q - step * e)) / (2 * step) for e in np.eye(len(q))])


def assert_derivatives(model, rng, lower, upper):
    """Jacobian, and gradient and Hessian of the augmented Lagrangian, equal finite differences."""
    for _ in range(5):
        q, u = rng.uniform(lower - 0.1, upper + 0.1), 1e-2 * rng.normal(size=model.n_rows)
        np.testing.assert_allclose(model.jacobian(q).toarray(), differences(model.rows, q).T, atol=1e-8)
        slope = differences(lambda q, u=u: float(model.lagrangian(q, u)), q)
        np.testing.assert_allclose(model.gradient(q, u).toarray().ravel(), slope, atol=1e-6 * np.abs(slope).max())
        bent = differences(lambda q, u=u: model.gradient(q, u).toarray().ravel(), q)
        np.testing.assert_allclose(model.hessian(q, u).toarray(), bent, atol=1e-6 * np.abs(bent).max())


@pytest.mark.property
@pytest.mark.parametrize("kind", TERMS)
def test_derivatives_of_every_term_are_those_of_finite_differences(kind, arm, door):
    model = of_arm(arm, row_of(kind, arm, door(s=0.3, yaw=0.2)))
    assert_derivatives(model, np.random.default_rng(5), arm.q_lower, arm.q_upper)


def test_derivatives_hold_for_a_chain_with_sliders():
    def joint(i, prismatic):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = matrix_from_rpy([0.4 * i, -0.3, 0.2]), [0.1, 0.2, 0.1 * i]
        return ChainJoint(f"j{i}", prismatic, T, np.array([0.0, 0.6, 0.8]), -1.0, 1.0, 1.0)

    chain = Kinematics([joint(i, i in (1, 3)) for i in range(4)], np.eye(4), base_link="a", tip_link="b")
    rows = [
        PointRow(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.0, 0.1]), 0.01),
        AxisRow(np.array([1.0, 0, 0]), np.array([0.0, 0.6, 0.8]), 0.0, 0.1, 0.0),
        PlaneRow(np.array([0.0, 0.1, 0]), np.array([0.0, 0, 1.0]), np.zeros(3), 0.01, 4.0),
    ]
    model = Evaluated(chain, rows, lower=-np.ones(4), upper=np.ones(4))
    assert_derivatives(model, np.random.default_rng(6), -np.ones(4), np.ones(4))


def test_derivatives_hold_for_a_quantity_of_ones_own(arm):
    def distance(R, p, numbers):
        return ca.norm_2(R @ numbers[:3] + p - numbers[3:])

    numbers, kind = np.array([0.1, 0.2, 0.3, 0.5, -0.2, 0.4]), RowKind("distance", "m", 6, distance)
    cost = ExpressionRow(kind, 0.5 * numbers, 0.0, 0.0, weight=3.0)
    model, q = of_arm(arm, ExpressionRow(kind, numbers, 0.1, 0.2), cost), 0.5 * arm.q_lower
    T = arm.kinematics.pose(q)
    assert model.rows(q)[0] == pytest.approx(SCALE * np.linalg.norm(T @ numbers[:3] - numbers[3:]), abs=1e-12)
    assert_derivatives(model, np.random.default_rng(9), arm.q_lower, arm.q_upper)


def test_a_row_is_what_the_term_says(arm, door):
    q = np.random.default_rng(7).uniform(arm.q_lower, arm.q_upper)
    T = arm.kinematics.pose(q)
    at, along = (row_of(kind, arm, door(s=0.3)) for kind in ("point2point_constraint", "frame_axis_parallel"))
    y = of_arm(arm, at, along).rows(q)
    np.testing.assert_allclose(y[:3], SCALE * (T @ at.x_ee - at.target), atol=1e-12)
    np.testing.assert_allclose(y[3:6], T.R @ along.x_ee - along.target, atol=1e-12)
    np.testing.assert_allclose(y[-10:-7], SCALE * T.p, atol=1e-12)
    np.testing.assert_allclose(y[-7:], q, atol=1e-12)


def test_the_cost_is_the_nearness(arm):
    model, q = of_arm(arm), np.random.default_rng(8).uniform(arm.q_lower, arm.q_upper)
    T = arm.kinematics.pose(q)
    outside = SCALE * (T.p - np.clip(T.p, -0.2 + 1e-6, 0.4 - 1e-6))
    expected = near_cost(7).value(q, T.R, T.p, 0.5 * (arm.q_lower + arm.q_upper))
    expected += 0.5 * MU * float(outside @ outside)
    assert float(model.lagrangian(q, np.zeros(model.n_rows))) == pytest.approx(expected, rel=1e-12)
