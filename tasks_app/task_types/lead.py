"""A turn of the lead agent: what waits for a choice of it, as a task that the system makes and no plan can ask for."""

PREFIX = "l"
RUNNER = "claude"
LABEL = "Lead agent"
