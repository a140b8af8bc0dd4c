"""Counted against scripted: in a rehearsal whose turns all have figures of their own, every counted message is a known turn.

Read by the auditor after `django.setup()`. What was sent by a process that was killed before it could report is paid for and
never reported by Claude Code: its output tokens and its cost are missing then, and only then; that is counted apart.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tasks_app.domain.statuses import RunStatus, StepKind
from tasks_app.models import CostReading, MessageUsage, Run, Step, Team
from tasks_app.rehearsal import scripts
from tasks_app.rehearsal.script_model import Part, Turn, Usage

PRICES = {"input": 3.0, "cache_write": 3.75, "cache_read": 0.30, "output": 15.0}
"""USD per million tokens of Claude Sonnet 4.5, as Claude Code 2.1 reckons them."""
SLACK_USD = 1e-5
"""Each reading is rounded to a millionth."""
Key = tuple[int, int, int]


@dataclass(frozen=True)
class Place:
    """Which turn figures belong to: the part, its task, and whether the turn is always played."""

    part: int
    task: str
    usage: Usage
    required: bool


@dataclass
class Sums:
    """What was scripted for the counted messages, what was counted, and what is explained by deaths."""

    messages: int = 0
    repeated: int = 0
    scripted_tokens: int = 0
    counted_tokens: int = 0
    scripted_usd: float = 0.0
    counted_usd: float = 0.0
    unreported_processes: int = 0
    undisturbed_runs: int = 0

    def as_words(self) -> dict[str, float]:
        """Return the sums by what they mean; nothing where no message could be compared."""
        if not self.messages:
            return {}
        return {
            "messages counted, each a turn of the script": self.messages,
            "turns played again after a death or a parking": self.repeated,
            "tokens scripted for them": self.scripted_tokens,
            "tokens counted": self.counted_tokens,
            "USD scripted for them": round(self.scripted_usd, 6),
            "USD counted": round(self.counted_usd, 6),
            "processes that died before they could report": self.unreported_processes,
            "runs compared to the last token and cent": self.undisturbed_runs,
        }


@dataclass
class Scripted:
    """Checks one team. `sums` is complete once `check` is exhausted."""

    team: Team
    sums: Sums = field(default_factory=Sums)

    def check(self) -> Iterator[str]:
        """Yield what does not fit; nothing for a team whose script does not price every turn."""
        parts = scripts.load(self.team.rehearsal_script).parts if self.team.rehearsal_script else []
        places = turns_by_figures(parts)
        if not places:
            return
        for run in Run.objects.select_related("task").filter(team=self.team):
            yield from self._run(run, places, parts)

    def _run(self, run: Run, places: Mapping[Key, Place], parts: list[Part]) -> Iterator[str]:
        rows = list(MessageUsage.objects.filter(run=run))
        undisturbed = self._is_undisturbed(run)
        known = [(row, place) for row in rows if (place := places.get(_key(row))) is not None]
        strangers = len(rows) - len(known)
        if strangers > _closings(run, parts):
            yield f"run {run.pk}: {strangers} counted messages stand in no script"
        for _, place in known:
            if not any(fnmatchcase(name, place.task) for name in (run.task.key, run.task.title, run.task.label)):
                yield f"run {run.pk} of {run.task.label}: it was billed a turn of {place.task}"
        played = Counter(_key(row) for row, _ in known)
        self.sums.repeated += sum(times - 1 for times in played.values())
        if not undisturbed and _is_one_life(run):
            yield f"run {run.pk} of {run.task.label}: it was completed in one life, whose process reported no cost"
        yield from _turns(run, played, places, undisturbed=undisturbed)
        yield from self._money(run, rows, known, undisturbed=undisturbed)

    def _money(
        self, run: Run, rows: list[MessageUsage], known: list[tuple[MessageUsage, Place]], *, undisturbed: bool
    ) -> Iterator[str]:
        scripted = sum(usd(place.usage) for _, place in known)
        counted = float(run.cost_usd or 0)
        output = sum(place.usage.output or 0 for _, place in known)
        said = sum(row.output_tokens for row in rows)
        strange = len(rows) > len(known)
        if undisturbed and said != output:
            yield f"run {run.pk}: {said} output tokens counted, {output} scripted"
        if undisturbed and abs(scripted - counted) > SLACK_USD:
            yield f"run {run.pk}: cost {counted:.6f}, scripted {scripted:.6f}"
        if counted + SLACK_USD < scripted and not run.cost_partial and run.cost_usd is not None:
            yield f"run {run.pk}: its cost of {counted:.6f} is not all ({scripted:.6f} scripted), and it does not say so"
        if not strange and (said > output or counted > scripted + SLACK_USD):
            yield f"run {run.pk}: more was counted ({said} output, {counted:.6f} USD) than scripted ({output}, {scripted:.6f})"
        self.sums.messages += len(known)
        self.sums.undisturbed_runs += undisturbed
        self.sums.scripted_tokens += sum(_tokens(place.usage) for _, place in known)
        self.sums.counted_tokens += sum(row_tokens(row) for row in rows)
        self.sums.scripted_usd += scripted
        self.sums.counted_usd += counted

    def _is_undisturbed(self, run: Run) -> bool:
        """Whether every process of every life came to report all of its cost; they are named run:fence:number."""
        names = CostReading.objects.filter(run=run).values_list("process", flat=True)
        numbers: dict[int, set[int]] = {fence: set() for fence in range(1, run.fence + 1)}
        for name in names:
            _, fence, number = name.split(":")[:3]
            numbers.setdefault(int(fence), set()).add(int(number))
        silent = sum(max(1, *found, 1) - len(found) for found in numbers.values())
        self.sums.unreported_processes += silent
        return not silent and not run.handoffs and not run.cost_partial


def _is_one_life(run: Run) -> bool:
    """Whether it was completed by its first life, in order: then its process came to report."""
    disturbed = run.handoffs or run.deaths or run.retries or run.cost_partial
    return run.status == RunStatus.COMPLETED.value and run.fence == 1 and not disturbed


def _closings(run: Run, parts: list[Part]) -> int:
    """How often it said its part's closing words, which have no figures: to a later life that found every turn played."""
    words = {part.closing.replace("{task}", run.task.label) for part in parts}
    return Step.objects.filter(run=run, fence__gt=1, kind=StepKind.SAID.value, text__in=words).count()


def turns_by_figures(parts: list[Part]) -> dict[Key, Place]:
    """Return figures → turn; empty where a turn has no figures or two share theirs: then nothing can be told apart."""
    found: dict[Key, Place] = {}
    for index, part in enumerate(parts):
        for turn, required in _every_turn(part.turns, required=True):
            usage = turn.usage
            if usage is None or None in (usage.input, usage.cache_write, usage.cache_read, usage.output):
                return {}
            key = (usage.input or 0, usage.cache_write or 0, usage.cache_read or 0)
            place = Place(index, part.task, usage, required)
            if key in found and (found[key].task, found[key].usage) != (place.task, place.usage):
                return {}
            found[key] = place
    return found


def _every_turn(turns: list[Turn], *, required: bool) -> Iterator[tuple[Turn, bool]]:
    for turn in turns:
        if turn.either is None:
            yield turn, required
        for branch in turn.either or []:
            yield from _every_turn(branch.then, required=False)


def _turns(run: Run, played: Counter[Key], places: Mapping[Key, Place], *, undisturbed: bool) -> Iterator[str]:
    """A completed run has played every turn of one part, each at most once per life: what was parked is played again."""
    if run.status != RunStatus.COMPLETED.value or not played:
        return
    part = places[next(reversed(played))].part
    missing = [key for key, place in places.items() if place.part == part and place.required and key not in played]
    if missing and undisturbed:
        yield f"run {run.pk} of {run.task.label}: {len(missing)} of its turns were never counted"
    if max(played.values()) > run.fence:
        yield f"run {run.pk} of {run.task.label}: a turn was counted {max(played.values())} times in {run.fence} lives"


def usd(usage: Usage) -> float:
    """Return what a turn costs."""
    figures = {"input": usage.input, "cache_write": usage.cache_write, "cache_read": usage.cache_read, "output": usage.output}
    return sum(PRICES[name] * (tokens or 0) for name, tokens in figures.items()) / 1e6


def _tokens(usage: Usage) -> int:
    return usage.context_tokens + (usage.output or 0)


def row_tokens(row: MessageUsage) -> int:
    """Return all tokens of a counted message."""
    return row.input_tokens + row.cache_creation_tokens + row.cache_read_tokens + row.output_tokens


def _key(row: MessageUsage) -> Key:
    return row.input_tokens, row.cache_creation_tokens, row.cache_read_tokens
