"""A network that predicts the next actions of an arm from what it observes.

It predicts a chunk of actions at once (Zhao et al. 2023), each in two ways: as changes of the joints (the posture), and
as a change of the hand in the frame of the grip (the precise place). `act` joins both by inverse kinematics.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from arm import Arm, orthonormal
from encoders import ImageEncoder, PointEncoder
from states import STATE
from torch import Tensor, nn

CLOUD = "observation.point_cloud"
WORDS, HIDDEN = "words", "hidden"
"""The words of the instruction, and numbers that only training knows; not keys of an export."""


@dataclass
class NetworkCfg:
    """What a network observes and how it predicts; stored with its weights."""

    names: list[str]
    """Names of the numbers in `observation.state`; the joint positions come first."""
    joints: int = 7
    chunk: int = 32
    hand: bool = True
    """Whether changes of the hand are predicted, too."""
    width: int = 512
    blocks: int = 4
    views: list[str] = field(default_factory=list)
    """Observed point clouds and images, as in the export."""
    words: list[str] = field(default_factory=list)
    """Words of instructions that are told apart."""
    hidden: int = 0
    """Numbers about the object that the network learns to guess from its views; it acts on its guess."""
    heads: int = 0
    """Places of a point cloud that the network attends to."""
    hide: float = 0.0
    """In training, points of the body are hidden beyond a random distance of up to `hide` from the part's middle [m],
    so that the network does not guess a handle from the size of a body; 0: none is hidden."""


class Residual(nn.Sequential):
    """Layers whose input is added to their output."""

    def forward(self, x: Tensor) -> Tensor:
        """Returns a tensor of the shape of x."""
        return x + super().forward(x)


class ActionNetwork(nn.Module):
    """Predicts chunks of actions (N, chunk, joints + 1) from observations by key; `STATE` is (N, len(names))."""

    def __init__(self, cfg: NetworkCfg, arm: Arm) -> None:
        super().__init__()
        self.cfg, self.arm = cfg, arm
        words = (".grip.center.", ".grip.out.", ".grip.along.", ".hand_keypoints.")
        *self.grip, self.keypoints = (self._find_columns(word) for word in words)
        inputs, outputs = len(cfg.names) + len(cfg.words) + 9, cfg.joints + 1 + 9 * cfg.hand
        self.register_buffer("input_scale", torch.ones(2, inputs))
        self.register_buffer("output_scale", torch.ones(2, cfg.chunk, outputs))
        encoders = (PointEncoder(cfg.heads, cfg.hide) if view == CLOUD else ImageEncoder() for view in cfg.views)
        self.encoders = nn.ModuleList(encoders)
        w, last = cfg.width, cfg.chunk * outputs
        first = inputs + sum(encoder.size for encoder in self.encoders)
        if cfg.hidden:
            self.register_buffer("hidden_scale", torch.ones(2, cfg.hidden))
            self.guess_layers = nn.Sequential(nn.Linear(first, w), nn.GELU(), nn.Linear(w, cfg.hidden))
        blocks = [(nn.LayerNorm(w), nn.Linear(w, 2 * w), nn.GELU(), nn.Linear(2 * w, w)) for _ in range(cfg.blocks)]
        body = [Residual(*block) for block in blocks]
        self.layers = nn.Sequential(nn.Linear(first + cfg.hidden, w), *body, nn.LayerNorm(w), nn.Linear(w, last))

    def _find_columns(self, word: str) -> slice:
        """Returns the observed numbers whose name has a word; they are next to each other."""
        found = [i for i, name in enumerate(self.cfg.names) if word in name] or [self.cfg.joints]
        return slice(found[0], found[0] + sum(word in name for name in self.cfg.names))

    def encode(self, seen: dict[str, Tensor], noise: float = 0.0) -> tuple[Tensor, list[Tensor], Tensor, Tensor]:
        """Returns inputs (N, inputs), views, and origins (N, 3) and rotations (N, 3, 3) of the grip in the base frame.

        The last 9 inputs are the hand in the frame of the grip; keypoints and points are in this frame, too. `noise`
        disturbs the joint positions [rad] and so the hand, not the rest: the arm is beside its path, the path stays.
        """
        state = seen[STATE]
        q = state[:, : self.cfg.joints]
        origin, frame = self._find_grip(seen)
        p, R, _ = self.arm(q)
        keypoints = state[:, self.keypoints].unflatten(1, (-1, 3)) @ R.mT + (p - origin)[:, None]
        if noise:
            q = q + 2.0 * noise * torch.rand_like(q[:, :1]) * torch.randn_like(q)
            p, R, _ = self.arm(q)
        rest = state[:, q.shape[1] : self.keypoints.start], state[:, self.keypoints.stop :]
        hand = _express_in_grip(p[:, None], R[:, None], origin, frame)[:, 0]
        views = {view: seen[view] for view in self.cfg.views}
        if CLOUD in views:
            points, on_part = seen[CLOUD].split([3, 1], dim=2)
            places = [(points - origin[:, None]) @ frame, 5.0 * (points - p[:, None]) @ R, on_part]
            views[CLOUD] = torch.cat(places, dim=2)
        told = [seen[WORDS]] if self.cfg.words else []
        inputs = torch.cat([q, *rest, *told, (keypoints @ frame).flatten(1), hand], dim=1)
        return inputs, list(views.values()), origin, frame

    def _find_grip(self, seen: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Returns origin and rotation of the grip; without `geometry` an upright frame at the middle of the part's
        points, and without points the base frame.
        """
        if self.grip[0].stop > self.grip[0].start:
            origin, out, along = (seen[STATE][:, columns] for columns in self.grip)
            return origin, torch.stack([out, torch.linalg.cross(along, out), along], dim=2)
        forward, _, up = (axis.expand(len(seen[STATE]), 3) for axis in torch.eye(3))
        origin, out = torch.zeros_like(forward), forward
        if CLOUD in self.cfg.views:
            points, on_part = seen[CLOUD].split([3, 1], dim=2)
            weight = on_part + 1e-6  # if no camera sees the part: the middle of all points
            origin = (points * weight).sum(1) / weight.sum(1)
            out = nn.functional.normalize((origin + 1e-6 * forward) * (1.0 - up), dim=1)
        return origin, torch.stack([out, torch.linalg.cross(up, out), up], dim=2)

    def add_hands(self, actions: Tensor) -> Tensor:
        """Returns actions (N, joints + 1 + 12): with position and rotation of the hand in the base frame."""
        p, R, _ = self.arm(actions[:, : self.cfg.joints])
        return torch.cat([actions, p, R.flatten(1)], dim=1)

    def targets(self, inputs: Tensor, origin: Tensor, frame: Tensor, actions: Tensor) -> Tensor:
        """Returns what is predicted (N, chunk, outputs) for actions with hands (N, chunk, joints + 13)."""
        n = self.cfg.joints
        parts = [actions[..., :n] - inputs[:, None, :n], actions[..., n : n + 1]]
        if self.cfg.hand:
            p, R = actions[..., n + 1 : n + 4], actions[..., n + 4 :].unflatten(2, (3, 3))
            parts.append(_express_in_grip(p, R, origin, frame) - inputs[:, None, -9:])
        return torch.cat(parts, dim=2)

    def fit_scales(self, inputs: Tensor, views: list[Tensor], targets: Tensor, hidden: Tensor) -> None:
        """Sets mean and spread of inputs (N, inputs), targets (N, chunk, outputs) and hidden numbers (N, hidden)."""
        scales = [(self.input_scale, inputs), (self.output_scale, targets)]
        for scale, values in [*scales, (self.hidden_scale, hidden)] if self.cfg.hidden else scales:
            scale.copy_(torch.stack([values.mean(0), values.std(0).clamp(min=1e-2)]))

    def loss(self, inputs: Tensor, views: list[Tensor], targets: Tensor, hidden: Tensor) -> Tensor:
        """Returns the mean absolute error of targets (N, chunk, outputs), in spreads of each number, and that of the
        guess of hidden numbers (N, hidden), added.
        """
        found, guess = self._predict(inputs, views)
        error = (found - (targets - self.output_scale[0]) / self.output_scale[1]).abs().mean()
        if not self.cfg.hidden:
            return error
        return error + (guess - (hidden - self.hidden_scale[0]) / self.hidden_scale[1]).abs().mean()

    @torch.no_grad()
    def act(self, seen: dict[str, Tensor]) -> Tensor:
        """Returns actions (N, chunk, joints + 1) for observations by key."""
        inputs, views, origin, frame = self.encode(seen)
        n = self.cfg.joints
        x = self._predict(inputs, views)[0] * self.output_scale[1] + self.output_scale[0]
        q = x[..., :n] + inputs[:, None, :n]
        if self.cfg.hand:
            hand = x[..., n + 1 :] + inputs[:, None, -9:]
            p, R = hand[..., :3] @ frame.mT + origin[:, None], frame[:, None] @ orthonormal(hand[..., 3:])
            q = self.arm.reach(q.flatten(0, 1), p.flatten(0, 1), R.flatten(0, 1)).unflatten(0, q.shape[:2])
        return torch.cat([q, x[..., n : n + 1]], dim=2)

    def _predict(self, inputs: Tensor, views: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Returns targets (N, chunk, outputs) and the guess of hidden numbers (N, hidden), in their spreads."""
        numbers = ((inputs - self.input_scale[0]) / self.input_scale[1]).clamp(-5.0, 5.0)
        features = [encoder(view) for encoder, view in zip(self.encoders, views, strict=True)]
        seen = torch.cat([numbers, *features], dim=1)
        guess = self.guess_layers(seen) if self.cfg.hidden else seen[:, :0]
        return self.layers(torch.cat([seen, guess], dim=1)).view(-1, *self.output_scale.shape[1:]), guess


def _express_in_grip(p: Tensor, R: Tensor, origin: Tensor, frame: Tensor) -> Tensor:
    """Returns poses (N, k, 9) in the frame of the grip: position, then two columns of the rotation."""
    local = frame[:, None].mT @ R
    return torch.cat([(p - origin[:, None]) @ frame, local[..., 0], local[..., 1]], dim=2)


def tell_words(words: Sequence[str], said: Sequence[str]) -> Tensor:
    """Returns which of the words instructions have (N, words), 1 or 0."""
    told = [set(list_words(instruction)) for instruction in said]
    return torch.tensor([[float(word in found) for word in words] for found in told]).view(len(told), len(words))


def list_words(instruction: str) -> list[str]:
    """Returns the words of an instruction, in small letters."""
    return re.findall(r"[a-z]+", instruction.lower())


def save(network: ActionNetwork, path: str | Path) -> None:
    """Writes a network, its matrices as 16-bit numbers."""
    weights = {k: v.half() if "layers" in k and v.ndim > 1 else v for k, v in network.state_dict().items()}
    arrays = {key: value.cpu().numpy() for key, value in weights.items()}
    with Path(path).open("wb") as file:
        np.savez(file, cfg=json.dumps(asdict(network.cfg)), **arrays)


def load(path: str | Path) -> ActionNetwork:
    """Returns the network of a file."""
    with np.load(path) as stored:
        cfg = NetworkCfg(**json.loads(str(stored["cfg"])))
        weights = {name: torch.tensor(np.float32(stored[name])) for name in stored.files if name != "cfg"}
    network = ActionNetwork(cfg, Arm(weights["arm.axes"], weights["arm.tcp"]))
    network.load_state_dict(weights)
    return network.eval()
