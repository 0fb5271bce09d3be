"""The environment of an agent: its own secrets and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.runtimes.claude.runtime import claude_environment
from fairlead.runtimes.environment import child_environment, secret_values, withheld_names

pytestmark = pytest.mark.anyio


@pytest.mark.req("B14", "A19")
@given(
    secrets=st.dictionaries(
        st.sampled_from(
            ["DISCORD_TOKEN", "DISCORD_BOT_TOKEN", "FAIRLEAD_HTTP_TOKEN", "GITHUB_TOKEN", "OPENAI_API_KEY"]
        ),
        st.just("secret"),
    ),
    extra=st.lists(st.sampled_from(["DISCORD_TOKEN", "FAIRLEAD_HTTP_TOKEN"])),
)
def test_no_secret_but_the_runtimes_own_gets_through_even_if_asked_for(secrets: dict[str, str], extra: list[str]):
    source = {**secrets, "PATH": "/bin", "ANTHROPIC_API_KEY": "own", "LC_ALL": "C"}
    assert claude_environment(source, tuple(extra)) == {"PATH": "/bin", "ANTHROPIC_API_KEY": "own", "LC_ALL": "C"}


@pytest.mark.req("A19")
def test_keys_and_tokens_are_kept_out_of_logs_and_paths_and_counts_are_not():
    environment = {
        "ANTHROPIC_API_KEY": "sk-1",
        "CLAUDE_CODE_OAUTH_TOKEN": "oauth-2",
        "AWS_SECRET_ACCESS_KEY": "aws-3",
        "SSH_KEY": "/home/me/.ssh/id",
        "MAX_TOKENS": "4096",
        "KEYBOARD": "de",
    }
    assert secret_values(environment) == ["sk-1", "oauth-2", "aws-3"]


def test_what_the_person_adds_gets_through():
    assert child_environment({"MY_KEY": "1", "OTHER": "2"}, extra=("MY_KEY",)) == {"MY_KEY": "1"}


def test_cloud_credentials_only_for_the_cloud_in_use():
    keys = {"AWS_SECRET_ACCESS_KEY": "a", "CLAUDE_CODE_USE_BEDROCK": "1"}
    assert claude_environment(keys, ()) == keys
    assert claude_environment({"AWS_SECRET_ACCESS_KEY": "a"}, ()) == {}


def test_what_could_be_passed_on_and_is_not_is_known_by_name():
    source = {"PATH": "/bin", "MY_KEY": "k", "OTHER_KEY": "k", "DISCORD_TOKEN": "t"}
    passed = child_environment(source, extra=("OTHER_KEY", "DISCORD_TOKEN"))
    assert withheld_names(source, passed) == {"MY_KEY"}
