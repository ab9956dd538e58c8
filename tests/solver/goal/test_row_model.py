"""Rows of every term as the exact finish sees them: Jacobians and second derivatives by finite differences."""

import casadi as ca
import numpy as np
import pytest

from unlatch.simcore.geometry import Pose, matrix_from_rpy
from unlatch.solver.kinematics import ChainJoint, Kinematics
from unlatch.solver.parameter_layout import Nearness, ParameterLayout, RowCounts
from unlatch.solver.row_model import MU, SCALE, RowModel, add_cost, add_rows
from unlatch.solver.setting import PlannerSettingCfg
from unlatch.solver.term import AxisRow, ExpressionRow, PlaneRow, PointRow, RowKind

HEAD, TAIL = "articulated_object_head", "articulated_object_tail"
POINT = {"keypoint_name": "tool_head", "target_keypoint_name": HEAD}
PLANE = {"keypoint_name": "tool_side", "target_keypoint_name": TAIL, "plane_normal": [0, 1, 1]}
AXIS = {"axis_from_keypoint_name": "tool_tail", "axis_to_keypoint_name": "tool_head", "tolerance": 0.1}
LINE = {"target_axis_from_keypoint_name": HEAD, "target_axis_to_keypoint_name": TAIL}
TERMS = {
    "point2point_constraint": {**POINT, "tolerance": 0.01},
    "point2plane_constraint": {**PLANE, "tolerance": 0.01},
    "frame_axis_parallel": {**AXIS, "target_axis": [0, 0, 1]},
    "frame_axis_orthogonal": {**AXIS, "target_axis": [0, 1, 0]},
    "keypoint_axis_parallel": {**AXIS, **LINE},
    "keypoint_axis_orthogonal": {**AXIS, **LINE},
    "point2point_cost": {**POINT, "weight": 3.0},
    "point2plane_cost": {**PLANE, "weight": 5.0},
}


def row_of(kind, arm, scene):
    entry = {"type": kind, **TERMS[kind]}
    key = "cost_list" if kind.endswith("_cost") else "constraint_list"
    lists = {"constraint_list": [{"type": "point2point_constraint", **TERMS["point2point_constraint"]}], key: [entry]}
    setting = PlannerSettingCfg(success_threshold=0.1, **lists)
    (term,) = setting.cost_list if kind.endswith("_cost") else setting.constraint_list
    return term.row(arm.tool_keypoints, scene)


class Evaluated:
    """A row model of one list of rows as CasADi functions of the joints."""

    def __init__(self, kinematics, rows, *, nearness, lower, upper):
        n = kinematics.n_q
        layout = ParameterLayout(RowCounts.of(rows), n, True)
        P = layout.pack(
            rows, lower=lower, upper=upper, box=np.array([[-0.2] * 3, [0.4] * 3]), tighten=1.0, nearness=nearness
        )
        q, u = ca.SX.sym("q", n), ca.SX.sym("u", layout.scalar_rows)
        model = RowModel(kinematics, q)
        add_rows(model, layout, ca.SX(ca.DM(P)))
        add_cost(model, layout, ca.SX(ca.DM(0.5 * (lower + upper))), ca.SX(ca.DM(P)))
        y = ca.vertcat(*model.y)
        r = model.residual(y + u)
        g, W = model.gradient(r)
        S = model.stiffness(y + u)
        H = [W[max(i, j)][min(i, j)] + S[max(i, j)][min(i, j)] for i in range(n) for j in range(n)]
        self.rows = ca.Function("y", [q], [y])
        J = ca.vertcat(*[ca.horzcat(*row) for row in model.J])
        self.jacobian = ca.Function("J", [q], [J])
        self.lagrangian = ca.Function("L", [q, u], [model.cost + 0.5 * MU * ca.sumsqr(r)])
        self.gradient = ca.Function("g", [q, u], [ca.vertcat(*g)])
        self.hessian = ca.Function("H", [q, u], [ca.reshape(ca.vertcat(*H), n, n)])
        self.n_rows = layout.scalar_rows


def near_cost(n):
    return Nearness(
        np.linspace(0.5, 2.0, n), Pose(matrix_from_rpy([0.3, -0.2, 0.5]), np.array([0.3, 0.1, 0.4])), 1.5, 0.7
    )


def differences(f, q, step=1e-6):
    return np.array([(f(q + step * e) - f(q - step * e)) / (2 * step) for e in np.eye(len(q))])


def assert_derivatives(model, q, u):
    """Gradient and Hessian of the augmented Lagrangian equal finite differences."""
    slope = differences(lambda q: float(model.lagrangian(q, u)), q)
    np.testing.assert_allclose(model.gradient(q, u).toarray().ravel(), slope, atol=1e-6 * np.abs(slope).max())
    bent = differences(lambda q: model.gradient(q, u).toarray().ravel(), q)
    np.testing.assert_allclose(model.hessian(q, u).toarray(), bent, atol=1e-6 * np.abs(bent).max())


@pytest.mark.property
@pytest.mark.parametrize("kind", TERMS)
def test_jacobian_gradient_and_hessian_are_those_of_finite_differences(kind, arm, door):
    row = row_of(kind, arm, door(s=0.3, yaw=0.2))
    model = Evaluated(arm.kinematics, [row], nearness=near_cost(7), lower=arm.q_lower, upper=arm.q_upper)
    rng = np.random.default_rng(5)
    for _ in range(5):
        q = rng.uniform(arm.q_lower - 0.1, arm.q_upper + 0.1)
        u = 1e-2 * rng.normal(size=model.n_rows)
        numeric = differences(lambda q: model.rows(q).toarray().ravel(), q).T
        np.testing.assert_allclose(model.jacobian(q).toarray(), numeric, atol=1e-8)
        assert_derivatives(model, q, u)


def test_derivatives_hold_for_a_chain_with_a_slider():
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
    model = Evaluated(chain, rows, nearness=near_cost(4), lower=-np.ones(4), upper=np.ones(4))
    rng = np.random.default_rng(6)
    for _ in range(5):
        q, u = rng.uniform(-1.1, 1.1, 4), 1e-2 * rng.normal(size=model.n_rows)
        assert_derivatives(model, q, u)


def test_derivatives_hold_for_a_quantity_of_ones_own(arm):
    def distance(R, p, numbers):
        return ca.norm_2(R @ numbers[:3] + p - numbers[3:])

    numbers = np.array([0.1, 0.2, 0.3, 0.5, -0.2, 0.4])
    kind = RowKind("distance", "m", 6, distance)
    rows = [ExpressionRow(kind, numbers, 0.1, 0.2), ExpressionRow(kind, 0.5 * numbers, 0.0, 0.0, weight=3.0)]
    model = Evaluated(arm.kinematics, rows, nearness=near_cost(7), lower=arm.q_lower, upper=arm.q_upper)
    rng = np.random.default_rng(9)
    for _ in range(5):
        q, u = rng.uniform(arm.q_lower, arm.q_upper), 1e-2 * rng.normal(size=model.n_rows)
        T = arm.kinematics.pose(q)
        y = model.rows(q).toarray().ravel()
        assert y[0] == pytest.approx(SCALE * np.linalg.norm(T @ numbers[:3] - numbers[3:]), abs=1e-12)
        assert_derivatives(model, q, u)


def test_a_row_is_what_the_term_says(arm, door):
    scene = door(s=0.3)
    q = np.random.default_rng(7).uniform(arm.q_lower, arm.q_upper)
    T = arm.kinematics.pose(q)
    point, axis = row_of("point2point_constraint", arm, scene), row_of("frame_axis_parallel", arm, scene)
    model = Evaluated(arm.kinematics, [point, axis], nearness=near_cost(7), lower=arm.q_lower, upper=arm.q_upper)
    y = model.rows(q).toarray().ravel()
    np.testing.assert_allclose(y[:3], SCALE * (T @ point.x_ee - point.target), atol=1e-12)
    np.testing.assert_allclose(y[3:6], T.R @ axis.x_ee - axis.target, atol=1e-12)
    np.testing.assert_allclose(y[-10:-7], SCALE * T.p, atol=1e-12)
    np.testing.assert_allclose(y[-7:], q, atol=1e-12)


def test_the_cost_is_the_nearness(arm):
    nearness, rng = near_cost(7), np.random.default_rng(8)
    model = Evaluated(arm.kinematics, [], nearness=nearness, lower=arm.q_lower, upper=arm.q_upper)
    middle = 0.5 * (arm.q_lower + arm.q_upper)
    q = rng.uniform(arm.q_lower, arm.q_upper)
    T = arm.kinematics.pose(q)
    y = model.rows(q).toarray().ravel()
    outside = SCALE * (T.p - np.clip(T.p, -0.2 + 1e-6, 0.4 - 1e-6))
    expected = nearness.value(q, T.R, T.p, middle) + 0.5 * MU * float(outside @ outside)
    assert float(model.lagrangian(q, np.zeros(len(y)))) == pytest.approx(expected, rel=1e-12)
