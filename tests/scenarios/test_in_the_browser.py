"""The billing example as its lead lives it: a real desk, real agents, a board that is never loaded again, answers beside it."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.chromium import IN_CHROMIUM
from tests.management.desks import ROOT, RunningDesk, free_port

pytest_plugins = ["tests.chromium"]
pytestmark = [pytest.mark.engine, *IN_CHROMIUM]
PLAN = ROOT / "examples" / "billing" / "plan.yaml"
SOON_MS = 30_000
"""For what agents do between two answers; what a click does is seen within Playwright's own five seconds."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    running = RunningDesk(tmp_path_factory.mktemp("lived") / "home", free_port(), "--rehearse", "--workers", "1")
    try:
        yield running.wait_ready()
    finally:
        running.end()


class Lead:
    """Who watches `board` and answers in a second tab."""

    def __init__(self, chromium: Browser, desk: RunningDesk) -> None:
        self.said: list[str] = []
        self.context = chromium.new_context(viewport={"width": 1280, "height": 860})
        self.root = f"http://127.0.0.1:{desk.port}"
        self.board = self.tab()
        self.board.goto(desk.link())
        self.board.get_by_role("button", name="Sign in").click()
        expect(self.board).to_have_title(re.compile("Overview"))

    def tab(self) -> Page:
        page = self.context.new_page()
        page.on("console", lambda line: self.said.append(line.text) if line.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        return page

    def card(self, column: str, task: str) -> Locator:
        """Return the card of a task in a column of the open board."""
        return self.board.get_by_role("region", name=column, exact=True).get_by_role("article").filter(has_text=task)

    def review(self, kind: str, task: str) -> Page:
        """Wait until the board says that `kind` of `task` waits, and open it in a tab of its own."""
        link = self.card("Waiting for you", task).get_by_role("link", name=re.compile(f"^{kind}"))
        expect(link).to_be_visible(timeout=SOON_MS)
        page = self.tab()
        page.goto(f"{self.root}{link.get_attribute('href')}")
        return page

    def press(self, page: Page, button: str, said: str) -> None:
        """Press it once it is not inert any more; the page says what was answered, the board drops it."""
        address = page.url.removeprefix(self.root)
        expect(page.locator("html:not([data-inert])")).to_be_attached()
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.get_by_role("status").filter(has_text=said).first).to_be_visible()
        page.close()
        expect(self.board.locator(f'article a[href="{address}"]')).to_have_count(0)


@pytest.fixture
def lead(chromium: Browser, desk: RunningDesk) -> Iterator[Lead]:
    made = Lead(chromium, desk)
    yield made
    made.context.close()


def opened(lead: Lead, address: str) -> Page:
    """Open a page beside the board, to be watched and never loaded again."""
    page = lead.tab()
    page.goto(lead.root + address)
    page.evaluate("window.neverReloaded = true")
    return page


def start(lead: Lead) -> None:
    """Paste the plan on the page New team, check it, start it."""
    page = lead.board
    page.goto(f"{lead.root}/teams/new/")
    page.get_by_label("or paste it").fill(PLAN.read_text())
    page.get_by_label("Folder of the plan").fill(str(PLAN.parent))
    page.get_by_label("Rehearsal:").check()
    page.get_by_role("button", name="Check the plan").click()
    expect(page.get_by_text("5 tasks, 4 agents, 3 roles, no circle")).to_be_visible()
    page.get_by_role("button", name="Start team: 4 agents, up to $5, rehearsal").click()
    expect(page).to_have_url(re.compile(r"/teams/billing-feature/$"))
    page.evaluate("window.neverReloaded = true")


def answer_permission(lead: Lead) -> None:
    page = lead.review("Permission", "T-1 Database schema")
    expect(page.get_by_text("python3 -m billing.store billing.sqlite3").first).to_be_visible()
    lead.press(page, "Allow once", "Allowed once")
    expect(lead.card("Done", "T-1 Database schema")).to_contain_text("ada", timeout=SOON_MS)
    blocked = lead.card("Blocked", "T-4 Integration tests")
    expect(blocked).to_contain_text("by T-2")
    expect(blocked).not_to_contain_text("by T-1")


def answer_plans(lead: Lead) -> None:
    page = lead.review("Plan", "T-3 Billing page")
    page.get_by_label("Comments").fill("No script in the page, please. And escape what customers type; test that.")
    lead.press(page, "Send back with comments", "Sent back")
    page = lead.review("Plan", "T-3 Billing page")
    expect(page.get_by_role("heading", name="Version 2 of the plan")).to_be_visible()
    page.get_by_text("What changed since the version before").click()
    expect(page.locator("pre.diff")).to_be_visible()
    lead.press(page, "Approve plan", "Approved")


def answer_question(lead: Lead) -> None:
    page = lead.review("Question", "T-5 Documentation")
    page.get_by_label("Both").check()
    lead.press(page, "Send answer", "Answered")
    expect(lead.card("Done", "T-5 Documentation")).to_be_visible(timeout=SOON_MS)


def answer_escalation(lead: Lead) -> None:
    page = lead.review("Escalation", "T-2 Payment API")
    expect(page.get_by_text("401", exact=False).first).to_be_visible()
    expect(page.locator("fieldset.ask").get_by_role("radio")).to_have_count(4)  # three ways out and one's own words
    page.get_by_label("Sign requests").check()
    page.get_by_label("Extra guidance").fill("Version 1 is going away. If it does not work out soon, give the task back.")
    lead.press(page, "Send answer", "Answered")


def give_to_ada(lead: Lead, task: Page) -> None:
    """The attempt fails and leaves its dossier; the task is pending again and asks; ada gets it with guidance."""
    page = lead.review("Escalation", "T-2 Payment API")
    failed = task.get_by_role("article", name="Attempt 1")
    expect(failed).to_contain_text("Failed")
    expect(failed.get_by_text("What was tried")).to_be_visible()
    page.get_by_label(re.compile("ada")).check()
    page.get_by_label("Extra guidance").fill("The signature has to cover the time stamp as well: docs/provider.md.")
    lead.press(page, "Send answer", "Answered")
    second = task.get_by_role("article", name="Attempt 2")
    expect(second.get_by_role("link", name="ada", exact=True)).to_be_visible(timeout=SOON_MS)
    expect(second).to_contain_text("The signature has to cover the time stamp as well")


def test_the_lead_sees_the_whole_story_on_open_pages_and_answers_beside_them(lead: Lead) -> None:
    start(lead)
    board = lead.board
    task = opened(lead, board.get_by_role("link", name="T-2 Payment API").get_attribute("href") or "")
    mail = opened(lead, "/teams/billing-feature/messages/")
    expect(board.get_by_text("Rehearsal: replies are scripted")).to_be_visible()
    expect(lead.card("Blocked", "T-4 Integration tests")).to_contain_text("by T-2")
    answer_permission(lead)
    answer_escalation(lead)
    give_to_ada(lead, task)
    answer_plans(lead)
    answer_question(lead)
    expect(lead.card("Done", "T-4 Integration tests")).to_contain_text("dana", timeout=SOON_MS)
    expect(lead.card("Done", "T-3 Billing page")).to_be_visible(timeout=SOON_MS)
    expect(board.get_by_text(re.compile(r"5 of 5 done"))).to_be_visible()
    expect(board.get_by_text(re.compile(r"\$\d+\.\d\d of \$5 · \d+%"))).to_be_visible()
    cleo = board.get_by_role("article").filter(has=board.get_by_role("link", name="cleo", exact=True))
    expect(cleo).to_contain_text(re.compile(r"8\d% · warn"))
    expect(mail.get_by_text("payments.pay(invoice) works now").first).to_be_visible()
    for page in (board, task, mail):
        assert page.evaluate("window.neverReloaded")
        expect(page.locator("#conn-text")).to_have_text("Live")
    left_at_once = "WebSocket is closed before"  # a tab that was closed while its socket was being opened
    assert [line for line in lead.said if left_at_once not in line] == []
