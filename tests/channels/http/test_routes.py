"""The routes of commands as clients know them: a change here is a change of the contract, so it is kept as a file."""

import json
from pathlib import Path

import msgspec
import pytest

from fairlead.channels.http.openapi import openapi_document
from fairlead.channels.http.routes import endpoints
from fairlead.core.commands import COMMANDS

GOLDEN = json.loads((Path(__file__).parent / "golden" / "commands.json").read_text())
DOCUMENT = msgspec.json.decode(msgspec.json.encode(openapi_document(endpoints(COMMANDS))))


@pytest.mark.req("C5")
@pytest.mark.parametrize("route", GOLDEN["operations"])
def test_a_commands_route_takes_and_answers_what_it_always_did(route: str):
    method, path = route.split()
    operation = {k: v for k, v in DOCUMENT["paths"][path][method.lower()].items() if k != "summary"}
    assert operation == GOLDEN["operations"][route]


@pytest.mark.parametrize("name", GOLDEN["schemas"])
def test_a_commands_body_and_query_are_what_they_always_were(name: str):
    assert DOCUMENT["components"]["schemas"][name] == GOLDEN["schemas"][name]
