"""One episode: its scene, planning, attempt, judge and randomization."""
