"""Every task as a Gymnasium environment: the scene, the rules and the verdict of `unlatch collect`."""
