"""Who a person is: the same one on several channels, and no other. Knows no settings file and no channel's API.

Links are `{person: ["channel:id", …]}`, where the person is the id that stands in session keys. Two links need not be
written, because the caller passes them as defaults: all-digit ids belong to the one channel that gives such ids out,
and the owner, when there is one, has one known place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from fairlead.core.keys import MAX_PART, is_valid_part
from fairlead.errors import Code, error

LOCAL_USER: Final = "local"


class IdentityDefaults(msgspec.Struct, frozen=True):
    """Links that need not be written: the channel whose ids are all digits, and the owner's place as `channel:id`."""

    numeric_channel: str
    owner_place: str


class Identities(msgspec.Struct, frozen=True):
    """`person_at` leads from `channel:id` to the person. `link_identities` builds and checks it."""

    person_at: dict[str, str]
    defaults: IdentityDefaults

    def person_of(self, channel: str, user_id: str) -> str:
        """The person behind an id of a channel. Raises E_INVALID_USER for an id that is malformed or another's."""
        if not is_valid_part(user_id):
            raise error(
                Code.E_INVALID_USER,
                f"A user id has 1 to {MAX_PART} visible characters and no ':'; {user_id[:40]!r} does not.",
            )
        person = self.person_at.get(f"{channel}:{user_id}")
        if person is not None:
            return person
        if channel != self.defaults.numeric_channel and (user_id.isdigit() or user_id in self._claimed_ids):
            raise error(
                Code.E_INVALID_USER,
                f"{user_id!r} belongs to somebody on another channel.",
                next_step=f"Use another id, or link it in FAIRLEAD_IDENTITIES as '{channel}:{user_id}'.",
            )
        return user_id

    @property
    def _claimed_ids(self) -> frozenset[str]:
        ids = {place.partition(":")[2] for place in self.person_at}
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
    person_at = {place: person for person, places in links.items() for place in places}
    for person in links:
        if person.isdigit():
            person_at.setdefault(f"{defaults.numeric_channel}:{person}", person)
    if owner_id:
        owner = person_at.get(f"{defaults.numeric_channel}:{owner_id}", owner_id)
        person_at.setdefault(defaults.owner_place, owner)
    return Identities(person_at, defaults)


def _mistakes(links: Mapping[str, Sequence[str]], defaults: IdentityDefaults) -> Iterator[str]:
    taken = {f"{defaults.numeric_channel}:{person}": person for person in links if person.isdigit()}
    for person, places in links.items():
        if not is_valid_part(person):
            yield f"{person[:40]!r} cannot be a person's id."
        for place in places:
            channel, _, user_id = place.partition(":")
            if not channel or not is_valid_part(user_id):
                yield f"{place[:60]!r} is not channel:id."
            if taken.setdefault(place, person) != person:
                yield f"{place[:60]!r} is claimed by {taken[place]!r} and {person!r}."
