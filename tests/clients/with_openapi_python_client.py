"""A match by the client that openapi-python-client makes of the contract.

The address of the service is the argument; the match is printed as its typed models have it.
"""

import json
import sys
from http import HTTPStatus
from uuid import uuid4

from rummy_client import AuthenticatedClient, Client
from rummy_client.api.games import create_game, get_events, get_game, get_score, join_game
from rummy_client.api.play import discard, draw, layoff, list_moves, meld, play_turn
from rummy_client.models import (
    Changed,
    Checked,
    Discard,
    DiscardRequest,
    Draw,
    DrawRequest,
    DrawSource,
    Drew,
    EventList,
    GameStatus,
    GameView,
    Joined,
    LayMeld,
    LayOff,
    LayoffRequest,
    MeldPlay,
    MeldRequest,
    MoveList,
    NewTableRequest,
    Options,
    PracticeRequest,
    Problem,
    Score,
    Seated,
    TurnRequest,
    VariantId,
)
from rummy_client.models.join_request import JoinRequest
from rummy_client.types import Response, Unset

Answer = Response[Changed | Checked | Problem]


def main() -> None:
    service = sys.argv[1]
    anna, game = make_table(service)
    bo = take_seat(service, game)
    refusal(anna, game)
    versions_and_repeats(anna, game)
    view = rest_of_turn(anna, game)
    while view.status is not GameStatus.FINISHED:
        view = at_once(bo, game) if view.deal and view.deal.turn else step_by_step(anna, game)
    score = get_score.sync(game, client=anna)
    assert isinstance(score, Score)
    assert score.result
    page = get_events.sync(game, client=anna, limit=500)
    assert isinstance(page, EventList)
    assert isinstance(page.events[1].event, Joined)
    assert {type(entry.event).__name__ for entry in page.events} >= {"Drew", "Melded", "LaidOff"}
    drawn = [entry.event for entry in page.events if isinstance(entry.event, Drew)]
    assert {event.source for event in drawn if event.card} == set(DrawSource)
    told = {
        "token": anna.token,
        "game": look(anna, game).to_dict(),
        "score": score.to_dict(),
        "events": page.to_dict(),
    }
    print(json.dumps(told))


def make_table(service: str) -> tuple[AuthenticatedClient, str]:
    """A table for two, asked for twice with one key: the second answer is the first again."""
    wanted = NewTableRequest(
        variant=VariantId.PARLETT,
        name="Anna",
        options=Options(hand_size=6),
        practice=PracticeRequest(seed="hazel", dealer=1),
    )
    key = str(uuid4())
    first, again = (
        create_game.sync_detailed(client=Client(service), body=wanted, idempotency_key=key)
        for _ in range(2)
    )
    assert isinstance(first.parsed, Seated)
    assert first.parsed == again.parsed
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    return AuthenticatedClient(service, first.parsed.token), first.parsed.game.id


def take_seat(service: str, game: str) -> AuthenticatedClient:
    seated = join_game.sync(game, client=Client(service), body=JoinRequest("Bo"))
    assert isinstance(seated, Seated)
    assert seated.seat == seated.game.you == 1
    return AuthenticatedClient(service, seated.token)


def refusal(anna: AuthenticatedClient, game: str) -> None:
    """A card cannot go before one is drawn; the problem says so, and what can be done."""
    card = (look(anna, game).hand or [])[0]
    answer = discard.sync_detailed(game, client=anna, body=DiscardRequest(card))
    assert answer.status_code is HTTPStatus.CONFLICT
    assert isinstance(answer.parsed, Problem)
    assert (answer.parsed.code, answer.parsed.rule) == ("draw_first", "common.3")
    assert not isinstance(answer.parsed.try_, Unset)
    assert {move.move for move in answer.parsed.try_} == {"draw"}


def versions_and_repeats(anna: AuthenticatedClient, game: str) -> None:
    """A draw that is meant for another version, then for this one, and then repeated."""
    seen = get_game.sync_detailed(game, client=anna)
    etag = seen.headers["ETag"]
    unchanged = get_game.sync_detailed(game, client=anna, if_none_match=etag)
    assert (unchanged.status_code, unchanged.parsed) == (HTTPStatus.NOT_MODIFIED, None)
    assert isinstance(seen.parsed, GameView)
    move = seen.parsed.moves[0]
    assert isinstance(move, Draw)
    body = DrawRequest.from_dict(move.to_dict())
    stale = draw.sync_detailed(game, client=anna, body=body, if_match='"1"')
    assert stale.status_code is HTTPStatus.PRECONDITION_FAILED
    assert isinstance(stale.parsed, Problem)
    assert stale.parsed.code == "stale_version"
    key = str(uuid4())
    first, again = (
        draw.sync_detailed(game, client=anna, body=body, if_match=etag, idempotency_key=key)
        for _ in range(2)
    )
    assert made(first) == made(again)
    assert again.headers["Idempotency-Replayed"] == "true"


def step_by_step(client: AuthenticatedClient, game: str) -> GameView:
    """A turn with a request for each move."""
    draws = [move for move in look(client, game).moves if isinstance(move, Draw)]
    upcard = next(move for move in draws if move.from_ is DrawSource.DISCARD)
    made(draw.sync_detailed(game, client=client, body=DrawRequest.from_dict(upcard.to_dict())))
    return rest_of_turn(client, game)


def rest_of_turn(client: AuthenticatedClient, game: str) -> GameView:
    """Every listed meld and layoff that is possible, then the first card that may go."""
    while True:
        listed = list_moves.sync(game, client=client)
        assert isinstance(listed, MoveList)
        plays = [move for move in listed.moves if isinstance(move, LayMeld | LayOff)]
        if not listed.moves:
            return look(client, game)
        if not plays:
            move = next(move for move in listed.moves if isinstance(move, Discard))
            last = DiscardRequest.from_dict(move.to_dict())
            return made(discard.sync_detailed(game, client=client, body=last)).game
        play = plays[0]
        made(
            meld.sync_detailed(game, client=client, body=MeldRequest.from_dict(play.to_dict()))
            if isinstance(play, LayMeld)
            else layoff.sync_detailed(
                game, client=client, body=LayoffRequest.from_dict(play.to_dict())
            )
        )


def at_once(client: AuthenticatedClient, game: str) -> GameView:
    """A turn in two requests: the draw, and with one meld at most the rest."""
    body = DrawRequest(from_=DrawSource.STOCK)
    view = made(draw.sync_detailed(game, client=client, body=body)).game
    melds = [MeldPlay.from_dict(move.to_dict()) for move in view.moves if isinstance(move, LayMeld)]
    plays = melds[:1]
    laid = [card for play in plays for card in play.cards]
    card = next((card for card in view.hand or () if card not in laid), None)
    turn = TurnRequest(plays=list(plays), discard=card)
    return made(play_turn.sync_detailed(game, client=client, body=turn)).game


def look(client: AuthenticatedClient, game: str) -> GameView:
    view = get_game.sync(game, client=client)
    assert isinstance(view, GameView)
    return view


def made(answer: Answer) -> Changed:
    """The answer to a move that was not only checked."""
    assert isinstance(answer.parsed, Changed), answer.parsed
    return answer.parsed


if __name__ == "__main__":
    main()
