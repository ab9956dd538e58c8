"""Trains LeRobot's ACT or Diffusion Policy on exported data sets, which it joins first.

    python lerobot_train.py data/lerobot data/more out=outputs/drawers policy.type=act steps=10000 batch_size=256

All options but `out` are those of `lerobot-train`, without the dashes; `steps` is needed. `out` becomes the folder of
the trained policy, for `unlatch evaluate policy=lerobot:outputs/drawers`. Needs the extra `lerobot`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAME = "local/demonstrations"
"""LeRobot wants a name of the set, although it reads a folder."""
DEFAULTS = {
    "dataset.repo_id": NAME,
    "policy.push_to_hub": "false",
    "num_workers": str(min(os.cpu_count() or 1, 8)),
    "log_freq": "500",
}


def join(sets: list[Path], out: Path) -> Path:
    """Returns a set with the episodes of all sets."""
    if len(sets) == 1:
        return sets[0]
    from lerobot.datasets import aggregate_datasets

    aggregate_datasets([NAME] * len(sets), NAME, roots=sets, aggr_root=out)
    return out


def main(words: list[str]) -> None:
    """Joins, trains, and keeps the trained policy."""
    options = DEFAULTS | dict(word.split("=", 1) for word in words if "=" in word)
    sets = [Path(word).absolute() for word in words if "=" not in word]
    if not sets or not {"out", "steps"} <= options.keys():
        sys.exit(__doc__)
    out = Path(options.pop("out")).absolute()
    if out.exists():
        sys.exit(f"{out} exists. Remove it, or take another folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        root = join(sets, Path(folder, "joined"))
        info = json.loads((root / "meta" / "info.json").read_text(encoding="utf-8"))
        print(f"data: {info['total_episodes']} episodes to train on, {info['total_frames']} frames", flush=True)
        options |= {"dataset.root": str(root), "output_dir": f"{folder}/run"}
        start = time.perf_counter()
        command = [sys.executable, "-m", "lerobot.scripts.lerobot_train"]
        subprocess.run([*command, *(f"--{key}={value}" for key, value in options.items())], check=True)
        Path(folder, "run", "checkpoints", "last", "pretrained_model").resolve().rename(out)
    print(f"step {options['steps']}: trained in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
