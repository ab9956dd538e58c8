"""The skills by name."""

from __future__ import annotations

from unlatch.simcore.registry import Catalog, CatalogEntry

SKILLS = Catalog(
    "skill",
    {
        "artpreplan": CatalogEntry(
            "unlatch.skills.layout_search:LayoutSearchSkill",
            "search for a layout in which the whole chain plans; nothing is executed",
        ),
        "close": CatalogEntry(
            "unlatch.skills.close:Close",
            "push a door, lid or drawer closed with the fingers closed, press a button, or turn a knob back",
        ),
        "hold": CatalogEntry(
            "unlatch.skills.hold:Hold", "hold a handle of an object while another arm moves a part of it"
        ),
        "home": CatalogEntry("unlatch.skills.home:Home", "move an arm to its home, with what it holds"),
        "open": CatalogEntry("unlatch.skills.open:Open", "take a handle or an edge and open a door, lid or drawer"),
        "pick": CatalogEntry("unlatch.skills.pick:Pick", "grasp a free object and lift it"),
        "place": CatalogEntry(
            "unlatch.skills.place:Place", "put what the hand holds into or onto something, or on the table"
        ),
        "rotate": CatalogEntry(
            "unlatch.skills.rotate:Rotate", "turn a knob, a lever or a wheel, in several turns where it must"
        ),
    },
    group="unlatch.skills",
    contract="unlatch.skills.contract.skill:Skill",
    listed_by="unlatch list skills",
)
