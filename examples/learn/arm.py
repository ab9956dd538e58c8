"""Kinematics of an arm: where its joints put the point between the fingertips (tcp), and back."""

import torch
from torch import Tensor, nn


class Arm(nn.Module):
    """Forward and inverse kinematics of many arms at once (product of exponentials, Brockett 1984)."""

    def __init__(self, axes: Tensor, tcp: Tensor) -> None:
        super().__init__()
        self.register_buffer("axes", axes)
        self.register_buffer("tcp", tcp)

    def forward(self, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns tcp positions (N, 3) [m], rotations (N, 3, 3) and Jacobians (N, 6, n) of joints q (N, n) [rad]."""
        R, p = torch.eye(3).repeat(len(q), 1, 1), torch.zeros(len(q), 3)
        lines = []
        for (direction, point), angle in zip(self.axes.unflatten(1, (2, 3)), q.T, strict=True):
            lines.append((R @ direction, p + R @ point))
            K, angle = torch.linalg.cross(direction.expand(3, 3), -torch.eye(3)), angle[:, None, None]
            turn = torch.eye(3) + angle.sin() * K + (1.0 - angle.cos()) * (K @ K)
            p = p + (R @ (point - turn @ point)[..., None])[..., 0]
            R = R @ turn
        p, R = p + R @ self.tcp[:3, 3], R @ self.tcp[:3, :3]
        J = torch.stack([torch.cat([torch.linalg.cross(w, p - x), w], dim=1) for w, x in lines], dim=2)
        return p, R, J

    def reach(self, q: Tensor, position: Tensor, rotation: Tensor, steps: int = 3, damping: float = 0.02) -> Tensor:
        """Returns joints near q (N, n) that put the tcp at positions (N, 3) and rotations (N, 3, 3)."""
        for _ in range(steps):
            p, R, J = self(q)
            error = torch.cat([position - p, torch.linalg.cross(R, rotation, dim=1).sum(dim=2) / 2.0], dim=1)
            q = q + (J.mT @ torch.linalg.solve(J @ J.mT + damping**2 * torch.eye(6), error[..., None]))[..., 0]
        return q


def orthonormal(columns: Tensor) -> Tensor:
    """Returns rotations (..., 3, 3) from two columns (..., 6), by Gram-Schmidt."""
    a, b = columns[..., :3], columns[..., 3:]
    a = nn.functional.normalize(a, dim=-1)
    b = nn.functional.normalize(b - (a * b).sum(-1, keepdim=True) * a, dim=-1)
    return torch.stack([a, b, torch.linalg.cross(a, b)], dim=-1)
