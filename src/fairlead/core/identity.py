"""Who a person is: the same one on several channels, and no other. Knows no settings file and no channel's API.

Links are `{person: ["channel:id", …]}`, where the person is the id that stands in session keys. Two links need not be
written, because the caller passes them as defaults: all-digit ids belong to the one channel that gives such ids out,
and the owner, when there is one, has one known account.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from fairlead.core.keys import MAX_PART, is_valid_part, is_visible, normalise_id
from fairlead.errors import Code, error

LOCAL_USER: Final = "local"


class IdentityDefaults(msgspec.Struct, frozen=True):
    """Links that need not be written: the channel whose ids are all digits, and the owner's account as `channel:id`."""

    numeric_channel: str
    owner_account: str


class Identities(msgspec.Struct, frozen=True):
    """`person_at` leads from `channel:id` to the person. `link_identities` builds and checks it."""

    person_at: dict[str, str]
    defaults: IdentityDefaults

    def person_of(self, channel: str, user_id: str) -> str:
        """The person behind an id of a channel. Raises E_INVALID_USER for an id that is malformed or another's."""
        user_id = normalise_id(user_id)
        if not (is_valid_part(user_id) and is_visible(user_id)):
            raise error(
                Code.E_INVALID_USER,
                f"A user id has 1 to {MAX_PART} visible characters and no ':'; {user_id[:40]!r} does not.",
            )
        person = self.person_at.get(f"{channel}:{user_id}")
        if person is not None:
            return person
        if channel != self.defaults.numeric_channel:
            self._check_free(channel, user_id)
        return user_id

    def _check_free(self, channel: str, user_id: str) -> None:
        """An id that nobody linked must not be one by which somebody is known elsewhere."""
        if user_id in self._claimed_ids:
            sentence = f"{user_id!r} is the id of a person on another channel."
        elif user_id.isdigit():
            sentence = (
                f"{user_id!r} has digits only, as the ids of {self.defaults.numeric_channel} do, and is not linked."
            )
        else:
            return
        next_step = f"Use another id, or link it in FAIRLEAD_IDENTITIES as '{channel}:{user_id}'."
        raise error(Code.E_INVALID_USER, sentence, next_step=next_step)

    def accounts_of(self, channel: str, person: str) -> tuple[str, ...]:
        """The ids that this person has on a channel; none for somebody who is not known there."""
        linked = [account for account, whose in self.person_at.items() if whose == person]
        ids = tuple(user_id for at, _, user_id in (a.partition(":") for a in linked) if at == channel)
        if not ids and channel == self.defaults.numeric_channel and person.isdigit():
            return (person,)
        return ids

    @property
    def _claimed_ids(self) -> frozenset[str]:
        ids = {account.partition(":")[2] for account in self.person_at}
        return frozenset(ids | set(self.person_at.values()))


def link_identities(
    links: Mapping[str, Sequence[str]], defaults: IdentityDefaults, *, owner_id: str = ""
) -> Identities:
    """The identities that these links describe. Raises E_CONFIG with every mistake at once."""
    mistakes = list(_mistakes(links, defaults))
    if mistakes:
        raise error(
            Code.E_CONFIG,
            f"FAIRLEAD_IDENTITIES: {' '.join(mistakes)}",
            next_step='Write it as {"person": ["channel:id", …]}, each channel:id once.',
        )
    links = _normalise_links(links)
    person_at = {account: person for person, accounts in links.items() for account in accounts}
    for person in links:
        if person.isdigit():
            person_at.setdefault(f"{defaults.numeric_channel}:{person}", person)
    if owner_id:
        owner = person_at.get(f"{defaults.numeric_channel}:{owner_id}", owner_id)
        person_at.setdefault(defaults.owner_account, owner)
    return Identities(person_at, defaults)


def _normalise_links(links: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {normalise_id(person): list(map(normalise_id, accounts)) for person, accounts in links.items()}


def _mistakes(links: Mapping[str, Sequence[str]], defaults: IdentityDefaults) -> Iterator[str]:
    if len(_normalise_links(links)) < len(links):
        yield "Two people have the same id."
    links = _normalise_links(links)
    taken = {f"{defaults.numeric_channel}:{person}": person for person in links if person.isdigit()}
    for person, accounts in links.items():
        if not (is_valid_part(person) and is_visible(person)):
            yield f"{person[:40]!r} cannot be a person's id."
        for account in accounts:
            channel, _, user_id = account.partition(":")
            if not channel or not (is_valid_part(user_id) and is_visible(user_id)):
                yield f"{account[:60]!r} is not channel:id."
            if taken.setdefault(account, person) != person:
                yield f"{account[:60]!r} is claimed by {taken[account]!r} and {person!r}."
