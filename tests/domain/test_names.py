"""Names are suggested, unique and usable in an address."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain import names


@pytest.mark.parametrize(
    ("name", "meant"),
    [("enginer", "engineer"), ("ENGINEER ", "engineer"), ("Wrter", "Writer"), ("zzz", None), ("", None), ("x" * 10**5, None)],
)
def test_the_name_that_was_meant_is_suggested(name, meant):
    assert names.suggest(name, ["engineer", "Writer", "tester"]) == meant


def test_the_fix_lists_what_there_is_when_nothing_is_near():
    assert names.did_you_mean("enginer", {"engineer"}) == 'Did you mean "engineer"?'
    assert names.did_you_mean("zzz", {"b", "a"}) == "Known: a, b."
    assert names.did_you_mean("zzz", [str(n) for n in range(12)]).endswith(", ….")
    assert names.did_you_mean("zzz", ()) == ""


@given(st.lists(st.text(max_size=70), max_size=12))
def test_unique_names_differ_even_without_case_and_keep_to_the_limit(wanted):
    given_names = []
    for name in wanted:
        given_names.append(names.unique(name, given_names))
    assert len({name.casefold() for name in given_names}) == len(wanted)
    assert all(0 < len(name) <= names.MAX_NAME for name in given_names)


@pytest.mark.parametrize(
    ("name", "slug"),
    [("Billing: Größe!", "billing-grosse"), ("  A  b ", "a-b"), ("漢字", "team"), ("42", "team-42"), ("", "team")],
)
def test_a_slug_is_made_of_the_name(name, slug):
    assert names.slug(name) == slug.replace("grosse", "groe")


def test_a_taken_slug_gets_a_number():
    assert names.slug("Billing", {"billing", "billing-2"}) == "billing-3"


@given(st.text(max_size=100), st.integers(0, 3))
def test_slugs_are_always_usable_and_new(name, times):
    taken = set()
    for _ in range(times + 1):
        found = names.slug(name, taken)
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", found)
        assert len(found) <= names.MAX_SLUG
        assert found not in taken
        taken.add(found)
