"""A18: one documented tree of codes. What they mean for people is in `tests/render/test_errors.py`."""

import pytest

from fairlead import errors
from fairlead.errors import CODES, Code, FairleadError, Kind, error

pytestmark = pytest.mark.req("A18")

SPECIFIED = [
    "E_OWNER_ONLY",
    "E_NOT_IN_MANAGED_THREAD",
    "E_PROJECT_NOT_FOUND",
    "E_PROJECT_EXISTS",
    "E_INVALID_PATH",
    "E_INVALID_TOOLSET",
    "E_TOOL_NOT_ENABLED",
    "E_SESSION_NOT_FOUND",
    "E_THREAD_ACCESS_FAILED",
    "E_QUEUE_FULL",
    "E_JOB_NOT_RETRYABLE",
    "E_CLI_TIMEOUT",
    "E_CLI_EXIT_NONZERO",
    "E_ADAPTER_PARSE",
    "E_ADAPTER_MISSING_RESULT",
    "E_ADAPTER_SESSION_KEY_MISSING",
    "E_DISCORD_RATE_LIMIT",
]
OURS = [
    "E_INVALID_NAME",
    "E_INVALID_ARGS",
    "E_NOT_IN_TEXT_CHANNEL",
    "E_PROJECT_NOT_SELECTED",
    "E_SESSION_STATE",
    "E_NO_ACTIVE_SESSION",
    "E_MODEL_UNAVAILABLE",
    "E_ACP_CONNECTION",
    "E_ACP_TIMEOUT",
    "E_SHUTDOWN",
    "E_DISK_FULL",
    "E_RUNTIME_HUNG",
    "E_ATTACHMENT_GONE",
    "E_INTERNAL",
]


def test_all_seventeen_codes_of_the_specification_and_all_of_ours_exist():
    assert len(SPECIFIED) == 17
    assert {*SPECIFIED, *OURS} <= set(Code)


@pytest.mark.parametrize("code", Code)
def test_every_code_is_its_own_name_and_has_a_kind(code: Code):
    assert code.value == code.name
    assert code in CODES


def test_no_kind_is_without_a_code():
    assert set(CODES) == set(Code)


CLASSES = {
    Kind.STRANGER: errors.StrangerError,
    Kind.INPUT: errors.InputError,
    Kind.STATE: errors.StateError,
    Kind.AGENT: errors.AgentError,
    Kind.CHANNEL: errors.ChannelError,
    Kind.INTERNAL: errors.InternalError,
}


@pytest.mark.parametrize("code", Code)
def test_a_code_builds_the_error_of_its_kind(code: Code):
    built = error(code)
    assert type(built) is CLASSES[CODES[code]]
    assert isinstance(built, FairleadError)
    assert (built.code, built.kind) == (code, CODES[code])


def test_the_tree_drawn_at_the_top_is_the_tree_that_is():
    drawn = {line.split()[1] for line in (errors.__doc__ or "").splitlines() if "──" in line}
    assert drawn == {c.__name__ for c in FairleadError.__subclasses__()}


def test_an_error_carries_only_what_is_special_to_its_case():
    special = error(Code.E_INVALID_PATH, "/srv/ap does not exist.", next_step="Did you mean /srv/api?")
    assert str(special) == "E_INVALID_PATH: /srv/ap does not exist."
    assert special.next_step == "Did you mean /srv/api?"
    plain = error(Code.E_QUEUE_FULL)
    assert (str(plain), plain.message, plain.next_step) == ("E_QUEUE_FULL", "", "")
