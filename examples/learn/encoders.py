"""Encoders of point clouds and camera images."""

import torch
from torch import Tensor, nn


class PointEncoder(nn.Module):
    """Features of a set of points (PointNet, Qi et al. 2017), and the places that it attends to, such as a handle."""

    def __init__(self, heads: int = 0, hide: float = 0.0) -> None:
        """Creates the encoder; see `NetworkCfg` for the arguments."""
        super().__init__()
        self.heads, self.hide, features = heads, hide, 256
        self.size = features + 6 * heads
        self.point_layers = nn.Sequential(nn.Linear(7, 64), nn.GELU(), nn.Linear(64, 128), nn.GELU())
        self.last_layer, self.norm = nn.Linear(128, features), nn.LayerNorm(features)
        if heads:
            self.query, self.key, self.attend = nn.Linear(features, 64), nn.Linear(128, 64), nn.Linear(64, heads)

    def forward(self, points: Tensor) -> Tensor:
        """Returns features (N, size) of points (N, P, 7): in the frames of grip and hand, and whether on the part."""
        if self.training and self.hide:
            points = points[:, torch.rand(points.shape[1]).topk(points.shape[1] // 2).indices]
        shown = self._show(points)
        each = self.point_layers(points)
        features = self.norm(self.last_layer(each).masked_fill(~shown, -1e4).amax(dim=1))
        if not self.heads:
            return features
        scores = self.attend(nn.functional.gelu(self.key(each) + self.query(features)[:, None]))
        share = scores.masked_fill(~shown, -1e4).softmax(dim=1)
        return torch.cat([features, (share.mT @ points[..., :6]).flatten(1)], dim=1)

    def _show(self, points: Tensor) -> Tensor:
        """Returns which points count (N, P, 1): in training, those of the body only up to a random distance."""
        if not (self.training and self.hide):
            return torch.ones_like(points[..., :1], dtype=torch.bool)
        reach = self.hide * torch.rand(len(points), 1, 1)
        return (points[..., 6:] > 0.5) | (points[..., :3].norm(dim=2, keepdim=True) < reach)


class ImageEncoder(nn.Module):
    """Positions of 64 learned features in an image (spatial softmax, Levine et al. 2016)."""

    size = 128

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after, stride in ((3, 32, 2), (32, 64, 2), (64, 128, 2), (128, 128, 1), (128, self.size // 2, 1)):
            layers += [nn.Conv2d(before, after, 3, stride, padding=1), nn.GroupNorm(8, after), nn.GELU()]
        self.layers = nn.Sequential(*layers[:-2])

    def forward(self, images: Tensor) -> Tensor:
        """Returns features (N, size) of 8-bit images (N, H, W, 3); in training, shifts them and changes contrast."""
        x = images.permute(0, 3, 1, 2).float() / 255.0 - 0.5
        if self.training:
            shift = torch.cat([torch.eye(2).repeat(len(x), 1, 1), 0.06 * torch.rand(len(x), 2, 1) - 0.03], dim=2)
            grid = nn.functional.affine_grid(shift, list(x.shape), align_corners=False)
            x = nn.functional.grid_sample(x, grid, padding_mode="border", align_corners=False)
            x = x * (1.0 + 0.2 * torch.randn(len(x), 1, 1, 1))
        x = self.layers(x)
        down, right = (torch.linspace(-1.0, 1.0, n) for n in x.shape[2:])
        share = x.flatten(2).softmax(dim=2).unflatten(2, x.shape[2:])
        return torch.cat([(share.sum(3) * down).sum(2), (share.sum(2) * right).sum(2)], dim=1)
