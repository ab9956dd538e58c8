"""The page on which a task is composed by looking at it: `unlatch studio`."""
