"""Serves uploaded files under signed addresses that expire by the server's clock."""

from aiohttp import web

from . import wire
from .world import World


def file_response(world: World, request: web.Request) -> web.Response:
    """Discord answers 404 for a file that is gone and for an address that is forged or too old."""
    attachment = world.attachments.get(int(request.match_info["attachment_id"]))
    if attachment is None or not signed(world, request):
        return web.Response(status=404, text="This content is no longer available.")
    kind = attachment.content_type or "application/octet-stream"
    return web.Response(body=attachment.data, headers={"Content-Type": kind})


def signed(world: World, request: web.Request) -> bool:
    try:
        expires, issued = int(request.query["ex"], 16), int(request.query["is"], 16)
        expected = wire.signature(int(request.match_info["attachment_id"]), expires, issued)
        return request.query["hm"] == expected and world.clock.now() < expires
    except (KeyError, ValueError):
        return False
