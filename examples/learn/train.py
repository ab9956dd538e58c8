"""Trains a network on exported data sets: on their numbers, point clouds and images.

    python examples/learn/train.py data/lerobot out=data/policy.npz [noise=0.02] [steps=6000] [width=256]

Sets are exports for LeRobot, or files of `states.py`, which need no Unlatch. Every twelfth episode is held out.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from arm import Arm
from network import CLOUD, HIDDEN, WORDS, ActionNetwork, NetworkCfg, list_words, save, tell_words
from states import IMAGE, SAID, STATE, read_arm, read_arrays, run
from torch.optim.lr_scheduler import OneCycleLR
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

OPTIONS = {
    "out": "policy.npz", "noise": 0.02, "steps": 6000, "batch": 512, "width": 256, "chunk": 32, "hand": 1, "heads": 0,
    "hide": 0.0, "hidden": "", "guess": 1, "words": 0, "compile": 0, "seed": 0, "episodes": 0,
}  # fmt: skip


def read_sets(roots: list[Path]) -> tuple[list[str], dict, dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Returns names of the state, `fps` and `arm` and perhaps instructions of all rows, observations by key, actions,
    and the last row of each episode; images of `states.py` are tensors already, since they would fill the memory twice.
    """
    if all(root.suffix == ".npz" for root in roots):
        found, counts = read_arrays(roots), [int(np.load(root)["lengths"].sum()) for root in roots]
        lengths = found["lengths"]
        about = {"fps": int(found["fps"]), "arm": (found["axes"], found["tcp"])}
        about |= {SAID: np.repeat(found[SAID], lengths)} if SAID in found else {}
        seen = {STATE: found["states"], **read_images(roots, counts)}
        return found["names"].tolist(), about, seen, found["actions"], np.repeat(np.cumsum(lengths) - 1, lengths)
    from unlatch.exporters import LeRobotSet

    sets = [LeRobotSet.open(root) for root in roots]
    features = sets[0].info["features"]

    def read(found: LeRobotSet, index: int) -> dict[str, np.ndarray]:
        columns = {key: values for key, values in found.read(index).items() if key in (STATE, CLOUD, "action")}
        images = [key for key in features if key.startswith(IMAGE)]
        return {**columns, **{key: np.stack(list(found.frames(index, key))) for key in images}}

    with ThreadPoolExecutor() as pool:
        episodes = [*pool.map(read, *zip(*((found, i) for found in sets for i in range(len(found))), strict=True))]
    seen = {key: np.concatenate([episode[key] for episode in episodes]) for key in episodes[0]}
    lengths = [len(episode["action"]) for episode in episodes]
    ends = np.repeat(np.cumsum(lengths) - 1, lengths)
    about = {"fps": sets[0].info["fps"], "arm": read_arm(sets[0].info["robot_type"])}
    about[SAID] = np.repeat([found.language(i) for found in sets for i in range(len(found))], lengths)
    return features[STATE]["names"], about, seen, seen.pop("action"), ends


def read_images(paths: list[Path], counts: list[int]) -> dict[str, torch.Tensor]:
    """Returns the images (N, H, W, 3) of each camera in files of `states.py`, which have so many rows."""
    with np.load(paths[0]) as stored:
        shapes = {key: stored[key].shape[1:] for key in stored.files if key.startswith(IMAGE)}
    found = {key: torch.empty((sum(counts), *shape), dtype=torch.uint8) for key, shape in shapes.items()}

    def copy(path: Path, end: int) -> None:
        with np.load(path) as stored:
            for key, images in found.items():
                part = torch.from_numpy(stored[key])
                images[end - len(part) : end] = part

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(copy, paths, np.cumsum(counts).tolist()))
    return found


def train(roots: list[Path], options: dict) -> ActionNetwork:
    """Trains and returns a network; prints losses and the held-out error of the hand, a quarter of a second ahead."""
    torch.manual_seed(options["seed"])
    torch.set_float32_matmul_precision("high")
    torch.set_default_device("cuda" if torch.cuda.is_available() else "cpu")
    names, info, observed, *arrays = read_sets(roots)
    actions, ends = map(torch.tensor, arrays)
    seen = {key: torch.as_tensor(values, device=actions.device) for key, values in observed.items()}
    sizes = {key: options[key] for key in ("chunk", "hand", "width", "heads", "hide")}
    kinds = [f".{kind}" for kind in options["hidden"].split(",") if kind]
    is_hidden = torch.tensor([any(kind in name for kind in kinds) for name in names])
    seen[HIDDEN], seen[STATE] = seen[STATE][:, is_hidden], seen[STATE][:, ~is_hidden]
    seen[HIDDEN] = seen[HIDDEN][:, : None if options["guess"] else 0]
    names = [name for name, hidden in zip(names, is_hidden.tolist(), strict=True) if not hidden]
    if options["words"] and SAID not in info:
        sys.exit("words=1 needs instructions, which no file of states.py without render= has. Make it again.")
    instructions, of_row = np.unique(info[SAID] if options["words"] else [""] * len(ends), return_inverse=True)
    words = sorted({word for instruction in instructions for word in list_words(instruction)})
    seen[WORDS] = tell_words(words, instructions)[torch.tensor(of_row)]
    views = [key for key in seen if key not in (STATE, HIDDEN, WORDS)]
    if not views and (options["words"] or options["hidden"]):
        sys.exit("words and hidden are of networks that see images or points. Expected such a set. Leave them out.")
    sizes |= {"words": words, "hidden": seen[HIDDEN].shape[1]}
    cfg = NetworkCfg(names, actions.shape[1] - 1, views=views, **sizes)
    network = ActionNetwork(cfg, Arm(*map(torch.tensor, info["arm"])))
    hands = network.add_hands(actions)
    episode = torch.unique(ends, return_inverse=True)[1]
    held_out, rows = (((episode % 12 == 11) == held).nonzero()[:, 0] for held in (True, False))
    if options["episodes"]:
        chosen = torch.randperm(int(episode.max()) + 1, device="cpu")[: options["episodes"]].to(episode.device)
        rows = rows[torch.isin(episode[rows], chosen)]
    counts = [len(episode[some].unique()) for some in (rows, held_out)]
    print(f"data: {counts[0]} episodes to train on, {counts[1]} held out")
    ahead, late = torch.arange(cfg.chunk), min(info["fps"] // 4, cfg.chunk - 1)

    def sample(count: int) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor, torch.Tensor]:
        some = rows[torch.randint(len(rows), (count,))]
        next_hands = hands[torch.minimum(some[:, None] + ahead, ends[some, None])]
        inputs, views, *grip = network.encode({key: seen[key][some] for key in seen}, options["noise"])
        return inputs, views, network.targets(inputs, *grip, next_hands), seen[HIDDEN][some]

    network.fit_scales(*sample(2000 if cfg.views else 20000))
    lr = torch.tensor(5e-4)  # a tensor, so that a recorded step sees its changes
    optimizer = torch.optim.AdamW(network.parameters(), lr=lr, weight_decay=1e-2, capturable=lr.is_cuda)
    schedule = OneCycleLR(optimizer, 5e-4, options["steps"], pct_start=0.03, cycle_momentum=False)
    mean = AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(0.99)).eval()
    for encoder in network.encoders if options["compile"] else ():
        encoder.compile()  # not those of `mean`
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
            p = network.arm(mean.module.act({key: seen[key][some] for key in seen})[:, late, : cfg.joints])[0]
            error = p - hands[torch.minimum(some + late, ends[some]), cfg.joints + 1 : cfg.joints + 4]
            error_mm, train_s = 1e3 * error.norm(dim=1).median().item(), time.perf_counter() - start
            print(f"step {step}: loss {loss.item():.4f}, hand {error_mm:.1f} mm off, {train_s:.0f} s", flush=True)
    save(mean.module, options["out"])
    print(f"network: {options['out']}")
    return mean.module


def _record(step: Callable[[], None]) -> Callable[[], None]:
    """Records a step as a CUDA graph, which avoids launching its hundreds of kernels one by one."""
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def main(words: list[str]) -> None:
    """Trains with the options of the command line."""
    given = dict(word.split("=", 1) for word in words if "=" in word)
    sets = [Path(word) for word in words if "=" not in word]
    if not sets or not given.keys() <= OPTIONS.keys():
        sys.exit(f"{__doc__}\nOptions: {', '.join(OPTIONS)}")
    train(sets, {**OPTIONS, **{key: type(OPTIONS[key])(value) for key, value in given.items()}})


if __name__ == "__main__":
    run(main)
