"""The parts of every skill: configuration, context, commands, execution, success and failures."""
