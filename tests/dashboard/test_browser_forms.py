"""Forms in a real Chromium: what was written is kept, what comes into view is not answered by chance, the address is true."""

import re
from typing import Any

from playwright.sync_api import Page, Route, WebSocketRoute, expect

from tests.chromium import IN_CHROMIUM
from tests.dashboard import own_desk
from tests.dashboard.browser_desk import World, posted
from tests.services_fixtures import Daphne

pytest_plugins = ["tests.services_fixtures", "tests.chromium", "tests.dashboard.browser_desk"]
pytestmark = IN_CHROMIUM
real_desk, desk = own_desk.real_desk, own_desk.desk
INERT_MS = 700


def test_a_request_that_comes_back_into_view_is_inert_again(server: Daphne, world: World, desk: Page) -> None:
    desk.goto(f"{server.url}/inbox/{world['plan']}/")
    desk.wait_for_timeout(INERT_MS)
    desk.get_by_role("button", name="Snooze 5 min").click()
    expect(desk.locator("#undo-note")).to_contain_text("Snoozed for 5 min: ")
    expect(desk.locator("html:not([data-inert])")).to_have_count(1)
    desk.evaluate(
        """() => {
            window.inert = 0;
            const look = () => { if ("inert" in document.documentElement.dataset) window.inert += 1; };
            new MutationObserver(look).observe(document.documentElement, { attributeFilter: ["data-inert"] });
        }"""
    )
    desk.locator("#undo-note").get_by_role("button", name="Undo").click()
    expect(desk.locator(f"[data-decision='{world['plan']}']")).to_be_visible()
    assert desk.evaluate("inert") == 1


def test_a_form_that_leaves_while_it_is_sent_silences_the_next_one_for_ten_seconds_and_no_longer(
    server: Daphne, world: World, desk: Page
) -> None:
    """A frame that draws a card anew may take the very form that waits for its answer: htmx tells no form of it then."""
    desk.clock.install()
    desk.goto(f"{server.url}/inbox/{world['stall']}/")
    desk.clock.run_for(INERT_MS)
    waiting: list[Route] = []
    desk.route("**/answer/", lambda route: waiting.append(route))
    desk.get_by_role("button", name="Wait").click()
    expect(desk.get_by_text("Sending…")).to_be_visible()
    desk.locator("form[data-answer]").evaluate(
        """(form) => {
            const drawn = form.cloneNode(true);
            drawn.classList.remove("htmx-request");
            form.replaceWith(drawn);
            htmx.process(drawn);
        }"""
    )
    desk.clock.run_for(10_500)
    desk.unroute("**/answer/")
    posts = posted(desk)
    desk.get_by_role("button", name="Wait").click()
    expect(desk.locator(f"[data-decision='{world['stall']}']")).to_have_count(0)
    assert len(posts) == 1


def test_what_is_larger_than_a_request_may_be_stays_in_its_form_and_is_said_there(
    server: Daphne, world: World, desk: Page
) -> None:
    desk.goto(f"{server.url}/teams/atlas/context/")
    desk.get_by_label("Name").fill("big")
    value = desk.get_by_label("Value", exact=True)
    value.evaluate("(field) => { field.value = 'precious '.repeat(260000); field.form.requestSubmit(); }")
    expect(desk.get_by_role("alert")).to_contain_text("Not delivered: it is too large. Your text is kept.")
    assert len(value.input_value()) == 9 * 260_000
    value.fill("small")
    value.evaluate("(field) => field.form.requestSubmit()")
    expect(desk.get_by_text("“big” is shared")).to_be_visible()
    expect(desk.get_by_text("Not delivered")).to_have_count(0)


def resynced(desk: Page) -> list[WebSocketRoute]:
    """Return the sockets that the page opens from now on, the last one open: what is sent by them comes from the server."""
    sockets: list[WebSocketRoute] = []

    def through(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        sockets.append(socket)

    desk.route_web_socket("**/live/**", through)
    return sockets


def test_after_a_snooze_the_address_is_that_of_the_next_request_and_its_text_survives_a_gap(
    server: Daphne, world: World, desk: Page
) -> None:
    sockets = resynced(desk)
    desk.goto(f"{server.url}/inbox/{world['permission']}/")
    desk.get_by_role("button", name="Snooze 5 min").click()
    expect(desk.locator("#undo-note")).to_contain_text("Snoozed for 5 min: ")
    card = desk.locator("[data-decision]")
    shown = card.get_attribute("data-decision")
    assert shown != world["permission"]
    expect(desk).to_have_url(f"{server.url}/inbox/{shown}/")
    desk.locator("[data-decision] textarea:visible").first.fill("half an answer")
    with desk.expect_response(f"**/inbox/{shown}/"):
        sockets[-1].send('{"resync": true, "seq": "x"}')
    expect(desk.locator("#conn-text")).to_have_text("Live")
    expect(card).to_have_attribute("data-decision", shown or "")
    expect(desk.locator("[data-decision] textarea:visible").first).to_have_value("half an answer")
    desk.go_back()
    expect(card).to_have_attribute("data-decision", world["permission"])


def test_after_a_form_that_makes_something_the_address_the_title_and_the_place_are_those_of_what_was_made(
    server: Daphne, world: World, desk: Page
) -> None:
    made = "import json; from tasks_app.models import Team; print(json.dumps(Team.objects.update(last_task_number=900)))"
    server.python(made)  # those of the world were made without it
    desk.goto(f"{server.url}/teams/atlas/tasks/new/")
    desk.get_by_label("Title").fill("Write it down")
    desk.get_by_label("Acceptance criteria").fill("It is written down")
    desk.get_by_role("button", name="Add the task").click()
    heading = desk.get_by_role("heading", level=1, name="Write it down")
    expect(heading).to_be_visible()
    expect(desk).to_have_url(re.compile(r"/tasks/\d+/$"))
    expect(desk.locator("#place")).to_contain_text("T-901")
    desk.reload()
    expect(heading).to_be_visible()
    desk.go_back()
    expect(desk.get_by_role("button", name="Add the task")).to_be_visible()


TO_EVERY_BLOCK = """(address) => fetch(address).then((answer) => answer.text()).then((text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    for (const block of page.querySelectorAll("#main [id]:not(#main [id] [id])")) {
        const target = document.getElementById(block.id);
        if (target) htmx.swap({ target, text: block.outerHTML, swap: "outerMorph", sourceElement: target, own: true });
    }
})"""
"""What a sweep of the socket does to a page (live.js): every block as it is for who has sent nothing."""


def test_a_plan_that_was_changed_outlives_a_sweep_when_its_answer_was_refused(server: Daphne, world: World, desk: Page) -> None:
    address = f"{server.url}/inbox/{world['plan']}/"
    desk.goto(address)
    desk.wait_for_timeout(INERT_MS)
    desk.get_by_text("Edit the plan, then press").click()
    plan = desk.get_by_label("Changed plan")
    plan.fill("My own plan.")
    desk.get_by_role("button", name="Approve plan").click()
    why = desk.get_by_text("You changed the plan").first
    expect(why).to_be_visible()
    desk.evaluate("document.activeElement.blur()")
    desk.evaluate(TO_EVERY_BLOCK, address)
    expect(plan).to_have_value("My own plan.")
    expect(why).to_be_visible()
    desk.wait_for_timeout(INERT_MS)
    desk.get_by_role("button", name="Approve with changes").click()
    expect(desk.get_by_text("Approved with changes: ")).to_be_visible()


def test_what_was_previewed_outlives_a_sweep_with_each_of_its_choices(server: Daphne, world: World, desk: Page) -> None:
    address = f"{server.url}/tasks/{world['task']}/"
    desk.goto(address)
    form = desk.locator("#reassign")
    form.get_by_label("To").select_option("cleo (tester)")
    form.get_by_label("clean").check()
    form.get_by_label("Guidance").fill("Look at DST first.")
    form.get_by_role("button", name="Preview").click()
    expect(desk.get_by_text("Nothing has been started.")).to_be_visible()
    desk.evaluate("document.activeElement.blur()")
    desk.evaluate(TO_EVERY_BLOCK, address)
    expect(form.get_by_label("Guidance")).to_have_value("Look at DST first.")
    expect(form.get_by_label("clean")).to_be_checked()
    expect(form.get_by_label("To").locator("option:checked")).to_have_text("cleo (tester)")


def test_what_somebody_writes_is_not_written_over_by_another_and_does_not_write_over_theirs(
    server: Daphne, world: World, desk: Page, contexts: Any
) -> None:
    address = f"{server.url}/tasks/{world['task']}/"
    other = contexts().new_page()
    for page in (desk, other):
        page.goto(address)
        page.get_by_label("Your guidance in it").fill(f"Of {'one' if page is desk else 'the other'}.")
        page.evaluate("document.activeElement.blur()")
    other.get_by_role("button", name="Save guidance").click()
    expect(other.get_by_text("Saved: the next attempt is told so.")).to_be_visible()
    expect(desk.locator(f"#guidance-{world['task']}")).to_have_value("Of the other.")  # not touched: it follows
    expect(desk.get_by_label("Your guidance in it")).to_have_value("Of one.")
    desk.get_by_role("button", name="Save guidance").click()
    expect(desk.get_by_text("changed while you wrote").first).to_be_visible()
    expect(desk.get_by_label("Your guidance in it")).to_have_value("Of one.")


def test_what_asks_whether_one_is_sure_takes_the_focus_once(server: Daphne, world: World, desk: Page) -> None:
    address = f"{server.url}/teams/atlas/"
    desk.goto(address)
    desk.get_by_text("Budget…").click()
    desk.locator("#usd-budget-atlas").fill("90")
    desk.get_by_role("button", name="Set the budget").click()
    expect(desk.get_by_role("link", name="Keep it as it is")).to_be_focused()
    desk.keyboard.press("Tab")
    sure = desk.get_by_role("button", name="Yes, raise it")
    expect(sure).to_be_focused()
    server.python(
        "import json; from tests.dashboard import browser_world; print(json.dumps(browser_world.note('ada', 'Hello there.')))"
    )
    expect(desk.get_by_text("Hello there.").first).to_be_visible()
    desk.wait_for_timeout(100)  # a frame settles a moment after it is shown
    expect(sure).to_be_focused()
