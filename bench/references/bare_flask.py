"""A Flask app that does the work of a move and of a look, and nothing else.

It has the service's worker and its connections to the store, so what it costs less than the service
is what the service's own layers cost: checking requests against the contract, limits, metrics, logs
and all that is done on every request.
"""

import os
from collections.abc import Callable

import msgspec
from flask import Flask, Response, request

from bench.references import work
from service.config import load_config
from service.game import decode
from service.rummy.model import Discard, Draw
from service.seating import seat_of
from service.servers import Servers

app = Flask("bare_flask", static_folder=None)

_servers = Servers.named_in(load_config(os.environ))
_encode = msgspec.json.Encoder().encode
_decode_move: dict[str, Callable[[bytes], Draw | Discard]] = {
    "draw": msgspec.json.Decoder(Draw).decode,
    "discard": msgspec.json.Decoder(Discard).decode,
}


@app.post("/v1/games/<game_id>/<kind>")
def move(game_id: str, kind: str) -> Response:
    wanted = _decode_move[kind](request.get_data())
    key = work.key_of(game_id, "game")
    (record,) = _servers.ask(key, [work.load(game_id)])
    game, logged, seat = work.moved(decode(record), _token(), wanted)
    _servers.ask(key, [work.commit(game, logged)], call="change")
    return Response(_encode(work.answer(game, logged, seat)), mimetype="application/json")


@app.get("/v1/games/<game_id>")
def look(game_id: str) -> Response:
    (record,) = _servers.ask(work.key_of(game_id, "game"), [work.load(game_id)])
    game = decode(record)
    seat = seat_of(game, _token())
    tag = f'"{game.version}"'
    if request.headers.get("If-None-Match") == tag:
        return Response(status=304, headers={"ETag": tag})
    body = _encode(work.seen(game, seat))
    return Response(body, headers={"ETag": tag}, mimetype="application/json")


@app.get("/one-get/<game_id>")
def one_get(game_id: str) -> Response:
    """Ask the store for one thing, and tell the caller that it has that already."""
    key = work.key_of(game_id, "game")
    (version,) = _servers.ask(key, [("HGET", key, "version")])
    return Response(status=304, headers={"ETag": f'"{version.decode()}"'})


def _token() -> str:
    return request.headers["Authorization"].removeprefix("Bearer ")
