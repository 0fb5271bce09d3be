"""Commands about schedules: add, confirm, list, pause, resume, remove, run."""

from fairlead.core import requests as ask
from fairlead.core.replies import ScheduleCatalogue, ScheduleRan, ScheduleShown
from fairlead.core.requests import Caller
from fairlead.flow.commands.parts import CommandParts, HandlerTable


def schedule_handlers(parts: CommandParts) -> HandlerTable:
    commands = ScheduleCommands(parts)
    return {
        ask.ScheduleAdd: commands.add,
        ask.ScheduleConfirm: commands.confirm,
        ask.ScheduleList: commands.list,
        ask.SchedulePause: commands.pause,
        ask.ScheduleResume: commands.resume,
        ask.ScheduleRemove: commands.remove,
        ask.ScheduleRun: commands.run,
    }


class ScheduleCommands:
    def __init__(self, parts: CommandParts) -> None:
        self._schedules = parts.schedules

    async def add(self, request: ask.ScheduleAdd, caller: Caller) -> ScheduleShown:
        row = await self._schedules.add(request, caller)
        return ScheduleShown("proposed" if row.status == "proposed" else "added", row)

    async def confirm(self, request: ask.ScheduleConfirm, caller: Caller) -> ScheduleShown:
        return ScheduleShown("confirmed", await self._schedules.confirm(request, caller))

    async def list(self, request: ask.ScheduleList, caller: Caller) -> ScheduleCatalogue:
        schedules = self._schedules
        return ScheduleCatalogue(tuple(schedules.row(s, shown_ticks=request.ticks) for s in schedules.visible(caller)))

    async def pause(self, request: ask.SchedulePause, caller: Caller) -> ScheduleShown:
        return ScheduleShown("paused", await self._schedules.pause(request, caller))

    async def resume(self, request: ask.ScheduleResume, caller: Caller) -> ScheduleShown:
        return ScheduleShown("resumed", await self._schedules.resume(request, caller))

    async def remove(self, request: ask.ScheduleRemove, caller: Caller) -> ScheduleShown:
        return ScheduleShown("removed", await self._schedules.remove(request, caller))

    async def run(self, request: ask.ScheduleRun, caller: Caller) -> ScheduleRan:
        return ScheduleRan(request.number, await self._schedules.run_now(request, caller))
