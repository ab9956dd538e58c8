"""Textures by number: a number gives the same picture on every machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from unlatch.objects.procedural.building.textures import TextureKind, draw_texture, indexed_png
from unlatch.simcore.rng import stream
from unlatch.simcore.scratch import scratch_files

_FILE = "texture.png"


def texture_file(number: int) -> Path:
    """Returns the picture of a number as a PNG file of this process; 0 is white.

    Args:
        number: From 0; its kind (wood, metal, cardboard, stone, ...) and what is drawn follow from it.

    Raises:
        AssetError: The temporary folder cannot be written.
    """
    if number == 0:
        png = indexed_png(np.zeros((8, 8), dtype=np.uint8), [[255, 255, 255]] * 256)
    else:
        rng = stream(number, "visuals.texture")
        kinds = list(TextureKind)
        png = draw_texture(kinds[int(rng.integers(len(kinds)))], rng).png
    return scratch_files(f"texture-{number}", {_FILE: png}) / _FILE
