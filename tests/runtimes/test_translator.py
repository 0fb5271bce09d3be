"""Whatever a CLI prints, no exception leaves a translator, and every turn ends exactly once."""

import json
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core.engine import EngineEvent, TurnEnded, TurnFailed
from fairlead.runtimes.claude.protocol import ClaudeProtocol
from fairlead.runtimes.claude.translate import ClaudeTranslator, TextTranslator
from fairlead.runtimes.codex.translate import CodexTranslator, total_in_rollout
from fairlead.runtimes.gemini.translate import JsonTranslator, StreamTranslator
from fairlead.runtimes.translator import Exit, Translator
from tests.support.replaying_cli import TRANSCRIPTS, VERSIONS

pytestmark = pytest.mark.req("A10", "A11")

MAKERS: dict[str, Callable[[], Translator]] = {
    "claude": ClaudeTranslator,
    "claude text": TextTranslator,
    "codex": CodexTranslator,
    "gemini": StreamTranslator,
    "gemini json": JsonTranslator,
}


def recorded_lines() -> list[bytes]:
    lines: list[bytes] = []
    for agent in VERSIONS:
        for path in sorted((TRANSCRIPTS / agent).glob("*.out")):
            lines += path.read_bytes().splitlines()
        for path in sorted((TRANSCRIPTS / agent).glob("*.duplex.jsonl")):
            entries = [json.loads(line) for line in path.read_text().splitlines()]
            lines += [json.dumps(entry["msg"]).encode() for entry in entries if entry["dir"] == "<"]
    # The long list of tools in each init is the same hundred times; a few are enough.
    return [line for place, line in enumerate(lines) if len(line) < 3000 or place % 20 == 0]


LINES = recorded_lines()

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def mutations_of(draw: st.DrawFn, lines: list[bytes]) -> bytes:
    """A recorded line, cut, or with one value somewhere in it replaced by anything."""
    line = draw(st.sampled_from(lines))
    match draw(st.sampled_from(["whole", "cut", "bytes", "value"])):
        case "cut":
            return line[: draw(st.integers(0, len(line)))]
        case "bytes":
            place = draw(st.integers(0, len(line)))
            return line[:place] + draw(st.binary(max_size=6)) + line[place:]
        case "value":
            try:
                return json.dumps(_replaced(draw, json.loads(line))).encode()
            except ValueError:
                return line
        case _:
            return line


def _replaced(draw: st.DrawFn, value: object) -> object:
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        return value | {key: _replaced(draw, value[key])}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], _replaced(draw, value[place]), *value[place + 1 :]]
    return draw(json_values)


anything = st.lists(mutations_of(LINES) | st.binary(max_size=40), max_size=12)
exits = st.builds(Exit, st.sampled_from([0, 1, 42, 143, 173, -9, None]), st.text(max_size=40), st.booleans())


def is_end(event: EngineEvent) -> bool:
    return isinstance(event, TurnEnded | TurnFailed)


@pytest.mark.parametrize("name", MAKERS)
@given(lines=anything, end=exits)
@settings(max_examples=150, deadline=None)
def test_any_output_ends_in_exactly_one_end(name: str, lines: list[bytes], end: Exit):
    translator = MAKERS[name]()
    events: list[EngineEvent] = []
    for line in lines:
        events += translator.feed(line)
    last = translator.finish(end)

    assert [is_end(event) for event in last].count(True) == 1
    assert is_end(last[-1])
    for event in (*events, *last):
        msgspec.json.encode(event)


@given(lines=anything, begins=st.booleans())
@settings(max_examples=150, deadline=None)
def test_a_dialogue_takes_anything_and_never_ends_a_job_that_it_has_not_got(lines: list[bytes], *, begins: bool):
    protocol = ClaudeProtocol("key")
    if begins:
        protocol.begin("a-prompt")
    told: list[EngineEvent] = []
    for line in lines:
        received = protocol.receive(line)
        told += received.job
        assert all(reply.endswith(b"\n") for reply in received.reply)
    assert begins or told == []


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_every_recording_with_lines_left_out_doubled_and_swapped(name: str):
    for path in sorted((TRANSCRIPTS / name).glob("*.out")):
        lines = path.read_bytes().splitlines()[:40]
        for place in range(len(lines)):
            for changed in (
                [*lines[:place], *lines[place + 1 :]],
                [*lines[: place + 1], *lines[place:]],
                [*lines[:place], *lines[place + 1 : place + 2], lines[place], *lines[place + 2 :]],
                [*lines[:place], lines[place][: len(lines[place]) // 2]],
            ):
                translator = MAKERS[name]()
                for line in changed:
                    translator.feed(line)
                assert is_end(translator.finish(Exit(0))[-1])


@given(lines=st.lists(st.binary(max_size=60) | st.just(b'{"payload":{"type":"token_count","info":null}}'), max_size=5))
def test_any_record_of_codex_gives_a_total_or_none(lines: list[bytes]):
    total_in_rollout(lines)
