"""A separate program that decomposes a mesh with CoACD, so that a decomposition that hangs or crashes ends alone.

Usage: `python coacd_child.py FOLDER`. It reads `in.npz` (vertices, faces) and the arguments from `settings.json`. It
writes `out.npz` (vertices of all hulls and their count per hull). It imports nothing of ours, so it runs wherever NumPy
and CoACD do.
"""

import json
import sys
from pathlib import Path

import numpy as np


def main(folder: Path) -> None:
    """Decomposes the input of a folder."""
    import coacd

    coacd.set_log_level("off")
    with np.load(folder / "in.npz", allow_pickle=False) as data:
        mesh = coacd.Mesh(data["vertices"], data["faces"])
    hulls = coacd.run_coacd(mesh, **json.loads((folder / "settings.json").read_text(encoding="utf-8")))
    np.savez(
        folder / "out.npz",
        vertices=np.concatenate([np.asarray(v, dtype=float) for v, _ in hulls]) if hulls else np.zeros((0, 3)),
        counts=np.array([len(v) for v, _ in hulls], dtype=int),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
