"""Which skills there are."""

from __future__ import annotations

from simcore.registry import Catalog, CatalogEntry

SKILLS = Catalog(
    "skill",
    {
        "artpreplan": CatalogEntry(
            "skills.artpreplan:ArtPreplan", "search for a layout in which the whole chain plans; nothing is executed"
        ),
        "close": CatalogEntry("skills.close:Close", "push a door, lid or drawer closed with the fingers closed"),
        "hold": CatalogEntry("skills.hold:Hold", "hold a handle of an object while another arm moves a part of it"),
        "open": CatalogEntry("skills.open:Open", "take a handle or an edge and open a door, lid or drawer"),
        "rotate": CatalogEntry(
            "skills.rotate:Rotate", "turn a knob, a lever or a wheel, in several turns where it must"
        ),
    },
    group="unlatch.skills",
    contract="skills.skill:Skill",
)
