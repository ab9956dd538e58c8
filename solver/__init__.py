"""From keypoint constraints to motions: kinematics, goal, articulated path, free motion, timing; no simulator.

`unlatch.solver.planning.planner` plans a whole motion, `unlatch.solver.goal.goal_solver` solves constraints alone, and
`unlatch.solver.settings.reader` reads a `planner_setting` from YAML. `unlatch.solver.scene` is the input of the
planner, `unlatch.solver.collision` the collision checker that it needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
