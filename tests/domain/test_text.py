"""Text at the boundary stays exact where it may, and safe where it must."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tasks_app.domain import text as t

FAMILY = "👩‍👩‍👧‍👦"
ANYTHING = st.text(st.characters(), max_size=60)


def test_a_lone_surrogate_becomes_the_replacement_character_and_nul_goes():
    assert t.clean(f"현\ud99c 보유현황 {FAMILY} \0 end") == f"현\ufffd 보유현황 {FAMILY}  end"


def test_a_pair_held_as_two_code_points_becomes_its_character():
    assert t.clean("\ud83d\ude80") == "🚀"


def test_a_megabyte_of_emoji_and_cjk_comes_through_unchanged():
    body = "🚀é漢" * 349_526
    assert t.clean(body) == body


@given(ANYTHING)
def test_clean_text_is_encodable_and_cleaning_twice_changes_nothing(text):
    once = t.clean(text)
    assert "\0" not in once
    once.encode()
    assert t.clean(once) == once


def test_json_is_cleaned_in_keys_and_values_and_stays_json():
    value = {"a\0": ["\ud99c", {"b": (1, float("nan"))}], 3: None, "x": True}
    assert t.clean_json(value) == {"a": ["\ufffd", {"b": [1, "nan"]}], "3": None, "x": True}


def test_json_that_nests_without_end_is_bounded():
    value: list = []
    for _ in range(50_000):
        value = [value]
    assert t.TOO_DEEP in json.dumps(t.clean_json(value))


@pytest.mark.parametrize("part", [FAMILY, "e\u0301", "🇩🇪", "👍🏽", "1️⃣", "한", "🏴\U000e0067\U000e0062\U000e007f", "नि", "\r\n"])
@pytest.mark.parametrize("limit", range(1, 30))
def test_nothing_is_cut_inside_a_visible_character(part, limit):
    cut = t.cut(part * 40, limit)
    kept = cut.removesuffix("…")
    assert len(cut) <= limit
    assert kept == part * (len(kept) // len(part))


@given(ANYTHING, st.integers(0, 70))
def test_cut_keeps_to_its_limit_and_is_idempotent(text, limit):
    cut = t.cut(text, limit)
    assert len(cut) <= limit
    assert t.cut(cut, limit) == cut
    assert text.startswith(cut.removesuffix("…"))


def test_terminal_escapes_go_and_the_text_stays():
    assert t.strip_ansi("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\tok\n\x9b2Jz\x07") == "red link\tok\nz"


def test_an_unfinished_escape_cannot_hide_what_follows():
    assert t.strip_ansi("\x1b]0;rm -rf /\nnext") == "0;rm -rf /\nnext"


@given(st.text(st.sampled_from("\x1b[]0;m\x07\\PX \n\x9ba"), max_size=40))
def test_stripping_leaves_no_escape_and_is_idempotent(text):
    once = t.strip_ansi(text)
    assert "\x1b" not in once
    assert "\x9b" not in once
    assert t.strip_ansi(once) == once


def test_one_line_is_one_line():
    assert t.one_line("  a\n\tb\u2028c \x1b[31md\u202e\0 ", 20) == "a b c d"
    assert t.one_line("word " * 100, 12) == "word word w…"


SECRETS = [
    ("sk-ant-api03-AbCdEfGh12345678_-xyz", "sk-ant-api03-***"),
    ("sk-proj-abcdefghij0123456789ABCD", "sk-proj-***"),
    ("sk-abcdefghij0123456789", "sk-***"),
    ("ghp_abcdefghij0123456789abcdefghij012345", "ghp_***"),
    ("gho_abcdefghij0123456789abcdefghij012345", "gho_***"),
    ("github_pat_11AAAAAAA0abcdefghij_klmnop", "github_pat_***"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIA***"),
    ("xoxb-1234567890-abcdef", "xoxb-***"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIza***"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123", "eyJ***"),
    ("Authorization: Bearer abcdef", "Authorization: Bearer ***"),
    ('"authorization": "Basic dXNlcjpwYXNz"', '"authorization": "Basic ***"'),
    ("password=hunter2&x=1", "password=***&x=1"),
    ("DB_PASSWORD=hunter2", "DB_PASSWORD=***"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=***"),
    ('api_key = "abc def"', 'api_key = "***"'),
    ('{"client_secret": "s3"}', '{"client_secret": "***"}'),
    ('{\\"token\\": \\"s3cr3t\\"}', '{\\"token\\": \\"***\\"}'),
    ("password: hunter2", "password: ***"),
    ("X-Api-Key: 0123456789", "X-Api-Key: ***"),
    ("postgres://bob:p@ss@db:5432/x", "postgres://bob:***@db:5432/x"),
    ("https://:tok@host/", "https://:***@host/"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nMIIE+a/b=\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----",
    ),
    ("-----BEGIN PRIVATE KEY-----\nMIIEcut off", "-----BEGIN PRIVATE KEY-----***"),
]


@pytest.mark.parametrize(("text", "masked"), SECRETS)
def test_known_secrets_are_masked_and_their_kind_stays(text, masked):
    assert t.mask_secrets(f"say {text}") == f"say {masked}"
    assert t.mask_secrets(f"say {masked}") == f"say {masked}"


@pytest.mark.parametrize(
    "text",
    [
        "task-abcdefghijklmnopqrstuvwxyz and disk-usage",
        "input_tokens: 412, max_tokens=1024",
        "password: str, token: str | None = None",
        "token = get_token()",
        "password=$DB_PASSWORD",
        "invalid token: expired",
        "http://localhost:8000/a@b",
        '"-----BEGIN PRIVATE KEY-----"',
        "the tokens of 3 agents",
    ],
)
def test_ordinary_text_is_left_alone(text):
    assert t.mask_secrets(text) == text


PIECES = [
    *(text for text, _ in SECRETS),
    *("password", "=", ":", " ", '"', "\\", "'", "token", "Bearer ", "sk-", "***", "://", "@", "a1b2c3d4e5f6g7h8"),
    *("\n", ".", "eyJ", "-----BEGIN PRIVATE KEY-----", "authorization", "-", "_", "x", "basic "),
]


@example("AKIAIOSFODNN7EXAMPLEsk-proj-abcdefghij0123456789ABCD")  # one key right behind another
@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_masking_twice_changes_nothing(text):
    once = t.mask_secrets(text)
    assert t.mask_secrets(once) == once


def test_a_json_value_under_a_secret_name_is_masked_whole():
    value = {"api_key": "x", "n": [{"DB_PASSWORD": "y", "tokens": 3, "note": "ghp_abcdefghij0123456789"}], "token": ""}
    masked = {"api_key": "***", "n": [{"DB_PASSWORD": "***", "tokens": 3, "note": "ghp_***"}], "token": ""}
    assert t.mask_json(value) == masked


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "eyJ",
        "sk-",
        "password",
        "password=",
        'password="',
        "-----BEGIN PRIVATE KEY-----",
        "://",
        "://a:",
        " ",
        "Bearer ",
        "token : ",
        "\\",
    ],
)
def test_masking_is_linear_a_megabyte_of_anything_comes_back(piece):
    """A quadratic pattern would need hours for this; how long it does take is measured in bench/."""
    text = piece * (2_000_000 // len(piece))
    once = t.mask_secrets(text)
    assert t.mask_secrets(once) == once
