"""What can be installed: known agents, and those of a registry."""

import pytest

from fairlead.runtimes.acp.known_agents import KNOWN_AGENTS, KnownAgent
from fairlead.runtimes.install.index import BinaryRun, Distribution, PackageRun, RegistryAgent, RegistryIndex
from fairlead.runtimes.install.offers import Binary, Offer, Package, find_offers, list_offers, suggest_names

pytestmark = pytest.mark.req("B4")

HERE = "linux-x86_64"


def known(name: str, **more: object) -> KnownAgent:
    return KnownAgent(name=name, commands=((name, "acp"),), own_prefixes=(), login_hint="", about=f"{name}!", **more)


def listed(agent_id: str, **distribution: object) -> RegistryAgent:
    return RegistryAgent(agent_id, "2.0.0", Distribution(**distribution), description="Of the\nregistry")


RUN = BinaryRun("https://example.org/x.tgz", "./x")


def test_without_a_registry_known_agents_come_from_their_packages_or_from_nowhere():
    offers = list_offers((known("a", npm="@a/a"), known("b", pypi="b"), known("c")), RegistryIndex(), HERE)
    assert offers == (
        Offer(name="a", description="a!", ways=(Package(kind="npm", name="@a/a", commands=(("a", "acp"),)),)),
        Offer(name="b", description="b!", ways=(Package(kind="pypi", name="b", commands=(("b", "acp"),)),)),
        Offer(name="c", description="c!"),
    )
    assert [offer.way_words for offer in offers] == ["npm", "PyPI", "by hand"]


def test_a_known_agent_is_offered_once_with_its_own_package_before_what_the_registry_says():
    index = RegistryIndex(
        (
            listed("a-cli", npx=PackageRun("@a/a@2.0.0", ("--other",)), binary={HERE: RUN}),
            listed("c", binary={HERE: RUN}),
        )
    )
    offers = list_offers((known("a", npm="@a/a"), known("c")), index, HERE)
    own = Package(kind="npm", name="@a/a", commands=(("a", "acp"),))
    assert offers == (
        Offer(name="a", description="a!", version="2.0.0", ways=(own, Binary(agent="a-cli", version="2.0.0", run=RUN))),
        Offer(name="c", description="c!", version="2.0.0", ways=(Binary(agent="c", version="2.0.0", run=RUN),)),
    )


def test_an_agent_of_the_registry_is_offered_with_what_fits_this_machine():
    index = RegistryIndex(
        (
            listed("new", uvx=PackageRun("new-agent@1.9.0", ("serve",)), binary={"darwin-aarch64": RUN}),
            listed("odd", npx=PackageRun("git+ssh://example.org/x")),
        )
    )
    package = Package(kind="pypi", name="new-agent", version="1.9.0", args=("serve",))
    assert list_offers((), index, HERE) == (
        Offer(name="new", description="Of the registry", version="2.0.0", ways=(package,)),
        Offer(name="odd", description="Of the registry", version="2.0.0"),
    )


def test_agents_are_found_by_name_description_and_package():
    offers = list_offers(KNOWN_AGENTS, RegistryIndex(), HERE)
    assert [offer.name for offer in find_offers(offers, "MISTRAL")] == ["vibe"]
    assert [offer.name for offer in find_offers(offers, "opencode-ai")] == ["opencode"]
    assert find_offers(offers, "") == list(offers)
    assert find_offers(offers, "no such") == []


def test_a_misspelt_name_is_understood():
    offers = list_offers(KNOWN_AGENTS, RegistryIndex(), HERE)
    assert suggest_names(offers, "Opencod")[0] == "opencode"
    assert suggest_names(offers, "claude") == ["claude-acp"]
    assert suggest_names(offers, "zzzz") == []
