"""A connection over which bells are heard: what was said on it, and what has been answered."""

import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import redis
from redis.exceptions import MovedError

from service.servers import Servers

_ANSWER_SECONDS = 3.0
"""A connection on which a question stays open as long as this is dead."""

_DOUBTFUL_SECONDS = 1.0


class Ringing(Protocol):
    """A bell. `heard` says that it would be noticed if it rang."""

    heard: bool

    def ring(self) -> None: ...


class Line:
    """One connection as long as it lasts.

    Whatever is said ends with a PING. Answers come in order, so its answer confirms all before it,
    without looking at which SUBSCRIBE was confirmed; and a line that is dead does not answer.
    """

    def __init__(
        self, connection: Any, servers: Servers, bells: Mapping[bytes, Collection[Ringing]]
    ) -> None:
        """`bells`: by channel those that are listened to here, as they come and go."""
        self._connection = connection
        self._servers = servers
        self._bells = bells
        self._sharded = not servers.together
        self._subscribed: set[bytes] = set()
        self._unanswered: deque[tuple[float, Sequence[Ringing]]] = deque()

    def tell(self, came: Sequence[Ringing], channels: set[bytes]) -> None:
        """Bring the subscriptions to these channels up to date."""
        wanted = channels & self._bells.keys()
        new = wanted - self._subscribed
        gone = (channels - wanted) & self._subscribed
        commands = [*self._about(b"SUBSCRIBE", new), *self._about(b"UNSUBSCRIBE", gone), (b"PING",)]
        self._connection.send_packed_command(
            self._connection.pack_commands(commands), check_health=False
        )
        self._subscribed |= new
        self._subscribed -= gone
        self._unanswered.append((time.monotonic(), came))

    def hear(self) -> set[bytes]:
        """Ring all bells that what has arrived is about.

        Returns the channels that are heard here no more, because they are elsewhere now.
        """
        lost: set[bytes] = set()
        with suppress(redis.TimeoutError):  # nothing more has arrived
            while True:
                try:
                    answer = self._connection.read_response(
                        timeout=0, disconnect_on_error=False, push_request=True
                    )
                except MovedError as error:
                    self._servers.follow(error)
                    lost |= {each for each in self._subscribed if self._slot(each) == error.slot_id}
                    continue
                match answer:
                    case [b"message" | b"smessage", channel, _]:
                        for bell in self._bells.get(channel, ()):
                            # The ring may come by a subscription that has been ended since: it
                            # does not mean that the next will be heard.
                            if bell.heard:
                                bell.ring()
                    case [b"sunsubscribe", channel, _] if channel in self._subscribed:
                        lost.add(channel)  # it was not us
                    case b"PONG" | [b"pong", _]:
                        _, came = self._unanswered.popleft()
                        for bell in came:
                            bell.heard = True
                            bell.ring()
        self._subscribed -= lost
        return lost

    def check(self, now: float) -> bool:
        """Whether it has answered lately. Raise redis.TimeoutError if it is dead."""
        silent = now - self._unanswered[0][0] if self._unanswered else 0
        if silent >= _ANSWER_SECONDS:
            raise redis.TimeoutError("it does not answer")
        return silent < _DOUBTFUL_SECONDS

    def _about(self, word: bytes, channels: set[bytes]) -> list[tuple[bytes, ...]]:
        if self._sharded:  # one by one: they are of different slots
            return [(b"S" + word, channel) for channel in channels]
        return [(word, *channels)] if channels else []

    def _slot(self, channel: bytes) -> int:
        return self._servers.slot_of(channel.decode())
