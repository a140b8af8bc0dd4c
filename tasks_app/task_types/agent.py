"""A task that a Claude agent works on through Claude Code."""

PREFIX = "a"
RUNNER = "claude"
LABEL = "Agent"
