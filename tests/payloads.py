"""A typical payload of each kind of decision: what an agent asks and a page shows."""

from typing import Any

from tasks_app.domain.statuses import DecisionKind

PAYLOADS: dict[DecisionKind, dict[str, Any]] = {
    DecisionKind.PERMISSION: {
        "tool": "Bash",
        "input": {"command": "rm -rf build/ && make", "description": "Rebuild from scratch"},
        "title": "wants to run a command",
        "description": "Stale objects in build/ make the linker fail.",
        "rule": "Bash(make:*)",
        "risk": {"level": "low", "sentences": ["Deletes files inside its own folder."]},
        "cwd": "/srv/atlas/workspace",
        "subagent": "",
    },
    DecisionKind.PLAN: {"plan": "# Billing page\n\n1. Add the view\n2. Add the template\n", "version": 1, "previous": None},
    DecisionKind.QUESTION: {
        "questions": [
            {
                "question": "Which currency format should the invoices use?",
                "header": "Currency",
                "options": [
                    {"label": "ISO code", "description": "EUR 12.00"},
                    {"label": "Symbol", "description": "€12.00"},
                ],
                "multiSelect": False,
            }
        ]
    },
    DecisionKind.ESCALATION: {
        "problem": "The payment API answers 401 to every call.",
        "tried": ["Read the key again", "Asked for a fresh token", "Called the sandbox host"],
        "options": [
            {"label": "Mock the API", "effect": "Tests run without the network.", "cost": "About 6 min.", "recommended": True},
            {"label": "Wait for a key", "effect": "Nothing moves until then.", "cost": "", "recommended": False},
        ],
        "recommendation": "Mock the API until the key is there.",
        "auto": False,
    },
    DecisionKind.BUDGET: {
        "scope": "task",
        "used_usd": "5.02",
        "limit_usd": "5.00",
        "over_usd": 0.02,
        "used_tokens": 731_000,
        "limit_tokens": None,
        "over_tokens": None,
        "run": "a1b2c3d4",
    },
    DecisionKind.STALL: {"quiet_s": 640, "last": "Bash: pytest -q"},
    DecisionKind.REVIEW: {
        "task": "T-3 Payment API",
        "criteria": [{"number": 2, "text": "A new colleague would understand it", "evidence": "I read docs/api.md twice."}],
        "summary": "The payment API is described in docs/api.md.",
        "proofs": [{"number": 1, "text": "`pytest -q` succeeds", "says": "`pytest -q`: exit code 0 after 3.2 s: 42 passed"}],
        "diff": {
            "files": ["docs/api.md"],
            "summary": "1 file changed, 1 insertion(+)",
            "patch": "--- a/docs/api.md\n+++ b/docs/api.md\n@@ -0,0 +1 @@\n+# Payments\n",
            "cut": False,
        },
    },
}
