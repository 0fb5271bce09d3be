"""Checks bodies against Discord's own OpenAPI document.

Knows operations and schemas, not what they are for.
"""

import json
import logging
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec

log = logging.getLogger("loopback_discord")
VARIABLE = "FAIRLEAD_DISCORD_OPENAPI"
ROOT = "urn:discord-openapi"


Given = Mapping[str, str]
NOTHING: Given = {}


class Violation(msgspec.Struct, frozen=True):
    """A body that Discord's document, or its unwritten limits, would not allow."""

    side: str
    operation: str
    problem: str
    body: Any

    def __str__(self) -> str:
        return f"{self.side} of {self.operation}: {self.problem}"


# Events whose data is a body that REST gives too.
EVENTS = {
    "MESSAGE_CREATE": "MessageResponse",
    "MESSAGE_UPDATE": "MessageResponse",
    "THREAD_CREATE": "ThreadResponse",
    "THREAD_UPDATE": "ThreadResponse",
}


class Unchecked:
    """Stands in when the document is not there."""

    def event_problem(self, name: str, data: object) -> str | None:
        return None

    def request_problem(self, method: str, template: str, body: object, given: Given = NOTHING) -> str | None:
        return None

    def response_problem(self, method: str, template: str, status: int, body: object) -> str | None:
        return None


class OpenApi:
    """The document, relaxed where the real API is; a schema is compiled when it is first needed."""

    def __init__(self, path: Path) -> None:
        document = relaxed(json.loads(path.read_text(encoding="utf-8")))
        self._paths: dict[str, Any] = document["paths"]
        self._responses: dict[str, Any] = document["components"]["responses"]
        allow_word_codes(document)
        self._registry = jsonschema_rs.Registry([(ROOT, {"components": document["components"]})])
        self._compiled: dict[str, jsonschema_rs.Draft202012Validator] = {}

    def event_problem(self, name: str, data: object) -> str | None:
        if name not in EVENTS:
            return None
        return self._problem({"$ref": f"#/components/schemas/{EVENTS[name]}"}, data)

    def request_problem(self, method: str, template: str, body: object, given: Given = NOTHING) -> str | None:
        operation = self._paths.get(template, {}).get(method.lower())
        if operation is None:
            return f"{method} {template} is not in Discord's document"
        listed = [*self._paths[template].get("parameters", []), *operation.get("parameters", [])]
        return self._parameter_problem(listed, given) or self._body_problem(operation, body)

    def _parameter_problem(self, listed: list[dict[str, Any]], given: Given) -> str | None:
        """What stands in the address, and behind it."""
        known = {each["name"]: each["schema"] for each in listed if each["in"] in ("path", "query")}
        for name, text in given.items():
            if name not in known:
                return f"this operation takes no parameter {name}"
            problem = self._problem(known[name], typed(text, known[name].get("type")))
            if problem:
                return f"{name}={text}: {problem}"
        return None

    def _body_problem(self, operation: dict[str, Any], body: object) -> str | None:
        content = operation.get("requestBody", {}).get("content")
        if content is None:
            return None if body is None else "this operation takes no body"
        return self._problem(content["application/json"]["schema"], body)

    def response_problem(self, method: str, template: str, status: int, body: object) -> str | None:
        responses = self._paths[template][method.lower()]["responses"]
        found = responses.get(str(status)) or responses.get(f"{status // 100}XX")
        if found is None:
            return f"status {status} is not in Discord's document"
        found = self._responses[found["$ref"].rpartition("/")[2]] if "$ref" in found else found
        content = found.get("content")
        if content is None:
            return None if body is None else f"status {status} has no body"
        return self._problem(content["application/json"]["schema"], body)

    def _problem(self, schema: dict[str, Any], body: object) -> str | None:
        key = json.dumps(schema, sort_keys=True)
        validator = self._compiled.get(key)
        if validator is None:
            absolute = json.loads(key.replace('"#/components/', f'"{ROOT}#/components/'))
            validator = jsonschema_rs.Draft202012Validator(absolute, registry=self._registry, validate_formats=True)
            self._compiled[key] = validator
        wrong = next(iter(validator.iter_errors(body)), None)
        if wrong is None:
            return None
        culprit = at_fault(wrong)
        return f"at /{'/'.join(map(str, culprit.instance_path))}: {str(culprit.message)[:500]}"


def typed(text: str, kind: object) -> object:
    """An address knows only text; what is no number or no truth stays text, and is a fault by that."""
    if kind == "integer" and text.removeprefix("-").isdecimal():
        return int(text)
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text) if kind == "boolean" else text


def at_fault(wrong: Any) -> Any:
    """Of a union, the complaint of the branch that has the right `type`; it says more than "none fits"."""
    for branch in getattr(wrong.kind, "context", None) or []:
        if branch and not any(each.instance_path[-1:] == ["type"] for each in branch):
            return at_fault(branch[0])
    return wrong


def relaxed(node: Any) -> Any:
    """Snowflakes may be integers, and `oneOf` is `anyOf`: so the real API behaves."""
    if isinstance(node, dict):
        if node.get("format") == "snowflake":
            return {"type": ["string", "integer"], "pattern": node["pattern"]}
        return {("anyOf" if key == "oneOf" else key): relaxed(value) for key, value in node.items()}
    if isinstance(node, list):
        return [relaxed(item) for item in node]
    return node


def allow_word_codes(document: dict[str, Any]) -> None:
    """The document types the codes inside `errors` as integers;

    Discord sends words there (BASE_TYPE_REQUIRED).
    """
    inner = {
        "type": "object",
        "properties": {"code": {"type": ["string", "integer"]}, "message": {"type": "string"}},
        "required": ["code", "message"],
    }
    document["components"]["schemas"]["InnerErrors"]["properties"]["_errors"]["items"] = inner


@cache
def document_at(path: str) -> OpenApi:
    return OpenApi(Path(path))


@cache
def say_unchecked() -> None:
    log.warning("%s names no file: bodies are not checked against Discord's OpenAPI document", VARIABLE)


def from_environment() -> OpenApi | Unchecked:
    path = os.environ.get(VARIABLE, "")
    if path and Path(path).is_file():
        return document_at(path)
    say_unchecked()
    return Unchecked()
