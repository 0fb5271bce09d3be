"""What an error says beside its code, in the reader's language. Errors carry English sentences of Fairlead's own, with
names in them: such a sentence is found by its words. The words of agents and of programs stay as they are. Pure."""

import re
from functools import cache
from typing import Final

from fairlead.render.words.languages import LazyCatalogues

BY_LANGUAGE: Final = LazyCatalogues(
    {
        "ja": "fairlead.render.words.details.ja",
        "zh-CN": "fairlead.render.words.details.zh_cn",
        "zh-TW": "fairlead.render.words.details.zh_tw",
    },
    "DETAILS",
)
_GAP: Final = re.compile(r"\\\{(\w+)\\\}")


def translate_detail(words: str, lang: str) -> str:
    """`words` in `lang` if it is a sentence of Fairlead's own that the catalogue has, else as it is. What fills a gap
    may be such a sentence too."""
    for pattern, sentence in _patterns(lang):
        found = pattern.fullmatch(words.strip())
        if found is not None:
            return sentence.format_map({gap: translate_detail(text, lang) for gap, text in found.groupdict().items()})
    return words


@cache
def _patterns(lang: str) -> list[tuple[re.Pattern[str], str]]:
    catalogue = BY_LANGUAGE.get(lang, {})
    return [
        (re.compile(_GAP.sub(r"(?P<\1>.+?)", re.escape(english)), re.DOTALL), sentence)
        for english, sentence in catalogue.items()
    ]
