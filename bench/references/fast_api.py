"""The same work as one writes it with FastAPI: pydantic both ways, redis.asyncio, under uvicorn.

The models of its answers are made from the service's own structures, so that both answer with the
same document, byte for byte.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache, reduce
from operator import or_
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Depends, FastAPI, Header, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from msgspec import inspect
from pydantic import BaseModel, Field, create_model
from redis.asyncio import Redis

from bench.references import work
from service.game import decode
from service.rummy.model import Discard, Draw, Move
from service.seating import seat_of
from service.views import Changed, GameView

_CARD = "^([A23456789TJQK][CDHS]|JK)$"


def model_of(structure: type) -> Any:
    """The pydantic model of the documents that the structure is written as."""
    return _type_of(inspect.type_info(structure))


def _type_of(kind: inspect.Type) -> Any:
    match kind:
        case inspect.Metadata():
            return _type_of(kind.type)
        case inspect.StructType():
            return _model(kind.cls)
        case inspect.UnionType():
            return _union(kind)
        case inspect.LiteralType():
            return Literal[kind.values]
        case inspect.VarTupleType():
            return tuple[_type_of(kind.item_type), ...]  # type: ignore[misc]
        case inspect.IntType():
            return Annotated[int, Field(ge=kind.ge)]
        case inspect.StrType():
            return Annotated[str, Field(pattern=kind.pattern)]
        case inspect.DateTimeType():
            return datetime
        case inspect.BoolType():
            return bool
        case inspect.NoneType():
            return None
    raise TypeError(f"There is no model of {kind}")


def _union(kind: inspect.UnionType) -> Any:
    """Structures are told apart by their tags."""
    structures = [each for each in kind.types if isinstance(each, inspect.StructType)]
    others = [_type_of(each) for each in kind.types if each not in structures]
    if len(structures) < 2:
        return reduce(or_, [*map(_type_of, structures), *others])
    told_apart = reduce(or_, map(_type_of, structures))
    return Annotated[told_apart, Field(discriminator=structures[0].tag_field)]


@cache
def _model(structure: type[msgspec.Struct]) -> Any:
    kind = inspect.type_info(structure)
    assert isinstance(kind, inspect.StructType)
    fields: dict[str, Any] = {}
    if kind.tag_field:
        fields[kind.tag_field] = (Literal[kind.tag], kind.tag)
    for field in kind.fields:
        default = ... if field.default is msgspec.NODEFAULT else field.default
        fields[field.name] = (_type_of(field.type), Field(default, alias=field.encode_name))
    return create_model(structure.__name__, **fields)


class DrawBody(BaseModel):
    move: Literal["draw"] = "draw"
    source: Literal["stock", "discard"] = Field(alias="from")
    card: str | None = Field(None, pattern=_CARD)


class DiscardBody(BaseModel):
    move: Literal["discard"] = "discard"
    card: str = Field(pattern=_CARD)


_store: Any = Redis.from_url(os.environ["RUMMY_REDIS_URL"])


@asynccontextmanager
async def _lifespan(_: FastAPI) -> AsyncIterator[None]:
    await _store.script_load(work.COMMIT)
    yield
    await _store.aclose()


app = FastAPI(lifespan=_lifespan)

_Token = Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]
_Changed = {"response_model": model_of(Changed), "response_model_exclude_unset": True}
_GameView = {"response_model": model_of(GameView), "response_model_exclude_unset": True}


@app.post("/v1/games/{game_id}/draw", **_Changed)
async def draw(game_id: str, wanted: DrawBody, token: _Token) -> Any:
    return await _moved(game_id, Draw(wanted.source, wanted.card), token)


@app.post("/v1/games/{game_id}/discard", **_Changed)
async def discard(game_id: str, wanted: DiscardBody, token: _Token) -> Any:
    return await _moved(game_id, Discard(wanted.card), token)


@app.get("/v1/games/{game_id}", **_GameView)
async def look(
    game_id: str, token: _Token, response: Response, if_none_match: Annotated[str, Header()] = ""
) -> Any:
    game = decode(await _store.execute_command(*work.load(game_id)))
    seat = seat_of(game, token.credentials)
    tag = f'"{game.version}"'
    if if_none_match == tag:
        return Response(status_code=304, headers={"ETag": tag})
    response.headers["ETag"] = tag
    return _document(work.seen(game, seat))


async def _moved(game_id: str, move: Move, token: HTTPAuthorizationCredentials) -> Any:
    record = await _store.execute_command(*work.load(game_id))
    game, logged, seat = work.moved(decode(record), token.credentials, move)
    await _store.execute_command(*work.commit(game, logged))
    return _document(work.answer(game, logged, seat))


def _document(answer: msgspec.Struct) -> Any:
    return msgspec.to_builtins(answer, builtin_types=(datetime,))
