"""Where Claude Code looks for the sessions of a folder."""

from claude_agent_sdk import project_key_for_directory


def project_key(workspace: str) -> str:
    """Return the key under which the transcripts of a workspace are stored."""
    return project_key_for_directory(workspace)
