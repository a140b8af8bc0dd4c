"""The gate: the team's rules on every call (a hook), and the lead's word on what they leave open (`can_use_tool`)."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

from tasks_app.domain import permissions as rules
from tasks_app.domain.errors import LeaseLost
from tasks_app.domain.planning import MAX_REJECTED
from tasks_app.domain.statuses import DecisionKind
from tasks_app.domain.text import clean, clean_json
from tasks_app.runners.claude import asks
from tasks_app.runners.claude.crew_server import PREFIX
from tasks_app.runners.claude.desk import UNAVAILABLE, Desk
from tasks_app.runners.claude.reach import MUTATING, READERS, Reach, config_dir
from tasks_app.runners.port import Answer, Ask, RunSpec

log = logging.getLogger(__name__)

MAX_ASKED_QUESTIONS = 2
"""How often a question is put when its answer comes back empty."""
NEVER_BY_RULE = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""A rule that allowed these would answer for the lead: with nothing, or with yes."""

HookOutput = dict[str, Any]
SetMode = Callable[[str], Awaitable[None]]
Waits = Callable[[str], Awaitable[bool]]


@dataclass
class Gate:
    """Decides on every call of one process. Whatever goes wrong inside, a call is then refused, never let through."""

    spec: RunSpec
    desk: Desk
    set_mode: SetMode  # tells Claude Code its permission mode
    recorded: Waits  # until the step of a call is stored, so that after a crash its agent can be told that it made it
    stored: Waits  # until a call is in the transcript's store, so that the lead's answer finds it whoever goes on
    plans: Mapping[str, str]  # plan texts as they were streamed, by tool_use_id
    subagents: Mapping[str, str]  # agent id → what it was started for
    answers: dict[str, str] = field(default_factory=dict)  # tool_use_id → the lead's answer to an escalation
    after: dict[str, str] = field(default_factory=dict)  # tool_use_id → what the agent is told when the call is done
    _modes: dict[str, str] = field(default_factory=dict)  # tool_use_id → permission mode when the call was made

    def __post_init__(self) -> None:
        self.reach = Reach(self.spec.workspace, str(Path(self.spec.home) / "tmp"))
        self._rejected = list(self.spec.plans_sent_back)  # the lead's comments, those given to earlier lives of the run as well
        self._version = len(self._rejected)
        self.allow = [rules.parse(rule) for rule in self.spec.allow]
        self.deny = [rules.parse(rule) for rule in self.spec.deny]
        self.asking = [rules.parse(rule) for rule in self.spec.ask]
        self.escalating = {PREFIX + tool.name for tool in self.spec.tools if tool.asks is not None}

    def is_question(self, name: str) -> bool:
        """Whether a call of the crew tool `name` is itself a request to the lead."""
        return PREFIX + name in self.escalating

    # -- before every call: the rules

    async def before_tool(self, given: Any, tool_use_id: str | None, context: Any) -> Any:
        """The PreToolUse hook. An exception here blocks the call (`on_failure="block"`)."""
        tool, wanted, mode = str(given["tool_name"]), dict(given["tool_input"]), str(given.get("permission_mode") or "")
        self._modes[str(tool_use_id)] = mode
        config = config_dir(str(given.get("transcript_path") or ""))
        self.reach = Reach(self.spec.workspace, self.reach.temporary, config)
        if self.desk.ends:
            return _decision("deny", self.desk.ending().message)
        refusal = self.reach.refusal(tool, wanted)
        if refusal is not None:
            return _decision("deny", refusal)
        decision = self._by_rules(tool, wanted, mode)
        if tool not in READERS and not _denies(decision):
            await self.recorded(str(tool_use_id))
        return decision

    def _by_rules(self, tool: str, given: Mapping[str, Any], mode: str) -> HookOutput:
        verdict = self._verdict(tool, given)
        if verdict.decision is rules.Decision.DENY:
            return _decision("deny", f"Refused: the rule {verdict.rule} of this team forbids it. Find another way.")
        if tool.startswith(PREFIX) and tool not in self.escalating:
            # the crew tools change the team's records, never the workspace: plan mode must not ask the lead for them
            return _decision("allow", "It is a tool of this team.")
        if mode == "plan" and self._changes(tool, given):
            return _decision("deny", asks.IN_PLAN_MODE) if tool != "Bash" else {}
        if tool in NEVER_BY_RULE or tool in self.escalating:
            return {}
        if verdict.decision is rules.Decision.ASK:
            return _decision("ask", f"The rule {verdict.rule} of this team asks the lead.")
        return (
            _decision("allow", f"The rule {verdict.rule} of this team allows it.")
            if verdict.decision is rules.Decision.ALLOW
            else {}
        )

    def _verdict(self, tool: str, given: Mapping[str, Any]) -> rules.Verdict:
        """Rules speak about real files: symbolic links are followed before they are asked."""
        real = self.reach.real_input(tool, given)
        workspace = self.reach.real_workspace
        return rules.decide(tool, real, allow=self.allow, deny=self.deny, ask=self.asking, workspace=workspace)

    def _changes(self, tool: str, given: Mapping[str, Any]) -> bool:
        path = given.get("file_path")
        return tool in MUTATING and not (tool in ("Write", "Edit") and isinstance(path, str) and self.reach.is_plan(path))

    # -- what the rules leave open: the lead

    async def can_use_tool(self, tool: str, given: dict[str, Any], context: ToolPermissionContext) -> asks.Result:
        """Ask the lead. Called for each call that would prompt; several may be open at once."""
        try:
            return await self._ask(tool, clean_json(given), context)
        except LeaseLost:
            self.desk.lose()
            return self.desk.ending()
        except Exception:
            log.exception("deciding on a call failed", extra={"tool": tool, "tool_use_id": context.tool_use_id})
            return PermissionResultDeny(message=UNAVAILABLE)

    async def _ask(self, tool: str, given: dict[str, Any], context: ToolPermissionContext) -> asks.Result:
        if self.desk.ends:
            return self.desk.ending()
        if tool.startswith(PREFIX) and tool not in self.escalating:
            return PermissionResultAllow(updated_input=given)  # plan mode asks even for what a hook has allowed
        await self.stored(context.tool_use_id or "")
        if tool == "AskUserQuestion":
            return await self._question(given, context)
        if tool == "ExitPlanMode":
            return await self._plan(given, context)
        if tool in self.escalating:
            return await self._escalation(given, context)
        return await self._permission(tool, given, context)

    async def _permission(self, tool: str, given: dict[str, Any], context: ToolPermissionContext) -> asks.Result:
        if self._modes.get(context.tool_use_id or "") == "plan" and self._changes(tool, given):
            return PermissionResultDeny(message=asks.IN_PLAN_MODE)
        if tool in ("Write", "Edit") and self.reach.is_plan(str(given.get("file_path") or "")):
            return PermissionResultAllow(updated_input=given)
        real, workspace = self.reach.real_input(tool, given), self.reach.real_workspace
        payload = {
            "tool": tool,
            "input": given,
            "title": clean(context.title or context.display_name or ""),
            "description": clean(context.description or ""),
            "rule": rules.suggest(tool, real, workspace=workspace),
            "risk": _risk(tool, real, workspace),
            "cwd": self.spec.workspace,
            "subagent": self._subagent(context),
        }
        if self.spec.refuses_unsettled and self._verdict(tool, given).decision is not rules.Decision.ASK:
            return PermissionResultDeny(message=asks.UNSETTLED)
        answer = await self._put(DecisionKind.PERMISSION, payload, context)
        if isinstance(answer, PermissionResultDeny):
            return answer
        if answer.choice == "allow_rule" and payload["rule"]:
            self.allow.append(rules.parse(str(payload["rule"])))
        return self._noted(answer, asks.permission(answer, given), context)

    async def _question(self, given: dict[str, Any], context: ToolPermissionContext) -> asks.Result:
        payload = asks.question_payload(given)
        if payload is None:
            return PermissionResultDeny(message="questions: ask at least one question, each with its text in `question`.")
        for _ in range(MAX_ASKED_QUESTIONS):
            answer = await self._put(DecisionKind.QUESTION, payload, context)
            if isinstance(answer, PermissionResultDeny):
                return answer
            result = asks.question(answer, {**given, **payload})
            if result is not None:
                return self._noted(answer, result, context)
        return PermissionResultDeny(message=asks.NOT_ANSWERED)

    async def _plan(self, given: dict[str, Any], context: ToolPermissionContext) -> asks.Result:
        text = self._plan_text(given, context)
        if not text.strip():
            return PermissionResultDeny(message=asks.NO_PLAN)
        stuck = len(self._rejected) >= MAX_REJECTED
        self._version += 1
        payload = asks.stuck_plan_payload(text, self._rejected) if stuck else {"plan": text, "version": self._version}
        answer = await self._put(DecisionKind.ESCALATION if stuck else DecisionKind.PLAN, payload, context)
        if isinstance(answer, PermissionResultDeny):
            await self._stay_in_plan_mode()
            return answer
        result = asks.stuck_plan(answer, given) if stuck else asks.plan(answer, given)
        if isinstance(result, PermissionResultDeny):
            self._rejected = [] if stuck else [*self._rejected, answer.note]
            await self._stay_in_plan_mode()
            return result
        self._rejected = []
        return self._noted(answer, result, context)

    async def _escalation(self, given: dict[str, Any], context: ToolPermissionContext) -> asks.Result:
        payload = asks.escalation_payload(given)
        if isinstance(payload, str):
            return PermissionResultDeny(message=f"The escalation was not sent. {payload}")
        answer = await self._put(DecisionKind.ESCALATION, payload, context)
        if isinstance(answer, PermissionResultDeny):
            return answer
        self.answers[context.tool_use_id or ""] = asks.escalation_text(answer)
        return PermissionResultAllow(updated_input=given)

    async def _put(
        self, kind: DecisionKind, payload: Mapping[str, Any], context: ToolPermissionContext
    ) -> Answer | PermissionResultDeny:
        return await self.desk.ask(Ask(kind, payload, context.tool_use_id or "", self._subagent(context)))

    async def _stay_in_plan_mode(self) -> None:
        """Say it again: a plan that was not approved must never leave plan mode."""
        if not self.desk.parked:
            await self.set_mode("plan")

    def _plan_text(self, given: Mapping[str, Any], context: ToolPermissionContext) -> str:
        """The plan stands in the call, in the block that was streamed, or in the file that Claude Code keeps it in."""
        inline = given.get("plan") or self.plans.get(context.tool_use_id or "")
        if isinstance(inline, str) and inline.strip():
            return clean(inline)
        named = given.get("planFilePath")
        files = [Path(named)] if isinstance(named, str) and self.reach.is_plan(named) else self.reach.plan_files()
        return clean(files[0].read_text("utf-8", "replace")) if files else ""

    def _noted(self, answer: Answer, result: asks.Result, context: ToolPermissionContext) -> asks.Result:
        """Where the lead adds a note to a yes, the agent hears it when the call is done."""
        note = asks.note_text(answer)
        if note and isinstance(result, PermissionResultAllow):
            self.after[context.tool_use_id or ""] = note
        return result

    def _subagent(self, context: ToolPermissionContext) -> str:
        return self.subagents.get(context.agent_id, context.agent_id) if context.agent_id else ""


def _denies(output: HookOutput) -> bool:
    return bool(output) and output["hookSpecificOutput"]["permissionDecision"] == "deny"


def _risk(tool: str, given: Mapping[str, Any], workspace: str) -> dict[str, Any]:
    found = rules.risk(tool, given, workspace)
    return {"level": found.level.value, "sentences": list(found.sentences)}


def _decision(word: str, reason: str) -> HookOutput:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": word, "permissionDecisionReason": reason}}
