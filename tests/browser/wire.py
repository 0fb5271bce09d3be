"""A wire between the browser and the daemon that a test can cut, or let fall silent as a sleeping laptop's does."""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self


class Wire:
    """Listens on a port of its own and passes bytes on. What goes through it can be cut at any moment."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._silent: set[socket.socket] = set()
        self.cuts = 0
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def cut(self) -> None:
        """Everything that is connected is disconnected; what connects later is served."""
        self.cuts += 1
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def fall_silent(self) -> None:
        """Nothing more arrives on what is connected, and nobody is told: what connects later is served."""
        self._silent |= set(self._ends)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # the test is over
            try:
                far = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                near.close()
                continue
            self._ends += [near, far]
            for source, target in ((near, far), (far, near)):
                thread = threading.Thread(target=self._pass_on, args=(source, target), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        """Each thread closes the end that it reads from."""
        with source, contextlib.suppress(OSError):
            while data := source.recv(65536):
                if source not in self._silent:
                    target.sendall(data)
            if source not in self._silent:
                target.shutdown(socket.SHUT_RDWR)
