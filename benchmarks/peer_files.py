"""Imports files of GenSim2 unchanged, each with the objects that it is written for, and counts what succeeds.

Usage: python benchmarks/peer_files.py files=FOLDER objects=FOLDER [n=10] [seed=0] [only=TEXT]
       [out=data/bench-peer-files]

`files` holds the YAML files, `objects` the categories of PartNet-Mobility with their `info.json`. Episode k of a file
takes instance k of its category, in turn. An episode without a plan counts as refused, with the reason.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from unlatch.simcore.recording.data_set import DataSet
from unlatch.workflows.cli.arguments import read_pairs
from unlatch.workflows.cli.terminal import OK, print_line, run_guarded

CATEGORIES = {
    "Box": "box_rotate",
    "Bucket": "bucket_swing",
    "Door": "door",
    "Drawer": "drawer",
    "Faucet": "faucet",
    "Laptop": "laptop_rotate",
    "Microwave": "microwave",
    "Refrigerator": "refrigerator",
    "Safe": "safe_rotate",
    "Suitcase": "suitcase_rotate",
    "Toaster": "toaster_press",
}
"""Folders of objects by a word in the name of a file; a later word decides."""


LED = "led"
"""Key of the successes in which the hand leaned or led the part, where the file's own motions had no plan."""


@dataclass
class PeerFilesCfg:
    """The keys of this benchmark."""

    files: str = ""
    """Folder of the YAML files."""
    objects: str = ""
    """Folder of the categories of objects."""
    n: int = 10
    """Episodes of each file."""
    seed: int = 0
    """Seed of the runs."""
    only: str = ""
    """Files whose names have this text."""
    out: str = "data/bench-peer-files"
    """Folder of the data sets."""


def run_unlatch(*words: object) -> str:
    """Runs a command; returns the last line of its output."""
    command = [sys.executable, "-m", "unlatch", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return "" if done.returncode == 0 else (lines or ["no output"])[-1]


def run_file(file: Path, cfg: PeerFilesCfg) -> Counter[str]:
    """Runs the episodes of one file; returns how often each outcome occurs, `ok` for a success."""
    folder = next(own for word, own in reversed(CATEGORIES.items()) if word in file.stem)
    instances = sorted(path for path in (Path(cfg.objects) / folder).iterdir() if path.is_dir())
    outcomes: Counter[str] = Counter()
    for number, instance in enumerate(instances[: cfg.n]):
        count = len(range(number, cfg.n, len(instances)))
        home = Path(cfg.out) / file.stem / instance.name
        problem = run_unlatch("import", file, f"object={instance}", f"out={home}", "force=true")
        if not problem:
            name = f"task={file.stem}"
            words = ("--config-dir", home, f"seed={cfg.seed}", f"episodes={count}", "pictures=0", "executor=serial")
            run_unlatch("collect", name, *words, f"out={home / 'data'}")
            if (home / "data").is_dir():
                for record in DataSet.open(home / "data"):
                    outcomes["ok" if record.success else f"{record.code}: {record.message}"[:240]] += 1
                    if record.success and any(skill.get("strategy") == "led" for skill in record.skills):
                        outcomes[LED] += 1
                continue
            problem = run_unlatch("plan", name, "--config-dir", home, f"seed={cfg.seed}", "episode=0")
        outcomes[problem[:160]] += count
    return outcomes


def main(arguments: list[str]) -> int:
    """Runs every file and prints the results."""
    cfg = read_pairs(PeerFilesCfg, arguments)
    found = {}
    for file in sorted(Path(cfg.files).glob("*.yaml")):
        if cfg.only in file.name:
            found[file.stem] = run_file(file, cfg)
            led = found[file.stem].pop(LED, 0)
            of = sum(found[file.stem].values())
            print_line(f"{file.stem}: {found[file.stem]['ok']} of {of}, {led} of them by the strategy led")
            for reason, count in found[file.stem].most_common():
                if reason != "ok":
                    print_line(f"    {count} x {reason}")
    Path(cfg.out).mkdir(parents=True, exist_ok=True)
    (Path(cfg.out) / "results.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return OK


if __name__ == "__main__":
    sys.exit(run_guarded(lambda: main(sys.argv[1:]), usage=__doc__))
