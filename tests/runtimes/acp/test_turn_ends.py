"""How turns end: every stop reason, refusals, exits, ways to log in, and the tokens that a turn has used."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.core.engine import INTERRUPTED, Diagnostic, EngineEvent, Noticed, TurnEnded, TurnFailed, UsageReported
from fairlead.errors import Code
from fairlead.runtimes.acp import turn_ends, wire
from fairlead.runtimes.acp.quirks import PLAIN, Quirks, quirks_of
from fairlead.runtimes.acp.translate import SessionFacts, UpdateTranslator
from fairlead.runtimes.acp.turn_ends import AgentRefused, KnownTotals, Totals
from fairlead.runtimes.translator import Exit, is_end
from tests.runtimes.acp.recordings import NAMES, read_update, turns_in
from tests.runtimes.test_translator import json_values

pytestmark = pytest.mark.req("B4")


def prompted(**fields: Any) -> wire.Prompted:
    return msgspec.convert({"stopReason": "end_turn", **fields}, wire.Prompted, strict=False)


def ended(reason: str, text: str = "so far", quirks: Quirks = PLAIN, **how: Any) -> list[EngineEvent]:
    plain = {"is_interrupted": False, "has_refused": False}
    return turn_ends.end_of(prompted(stopReason=reason), text, quirks, **plain | how)


# --- stop reasons ----------------------------------------------------------------------------------------------------


def test_a_turn_that_ends_well():
    assert ended("end_turn") == [TurnEnded("so far")]


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests"])
def test_a_limit_of_the_agent_is_told_and_keeps_the_answer(reason: str):
    [notice, end] = ended(reason)
    assert isinstance(notice, Noticed)
    assert "Ask it to continue." in notice.text
    assert end == TurnEnded("so far", reason)


def test_a_refusal_is_a_failure():
    [failed] = ended("refusal")
    assert isinstance(failed, TurnFailed)
    assert (failed.code, failed.text, failed.transient) == (Code.E_AGENT_ERROR, "so far", False)


def test_a_turn_that_is_cancelled_by_nobody_is_interrupted_and_no_success():
    assert ended("cancelled") == [TurnEnded("so far", INTERRUPTED)]


@pytest.mark.parametrize("reason", ["end_turn", "cancelled", "refusal", "max_tokens", "tired", ""])
def test_whatever_an_interrupted_turn_says_it_is_interrupted(reason: str):
    assert ended(reason, is_interrupted=True) == [TurnEnded("so far", INTERRUPTED)]


@given(reason=st.text(max_size=12), text=st.text(max_size=20), interrupted=st.booleans(), refused=st.booleans())
def test_any_stop_reason_ends_the_turn_exactly_once(reason: str, text: str, *, interrupted: bool, refused: bool):
    events = ended(reason, text, is_interrupted=interrupted, has_refused=refused)
    assert [is_end(event) for event in events].count(True) == 1
    assert is_end(events[-1])


def test_an_unknown_stop_reason_is_kept():
    [kept, end] = ended("tired")
    assert isinstance(kept, Diagnostic)
    assert (end, "'tired'" in kept.text) == (TurnEnded("so far", "tired"), True)


# --- refusals and exits ----------------------------------------------------------------------------------------------

AGENT = wire.Initialized(
    auth_methods=(
        wire.AuthMethod(id="a", name="Log in", type="terminal", args=("login", "--with space")),
        wire.AuthMethod(id="b", name="Key", type="env_var", vars=(wire.AuthVariable("A_KEY"), wire.AuthVariable(""))),
        wire.AuthMethod(id="c", name=None, description="Use the browser"),
        wire.AuthMethod(id="d"),
    )
)


def test_every_way_to_log_in_is_told_and_the_command_to_type():
    failed = turn_ends.refused_prompt(AgentRefused(-32000, "Authentication required"), AGENT, ("my agent", "acp"), "")
    assert failed == TurnFailed(
        Code.E_CLI_NOT_LOGGED_IN,
        "Authentication required\n"
        "- Log in: run `'my agent' acp login '--with space'`\n"
        "- Key: set A_KEY\n"
        "- c: Use the browser\n"
        "- d",
    )


def test_a_refused_prompt_keeps_what_was_said_and_whether_to_try_again():
    failed = turn_ends.refused_prompt(AgentRefused(-32603, "API error: 529 overloaded"), AGENT, ("a",), "so far")
    assert failed == TurnFailed(Code.E_AGENT_ERROR, "API error: 529 overloaded", "so far", transient=True)


def test_another_version_is_told():
    assert turn_ends.check_version(wire.Initialized(protocol_version=1)) is None
    failed = turn_ends.check_version(wire.Initialized(protocol_version=7))
    assert failed is not None
    assert "version 7 of the Agent Client Protocol; Fairlead speaks version 1" in failed.message


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        (Exit(1), Code.E_ACP_CONNECTION, "ended with exit code 1 without output"),
        (Exit(-9), Code.E_ACP_CONNECTION, "was ended by signal 9"),
        (Exit(None), Code.E_ACP_CONNECTION, "would not end"),
        (Exit(1, "boom"), Code.E_ACP_CONNECTION, "boom"),
        (Exit(1, "not logged in"), Code.E_CLI_NOT_LOGGED_IN, "not logged in"),
    ],
)
def test_an_exit_at_the_start_says_how_and_why(end: Exit, code: Code, words: str):
    failed = turn_ends.exit_at_start(end)
    assert failed.code is code
    assert words in failed.message


@pytest.mark.parametrize(("seconds", "words"), [(1800.0, "30 minutes"), (90.0, "1.5 minutes"), (2.0, "2 s")])
def test_silence_is_told_in_words(seconds: float, words: str):
    failed = turn_ends.silent_too_long(seconds, "so far")
    assert (failed.code, failed.text) == (Code.E_ACP_TIMEOUT, "so far")
    assert f"no update for {words}, so its session was ended" in failed.message


# --- usage -----------------------------------------------------------------------------------------------------------


def used(tokens_in: int, tokens_out: int, cached: int = 0) -> dict[str, int]:
    return {"inputTokens": tokens_in, "outputTokens": tokens_out, "cachedReadTokens": cached}


def test_a_turn_without_any_count_reports_nothing():
    assert Totals().usage_of(prompted(), SessionFacts(), PLAIN) == []
    assert Totals().usage_of(prompted(usage=None), SessionFacts(), PLAIN) == []


def test_the_cost_of_a_turn_is_what_the_session_costs_more():
    totals, facts = Totals(), SessionFacts(cost_usd=0.5, context_used=10, context_size=200)
    [first] = totals.usage_of(prompted(usage=used(1, 2, 3)), facts, PLAIN)
    assert first == UsageReported(
        input_tokens=1, output_tokens=2, cached_tokens=3, cost_usd=0.5, context_used=10, context_size=200
    )
    facts.cost_usd = 0.75
    [second] = totals.usage_of(prompted(usage=used(1, 2)), facts, PLAIN)
    assert isinstance(second, UsageReported)
    assert second.cost_usd == 0.25


def test_the_cost_of_a_resumed_session_counts_from_its_first_turn_here():
    totals, facts = Totals(is_known=False), SessionFacts(cost_usd=5.0)
    totals.usage_of(prompted(), facts, PLAIN)
    facts.cost_usd = 5.5
    [second] = totals.usage_of(prompted(), facts, PLAIN)
    assert isinstance(second, UsageReported)
    assert second.cost_usd == 0.5


@given(said=st.lists(json_values, max_size=4), meta=json_values)
@settings(max_examples=50, deadline=None)
def test_no_count_however_odd_breaks_a_turn(said: list[Any], meta: Any):
    totals = Totals()
    for quirks in (PLAIN, Quirks(usage="session"), Quirks(usage="last request"), Quirks(usage="none")):
        for usage in said:
            try:
                response = prompted(usage=usage, _meta=meta)
            except msgspec.ValidationError:
                continue
            for report in totals.usage_of(response, SessionFacts(), quirks):
                msgspec.json.encode(report)


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_turn_ends_once_and_reports_what_it_used(name: str):
    totals = Totals()
    for sent, response in turns_in(name):
        if "error" in response:
            continue
        translator = UpdateTranslator()
        for message in sent:
            if message.get("method") == "session/update":
                translator.translate(read_update(message["params"]["update"]))
        result = msgspec.convert(response["result"], wire.Prompted, strict=False)
        is_cancelled = result.stop_reason == "cancelled"
        events = turn_ends.end_of(result, translator.text, PLAIN, is_interrupted=is_cancelled, has_refused=False)
        assert events == [TurnEnded(translator.text, INTERRUPTED if is_cancelled else "")]
        reports = totals.usage_of(result, translator.facts, PLAIN)
        assert len(reports) == 1 or is_cancelled or name.startswith("gemini-acp"), response


def test_usage_process_counts_from_zero_also_in_a_session_that_was_resumed():
    totals, quirks = Totals(is_known=False), Quirks(usage="process")
    reports = [totals.usage_of(prompted(usage=used(*said)), SessionFacts(), quirks) for said in ((20, 2), (50, 7))]
    assert reports == [
        [UsageReported(input_tokens=20, output_tokens=2)],
        [UsageReported(input_tokens=30, output_tokens=5)],
    ]


def test_usage_updates_is_what_the_updates_counted():
    quirks, counted = Quirks(usage="updates"), wire.Usage(input_tokens=30, output_tokens=4, cached_read_tokens=5)
    [report] = Totals().usage_of(prompted(), SessionFacts(), quirks, counted)
    assert report == UsageReported(input_tokens=30, output_tokens=4, cached_tokens=5)
    assert Totals().usage_of(prompted(), SessionFacts(), quirks) == []


# --- failures that look like something else -------------------------------------------------------------------------


def test_error_mark_what_is_said_after_the_mark_is_the_failure():
    words = "exceeded retry limit, last status: 429 Too Many Requests"
    [failed] = ended("end_turn", f"Let me see.\n\n{words}", failure=words)
    assert failed == TurnFailed(Code.E_AGENT_ERROR, words, "Let me see.", transient=True)


@pytest.mark.parametrize(
    ("said", "code", "is_transient"),
    [
        (
            "Error: Failed to get response from the AI model; retried 5 times Last error: 429 x",
            Code.E_AGENT_ERROR,
            True,
        ),
        ("Error: Authentication failed with provider at http://x (HTTP 401).", Code.E_CLI_NOT_LOGGED_IN, False),
    ],
)
def test_error_text_of_copilot_is_a_failure_and_the_words_before_it_are_kept(said: str, code: Code, is_transient: bool):
    [failed] = ended("end_turn", f"Info: Retrying...{said}", quirks=quirks_of("Copilot"))
    assert failed == TurnFailed(code, said, "Info: Retrying...", transient=is_transient)


@pytest.mark.parametrize(
    ("code", "message", "failure"),
    [
        (429, "Slow down.", TurnFailed(Code.E_AGENT_ERROR, "HTTP status 429: Slow down.", transient=True)),
        (429, "Got 429.", TurnFailed(Code.E_AGENT_ERROR, "Got 429.", transient=True)),
        (401, "No.", TurnFailed(Code.E_CLI_NOT_LOGGED_IN, "HTTP status 401: No.")),
        (400, "Odd.", TurnFailed(Code.E_AGENT_ERROR, "HTTP status 400: Odd.")),
        (-32603, "Slow down.", TurnFailed(Code.E_AGENT_ERROR, "Slow down.")),
    ],
)
def test_the_code_of_a_refused_prompt_may_be_the_status_of_the_models_response(
    code: int, message: str, failure: TurnFailed
):
    assert turn_ends.refused_prompt(AgentRefused(code, message), AGENT, ("a",), "") == failure


def test_the_totals_of_a_session_are_known_when_it_is_resumed_but_not_for_ever():
    known = KnownTotals(most=2)
    first = known.begin("a")
    first.cost_usd, first.usage = 0.5, wire.Usage(input_tokens=7)
    known.begin("b")
    assert known.resume("a", PLAIN) is first
    assert known.resume("c", PLAIN) == Totals(is_known=False)
    assert known.resume("b", PLAIN) == Totals(is_known=False), "the one that was used longest ago is forgotten"


def test_an_agent_that_counts_by_process_has_counted_nothing_in_a_new_one():
    known = KnownTotals()
    known.begin("a").usage = wire.Usage(input_tokens=7)
    assert known.resume("a", Quirks(usage="process")).usage == wire.Usage()


def test_a_cost_that_has_become_less_began_again():
    totals = Totals(cost_usd=2.0)
    [report] = totals.usage_of(prompted(), SessionFacts(cost_usd=0.5), PLAIN)
    assert isinstance(report, UsageReported)
    assert report.cost_usd == 0.5
