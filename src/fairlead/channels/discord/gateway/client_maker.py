"""Makes the clients of one process. They share what Discord counts for all of them: the pace of IDENTIFY, and a ban."""

from pathlib import Path
from typing import Self

import msgspec

from fairlead.channels.discord.gateway.client import GatewayClient, IdentifyPace, point_at
from fairlead.channels.discord.outbound.api_ban import ApiBan
from fairlead.settings import Settings


class ClientMaker(msgspec.Struct, frozen=True, kw_only=True):
    pace: IdentifyPace
    ban: ApiBan
    application_id: str
    heartbeat_timeout_sec: float

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        point_at(settings.discord_api_base, settings.discord_gateway_url)
        return cls(
            pace=IdentifyPace(),
            ban=ApiBan(Path(settings.state_dir)),
            application_id=settings.discord_app_id,
            heartbeat_timeout_sec=settings.discord_heartbeat_timeout_sec,
        )

    def make(self) -> GatewayClient:
        return GatewayClient(
            self.pace,
            self.application_id,
            heartbeat_timeout_sec=self.heartbeat_timeout_sec,
            http_trace=self.ban.trace(),
        )
