"""Keypoint constraints to motions: kinematics, goal, articulated path, free motion, timing. No simulator inside.

Import what is needed from its module: `unlatch.solver.planning.planner` (the whole motion),
`unlatch.solver.goal.goal_solver` (constraints alone), `unlatch.solver.settings.reader` (a `planner_setting` from YAML),
`unlatch.solver.scene` (what the planner is told), `unlatch.solver.collision` (what it asks).
"""
