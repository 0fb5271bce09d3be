"""The OpenAPI 3.1 document, made from the table of endpoints and the structs they name. Pure."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from fairlead import __version__
from fairlead.api import wire as w
from fairlead.channels.http.routes import Endpoint

_REF: Final = "#/components/schemas/{name}"
_PATH_PARAMETER: Final = re.compile(r"{(\w+)}")
_KEY_PARAMETER: Final = {
    "name": w.KEY_HEADER,
    "in": "header",
    "required": False,
    "description": "The message's id. The same key with the same body returns the same job, also after a restart.",
    "schema": {"type": "string", "pattern": r"^[A-Za-z0-9._~+/=-]{1,128}$"},
}


_SIGNATURES: Final = {
    "X-Hub-Signature-256": "GitHub's signature of the body: sha256= and 64 hex digits.",
    "X-Fairlead-Signature": "The signature of time, delivery and body, each before it a full stop.",
    "X-Fairlead-Timestamp": "The time of the signature, in seconds since 1970.",
    "X-Fairlead-Delivery": "The name of the delivery, the same if it is sent again.",
}
_TAGS: Final = {
    "messages": "Send messages to an agent, and fetch its answers.",
    "jobs": "What happens to a message.",
    "questions": "What agents ask people.",
    "sessions": "Conversations with agents.",
    "projects": "Directories that agents may work in.",
    "agents": "The agent of a session, and the agents that were added.",
    "hooks": "Webhooks: events from outside that become jobs.",
    "budgets": "What projects may spend in a day.",
    "console": "Logins of the console in the browser.",
    "service": "Fairlead itself.",
}
_TAG_OF_SEGMENT: Final = {
    "messages": "messages",
    "answers": "messages",
    "jobs": "jobs",
    "why": "jobs",
    "questions": "questions",
    "sessions": "sessions",
    "status": "sessions",
    "tool": "sessions",
    "cancel": "sessions",
    "reset": "sessions",
    "projects": "projects",
    "agent": "agents",
    "agents": "agents",
    "hooks": "hooks",
    "budgets": "budgets",
    "console": "console",
}


def _tag_of(path: str) -> str:
    """By the first part behind the version; a command of another program belongs to the service."""
    return _TAG_OF_SEGMENT.get(path.removeprefix("/v1/").partition("/")[0], "service")


def openapi_document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    schemas = _schemas(endpoints)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fairlead",
            "version": __version__,
            "description": "Runs coding agents on your own machine: talk to one, follow its job, answer its questions.",
        },
        "servers": [{"url": "/", "description": "The server that this document comes from."}],
        "tags": [{"name": name, "description": words} for name, words in _TAGS.items()],
        "security": [{"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    named = {struct for e in endpoints for struct in (e.body, e.query, e.reply)}
    structs = sorted((s for s in named if s is not None), key=lambda s: s.__name__)
    _, schemas = msgspec.json.schema_components(
        [*structs, w.FaultBody, *w.EVENT_NAMES], schema_hook=None, ref_template=_REF
    )
    return schemas


def _operation(endpoint: Endpoint, schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.operation_id,
        "summary": endpoint.summary,
        "tags": [_tag_of(endpoint.path)],
        "parameters": [*_parameters(endpoint, schemas)],
        "responses": _responses(endpoint),
    }
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": not endpoint.body_is_optional,
            "content": {"application/json": {"schema": _ref(endpoint.body)}},
        }
    if endpoint.public or endpoint.signed:
        operation["security"] = []
    if endpoint.signed:
        event = {"type": "object", "description": "The event, as its sender has it."}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": event}}}
    return operation


def _parameters(endpoint: Endpoint, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PATH_PARAMETER.findall(endpoint.path)
    ]
    if endpoint.query is not None:
        schema = schemas[endpoint.query.__name__]
        found += [
            {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": shape}
            for name, shape in schema["properties"].items()
        ]
    if endpoint.signed:
        found += [
            {"name": name, "in": "header", "required": False, "description": words, "schema": {"type": "string"}}
            for name, words in _SIGNATURES.items()
        ]
    return [*found, _KEY_PARAMETER] if endpoint.streams else found


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    refused = {"description": "Refused, with a code and what to do.", "content": _json(w.FaultBody)}
    if endpoint.reply is None:
        schema = {"type": "string"}
        return {
            "200": {"description": endpoint.summary, "content": {endpoint.media_type: {"schema": schema}}},
            "default": refused,
        }
    content = _json(endpoint.reply)
    responses: dict[str, Any] = {"200": {"description": "Done.", "content": content}, "default": refused}
    if endpoint.streams or endpoint.signed:
        location = {"Location": {"description": "The address of the job.", "schema": {"type": "string"}}}
        accepted = _json(w.Accepted if endpoint.streams else endpoint.reply)
        words = "Accepted and saved; the job is queued or running."
        responses["202"] = {"description": words, "content": accepted, "headers": location}
    if endpoint.streams:
        content["text/event-stream"] = {"schema": {"type": "string", "description": _events()}}
    return responses


def _events() -> str:
    return "Events: " + ", ".join(f"{name} ({kind.__name__})" for kind, name in w.EVENT_NAMES.items()) + "."


def _json(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return {"application/json": {"schema": _ref(struct)}}


def _ref(struct: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": _REF.format(name=struct.__name__)}
