"""Encoders of point clouds and camera images."""

import torch
from torch import Tensor, nn


class PointEncoder(nn.Module):
    """Features of a set of points (PointNet, Qi et al. 2017)."""

    size = 256

    def __init__(self) -> None:
        super().__init__()
        layers = nn.Linear(7, 64), nn.GELU(), nn.Linear(64, 128), nn.GELU(), nn.Linear(128, self.size)
        self.layers, self.norm = nn.Sequential(*layers), nn.LayerNorm(self.size)

    def forward(self, points: Tensor) -> Tensor:
        """Returns features (N, size) of points (N, P, 7): in the frames of grip and hand, and whether on the part."""
        return self.norm(self.layers(points).amax(dim=1))


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
