"""The pure and the small parts, by properties where one can be stated."""

import asyncio
import itertools
import unicodedata
from types import SimpleNamespace
from typing import Any

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.channels.discord.gateway.client import IdentifyPace
from fairlead.channels.discord.inbound.attachments import clean_name, inbox_name, media_type
from fairlead.channels.discord.inbound.inbound_message import discord_message_id, said_message_id
from fairlead.channels.discord.inbound.places import message_named, without_mention
from fairlead.channels.discord.live.status_text import newest_part, status_text
from fairlead.channels.discord.outbound.question_buttons import custom_id, parse_custom_id
from fairlead.channels.discord.outbound.rest import CALLS_PER_SECOND, CurrentClient, RestCalls
from fairlead.channels.discord.outbound.sent_nonces import SentNonces
from fairlead.channels.push.job_status import StatusContent
from fairlead.channels.push.rate_limit import RateLimit, Urgency
from fairlead.core.conversation import ConversationRef
from fairlead.core.inbound import Attachment
from fairlead.core.views import JobView
from fairlead.render.live_text import LiveTextView
from fairlead.testing.clock import run_virtually

pytestmark = pytest.mark.anyio


@given(st.text(max_size=300) | st.text("\u6e2f\u1112\u1161\u200d ab.-", min_size=90, max_size=130))
def test_a_cleaned_name_stays_in_its_directory_and_can_be_seen(name: str) -> None:
    clean = clean_name(name)
    assert 1 <= len(clean) <= 100
    assert len(clean.encode()) <= 200
    assert "/" not in clean
    assert "\\" not in clean
    assert not clean.startswith((".", "-"))
    assert all(unicodedata.category(c) not in {"Cc", "Cf", "Cs"} for c in clean)
    assert clean_name(clean) == clean


@pytest.mark.parametrize(
    ("name", "claimed", "kind"),
    [
        ("a.png", "", "image/png"), ("a.PNG", "IMAGE/PNG", "image/png"), ("a.jpeg", "", "image/jpeg"),
        ("a", "image/webp; x=1", "image/webp"), ("a.png", "text/html", ""), ("a.svg", "image/svg+xml", ""),
        ("a.txt", "", ""),
    ],
)  # fmt: skip
def test_a_picture_is_known_by_its_type_else_by_its_extension(name: str, claimed: str, kind: str) -> None:
    assert media_type(Attachment(name=name, media_type=claimed)) == kind


@given(st.text(min_size=1, max_size=200), st.text(min_size=1, max_size=200))
def test_two_sessions_never_share_an_inbox(one: str, other: str) -> None:
    assert (inbox_name(one) == inbox_name(other)) == (one == other)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<@7> hello", "hello"), ("<@!7>   hello <@7>", "hello"), ("tell <@7> that", "tell <@7> that"),
        ("<@8> hello", "<@8> hello"), ("<@7>", ""), ("  two\nlines", "  two\nlines"),
    ],
)  # fmt: skip
def test_a_mention_at_the_ends_is_an_address(text: str, left: str) -> None:
    assert without_mention(text, 7) == left


def test_a_message_is_named_by_its_link_or_its_id() -> None:
    assert message_named("https://discord.com/channels/1/2/123456789012345678") == "123456789012345678"
    assert message_named("<https://discord.com/channels/@me/2/123456789012345678>") == "123456789012345678"
    assert message_named("123456789012345678") == "123456789012345678"
    assert message_named("hello") is None


@given(st.text(alphabet="abcdef0123456789", min_size=4, max_size=8), st.integers(1), st.sampled_from(["allow", "opt3"]))
def test_a_button_says_which_question_it_answers(state_id: str, number: int, verb: str) -> None:
    name = custom_id(state_id, f"q_{number}", verb)
    found = parse_custom_id(name)
    assert found is not None
    assert (found.state_id, found.question_id, found.verb) == (state_id, f"q_{number}", verb)
    assert parse_custom_id(f"other|{name}") is None


def test_our_own_echo_is_told_from_another_daemons() -> None:
    sent_nonces = SentNonces("abcdef")
    nonce = sent_nonces.nonce("status job_1")
    assert len(nonce) <= 25
    assert sent_nonces.take_echo(nonce, 5)
    assert sent_nonces.message_with(nonce) == "5"
    assert sent_nonces.is_of_another("5", "abcdother")
    assert sent_nonces.take_echo(None, 6)
    assert not sent_nonces.take_echo("wxyz0123", 7)


@given(st.text(max_size=6000), st.text(max_size=100))
def test_a_status_message_always_fits(text: str, activity: str) -> None:
    live_text = LiveTextView(text=text, activity=activity, tool_line="🔧 Bash …")
    content = StatusContent("job_20260101_0001", "running", live_text)
    assert len(status_text(content, 12.0, "en")) <= 2000
    assert newest_part("short") == "short"


def test_identifies_are_five_seconds_apart_and_four_a_minute() -> None:
    async def story() -> None:
        pace, times = IdentifyPace(), []
        for _ in range(9):
            await pace.wait_for_turn()
            times.append(asyncio.get_running_loop().time())
        gaps = [b - a for a, b in itertools.pairwise(times)]
        assert min(gaps) >= 5.0
        assert all(b - a >= 60.0 for a, b in zip(times, times[4:], strict=False))

    run_virtually(story())


@pytest.mark.req("A1")
def test_a_gateway_that_throws_us_out_for_days_never_costs_the_thousand_identifies_of_a_day() -> None:
    """Past them Discord resets the bot's token."""

    async def story() -> None:
        pace, times = IdentifyPace(), []
        while not times or times[-1] - times[0] < 3 * 86400:
            await pace.wait_for_turn()
            times.append(asyncio.get_running_loop().time())
        assert all(b - a >= 86400 for a, b in zip(times, times[999:], strict=False))
        assert max(b - a for a, b in itertools.pairwise(times)) <= 300  # and never away for long

    run_virtually(story())


def test_whoever_insists_while_the_token_is_refused_costs_a_handful_of_requests_a_minute() -> None:
    async def story() -> None:
        is_refused = True
        asked: list[float] = []
        returns: list[float] = []
        loop = asyncio.get_running_loop()
        client: Any = SimpleNamespace()
        rest = RestCalls(RateLimit(CALLS_PER_SECOND), CurrentClient(client), lambda: returns.append(loop.time()))

        async def work(_: discord.Client) -> str:
            asked.append(loop.time())
            if is_refused:
                response: Any = SimpleNamespace(status=401, reason="Unauthorized")
                raise discord.HTTPException(response, {"code": 0, "message": "401: Unauthorized"})
            return "done"

        waiting = [asyncio.ensure_future(rest.until_done(Urgency.MARK, work)) for _ in range(50)]
        await asyncio.sleep(600)
        assert 20 <= len(asked) <= 45
        is_refused = False
        assert set(await asyncio.gather(*waiting)) == {"done"}
        assert len(returns) == 1

    run_virtually(story())


@pytest.mark.parametrize(
    ("message_id", "about", "said"),
    [("123456", 123456, 123456), ("reaction-123456", 123456, None), ("retry-job_1", None, None), ("", None, None)],
)
def test_the_message_that_a_job_is_about_is_known_by_its_id(message_id: str, about: int | None, said: int | None):
    job = JobView(
        job_id="job_20260105_0001",
        session_key="agent:fairlead:user:1",
        state="queued",
        attempt=1,
        enqueued_at="2026-01-05T08:00:00.000Z",
        conversation=ConversationRef("discord", "main", "7"),
        message_id=message_id,
        person="1",
    )
    assert (discord_message_id(job), said_message_id(job)) == (about, said)
