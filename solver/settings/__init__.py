"""`planner_setting` blocks: their fields, and their reader."""
