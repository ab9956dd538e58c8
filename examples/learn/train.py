"""Trains a network on exported data sets: on their numbers, point clouds and images.

    python examples/learn/train.py data/lerobot out=data/policy.pt [noise=0.02] [steps=6000] [width=256]

Every twelfth episode is held out.
"""

import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from arm import Arm, read_arm
from network import CLOUD, IMAGE, STATE, ActionNetwork, NetworkCfg, save

OPTIONS = {
    "out": "policy.pt", "noise": 0.02, "steps": 6000, "batch": 512, "width": 256, "chunk": 32, "hand": 1, "seed": 0,
    "episodes": 0,
}  # fmt: skip


def read_sets(roots: list[Path]) -> tuple[list[str], dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Returns names of the state, observations by key, actions and the last row of each row's episode of sets."""
    features = json.loads((roots[0] / "meta" / "info.json").read_text())["features"]
    tables = [pq.read_table(root / "data") for root in roots]
    keys = [key for key in (STATE, CLOUD, "action") if key in features]
    seen = {key: np.concatenate([_read_column(table, key) for table in tables]) for key in keys}
    for key in (key for key in features if key.startswith(IMAGE)):
        seen[key] = np.concatenate([_read_images(root, key) for root in roots])
    begins = np.concatenate([table.column("frame_index").to_numpy() for table in tables]) == 0
    ends = np.append(np.flatnonzero(begins)[1:], len(begins)) - 1
    return features[STATE]["names"], seen, seen.pop("action"), ends[np.cumsum(begins) - 1]


def _read_column(table: pa.Table, key: str) -> np.ndarray:
    """Returns the rows (T, n), or (T, points, 4), of a column."""
    chunks = [chunk.flatten().flatten() if key == CLOUD else chunk.flatten() for chunk in table.column(key).chunks]
    return np.concatenate(chunks).reshape((len(table), -1, 4) if key == CLOUD else (len(table), -1))


def _read_images(root: Path, key: str) -> np.ndarray:
    """Returns the images (T, H, W, 3) of a camera."""
    from unlatch.simcore.recording.export.lerobot.reader import LeRobotSet

    found = LeRobotSet.open(root)
    with ThreadPoolExecutor() as pool:
        return np.concatenate(list(pool.map(lambda i: np.stack(list(found.frames(i, key))), range(len(found)))))


def train(roots: list[Path], options: dict) -> ActionNetwork:
    """Trains and returns a network; prints losses and the held-out error of the hand, a quarter of a second ahead."""
    torch.manual_seed(options["seed"])
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    names, observed, *arrays = read_sets(roots)
    actions, ends = map(torch.tensor, arrays)
    seen = {key: torch.tensor(values) for key, values in observed.items()}
    chosen = {key: options[key] for key in ("chunk", "hand", "width")}
    views = [key for key in seen if key != STATE]
    cfg = NetworkCfg(names, actions.shape[1] - 1, views=views, **chosen)
    network = ActionNetwork(cfg, Arm(*map(torch.tensor, read_arm())))
    hands = network.add_hands(actions)
    episode = torch.unique(ends, return_inverse=True)[1]
    held_out = (episode % 12 == 11).nonzero()[:, 0]
    rows = ((episode % 12 != 11) & (episode < (options["episodes"] or len(ends)))).nonzero()[:, 0]
    ahead = torch.arange(cfg.chunk)

    def sample(count: int) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
        some = rows[torch.randint(len(rows), (count,))]
        next_hands = hands[torch.minimum(some[:, None] + ahead, ends[some, None])]
        inputs, views, *grip = network.encode({key: seen[key][some] for key in seen}, options["noise"])
        return inputs, views, network.targets(inputs, *grip, next_hands)

    network.fit_scales(*sample(2000 if views else 20000))
    lr = torch.tensor(5e-4)  # a tensor, so that a recorded step sees its changes
    optimizer = torch.optim.AdamW(network.parameters(), lr=lr, weight_decay=1e-2, capturable=lr.is_cuda)
    chosen = {"total_steps": options["steps"], "pct_start": 0.03, "cycle_momentum": False}
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-4, **chosen)
    mean = torch.optim.swa_utils.AveragedModel(network, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    mean.eval()
    start, loss = time.perf_counter(), torch.zeros(())

    def learn() -> None:
        optimizer.zero_grad(set_to_none=True)
        found = network.loss(*sample(options["batch"]))
        found.backward()
        optimizer.step()
        loss.copy_(found.detach())

    learn = _record(learn) if loss.is_cuda else learn
    for step in range(1, options["steps"] + 1):
        learn()
        schedule.step()
        if step % 10 == 0:
            mean.update_parameters(network)
        if step % 1000 == 0 or step == options["steps"]:
            some = held_out[:: max(len(held_out) // 500, 1)]
            p = network.arm(mean.module.act({key: seen[key][some] for key in seen})[:, 7, : cfg.joints])[0]
            error = p - hands[torch.minimum(some + 7, ends[some]), cfg.joints + 1 : cfg.joints + 4]
            error_mm, train_s = 1e3 * error.norm(dim=1).median().item(), time.perf_counter() - start
            print(f"step {step}: loss {loss.item():.4f}, hand {error_mm:.1f} mm off, {train_s:.0f} s", flush=True)
    save(mean.module.cpu(), options["out"])
    print(f"network: {options['out']}")
    return mean.module


def _record(step: Callable[[], None]) -> Callable[[], None]:
    """Returns a step on a graphics card as a recorded graph, which saves the time between its hundreds of kernels."""
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


if __name__ == "__main__":
    given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    chosen = {**OPTIONS, **{key: type(OPTIONS[key])(value) for key, value in given.items()}}
    train([Path(word) for word in sys.argv[1:] if "=" not in word], chosen)
