"""Schemas from outside: what is taken, what a value breaks, and that no schema keeps us busy."""

import pytest

from tasks_app.domain import json_schema


def broken(value, schema):
    return [(one.place, one.message) for one in json_schema.flaws_in(value, schema)]


def test_what_breaks_a_schema_is_named_with_its_place():
    schema = {
        "type": "object",
        "properties": {"ports": {"type": "array", "items": {"type": "integer"}}},
        "additionalProperties": False,
    }
    assert json_schema.flaws_of(schema) == ()
    assert broken({"ports": [1]}, schema) == []
    assert broken({"ports": [1, "x"]}, schema) == [(("ports", 1), "'x' is not of type 'integer'.")]
    assert [place for place, _ in broken({"port": 1}, schema)] == [()]
    (problem,) = json_schema.problems(json_schema.flaws_in({"ports": [1, "x"]}, schema), root="value")
    assert problem.path == "value.ports[1]"


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ([], ()),
        ({"type": "wheel"}, ("type",)),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ("$schema",)),
        ({"items": {"$ref": "https://example.org/x.json"}}, ("items", "$ref")),
        ({"items": {"$ref": "file:///etc/passwd"}}, ("items", "$ref")),
        ({"$id": "https://example.org/x"}, ("$id",)),
        ({"patternProperties": {"^x": {}}}, ("patternProperties",)),
        ({"allOf": [{}, {"pattern": "(?=x)"}]}, ("allOf", 1, "pattern")),
        ({"properties": {"$id": {"pattern": r"(a)\1"}}}, ("properties", "$id", "pattern")),
        ({"pattern": "("}, ("pattern",)),
        ({"description": "x" * 30_000}, ()),
    ],
)
def test_a_schema_that_cannot_be_registered_is_refused_with_its_place(schema, place):
    assert [one.place for one in json_schema.flaws_of(schema)] == [place]


def test_a_schema_that_nests_too_deeply_is_refused_whatever_looks_at_it_first():
    schema = {}
    for _ in range(3_000):
        schema = {"not": schema}
    assert [one.message for one in json_schema.flaws_of(schema)] == ["nests too deeply."]


def test_names_of_properties_and_plain_data_are_not_taken_for_keywords():
    schema = {"properties": {"$id": {"type": "string"}, "pattern": {"const": {"$ref": "x"}}}, "default": {"$ref": "x"}}
    assert json_schema.flaws_of(schema) == ()


def test_a_pattern_that_backtracks_for_ever_elsewhere_is_checked_at_once():
    schema = {"pattern": "^(a+)+$"}
    assert json_schema.flaws_of(schema) == ()
    assert broken("a" * 10_000, schema) == []
    assert len(broken("a" * 10_000 + "b", schema)) == 1
    assert broken(5, schema) == []


def test_a_schema_whose_work_doubles_with_each_definition_is_given_up():
    defs = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {"$defs": {**defs, "d40": {}}, "$ref": "#/$defs/d0"}
    assert json_schema.flaws_of(schema) == ()
    assert "too many steps" in broken(1, schema)[0][1]
    assert "without end" in broken(1, {"$ref": "#"})[0][1]


def test_a_long_list_is_unique_or_not_without_comparing_each_with_each():
    schema = {"uniqueItems": True}
    items = [{"n": n, "at": [n]} for n in range(50_000)]
    assert broken(items, schema) == []
    assert broken([*items, {"at": [7], "n": 7}], schema) == [((), "has the same item twice.")]
    assert broken([1, True, "1"], schema) == []
    assert len(broken([1, 1.0], schema)) == 1


def test_a_secret_in_a_refused_value_is_not_repeated():
    assert "api03-***" in broken("sk-ant-api03-abcdefghijklmnop", {"type": "integer"})[0][1]
