"""The planner: goal, path, approach, retreat and free motion as one timed plan."""
