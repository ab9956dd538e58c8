"""How a part is grasped, hooked, pushed or turned, derived from its geometry as planner settings.

`ranking.py` orders the strategies, and turns knobs and levers. `open_close.py` grasps a handle or edge to open a part,
and pushes it to close it. `free_edge.py`, `pushing.py` and `hand_fit.py` find places at which the hand fits, and
`free_objects.py` says how an object is picked and put down.
"""
