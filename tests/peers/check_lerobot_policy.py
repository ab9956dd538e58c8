"""Trains a policy with LeRobot for two steps, and evaluates it: in one process for two workers, and behind a server.

Run by `make check-lerobot`, in an environment with the extra `lerobot`: `check_lerobot_policy.py EXPORTED OUT`. It
checks that what was exported can be trained on, and what was trained can be asked; two steps teach nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from unlatch.simcore.recording.data_set import DataSet

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SMALL = "dim_model=32 dim_feedforward=32 n_encoder_layers=1 n_vae_encoder_layers=1 chunk_size=10 n_action_steps=5"
CAMERA = ["sensors=[front]", "sensors.0.width=160", "sensors.0.height=120", "observation.images=[rgb]"]
ENDINGS = ("timeout", "collision")


def trained(exported: Path, out: Path) -> Path:
    """The checkpoint of a policy that was trained for two steps."""
    options = [f"--policy.{option}" for option in SMALL.split()]
    command = [
        BIN / "lerobot-train",
        "--dataset.repo_id=local/check",
        f"--dataset.root={exported}",
        "--dataset.video_backend=pyav",
        "--policy.type=act",
        "--policy.push_to_hub=false",
        "--policy.device=cpu",
        "--policy.pretrained_backbone_weights=null",
        *options,
        f"--output_dir={out}",
        "--steps=2",
        "--batch_size=4",
        "--num_workers=0",
    ]
    subprocess.run([str(word) for word in command], env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=True)
    return out / "checkpoints" / "last" / "pretrained_model"


def evaluated(policy: str, out: Path) -> DataSet:
    """What came of two short episodes with that policy, on two workers."""
    command = [sys.executable, "-m", "unlatch", "evaluate", "task=close_drawer", f"policy={policy}", *CAMERA]
    options = ["observation.columns=true", "episodes=2", "workers=2", "task.max_duration_s=3", "pictures=0"]
    subprocess.run([*command, *options, f"out={out}"], check=True)
    return DataSet.open(out)


def served(checkpoint: Path, out: Path) -> DataSet:
    """What came of them with a server."""
    server = [sys.executable, ROOT / "examples" / "lerobot_server.py", checkpoint, "--port", "0"]
    with subprocess.Popen([str(word) for word in server], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().rpartition(":")[2].strip()
            return evaluated(f"tcp://127.0.0.1:{port}", out)
        finally:
            process.kill()


def main() -> None:
    """Runs all."""
    exported, out = (Path(word).absolute() for word in sys.argv[1:3])
    checkpoint = trained(exported, out / "training")
    sets = {
        "batched": evaluated(f"lerobot:{out / 'training'}", out / "batched"),
        "served": served(checkpoint, out / "served"),
    }
    for name, data_set in sets.items():
        for number in range(2):
            record = data_set.read(number)
            assert record.code in ENDINGS, (record.code, record.evidence)
            targets = record.arrays["actions.franka_panda.left.joint_targets"]
            assert len(targets) > 6
            assert (targets[6:] != targets[5]).any(), "the policy moved nothing"
            print(f"trained and evaluated, {name}: {len(targets)} actions, {record.code}")


if __name__ == "__main__":
    main()
