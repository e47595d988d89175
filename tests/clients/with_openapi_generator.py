"""A match by the client that openapi-generator makes of the contract, for Python.

The address of the service is the argument; the match is printed as its typed models have it.
"""

import json
import sys
from collections.abc import Callable
from typing import TypeVar
from uuid import uuid4

from rummy_api import ApiClient, ApiException, Configuration, GamesApi, PlayApi
from rummy_api.api_response import ApiResponse
from rummy_api.models import (
    Changed,
    Discard,
    DiscardRequest,
    Draw,
    DrawRequest,
    DrawSource,
    Drew,
    GameStatus,
    GameView,
    Joined,
    JoinRequest,
    LayMeld,
    LayOff,
    LayoffRequest,
    MeldPlay,
    MeldRequest,
    MoveAnswer,
    NewTableRequest,
    Options,
    Play,
    PracticeRequest,
    Problem,
    TurnRequest,
    VariantId,
)

Request = TypeVar("Request", DrawRequest, MeldRequest, LayoffRequest, DiscardRequest, MeldPlay)


class Player:
    """A seat: with its token, the operations on games and on moves."""

    def __init__(self, service: str, token: str | None = None) -> None:
        client = ApiClient(Configuration(host=service, access_token=token))
        self.token = token
        self.games = GamesApi(client)
        self.play = PlayApi(client)


def main() -> None:
    service = sys.argv[1]
    anna, game = make_table(service)
    bo = take_seat(service, game)
    refusal(anna, game)
    versions_and_repeats(anna, game)
    view = rest_of_turn(anna, game)
    while view.status is not GameStatus.FINISHED:
        view = at_once(bo, game) if view.deal and view.deal.turn else step_by_step(anna, game)
    score = anna.games.get_score(game)
    assert score.result
    page = anna.games.get_events(game, limit=500)
    events = [entry.event.actual_instance for entry in page.events]
    assert isinstance(events[1], Joined)
    assert {type(event).__name__ for event in events} >= {"Drew", "Melded", "LaidOff"}
    drawn = [event for event in events if isinstance(event, Drew)]
    assert {event.source for event in drawn if event.card} == set(DrawSource)
    told = {"game": anna.games.get_game(game), "score": score, "events": page}
    as_json = {name: json.loads(model.to_json()) for name, model in told.items()}
    print(json.dumps({"token": anna.token, **as_json}))


def make_table(service: str) -> tuple[Player, str]:
    """A table for two, asked for twice with one key: the second answer is the first again."""
    wanted = NewTableRequest(
        variant=VariantId.PARLETT,
        name="Anna",
        options=Options(hand_size=6),
        practice=PracticeRequest(seed="hazel", dealer=1),
    )
    key = str(uuid4())
    create = Player(service).games.create_game_with_http_info
    first, again = (create(wanted, idempotency_key=key) for _ in range(2))
    assert first.data == again.data
    assert replayed(again)
    assert not replayed(first)
    return Player(service, first.data.token), first.data.game.id


def take_seat(service: str, game: str) -> Player:
    seated = Player(service).games.join_game(game, JoinRequest(name="Bo"))
    assert seated.seat == seated.game.you == 1
    return Player(service, seated.token)


def refusal(anna: Player, game: str) -> None:
    """A card cannot go before one is drawn; the problem says so, and what can be done."""
    card = (anna.games.get_game(game).hand or [])[0]
    problem = refused(409, lambda: anna.play.discard(game, DiscardRequest(card=card)))
    assert (problem.code, problem.rule) == ("draw_first", "common.3")
    assert all(isinstance(move.actual_instance, Draw) for move in problem.var_try or [])
    assert problem.var_try


def versions_and_repeats(anna: Player, game: str) -> None:
    """A draw that is meant for another version, then for this one, and then repeated."""
    seen = anna.games.get_game_with_http_info(game)
    etag = (seen.headers or {})["ETag"]
    unchanged = status_of(lambda: anna.games.get_game(game, if_none_match=etag))
    assert unchanged.status == 304
    move = seen.data.moves[0].actual_instance
    assert isinstance(move, Draw)
    body = as_request(DrawRequest, move)
    problem = refused(412, lambda: anna.play.draw(game, body, if_match='"1"'))
    assert problem.code == "stale_version"
    key = str(uuid4())
    first, again = (
        anna.play.draw_with_http_info(game, body, if_match=etag, idempotency_key=key)
        for _ in range(2)
    )
    assert made(first.data) == made(again.data)
    assert replayed(again)


def step_by_step(player: Player, game: str) -> GameView:
    """A turn with a request for each move."""
    moves = [move.actual_instance for move in player.games.get_game(game).moves]
    draws = [move for move in moves if isinstance(move, Draw)]
    upcard = next(move for move in draws if move.var_from is DrawSource.DISCARD)
    made(player.play.draw(game, as_request(DrawRequest, upcard)))
    return rest_of_turn(player, game)


def rest_of_turn(player: Player, game: str) -> GameView:
    """Every listed meld and layoff that is possible, then the first card that may go."""
    while True:
        moves = [move.actual_instance for move in player.play.list_moves(game).moves]
        plays = [move for move in moves if isinstance(move, LayMeld | LayOff)]
        if not moves:
            return player.games.get_game(game)
        if not plays:
            move = next(move for move in moves if isinstance(move, Discard))
            return made(player.play.discard(game, as_request(DiscardRequest, move))).game
        play = plays[0]
        made(
            player.play.meld(game, as_request(MeldRequest, play))
            if isinstance(play, LayMeld)
            else player.play.layoff(game, as_request(LayoffRequest, play))
        )


def at_once(player: Player, game: str) -> GameView:
    """A turn in two requests: the draw, and with one meld at most the rest."""
    view = made(player.play.draw(game, DrawRequest(var_from=DrawSource.STOCK))).game
    moves = [move.actual_instance for move in view.moves]
    plays = [as_request(MeldPlay, move) for move in moves if isinstance(move, LayMeld)][:1]
    laid = [card for play in plays for card in play.cards]
    card = next((card for card in view.hand or () if card not in laid), None)
    turn = TurnRequest(plays=[Play(play) for play in plays], discard=card)
    return made(player.play.play_turn(game, turn)).game


def as_request(kind: type[Request], move: Draw | LayMeld | LayOff | Discard) -> Request:
    """A listed move as the body of its operation."""
    body = kind.from_dict(move.to_dict())
    assert isinstance(body, kind)
    return body


def made(answer: MoveAnswer) -> Changed:
    """The answer to a move that was not only checked."""
    assert isinstance(answer.actual_instance, Changed)
    return answer.actual_instance


def refused(status: int, request: Callable[[], object]) -> Problem:
    """The problem that the request is refused with."""
    error = status_of(request)
    assert error.status == status
    assert isinstance(error.data, Problem)
    return error.data


def status_of(request: Callable[[], object]) -> ApiException:
    """What the client raises at an answer without a result."""
    try:
        request()
    except ApiException as error:
        return error
    raise AssertionError("It was accepted.")


def replayed(answer: ApiResponse[object]) -> bool:
    return (answer.headers or {}).get("Idempotency-Replayed") == "true"


if __name__ == "__main__":
    main()
