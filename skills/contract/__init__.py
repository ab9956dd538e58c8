"""What every skill is made of: its configuration, context, commands, execution and failures."""
