"""The in-process MCP server `crew`: hands each call of an agent to the port, with the id of the call."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from claude_agent_sdk import McpSdkServerConfig
from mcp.server import Server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool

from tasks_app.domain.text import clean, clean_json
from tasks_app.runners.port import ToolSpec

NAME = "crew"
PREFIX = f"mcp__{NAME}__"
TOOL_USE_ID = "claudecode/toolUseId"
"""Where Claude Code puts the id of the tool_use block in the `_meta` of tools/call [measured with 2.1.332]."""
ALWAYS_LOAD = {"anthropic/alwaysLoad": True}
"""Else Claude Code hides MCP tools behind ToolSearch and the agent would have to look for its own task list."""

Call = Callable[[str, Mapping[str, Any], str], Awaitable[tuple[str, bool]]]
"""(tool name, arguments, tool_use_id) → (text for the agent, is_error); must not raise."""


def crew_server(tools: Sequence[ToolSpec], call: Call) -> McpSdkServerConfig:
    """Return the server configuration for `ClaudeAgentOptions.mcp_servers`; arguments are checked by `call`, not here."""
    listed = [Tool(name=t.name, description=t.description, input_schema=dict(t.schema), _meta=ALWAYS_LOAD) for t in tools]

    async def on_list(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(tools=listed)

    async def on_call(context: Any, params: CallToolRequestParams) -> CallToolResult:
        tool_use_id = str((params.meta or {}).get(TOOL_USE_ID, ""))
        text, is_error = await call(params.name, clean_json(params.arguments or {}), tool_use_id)
        return CallToolResult(content=[TextContent(type="text", text=clean(text))], is_error=is_error)

    server: Server[Any] = Server(NAME, on_list_tools=on_list, on_call_tool=on_call)
    return McpSdkServerConfig(type="sdk", name=NAME, instance=server)


def permission_names(tools: Sequence[ToolSpec]) -> list[str]:
    """Return the tools that need no question: all but those that are themselves a request to the lead."""
    return [PREFIX + tool.name for tool in tools if tool.asks is None]
