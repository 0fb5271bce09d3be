"""Loads discord.py without what it takes wherever it is installed, and a daemon never uses. Imported before anything
else of `discord`.

PyNaCl, which the extra `machines` brings, and davey are for voice. The compiled half of frozenlist is in C++, whose
library has a megabyte; what aiohttp keeps in such lists are a few callbacks, for which the other half, in Python, will
do."""

from typing import Final

from fairlead.kit.optional_imports import import_without

_FOR_VOICE: Final = ("nacl", "davey")
_IN_CPP: Final = ("frozenlist._frozenlist",)


def _load() -> None:
    import_without("frozenlist", _IN_CPP)
    voice = import_without("discord", _FOR_VOICE).VoiceClient
    # Else each start would log that voice is not supported, and what to install for it.
    voice.warn_nacl = voice.warn_dave = False


_load()
