"""Whether a delivery is believed: the right secret, the right form, and now."""

import msgspec
import pytest

from fairlead.core.hook_deliveries import MAX_SKEW_SEC, Delivery, is_genuine, read_event, signature_of
from fairlead.core.hooks import HookForm
from fairlead.errors import Code, FairleadError
from tests.core.test_hooks import hook

SECRET = "s" * 64
NOW = 1_800_000_000.0


def make_delivery(form: HookForm, body: bytes = b"{}", secret: str = SECRET, **more: str) -> Delivery:
    given = Delivery(hook="ci", body=body, **{"number": "d-1", "stamp": str(int(NOW)), **more})
    return msgspec.structs.replace(given, signature=signature_of(form, secret, given), event="push")


def test_the_signature_of_github_is_that_of_its_documentation():
    documented = Delivery(hook="ci", body=b"Hello, World!")
    right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert signature_of("github", "It's a Secret to Everybody", documented) == right


@pytest.mark.parametrize("form", ["github", "signed"])
def test_only_the_right_secret_for_the_right_body_is_believed(form: HookForm):
    there = hook(form=form)
    right = make_delivery(form)
    assert is_genuine(there, SECRET, right, NOW)
    assert not is_genuine(there, SECRET, make_delivery(form, secret="t" * 64), NOW)
    assert not is_genuine(there, "", make_delivery(form, secret="0" * 64), NOW)  # a hook whose file is gone
    assert not is_genuine(None, SECRET, right, NOW)
    assert not is_genuine(there, SECRET, Delivery(hook="ci", body=b"{ }", signature=right.signature), NOW)


@pytest.mark.parametrize("off", [-MAX_SKEW_SEC - 1, MAX_SKEW_SEC + 1])
def test_a_signed_delivery_of_another_time_is_a_replay(off: int):
    there = hook(form="signed")
    assert is_genuine(there, SECRET, make_delivery("signed"), NOW + off - (1 if off > 0 else -1))
    assert not is_genuine(there, SECRET, make_delivery("signed"), NOW + off)


@pytest.mark.parametrize(
    "wrong", [{"stamp": ""}, {"stamp": "١٨"}, {"stamp": "9" * 400}, {"number": ""}, {"number": "a b"}]
)
def test_a_signed_delivery_without_a_time_or_a_name_is_not_believed(wrong: dict[str, str]):
    assert not is_genuine(hook(form="signed"), SECRET, make_delivery("signed", **wrong), NOW)


def test_the_key_of_a_github_event_is_what_was_signed_and_not_what_a_header_says():
    one, two = (read_event(hook(), make_delivery("github", number=number)) for number in ("d-1", "d-2"))
    other = read_event(hook(), make_delivery("github", b'{"a": 1}'))
    assert one.key == two.key != other.key
    signed = read_event(hook(form="signed"), make_delivery("signed", b'{"event": "deployed"}', number="d-7"))
    assert (signed.key, signed.name) == ("d-7", "deployed")


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"{" * 9000, b"1"])
def test_what_is_not_an_object_is_refused(body: bytes):
    with pytest.raises(FairleadError) as refused:
        read_event(hook(), make_delivery("github", body))
    assert refused.value.code == Code.E_INVALID_ARGS
