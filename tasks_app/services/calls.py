"""Calls: what a run's agent has done with a crew tool, so that a call repeated after an interruption is not done twice.

A resumed agent does not know of a call whose result never reached its transcript, and makes it again under another id.
"""

import json
from hashlib import sha256
from typing import Any

from django.utils import timezone

from tasks_app.models import CrewCall

AGAIN = "\n(You had done this already when your process was interrupted; this is what came of it. Nothing was done twice.)"


def key_of(tool: str, same: Any) -> str:
    """Return the sha256 of what makes a call the same one: the tool and `same`, which is JSON."""
    return sha256(json.dumps([tool, same], sort_keys=True).encode()).hexdigest()


def repeated(run_id: str, fence: int, *, key: str, tool_use_id: str) -> str | None:
    """Return the result where this call was made already: under the same id, or by an earlier life that its agent forgot.

    Each call stands for one repetition: from then on it is this life's. Called while the run is held.
    """
    mine = CrewCall.objects.filter(run_id=run_id)
    known = mine.filter(tool_use_id=tool_use_id).first() if tool_use_id else None
    if known is not None:
        return known.result
    forgotten = mine.filter(key=key, told=False, fence__lt=fence).order_by("pk").first() if key else None
    if forgotten is None:
        return None
    CrewCall.objects.filter(pk=forgotten.pk).update(fence=fence, tool_use_id=tool_use_id[:80])
    return forgotten.result + AGAIN


def keep(run_id: str, fence: int, *, key: str, tool_use_id: str, result: str) -> None:
    """Remember a call with what came of it, in the transaction that did it. `key` "": only this very call is the same one."""
    told = not key  # no transcript has to hold it, for no later life makes it again
    CrewCall.objects.create(
        run_id=run_id, fence=fence, key=key, tool_use_id=tool_use_id[:80], result=result, told=told, at=timezone.now()
    )


def tell(run_id: str, tool_use_ids: list[str]) -> None:
    """The resumable transcript holds the results of these calls: made again, they are meant."""
    CrewCall.objects.filter(run_id=run_id, tool_use_id__in=[one for one in tool_use_ids if one], told=False).update(told=True)
