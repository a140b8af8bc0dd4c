"""What lies outside a workspace, and what a pattern covers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks_app.domain import paths


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "..", "../x", "a/../../x", "/work/space2/x", "~", "~/x", "~bob/x", "x\0y", "//etc/x", "/", "a/" * 5000],
)
def test_these_lie_outside(path):
    assert paths.outside(path, "/work/space")


@pytest.mark.parametrize(
    "path",
    ["", ".", "a", "a/../b", "/work/space", "/work/space/", "/work//space/./x", "/x/../work/space/y", "..a", "//work/space/x"],
)
def test_these_lie_inside(path):
    assert not paths.outside(path, "/work/space")


def test_without_a_workspace_everything_is_outside():
    assert paths.outside("a", "")


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "/w/src/a.py", True),
        ("src/**", "other/src/a.py", False),
        ("src/**", "srcs/a.py", False),
        ("src/**", "src/../secret", False),
        ("./src", "src/a", True),
        ("/docs", "docs/a/b", True),
        ("/docs", "a/docs/b", False),
        ("*.py", "a/b/c.py", True),
        ("*.py", "a/b/c.pyc", False),
        (".env", "deep/.env", True),
        ("a/*/c", "a/b/c", True),
        ("a/*/c", "a/b/b/c", False),
        ("a/**/c", "a/c", True),
        ("a/**/c", "a/b/b/c", True),
        ("a?", "ab", True),
        ("**", "any/thing", True),
        ("**", "../any", False),
        ("*", "/etc/passwd", False),
        ("//etc/**", "/etc/passwd", True),
        ("//etc/**", "/w/etc/passwd", False),
        ("//w/x", "x", True),
        ("~/x/**", "~/x/y", True),
        ("~/x/**", "~/x/../y", False),
        ("~/x/**", "/x/y", False),
        ("//**", "~/x", False),
        ("**", "a\0", False),
    ],
)
def test_patterns_follow_gitignore(pattern, path, covered):
    assert paths.covers(pattern, path, "/w") is covered


@given(st.text(st.sampled_from("a/.~*"), max_size=12), st.text(st.sampled_from("a/.~"), max_size=12))
def test_no_relative_pattern_reaches_outside(pattern, path):
    if not pattern.startswith(("//", "~/")) and paths.outside(path, "/w"):
        assert not paths.covers(pattern, path, "/w")


def test_many_stars_are_matched_without_explosion():
    assert not paths.covers("*a" * 50 + "/**/b" * 20, "a" * 200 + "/c" * 2000, "/w")


@pytest.mark.parametrize(
    "path", [".env", "a/.env.local", "~/.ssh/config", "id_rsa", "k.pem", "/x/secrets/a", ".aws/credentials", ".git-credentials"]
)
def test_usual_homes_of_secrets_are_known(path):
    assert paths.is_secret(path)


@pytest.mark.parametrize("path", [".env.example", "environment.py", "id_rsa.pub", "secretary.md", "keyboard"])
def test_ordinary_names_are_no_secrets(path):
    assert not paths.is_secret(path)
