"""Tasks: what stands where, how it varies, and the goal."""
