"""A skill for Unlatch from outside: `press`, its tasks, and a stapler to try it on."""
