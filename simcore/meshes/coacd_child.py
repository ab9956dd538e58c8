"""A separate program that decomposes meshes with CoACD, so that a hanging decomposition can be killed.

Usage: `python coacd_child.py FOLDER`. It reads `in_<n>.npz` (vertices, faces) in the order of n, and the arguments
by file name from `settings.json`. It writes `out_<n>.npz` (vertices of all hulls and their count per hull) under
a temporary name first; `started` holds the name of the present input. It imports nothing of ours, so it runs wherever
NumPy and CoACD do.
"""

import json
import sys
from pathlib import Path

import numpy as np

SETTINGS_FILE = "settings.json"
STARTED_FILE = "started"


def main(folder: Path) -> None:
    """Decomposes every input of a folder that has no output yet."""
    import coacd

    coacd.set_log_level("off")
    settings = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
    for source in sorted(folder.glob("in_*.npz")):
        target = folder / source.name.replace("in_", "out_")
        if target.exists():
            continue
        (folder / STARTED_FILE).write_text(source.name, encoding="utf-8")
        with np.load(source, allow_pickle=False) as data:
            mesh = coacd.Mesh(data["vertices"], data["faces"])
        hulls = coacd.run_coacd(mesh, **settings[source.name])
        temporary = target.with_suffix(".tmp.npz")
        np.savez(
            temporary,
            vertices=np.concatenate([np.asarray(v, dtype=float) for v, _ in hulls]) if hulls else np.zeros((0, 3)),
            counts=np.array([len(v) for v, _ in hulls], dtype=int),
        )
        temporary.rename(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
