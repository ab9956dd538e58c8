"""Parts that all commands share: arguments, console output, help, progress and Ctrl-C."""
