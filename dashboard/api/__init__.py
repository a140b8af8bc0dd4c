"""The HTTP API: the same actions as the pages, as JSON, for the same people. docs/api.md describes it."""
