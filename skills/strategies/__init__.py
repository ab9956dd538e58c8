"""How a part is grasped, hooked, pushed or turned, derived from its geometry as planner settings.

`ranking.py` orders the strategies. `open_close.py` grasps a handle or edge to open a part and pushes it to close it,
`rotate.py` turns knobs and levers, `hold.py` holds fixed handles. `free_edge.py`, `push_spots.py` and `hand_fit.py`
find places at which the hand fits.
"""
