"""What Fairlead says to people, in four languages. Knows sentences and their gaps, not when they are said.

A sentence has gaps, `{path}`, and parts that go when their gap has nothing to fill it, `[[ ({path})]]`.
Error codes and the field names of status reports are never translated.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from fairlead.render.words.languages import LanguageWords

ENGLISH: Final = LanguageWords("en")
CATALOGUES: Final[Mapping[str, LanguageWords]] = {
    "en": ENGLISH,
    "ja": LanguageWords("ja"),
    "zh-TW": LanguageWords("zh_tw"),
    "zh-CN": LanguageWords("zh_cn"),
}
MISSING: Final = "…"

_GAP = re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"\[\[(.*?)\]\]")
_WIDE_ENDS: Final = "。！？"  # noqa: RUF001 - full-width stops, which no space follows
_ENDS: Final = f".!?…:{_WIDE_ENDS}"
_TRADITIONAL = {"tw", "hk", "mo", "hant"}


def say(lang: str, key: str, /, **fields: object) -> str:
    """The sentence `key` in `lang`, English where the language is unknown. An unknown key is a KeyError."""
    sentence = CATALOGUES.get(lang, ENGLISH)[key]

    def part(found: re.Match[str]) -> str:
        gaps = _GAP.findall(found[1])
        return found[1] if all(_is_filled(fields, gap) for gap in gaps) else ""

    def gap(found: re.Match[str]) -> str:
        return str(fields[found[1]]) if _is_filled(fields, found[1]) else MISSING

    return _GAP.sub(gap, _OPTIONAL.sub(part, sentence))


def _is_filled(fields: Mapping[str, object], name: str) -> bool:
    return fields.get(name) not in {None, ""}


def error_line(lang: str, code: str, /, *, detail: str = "", **fields: object) -> str:
    """`CODE: what happened. What to do next. (detail)`, in the catalogue's words."""
    sentences = join_sentences(error_what(lang, code, **fields), error_next_step(lang, code, **fields))
    return f"{code}: {sentences} ({detail.strip()})" if detail.strip() else f"{code}: {sentences}"


def error_what(lang: str, code: str, /, **fields: object) -> str:
    """What happened. A code without a sentence is said as an internal error."""
    return say(lang, f"error.{_code_in_catalogue(code)}", **fields)


def error_next_step(lang: str, code: str, /, **fields: object) -> str:
    """What to do next."""
    return say(lang, f"error.{_code_in_catalogue(code)}.next", **fields)


def _code_in_catalogue(code: str) -> str:
    return code if f"error.{code}" in ENGLISH else "E_INTERNAL"


def join_sentences(first: str, second: str) -> str:
    """Two sentences as one text. The first may be somebody else's words, so its full stop may be missing."""
    if not first or not second or first.endswith("\n"):
        return f"{first}{second}"
    stop = "" if first[-1] in _ENDS else "."
    return f"{first}{stop}{second}" if first[-1] in _WIDE_ENDS else f"{first}{stop} {second}"


@lru_cache(maxsize=64)
def pick_language(locale: str | None, default: str = "en") -> str:
    """The language for a locale such as `ja` or `zh_Hant_TW.UTF-8`; `default` for one we do not speak."""
    parts = re.split(r"[-_.@]", (locale or "").strip().lower())
    match parts[0]:
        case "en" | "ja":
            return parts[0]
        case "zh":
            return "zh-TW" if _TRADITIONAL & set(parts[1:]) else "zh-CN"
        case _:
            return default
