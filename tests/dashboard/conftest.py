"""A lead with a team, signed in, and a stranger: what tests of pages start from."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests import factories as make


@pytest.fixture
def lead(db):
    """A person who leads `team`."""
    return make.UserFactory(username="anna")


@pytest.fixture
def team(lead):
    """Atlas, with Anna as its lead."""
    return make.TeamFactory(name="Atlas", slug="atlas", lead=lead)


@pytest.fixture
def browser_of():
    """Return a function that gives a signed-in client of a person."""

    def sign_in(user):
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def desk(lead, team, browser_of):
    """Anna's browser."""
    return browser_of(lead)


@pytest.fixture
def board(desk):
    """Return a function that gives the page of Atlas for a query string."""

    def show(query=""):
        response = desk.get(reverse("team", args=["atlas"]) + query)
        assert response.status_code == 200
        return response

    return show


@pytest.fixture
def stranger(db, browser_of):
    """The browser of a person who sees no team."""
    return browser_of(make.UserFactory(username="eve"))


@pytest.fixture
def watcher(team, browser_of):
    """The browser of a person who may see Atlas but not act on it."""
    return browser_of(make.TeamAccessFactory(team=team, user__username="will", level="viewer").user)


def html_of(response):
    """Return the HTML with white space collapsed: how templates are laid out does not matter."""
    return " ".join(response.content.decode().split())


def words_of(response):
    """Return the page's text without tags, white space collapsed."""
    html = re.sub(r"<(script|style|title)[^>]*>.*?</\1>", " ", response.content.decode(), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def hidden_of(response, id):
    """Return the hidden fields inside the element of that id, up to the end of its form."""
    part = response.content.decode().partition(f'id="{id}"')[2].partition("</form>")[0]
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', part))
