"""`planner_setting` blocks: what they may hold, and how they are read."""
