"""A runner without a process: it waits as long as the task's description says, then reports the task as completed."""

import asyncio

from tasks_app.domain.statuses import StepKind
from tasks_app.runners.port import Directive, Outcome, OutcomeKind, Port, RunSpec, StepDraft


class InstantRunner:
    """Drives a run in this process. The prompt holds `[wait 1.5]`: seconds of work."""

    async def run(self, spec: RunSpec, port: Port) -> Outcome:
        """Say one thing, wait, report, end."""
        await port.emit([StepDraft(StepKind.SAID, f"{spec.agent} works on {spec.task_label}.")])
        _, _, rest = spec.prompt.partition("[wait ")
        left = float(rest.partition("]")[0] or 0)
        while left > 0:
            if port.directive() is not Directive.GO_ON:
                return Outcome(OutcomeKind.LOST if port.directive() is Directive.LOST else OutcomeKind.PARKED)
            await asyncio.sleep(min(left, 0.2))
            left -= 0.2
        report = {"taskId": spec.task_label, "status": "completed", "evidence": {"1": "done"}, "summary": "done"}
        text, refused = await port.call_tool("TaskUpdate", report, f"toolu_{spec.run_id}")
        await port.flush()
        return Outcome(OutcomeKind.ENDED, result=text if refused else "done")
