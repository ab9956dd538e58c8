"""Behaviour cloning on an exported data set: a small network that predicts the next actions from the state.

    unlatch export DATA out=data/lerobot
    python examples/train_bc.py data/lerobot out=data/bc.pt

It needs the extra `train` (torch) and nothing else of Unlatch. It holds out every tenth episode. `BehaviourCloning` is
a policy for `unlatch evaluate`: use `policy=train_bc:BehaviourCloning` and set UNLATCH_BC to the path of the network.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from torch import nn

INPUTS = ("observation.state", "observation.environment_state", "observation.keypoints")
CHUNK = 8
"""Number of predicted actions; the policy executes the first one and then predicts again."""
HIDDEN, BATCH, EPOCHS = 512, 256, 60


def read(root: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns the observations (T, n) and actions (T, m) of every episode of a LeRobot data set."""
    table = pq.read_table(root / "data")
    columns = {key: np.stack(table.column(key).to_numpy()) for key in (*INPUTS, "action")}
    episode = table.column("episode_index").to_numpy()
    seen = np.hstack([columns[key] for key in INPUTS])
    return [(seen[episode == index], columns["action"][episode == index]) for index in np.unique(episode)]


def samples(episodes: list[tuple[np.ndarray, np.ndarray]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns observations (N, n) and the next CHUNK actions of each (N, CHUNK, m), the last one repeated."""
    chunks = [
        actions[np.minimum(np.arange(len(actions))[:, None] + np.arange(CHUNK), len(actions) - 1)]
        for _, actions in episodes
    ]
    seen = np.concatenate([observations for observations, _ in episodes])
    return torch.tensor(seen, dtype=torch.float32), torch.tensor(np.concatenate(chunks), dtype=torch.float32)


class Network(nn.Module):
    """Predicts actions; normalizes its input and undoes the normalization of its output."""

    def __init__(self, seen: torch.Tensor, actions: torch.Tensor) -> None:
        super().__init__()
        for name, values in (("seen", seen), ("action", actions.flatten(0, 1))):
            self.register_buffer(f"{name}_mean", values.mean(0))
            self.register_buffer(f"{name}_std", values.std(0).clamp(min=1e-3))  # a constant input stays 0
        n, m = seen.shape[1], actions.shape[2]
        self.layers = nn.Sequential(
            *(nn.Linear(n, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, CHUNK * m))
        )

    def forward(self, seen: torch.Tensor) -> torch.Tensor:
        """Returns (N, CHUNK, m) normalized actions."""
        return self.layers((seen - self.seen_mean) / self.seen_std).unflatten(1, (CHUNK, -1))

    def loss(self, seen: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Returns the mean absolute error, in standard deviations of each number of an action."""
        return (self(seen) - (actions - self.action_mean) / self.action_std).abs().mean()

    def act(self, seen: torch.Tensor) -> torch.Tensor:
        """Returns (N, CHUNK, m) actions."""
        return self(seen) * self.action_std + self.action_mean


def train(root: Path, out: Path) -> None:
    """Trains and writes the network; prints the training and the held-out loss after every tenth pass."""
    torch.manual_seed(0)
    episodes = read(root)
    held_out = samples(episodes[9::10])
    trained = samples([episode for index, episode in enumerate(episodes) if index % 10 != 9])
    network = Network(*trained)
    steps = -(-len(trained[0]) // BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * steps)
    print(f"{len(episodes)} episodes, {len(trained[0])} frames to train on, {len(held_out[0])} held out")
    for epoch in range(EPOCHS + 1):
        if epoch % 10 == 0:
            with torch.no_grad():
                print(f"pass {epoch:3d}: train {network.loss(*trained):.4f}, held out {network.loss(*held_out):.4f}")
        if epoch == EPOCHS:
            break
        for batch in torch.randperm(len(trained[0])).split(BATCH):
            optimizer.zero_grad()
            network.loss(*(part[batch] for part in trained)).backward()
            optimizer.step()
            schedule.step()
    torch.save(network.state_dict(), out)
    print(f"network: {out}")


class BehaviourCloning:
    """The network as a policy for `unlatch evaluate`: one arm, one object, the default export conventions."""

    def __init__(self, observation_space: object, action_space: object) -> None:
        weights = torch.load(os.environ["UNLATCH_BC"], weights_only=True)
        seen, action = weights["seen_mean"], weights["action_mean"]
        self._network = Network(seen.expand(2, -1), action.expand(2, 1, -1))
        self._network.load_state_dict(weights)

    def act(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        """Returns the first predicted action."""
        seen = np.concatenate([observation[key] for key in INPUTS])
        with torch.no_grad():
            action = self._network.act(torch.tensor(seen, dtype=torch.float32)[None])[0, 0]
        return action.numpy().astype(float)


if __name__ == "__main__":
    target = next((word.removeprefix("out=") for word in sys.argv[2:] if word.startswith("out=")), "bc.pt")
    train(Path(sys.argv[1]), Path(target))
