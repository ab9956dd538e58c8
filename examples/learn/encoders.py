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


class Norm(nn.GroupNorm):
    """Normalizes eight groups of channels, in the precision of the maps; `autocast` would take 32 bits."""

    def __init__(self, channels: int) -> None:
        super().__init__(8, channels)

    def forward(self, x: Tensor) -> Tensor:
        """Returns maps of the shape of x."""
        with torch.autocast(x.device.type, enabled=False):
            return nn.functional.group_norm(x, 8, self.weight.to(x.dtype), self.bias.to(x.dtype))


class ImageBlock(nn.Module):
    """Two convolutions whose input is added to their output (He et al. 2016)."""

    def __init__(self, before: int, after: int, stride: int = 1) -> None:
        super().__init__()
        first = nn.Conv2d(before, after, 3, stride, padding=1), Norm(after), nn.GELU()
        self.layers = nn.Sequential(*first, nn.Conv2d(after, after, 3, padding=1), Norm(after))
        self.short_layers = nn.Conv2d(before, after, 1, stride) if before != after else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Returns maps (N, after, H, W) of maps (N, before, H, W); a stride of 2 halves their sides."""
        return nn.functional.gelu(self.layers(x) + self.short_layers(x))


class ImageEncoder(nn.Module):
    """Places of 64 learned features in an image (spatial softmax, Levine et al. 2016), and what the whole shows."""

    places, whole = 64, 256
    size = 2 * places + whole

    def __init__(self) -> None:
        super().__init__()
        first = nn.Conv2d(3, 32, 5, 2, padding=2), Norm(32), nn.GELU()
        self.near_layers = nn.Sequential(
            *first, ImageBlock(32, 64, 2), ImageBlock(64, 64), ImageBlock(64, 128, 2), ImageBlock(128, 128)
        )  # an eighth of the sides
        self.far_layers = ImageBlock(128, self.whole, 2)
        self.place_layers = nn.ModuleList([nn.Conv2d(128, self.places, 1), nn.Conv2d(self.whole, self.places, 1)])

    def forward(self, images: Tensor) -> Tensor:
        """Returns features (N, size) of 8-bit images (N, H, W, 3)."""
        x = images.permute(0, 3, 1, 2).float() / 255.0 - 0.5
        x = self._vary(x) if self.training else x.contiguous()
        with torch.autocast(x.device.type, torch.bfloat16, self.training and x.is_cuda, cache_enabled=False):
            near = self.near_layers(x)
            far = self.far_layers(near)
            fine, coarse = (layer(maps) for layer, maps in zip(self.place_layers, (near, far), strict=True))
        scores = fine.float() + nn.functional.interpolate(coarse.float(), fine.shape[2:], mode="bilinear")
        down, right = (torch.linspace(-1.0, 1.0, n) for n in scores.shape[2:])
        share = scores.flatten(2).softmax(dim=2).unflatten(2, scores.shape[2:])
        places = (share.sum(3) * down).sum(2), (share.sum(2) * right).sum(2)
        return torch.cat([*places, far.float().mean((2, 3))], dim=1)

    def _vary(self, x: Tensor) -> Tensor:
        """Returns images that are shifted by up to two hundredths of their sides, in another light."""
        shift = torch.cat([torch.eye(2).repeat(len(x), 1, 1), 0.08 * torch.rand(len(x), 2, 1) - 0.04], dim=2)
        grid = nn.functional.affine_grid(shift, list(x.shape), align_corners=False)
        x = nn.functional.grid_sample(x, grid, padding_mode="border", align_corners=False)
        return x * (1.0 + 0.2 * torch.randn(len(x), 1, 1, 1)) + 0.1 * torch.randn(len(x), 3, 1, 1)
