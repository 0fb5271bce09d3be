"""Properties of the loopback Discord's parts that need no client."""

import zlib

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from loopback_discord import Clock, Rule
from loopback_discord.clock import Snowflakes, time_of
from loopback_discord.compression import zlib_stream, zstd_stream
from loopback_discord.limits import check_message
from loopback_discord.model import Message, User
from loopback_discord.ratelimits import Window
from loopback_discord.routes_messages import page
from loopback_discord.routing import Call

ADA = User(1, "ada")


@given(st.lists(st.floats(-1e6, 1e6)))
def test_ids_rise_however_the_clock_is_moved(moves: list[float]) -> None:
    clock = Clock(frozen=True)
    snowflakes = Snowflakes(clock)
    ids = [snowflakes.next()]
    for move in moves:
        clock.advance(move)
        ids.append(snowflakes.next())
    assert ids == sorted(set(ids))


def test_an_id_tells_the_servers_time() -> None:
    clock = Clock(frozen=True)
    clock.advance(12345)
    assert abs(time_of(Snowflakes(clock).next()) - clock.now()) < 0.002


@settings(deadline=None)  # the contexts are large, and the machine may be busy
@given(st.lists(st.text(), max_size=20))
def test_both_compressions_give_back_each_frame_by_itself(frames: list[str]) -> None:
    squeeze_z, unsqueeze_z = zlib_stream(), zlib.decompressobj()
    squeeze_s, unsqueeze_s = zstd_stream(), zstandard.ZstdDecompressor().decompressobj()
    for frame in frames:
        packed = squeeze_z(frame)
        assert packed.endswith(b"\x00\x00\xff\xff")
        assert unsqueeze_z.decompress(packed).decode() == frame
        assert unsqueeze_s.decompress(squeeze_s(frame)).decode() == frame


@given(st.lists(st.floats(0, 3), max_size=60))
def test_a_window_never_admits_more_than_its_limit(waits: list[float]) -> None:
    window, now, admitted = Window(Rule(3, 2.0)), 0.0, dict[float, int]()
    for wait in waits:
        now += wait
        if window.take(now):
            admitted[window.resets_at] = admitted.get(window.resets_at, 0) + 1
    assert all(count <= 3 for count in admitted.values())


@given(st.integers(0, 40), st.integers(1, 100))
def test_walking_forward_through_history_meets_every_message_once(count: int, limit: int) -> None:
    newest_first = [Message(number, 1, ADA, 0.0) for number in range(count, 0, -1)]
    met: list[int] = []
    while True:
        query = {"after": str(met[-1] if met else 0)}
        call = Call(server=None, method="GET", template="", path="", params={}, query=query, body=None, files=[])  # type: ignore[arg-type]
        found = page(newest_first, call, limit)
        if not found:
            break
        met += [each.id for each in reversed(found)]
    assert met == list(range(1, count + 1))


@given(st.text(min_size=1, max_size=2000).filter(lambda text: text.strip()))
def test_any_text_of_two_thousand_characters_is_taken(text: str) -> None:
    check_message({"content": text}, [], new=True)
