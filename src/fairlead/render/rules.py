"""A standing rule in few words that say exactly what it covers. Knows no project and no channel."""

from fairlead.core.rules import SHELL, RuleOffer
from fairlead.render.safe_text import visible_lines


def rule_words(offer: RuleOffer) -> str:
    """`pytest …`, `make test`, `Edit src/app.py`, `Edit src/…`, `mcp__db__query {"sql":"select 1"}`."""
    text = visible_lines(offer.text)
    match offer.kind:
        case "prefix":
            return f"{text} …"
        case "directory":
            return f"{offer.tool} {text}/…"
        case "path":
            return f"{offer.tool} {text}"
        case "exact":
            return text if offer.tool == SHELL else f"{offer.tool} {text}".rstrip()
