"""The words of an instruction: templates such as `open the {object}`, and what is filled in."""

from __future__ import annotations

from collections.abc import Sequence

from simcore.assets.articulated_object import ObjectAsset

FIELDS = ("object", "part", "side")
"""What `{...}` in a phrasing may name."""


def fill_in(texts: Sequence[str], asset: ObjectAsset, part: str) -> list[str]:
    """Phrasings about one part of one object, filled in; a word that an object has no value for is left out.

    Args:
        texts: Templates, checked when the configuration was read.
        asset: The object.
        part: Name of its part.
    """
    hinge = asset.parameters.get("hinge_side")
    words = {
        "object": asset.category.replace("_", " "),
        "part": part.replace("_", " "),
        "side": "" if hinge is None else f"{hinge}-hinged",
    }
    return [" ".join(text.format(**words).split()) for text in texts]
