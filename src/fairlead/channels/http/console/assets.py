"""The style sheet, the script and the icons of the console: files of the package, served under names that say what is
in them, so that a browser never asks twice. Knows no page."""

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from typing import Final
from urllib.parse import quote

import msgspec

from fairlead.render.console.layout import Assets

PATH: Final = "/console/assets/"
_TYPES: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "icon-180.png": "image/png",
    "icon-512.png": "image/png",
}
_TEXTS: Final = ("text/", "image/svg")


class Asset(msgspec.Struct, frozen=True):
    """`packed` is the content compressed by gzip; empty where that would not make it smaller."""

    media_type: str
    content: bytes
    packed: bytes


@cache
def load_assets() -> dict[str, Asset]:
    """By the last part of the path: the file's name with the beginning of its digest."""
    return {_name_with_digest(name): _load(name) for name in _TYPES}


def _load(name: str) -> Asset:
    content = _read(name)
    media_type = _TYPES[name]
    packed = gzip.compress(content, 9, mtime=0) if media_type.startswith(_TEXTS) else b""
    return Asset(media_type, content, packed)


def _read(name: str) -> bytes:
    return (files("fairlead.channels.http.console") / "static" / name).read_bytes()


@cache
def _name_with_digest(name: str) -> str:
    stem, _, ending = name.rpartition(".")
    return f"{stem}.{hashlib.sha256(_read(name)).hexdigest()[:12]}.{ending}"


@cache
def asset_paths() -> Assets:
    """The icon of a tab is part of the page: one request less."""
    return Assets(
        style=PATH + _name_with_digest("console.css"),
        script=PATH + _name_with_digest("console.js"),
        icon=f"data:image/svg+xml,{quote(_read('icon.svg').decode())}",
        touch_icon=PATH + _name_with_digest("icon-180.png"),
        manifest="/console/manifest.webmanifest",
    )


@cache
def manifest() -> bytes:
    """What a phone needs to put the console on its home screen."""
    icons = [
        {"src": PATH + _name_with_digest("icon.svg"), "sizes": "any", "type": "image/svg+xml"},
        {"src": PATH + _name_with_digest("icon-180.png"), "sizes": "180x180", "type": "image/png"},
        {
            "src": PATH + _name_with_digest("icon-512.png"),
            "sizes": "512x512",
            "type": "image/png",
            "purpose": "any maskable",
        },
    ]
    return msgspec.json.encode(
        {
            "name": "Fairlead",
            "short_name": "Fairlead",
            "start_url": "/",
            "scope": "/",
            "display": "standalone",
            "background_color": "#10151b",
            "theme_color": "#10151b",
            "icons": icons,
        }
    )
