"""Keypoint constraints to motions: kinematics, goal, articulated path, free motion, timing. No simulator inside.

Import what is needed from its module: `solver.planning.planner` (the whole motion), `solver.goal.goal_solver`
(constraints alone), `solver.settings.reader` (a `planner_setting` from YAML), `solver.scene` (what the planner is
told), `solver.collision` (what it asks).
CasADi, OMPL and TOPP-RA are imported by the first call that needs them, never by reading a configuration.
"""
