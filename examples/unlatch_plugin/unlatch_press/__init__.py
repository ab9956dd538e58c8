"""A plugin for Unlatch: the skill `press`, its tasks, and a generator of staplers."""
