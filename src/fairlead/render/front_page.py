"""The page at `/`, for somebody who opens Fairlead's address in a browser. Pure; shows nothing that needs a token."""

import base64
import hashlib
import re
from html import escape
from typing import Final, Literal

from fairlead.render.words import pick_language, say

Health = Literal["ok", "disk_full", "journal_damaged"]

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2128; --soft: #57606a; --paper: #ffffff; --card: #f3f5f7; --line: #d8dee4;
  --good: #1a7f37; --bad: #b35900; --link: #0a58ca; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9aa5b1; --paper: #10151b; --card: #1a2129; --line: #303943;
    --good: #4cc264; --bad: #f0a45d; --link: #79b8ff; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", "Noto Sans", "Noto Sans CJK JP", sans-serif; }
main { max-width: 42rem; margin: 0 auto; padding: 2.5rem 1.25rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .75rem; }
h2 { font-size: 1.125rem; margin: 2rem 0 .5rem; }
p { margin: 0 0 .75rem; }
section.health { border: 1px solid var(--line); border-left: .375rem solid var(--good); border-radius: .5rem;
  background: var(--card); padding: .875rem 1rem; margin-top: 1.5rem; }
section.health.trouble { border-left-color: var(--bad); }
section.health strong { display: block; color: var(--good); }
section.health.trouble strong { color: var(--bad); }
section.health p { margin: 0; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem;
  margin: 0 0 1rem; white-space: pre-wrap; }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .9rem; }
a { color: var(--link); }
footer { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid var(--line); color: var(--soft);
  font-size: .875rem; }
"""

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:; "
    f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
)

_MORE: Final[dict[Health, str]] = {
    "ok": "ok.more",
    "disk_full": "disk_full.more",
    "journal_damaged": "journal_damaged.more",
}
_COMMAND: Final = "fairlead chat"
_REQUEST: Final = """curl -H "Authorization: Bearer $TOKEN" \\
  --json '{"userId": "me", "message": "hello"}' \\
  {origin}/v1/messages"""
_DOCUMENT: Final = "/openapi.json"
_LINK: Final = f'<a href="{_DOCUMENT}">{_DOCUMENT}</a>'
_CODE: Final = re.compile(r"`([^`]+)`")


def build_front_page(health: Health, version: str, *, origin: str, lang: str) -> str:
    """`origin` is the address by which the reader came here."""
    trouble = "" if health == "ok" else " trouble"
    return f"""<!doctype html>
<html lang="{lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{_say(lang, "title")}</title>
<link rel="icon" href="data:,">
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{_say(lang, "title")}</h1>
<p>{_say(lang, "what")}</p>
<section class="health{trouble}" role="status">
<strong>{_say(lang, health)}</strong>
<p>{_say(lang, _MORE[health])}</p>
</section>
<h2>{_say(lang, "get_in")}</h2>
<p>{_say(lang, "console")}</p>
<pre>fairlead console</pre>
<p>{_say(lang, "terminal")}</p>
<pre>{_COMMAND}</pre>
<p>{_say(lang, "http")}</p>
<pre>{escape(_REQUEST.replace("{origin}", origin), quote=False)}</pre>
<p>{_say(lang, "document").replace(_DOCUMENT, _LINK)}</p>
<footer>
<p>{_say(lang, "private")}</p>
<p>{escape(say(lang, "page.version", version=version))}</p>
</footer>
</main>
</body>
</html>
"""


def pick_page_language(accepted: str, default: str) -> str:
    """The first language of an Accept-Language header that Fairlead speaks."""
    wishes = [wish.partition(";") for wish in accepted.split(",")]
    ranked = sorted(wishes, key=lambda wish: _read_weight(wish[2]), reverse=True)
    spoken = (pick_language(name, "") for name, _, weight in ranked if _read_weight(weight) > 0)
    return next(filter(None, spoken), default)


def _read_weight(parameters: str) -> float:
    found = re.search(r"\bq=([01](?:\.\d{1,3})?)\s*$", parameters.strip())
    return float(found[1]) if found else 1.0 if not parameters.strip() else 0.0


def _say(lang: str, key: str) -> str:
    """Escaped, with `code` marked."""
    return _CODE.sub(r"<code>\1</code>", escape(say(lang, f"page.{key}", link=_DOCUMENT), quote=False))
