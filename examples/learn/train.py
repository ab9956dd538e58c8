"""Trains a network on exported data sets.

    python examples/learn/train.py data/lerobot out=data/policy.pt [noise=0.02] [steps=6000] [width=512]

Every twelfth episode is held out. Observed numbers whose name has a word of `leave_out` are not used.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from arm import Arm, read_arm
from network import ActionNetwork, NetworkCfg, save

OPTIONS = {
    "out": "policy.pt", "noise": 0.02, "steps": 6000, "batch": 512, "width": 512, "chunk": 32, "hand": 1, "seed": 0,
    "episodes": 0, "leave_out": "",
}  # fmt: skip


def read_sets(roots: list[Path]) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Returns names, states (T, n), actions (T, m) and the last row of each row's episode (T,) of LeRobot sets."""
    names = json.loads((roots[0] / "meta" / "info.json").read_text())["features"]["observation.state"]["names"]
    tables = [pq.read_table(root / "data") for root in roots]
    keys = ("observation.state", "action")
    states, actions = (np.concatenate([np.stack(t.column(key).to_numpy()) for t in tables]) for key in keys)
    begins = np.concatenate([table.column("frame_index").to_numpy() for table in tables]) == 0
    ends = np.append(np.flatnonzero(begins)[1:], len(begins)) - 1
    return names, states, actions, ends[np.cumsum(begins) - 1]


def train(roots: list[Path], options: dict) -> ActionNetwork:
    """Trains and returns a network; prints losses and the held-out error of the hand, a quarter of a second ahead."""
    torch.manual_seed(options["seed"])
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    names, *arrays = read_sets(roots)
    words = [word for word in options["leave_out"].split(",") if word]
    columns = [i for i, name in enumerate(names) if not any(word in name for word in words)]
    states, actions, ends = map(torch.tensor, arrays)
    states = states[:, columns]
    chosen = {key: options[key] for key in ("chunk", "hand", "width")}
    cfg = NetworkCfg([names[i] for i in columns], actions.shape[1] - 1, **chosen)
    network = ActionNetwork(cfg, Arm(*map(torch.tensor, read_arm())))
    hands = network.add_hands(actions)
    episode = torch.unique(ends, return_inverse=True)[1]
    held_out = (episode % 12 == 11).nonzero()[:, 0]
    rows = ((episode % 12 != 11) & (episode < (options["episodes"] or len(ends)))).nonzero()[:, 0]
    ahead = torch.arange(cfg.chunk)

    def sample(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        inputs, *grip = network.encode(states[rows], options["noise"])
        return inputs, network.targets(inputs, *grip, hands[torch.minimum(rows[:, None] + ahead, ends[rows, None])])

    network.fit_scales(*sample(rows[torch.randint(len(rows), (20000,))]))
    optimizer = torch.optim.AdamW(network.parameters(), lr=5e-4, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-4, total_steps=options["steps"], pct_start=0.03)
    mean = torch.optim.swa_utils.AveragedModel(network, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    start = time.perf_counter()
    for step in range(1, options["steps"] + 1):
        optimizer.zero_grad(set_to_none=True)
        loss = network.loss(*sample(rows[torch.randint(len(rows), (options["batch"],))]))
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 10 == 0:
            mean.update_parameters(network)
        if step % 1000 == 0 or step == options["steps"]:
            some = held_out[:: max(len(held_out) // 500, 1)]
            predicted = mean.module.act(states[some])[:, 7, : cfg.joints]
            error = (
                network.arm(predicted)[0] - hands[torch.minimum(some + 7, ends[some]), cfg.joints + 1 : cfg.joints + 4]
            )
            error_mm, seconds = 1e3 * error.norm(dim=1).median().item(), time.perf_counter() - start
            print(f"step {step}: loss {loss.item():.4f}, hand {error_mm:.1f} mm off, {seconds:.0f} s", flush=True)
    save(mean.module.cpu(), options["out"], columns)
    print(f"network: {options['out']}")
    return mean.module


if __name__ == "__main__":
    given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    chosen = {**OPTIONS, **{key: type(OPTIONS[key])(value) for key, value in given.items()}}
    train([Path(word) for word in sys.argv[1:] if "=" not in word], chosen)
