"""The page of the keys: what each does, and the switch for the single ones."""

from django.http import HttpRequest, HttpResponse

from dashboard.http import shows
from dashboard.views.page import Page

# As static/js/keys.js has them. A group: its heading, then the keys of a line and what they do.
KEYS = (
    (
        "Go to a page",
        (
            (("g", "o"), "Overview"),
            (("g", "i"), "Inbox"),
            (("g", "b"), "Board of the team that the page is about, else of the first it names"),
            (("g", "d"), "Dependencies of that team"),
            (("g", "m"), "Messages of that team"),
            (("g", "h"), "History"),
            (("/",), "Search"),
            (("Ctrl", "k"), "Palette: places, and this page’s tasks, agents and acts; the rest by a search (on a Mac Cmd k)"),
            (("?",), "This list"),
        ),
    ),
    (
        "In a list",
        (
            (("j", "k"), "Next, previous"),
            (("Enter",), "Open"),
        ),
    ),
    (
        "On any page",
        (
            (("u",), "Undo what was just done, while its button is there"),
            (("p",), "Pause live: nothing on the page moves until you press it again"),
            (("f",), "Follow the transcript, or stop following"),
            ((".",), "More: open the menu beside"),
        ),
    ),
    (
        "In a request that is open",
        (
            (("a",), "Allow or approve"),
            (("d",), "Deny or send back"),
            (("1", "…", "9"), "Choose an option, in the question that has the focus or else the first without an answer"),
            (("r",), "Write: the note or guidance"),
            (("Esc",), "Leave the field, or what says why an answer was refused: the keys above answer again"),
            (("h",), "Snooze"),
            (("[", "]"), "Previous, next request"),
        ),
    ),
    (
        "In a form",
        ((("Ctrl", "Enter"), "Send (on a Mac also Cmd Enter), where it can be sent in one way only"),),
    ),
)


@shows
def keys(request: HttpRequest) -> HttpResponse:
    """Show what each key does; scripts show the same in a dialog."""
    return Page.open(request, "keys").render("pages/keys.html", {"groups": KEYS})
