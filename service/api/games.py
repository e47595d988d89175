"""The endpoints of games: making and finding tables, playing, looking."""

from flask import Response, request

from service import errors
from service.api import examples, schemas
from service.api.http import (
    Blueprint,
    answer,
    caller_has,
    etag,
    needed_token,
    pinned_version,
    refuse_unread_query,
    tables,
    token,
)
from service.game import Game
from service.rummy.model import Move
from service.tables import NewTable, Outcome, SeatTaken
from service.views import (
    Changed,
    EventList,
    GameList,
    GameView,
    MoveList,
    Score,
    Seated,
    TableList,
    changes_with_time,
    event_page,
    game_view,
    log_entries,
    move_list,
    score_view,
    table_view,
)

games = Blueprint(
    "games", __name__, url_prefix="/v1/games", description="Making, finding and watching tables."
)
play = Blueprint("play", __name__, url_prefix="/v1/games", description="The moves of a game.")
for blueprint in (games, play):
    blueprint.before_request(refuse_unread_query)

_SEATED: list[dict[str, list[str]]] = [{"seatToken": []}]
_ANYBODY: list[dict[str, list[str]]] = [{}, {"seatToken": []}]
_PUBLIC: list[dict[str, list[str]]] = []
_GAME = {
    "in": "path",
    "name": "game_id",
    "required": True,
    "schema": {"$ref": "#/components/schemas/GameId"},
    "description": "The game's id.",
}
_IF_MATCH = {
    "in": "header",
    "name": "If-Match",
    "schema": {"type": "string", "pattern": '^(\\*|(W/)?"[0-9]{1,15}")$'},
    "description": (
        'The version that the request is meant for, such as `"12"`; 412 if the game has moved on.'
    ),
}
_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "schema": {"type": "string"},
    "description": 'The version that the caller has, such as `"12"`; 304 if there is no newer one.',
}
_ETAG = {
    "ETag": {
        "schema": {"type": "string", "pattern": '^"[0-9]+"$'},
        "description": "The game's version, quoted: for If-Match and If-None-Match.",
        "required": True,
    }
}
_LOCATION = {
    "Location": {
        "schema": {"type": "string", "format": "uri-reference"},
        "description": "Where the game is.",
        "required": True,
    }
}

_TABLES_OR_GAMES = {
    "anyOf": [
        {"$ref": "#/components/schemas/TableList"},
        {"$ref": "#/components/schemas/GameList"},
    ]
}

_SEAT = "The seat, its token, and the game."
_AFTER = "The game afterwards, and what happened."

_OF_BODY = (400, 413, 415)
_OF_TOKEN = (errors.NoToken, errors.BadToken, errors.NotYourSeat)
_OF_GAME = (
    errors.InvalidRequest,
    errors.NoSuchGame,
    errors.StoreUnavailable,
    errors.UnreadableRecord,
)
_OF_CHANGE = (*_OF_GAME, errors.StaleVersion, errors.BadVersion, errors.TooBusy)
_OF_MOVE = (
    *_OF_TOKEN,
    *_OF_CHANGE,
    errors.NotStarted,
    errors.MatchOver,
)
_OF_PLAY = (
    *_OF_MOVE,
    errors.NotYourTurn,
    errors.DrawFirst,
    errors.NotInHand,
)
_OF_JOKERS = (errors.JokerUnclear, errors.JokerMisnamed)
_OF_FINISH = (errors.FinalDiscardNeeded, errors.WouldBeStuck)
_OF_MELD = (
    *_OF_PLAY,
    errors.MeldLimit,
    errors.MeldsFirst,
    errors.NotAMeld,
    *_OF_JOKERS,
    *_OF_FINISH,
)
_OF_LAYOFF = (
    *_OF_PLAY,
    errors.NoLayoffs,
    errors.NoSuchMeld,
    errors.NotYourMeld,
    errors.DoesNotFit,
    *_OF_JOKERS,
    *_OF_FINISH,
)
_OF_SWAP = (*_OF_PLAY, errors.NoSwaps, errors.NoSuchMeld, errors.NoJokerThere)
_OF_DISCARD = (*_OF_PLAY, errors.UpcardReturned)


# ------------------------------------------------------------------------------------- tables


@games.route("", methods=["POST"])
@games.arguments(schemas.NewTableRequest(), examples=examples.CREATE)
@games.response(201, "Seated", description=_SEAT, headers={**_ETAG, **_LOCATION})
@games.refuses(
    errors.InvalidRequest,
    errors.OptionsRefused,
    errors.BadPractice,
    errors.BadText,
    errors.StoreUnavailable,
    http=_OF_BODY,
)
@games.doc(operationId="createGame", security=_PUBLIC)
def create(wanted: NewTable) -> Response:
    """Make a table

    The maker takes seat 0 and is the host. The answer holds the seat's token, this once: keep it,
    and send it as `Authorization: Bearer …` with every move. The options are agreed here; what
    differs from the variant is listed in the game.
    """
    return _seated(tables().create(wanted))


@games.route("", methods=["GET"])
@games.arguments(schemas.GamesQuery(), location="query")
@games.response(200, _TABLES_OR_GAMES, description="A page of tables, or the own game.")
@games.refuses(
    errors.InvalidRequest,
    errors.BadCursor,
    *_OF_TOKEN,
    errors.StoreUnavailable,
    errors.UnreadableRecord,
)
@games.doc(operationId="listGames", security=_ANYBODY)
def list_games(wish: schemas.ListWish) -> Response:
    """List open tables, or one's own game

    Public tables that wait for players, the newest first. With `mine` and a seat token: the game
    that the token has a seat in.
    """
    return _own_games() if wish.mine else _open_tables(wish)


@games.route("/<game_id>", methods=["GET"], parameters=[_GAME])
@games.response(200, "GameView", description="The game.", headers=_ETAG)
@games.alt_response(304, description="The caller has this version.", headers=_ETAG)
@games.refuses(errors.BadToken, errors.NotYourSeat, *_OF_GAME)
@games.doc(operationId="getGame", security=_ANYBODY, parameters=[_IF_NONE_MATCH])
def look(game_id: str) -> Response:
    """Look at a game

    With a seat token: as that seat sees it, with its hand and its legal moves. Without: as
    everybody may see it. The ETag is the version.
    """
    game, seat = tables().look(game_id, token())
    if caller_has(game.version) and not changes_with_time(game):
        return Response(status=304, headers=_caching(game))
    return answer(_view(game, seat), headers=_caching(game))


@games.route("/<game_id>/join", methods=["POST"], parameters=[_GAME])
@games.arguments(schemas.JoinRequest(), examples=examples.JOIN)
@games.response(201, "Seated", description=_SEAT, headers={**_ETAG, **_LOCATION})
@games.refuses(
    errors.BadText,
    errors.TableFull,
    errors.AlreadyStarted,
    errors.OptionsDoNotFit,
    *_OF_CHANGE,
    http=_OF_BODY,
)
@games.doc(operationId="joinGame", security=_PUBLIC, parameters=[_IF_MATCH])
def join(wanted: dict[str, str], game_id: str) -> Response:
    """Take a seat

    The next free seat, clockwise. The answer holds the seat's token, this once. If the table
    starts by itself, the last seat taken starts it.
    """
    return _seated(tables().join(game_id, wanted["name"], pinned_version()))


@games.route("/<game_id>/start", methods=["POST"], parameters=[_GAME])
@games.arguments(schemas.StartRequest(), required=False, examples=examples.START)
@games.response(200, "Changed", description=_AFTER, headers=_ETAG)
@games.refuses(
    *_OF_TOKEN,
    errors.NotTheHost,
    errors.AlreadyStarted,
    errors.TooFewPlayers,
    errors.OptionsDoNotFit,
    *_OF_CHANGE,
    http=_OF_BODY,
)
@games.doc(operationId="startGame", security=_SEATED, parameters=[_IF_MATCH])
def start(_: dict[str, object], game_id: str) -> Response:
    """Start the match

    For the host: with those who sit there, at least two. Free seats are taken away. Options that
    depend on the number of players are settled now.
    """
    return _changed(tables().start(game_id, needed_token(), pinned_version()))


@games.route("/<game_id>/score", methods=["GET"], parameters=[_GAME])
@games.arguments(schemas.ScoreQuery(), location="query")
@games.response(200, "Score", description="The score.")
@games.refuses(errors.BadToken, errors.NotYourSeat, *_OF_GAME)
@games.doc(operationId="getScore", security=_ANYBODY)
def score(wish: schemas.PageWish, game_id: str) -> Response:
    """Read the score

    The totals, and each finished deal with every hand counted. To go on, ask again with `after` as
    the number of the last deal here.
    """
    game, _ = tables().look(game_id, token())
    results = tables().results(game_id, wish.after, wish.limit + 1)
    return answer(score_view(game, results, wish.limit))


@games.route("/<game_id>/events", methods=["GET"], parameters=[_GAME])
@games.arguments(schemas.EventsQuery(), location="query")
@games.response(200, "EventList", description="A page of the log.")
@games.refuses(errors.BadToken, errors.NotYourSeat, *_OF_GAME)
@games.doc(operationId="getEvents", security=_ANYBODY)
def events(wish: schemas.PageWish, game_id: str) -> Response:
    """Read the log

    What happened, in order, without gaps; with a seat token, with what that seat may know. To go
    on, ask again with `after` as the `last` of this page.
    """
    game, seat = tables().look(game_id, token())
    logged = tables().events(game_id, wish.after, wish.limit + 1)
    return answer(event_page(game, logged, seat, wish.after, wish.limit))


# -------------------------------------------------------------------------------------- moves


@play.route("/<game_id>/moves", methods=["GET"], parameters=[_GAME])
@play.response(200, "MoveList", description="The legal moves.", headers=_ETAG)
@play.refuses(*_OF_TOKEN, *_OF_GAME)
@play.doc(operationId="listMoves", security=_SEATED)
def moves(game_id: str) -> Response:
    """List the legal moves

    Every move that the caller could make now, ready to send to `POST /v1/games/{game_id}/{move}`.
    Layoffs are listed a card at a time; several at once reach the same table.
    """
    game, seat = tables().look_from_seat(game_id, needed_token())
    return answer(move_list(game, seat, tables().clock()), headers=_caching(game))


@play.route("/<game_id>/draw", methods=["POST"], parameters=[_GAME])
@play.arguments(schemas.DrawRequest(), examples=examples.DRAW)
@play.response(200, "Changed", description=_AFTER, headers=_ETAG)
@play.refuses(
    *_OF_MOVE,
    errors.NotYourTurn,
    errors.AlreadyDrawn,
    errors.CallPending,
    errors.NoUpcard,
    errors.UpcardChanged,
    errors.NothingToTurnOver,
    http=_OF_BODY,
)
@play.doc(operationId="draw", security=_SEATED, parameters=[_IF_MATCH])
def draw(move: Move, game_id: str) -> Response:
    """Draw a card

    The top of the stock, or the upcard. With `card`, the upcard is taken only if it is that card.
    An empty stock is renewed from the discard pile as the options say.
    """
    return _played(game_id, move)


@play.route("/<game_id>/meld", methods=["POST"], parameters=[_GAME])
@play.arguments(schemas.MeldRequest(), examples=examples.MELD)
@play.response(200, "Changed", description=_AFTER, headers=_ETAG)
@play.refuses(*_OF_MELD, http=_OF_BODY)
@play.doc(operationId="meld", security=_SEATED, parameters=[_IF_MATCH])
def meld(move: Move, game_id: str) -> Response:
    """Lay a new meld

    A set or a run of three cards or more from the hand, in any order.
    """
    return _played(game_id, move)


@play.route("/<game_id>/layoff", methods=["POST"], parameters=[_GAME])
@play.arguments(schemas.LayoffRequest(), examples=examples.LAYOFF)
@play.response(200, "Changed", description=_AFTER, headers=_ETAG)
@play.refuses(*_OF_LAYOFF, http=_OF_BODY)
@play.doc(operationId="layoff", security=_SEATED, parameters=[_IF_MATCH])
def layoff(move: Move, game_id: str) -> Response:
    """Lay off cards on a meld

    One card or more, all of them or none.
    """
    return _played(game_id, move)


@play.route("/<game_id>/swap", methods=["POST"], parameters=[_GAME])
@play.arguments(schemas.SwapRequest(), examples=examples.SWAP)
@play.response(200, "Changed", description=_AFTER, headers=_ETAG)
@play.refuses(*_OF_SWAP, http=_OF_BODY)
@play.doc(operationId="swap", security=_SEATED, parameters=[_IF_MATCH])
def swap(move: Move, game_id: str) -> Response:
    """Swap a joker out of a meld

    For the natural card that it stands for, from the hand; in anybody's meld.
    """
    return _played(game_id, move)


@play.route("/<game_id>/discard", methods=["POST"], parameters=[_GAME])
@play.arguments(schemas.DiscardRequest(), examples=examples.DISCARD)
@play.response(200, "Changed", description=_AFTER, headers=_ETAG)
@play.refuses(*_OF_DISCARD, http=_OF_BODY)
@play.doc(operationId="discard", security=_SEATED, parameters=[_IF_MATCH])
def discard(move: Move, game_id: str) -> Response:
    """Discard a card

    That ends the turn, and the deal if it was the last card.
    """
    return _played(game_id, move)


@play.route("/<game_id>/rummy", methods=["POST"], parameters=[_GAME])
@play.arguments(schemas.RummyRequest(), examples=examples.RUMMY)
@play.response(200, "Changed", description=_AFTER, headers=_ETAG)
@play.refuses(
    *_OF_MOVE,
    errors.NoSuchMeld,
    errors.DoesNotFit,
    errors.UpcardChanged,
    *_OF_JOKERS,
    errors.NoCalls,
    errors.CallClosed,
    errors.OwnDiscard,
    http=_OF_BODY,
)
@play.doc(operationId="callRummy", security=_SEATED, parameters=[_IF_MATCH])
def rummy(move: Move, game_id: str) -> Response:
    """Call "Rummy!"

    The card just discarded by somebody else goes onto the meld that it fits. The hand and the order
    of turns stay as they are.
    """
    return _played(game_id, move)


@play.route("/<game_id>/turn", methods=["POST"], parameters=[_GAME])
@play.arguments(schemas.TurnRequest(), examples=examples.TURN)
@play.response(200, "Changed", description=_AFTER, headers=_ETAG)
@play.refuses(*_OF_MELD, *_OF_LAYOFF, *_OF_SWAP, *_OF_DISCARD, errors.TurnUnfinished, http=_OF_BODY)
@play.doc(operationId="playTurn", security=_SEATED, parameters=[_IF_MATCH])
def turn(wanted: schemas.Turn, game_id: str) -> Response:
    """Play the rest of a turn in one request

    After the draw: melds, layoffs and swaps in order, then the discard. All of it or nothing.
    """
    return _changed(
        tables().play_turn(game_id, needed_token(), wanted.plays, wanted.discard, pinned_version())
    )


# ------------------------------------------------------------------------------------ answers


def _played(game_id: str, move: Move) -> Response:
    return _changed(tables().play(game_id, needed_token(), move, pinned_version()))


def _changed(outcome: Outcome) -> Response:
    game, seat = outcome.game, outcome.seat
    entries = log_entries(game, outcome.logged, seat)
    return answer(
        Changed(game.version, _view(game, seat), entries), headers={"ETag": etag(game.version)}
    )


def _seated(outcome: SeatTaken) -> Response:
    game, seat = outcome.game, outcome.seat
    entries = log_entries(game, outcome.logged, seat)
    body = Seated(seat, outcome.token, game.version, _view(game, seat), entries)
    headers = {"ETag": etag(game.version), "Location": f"{request.script_root}/v1/games/{game.id}"}
    return answer(body, 201, headers)


def _open_tables(wish: schemas.ListWish) -> Response:
    found, following = tables().open_tables(wish.limit, wish.cursor)
    views = tuple(table_view(game, tables().expires_at(game)) for game in found)
    return answer(TableList(views, following))


def _own_games() -> Response:
    found = tables().own_game(needed_token())
    return answer(GameList((_view(*found),) if found else ()))


def _view(game: Game, seat: int | None) -> GameView:
    return game_view(game, seat, tables().clock(), tables().expires_at(game))


def _caching(game: Game) -> dict[str, str]:
    return {
        "ETag": etag(game.version),
        "Cache-Control": "private, no-cache",
        "Vary": "Authorization",
    }


ANSWERS = (Seated, Changed, GameView, TableList, GameList, EventList, MoveList, Score)
"""The structures that these endpoints answer with, for the contract."""
