"""Recordings of the real programs, as translators get them."""

import json
from pathlib import Path
from typing import Any

from fairlead.core.engine import (
    EngineEvent,
    TextDelta,
)
from fairlead.runtimes.claude.translate import ClaudeTranslator
from fairlead.runtimes.codex import wire as codex_wire
from fairlead.runtimes.codex.translate import CodexTranslator
from fairlead.runtimes.gemini.translate import StreamTranslator
from fairlead.runtimes.translator import Exit, Translator, is_end
from tests.support.replaying_cli import TRANSCRIPTS


def lines_of(transcript: str) -> list[bytes]:
    """What the CLI said, whether it was recorded one way or both."""
    stem = TRANSCRIPTS / transcript
    if (path := stem.with_name(f"{stem.name}.out")).exists():
        return path.read_bytes().splitlines()
    entries = [json.loads(line) for line in stem.with_name(f"{stem.name}.duplex.jsonl").read_text().splitlines()]
    return [json.dumps(entry["msg"]).encode() for entry in entries if entry["dir"] == "<"]


def exit_of(transcript: str) -> Exit:
    stem = TRANSCRIPTS / transcript
    stderr = stem.with_name(f"{stem.name}.err")
    code = stem.with_name(f"{stem.name}.rc").read_text().strip()
    return Exit(int(code), stderr.read_text() if stderr.exists() else "")


def translated(translator: Translator, transcript: str) -> list[EngineEvent]:
    """As a turn reads it: nothing is read behind the end of the turn."""
    events: list[EngineEvent] = []
    for line in lines_of(transcript):
        for event in translator.feed(line):
            events.append(event)
            if is_end(event):
                return events
    return [*events, *translator.finish(exit_of(transcript))]


def without(events: list[EngineEvent], *kinds: type[Any]) -> list[EngineEvent]:
    return [event for event in events if not isinstance(event, kinds)]


def said(events: list[EngineEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def translator_for(transcript: str) -> Translator:
    match Path(transcript).parts[0]:
        case "claude":
            return ClaudeTranslator()
        case "codex":
            return CodexTranslator(before=codex_wire.Usage())
        case "gemini":
            return StreamTranslator()
        case other:
            raise AssertionError(f"no translator is known for the recordings of {other}")
