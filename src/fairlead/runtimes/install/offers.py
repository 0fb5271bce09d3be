"""What can be installed here, from the agents that Fairlead knows and those of a registry's index. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from fairlead.kit.similar_names import find_similar
from fairlead.runtimes.acp.known_agents import KnownAgent
from fairlead.runtimes.install.index import BinaryRun, PackageRun, RegistryAgent, RegistryIndex
from fairlead.runtimes.install.releases import PackageKind, read_package_release


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """`commands` are ways to run what the package brings, the preferred one first; where there are none, its own
    program is run with `args`. `version` is the one that an index names."""

    kind: PackageKind
    name: str
    version: str = ""
    commands: tuple[tuple[str, ...], ...] = ()
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    @property
    def source(self) -> str:
        return f"{self.kind}:{self.name}"


class Binary(msgspec.Struct, frozen=True, kw_only=True):
    """A program that is downloaded, in an archive for this platform. An index has one version of it."""

    agent: str
    version: str
    run: BinaryRun

    @property
    def source(self) -> str:
        return f"registry:{self.agent}"


Way = Package | Binary
WAY_WORDS: Final = {"npm": "npm", "pypi": "PyPI"}


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that can be had; `ways` to install it, the preferred one first. Without a way, its publisher has an
    installer of its own."""

    name: str
    description: str = ""
    version: str = ""
    ways: tuple[Way, ...] = ()

    @property
    def way_words(self) -> str:
        words = [WAY_WORDS[way.kind] if isinstance(way, Package) else "download" for way in self.ways]
        return words[0] if words else "by hand"


def list_offers(known: Iterable[KnownAgent], index: RegistryIndex, platform: str) -> tuple[Offer, ...]:
    """The known agents first. An agent of the index that is a known one under another id is listed once."""
    offers: list[Offer] = []
    left = list(index.agents)
    for agent in known:
        entry = next((each for each in left if _is_same(agent, each)), None)
        if entry is not None:
            left.remove(entry)
        offers.append(_offer_known(agent, entry, platform))
    return (*offers, *(_offer_listed(entry, platform) for entry in left))


def _is_same(known: KnownAgent, entry: RegistryAgent) -> bool:
    packages = {way.name for way in _packages(entry)}
    return entry.id == known.name or bool(packages & {known.npm, known.pypi} - {""})


def _offer_known(known: KnownAgent, entry: RegistryAgent | None, platform: str) -> Offer:
    """Fairlead was tried with the package that it knows, so that one is preferred to what the index says."""
    named: tuple[tuple[PackageKind, str], ...] = (("npm", known.npm), ("pypi", known.pypi))
    own = [Package(kind=kind, name=name, commands=known.commands) for kind, name in named if name]
    listed = () if entry is None else _ways(entry, platform)
    more = [way for way in listed if not (own and isinstance(way, Package))]
    return Offer(
        name=known.name,
        description=known.about or ("" if entry is None else entry.description),
        version="" if entry is None else entry.version,
        ways=(*own, *more),
    )


def _offer_listed(entry: RegistryAgent, platform: str) -> Offer:
    return Offer(
        name=entry.id,
        description=_one_line(entry.description or entry.name),
        version=entry.version,
        ways=_ways(entry, platform),
    )


def _ways(entry: RegistryAgent, platform: str) -> tuple[Way, ...]:
    """Packages come before downloads: their index gives hashes, which a registry of agents does not."""
    run = entry.distribution.binary.get(platform)
    downloads = () if run is None else (Binary(agent=entry.id, version=entry.version, run=run),)
    return (*_packages(entry), *downloads)


def _packages(entry: RegistryAgent) -> tuple[Package, ...]:
    given: tuple[tuple[PackageKind, PackageRun | None], ...] = (
        ("npm", entry.distribution.npx),
        ("pypi", entry.distribution.uvx),
    )
    return tuple(package for kind, run in given if run is not None for package in _read_package(kind, run, entry))


def _read_package(kind: PackageKind, run: PackageRun, entry: RegistryAgent) -> tuple[Package, ...]:
    release = read_package_release(kind, run.package)
    if release is None:
        return ()
    version = release.version or entry.version
    return (Package(kind=kind, name=release.name, version=version, args=run.args, env=run.env),)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def find_offers(offers: Iterable[Offer], word: str) -> list[Offer]:
    """Those that have the word in their name, description or package."""
    wanted = word.strip().lower()
    return [offer for offer in offers if wanted in _searched_text(offer)]


def _searched_text(offer: Offer) -> str:
    return " ".join((offer.name, offer.description, *(way.source for way in offer.ways))).lower()


def suggest_names(offers: Sequence[Offer], name: str) -> list[str]:
    """Names that a person may have meant."""
    names = [offer.name for offer in offers]
    close = find_similar(name.lower(), names, 3)
    return close or [n for n in names if name and name.lower() in n][:3]
