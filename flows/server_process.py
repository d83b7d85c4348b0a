"""The process of our own Prefect server: `python -m flows.server_process`.

It serves Prefect's application on a socket that it is handed, which listens before
this process is up: a client's first request waits in the queue, nobody polls.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading

import uvicorn
from prefect.server.api.server import create_app

GRACE_S = 5


def main(listener_fd: int, lifeline_fd: int, mode: str) -> None:
    """Serves until the other end of the lifeline is closed.

    Args:
        listener_fd: a listening TCP socket.
        lifeline_fd: a stream socket whose other end only our parent holds.
        mode: ``build`` records runs; ``schedules`` also fires schedules.
    """
    lifeline = socket.socket(fileno=lifeline_fd)
    threading.Thread(target=_stop_with_parent, args=(lifeline,), daemon=True).start()
    app = create_app(ephemeral=mode == "build", final=True)
    config = uvicorn.Config(
        app,
        log_config=None,
        lifespan="on",
        timeout_graceful_shutdown=GRACE_S,
    )
    server = uvicorn.Server(config)
    asyncio.run(server.serve(sockets=[socket.socket(fileno=listener_fd)]))


def _stop_with_parent(lifeline: socket.socket) -> None:
    # Our parent closed its end, or died, also by kill -9: uvicorn ends the services,
    # which write down what they hold. If that hangs, the timer ends us.
    lifeline.recv(1)
    timer = threading.Timer(2 * GRACE_S, os._exit, args=(1,))
    timer.daemon = True
    timer.start()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
