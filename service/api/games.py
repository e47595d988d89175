"""The endpoints of games: making and finding tables, playing, looking."""

from flask import Response, request

from service import errors
from service.api import examples, pages, schemas, sheets
from service.api.http import (
    EVENT_STREAM,
    PLAIN,
    Blueprint,
    answer,
    etag,
    first_terms,
    known_tags,
    last_event_id,
    needed_token,
    plain,
    refuse_unread_query,
    tables,
    terms,
    token,
    told_apart,
    wants,
)
from service.api.stream import in_parts, streamed
from service.changes import SHORTEST_CLAIM_KEY
from service.game import Game, Logged
from service.new_table import NewTable
from service.replay import (
    DealReplay,
    MatchReplay,
    deal_notation,
    deal_replay,
    match_replay,
    replay_tag,
)
from service.rummy.computer import Level
from service.rummy.model import Move, Turn
from service.rummy.sheet import sheet_of
from service.seating import rules_of
from service.tables import Outcome, SeatTaken
from service.views import (
    Changed,
    Checked,
    EventList,
    GameList,
    GameView,
    LogEntry,
    MoveList,
    OwnGames,
    Sandbox,
    SandboxSeat,
    Score,
    Seated,
    TableList,
    event_page,
    game_view,
    log_entries,
    move_list,
    own_games,
    score_view,
    table_view,
)

sandbox = Blueprint(
    "sandbox",
    __name__,
    url_prefix="/v1/sandbox",
    description="Where to begin: a table at which everything can be tried out.",
)
games = Blueprint(
    "games", __name__, url_prefix="/v1/games", description="Making, finding and watching tables."
)
play = Blueprint("play", __name__, url_prefix="/v1/games", description="The moves of a game.")
for blueprint in (sandbox, games, play):
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
    "schema": {"type": "string", "pattern": '^(\\*|(W/)?"[0-9]{1,15}\\+?")$'},
    "description": (
        'The version that the request is meant for, such as `"12"`; 412 if the game has moved on.'
    ),
}
_IF_NONE_MATCH = {
    "in": "header",
    "name": "If-None-Match",
    "schema": {"type": "string", "examples": ['"12"']},
    "description": 'The version that the caller has, such as `"12"`; 304 if there is no newer one.',
}
_KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "schema": {"type": "string", "pattern": "^[!-~]([ -~]{0,253}[!-~])?$"},
    "description": (
        "Makes the request safe to repeat: with the same key and the same wish it is carried out "
        "once, and a repeat gets the first answer. A seat's last 32 are remembered."
    ),
}
_CLAIM_KEY = {
    **_KEY,
    "schema": {
        "type": "string",
        "pattern": f"^[!-~][ -~]{{{SHORTEST_CLAIM_KEY - 2},253}}[!-~]$",
    },
    "description": (
        "Makes the request safe to repeat: with the same key and the same wish it is carried out "
        "once, and for a day a repeat gets the same seat and token. So it must be hard to guess: a "
        "UUID is."
    ),
}
_LAST_EVENT_ID = {
    "in": "header",
    "name": "Last-Event-ID",
    "schema": {"type": "integer", "minimum": 0, "maximum": 10**15 - 1},
    "description": (
        "How browsers resume a stream: the same as `after`, and counts before it. An empty one is "
        "none."
    ),
}
_REPLAYED = {
    "Idempotency-Replayed": {
        "schema": {"type": "string", "const": "true"},
        "description": "There if this repeats an earlier request, which was carried out then.",
    }
}
_DEAL = {
    "in": "path",
    "name": "number",
    "required": True,
    "schema": {"type": "integer", "minimum": 1, "maximum": 2**53},
    "description": "Which deal of the match, from 1.",
}
_OR_NOTATION = {
    200: {
        "content": {
            PLAIN: {"schema": {"type": "string", "description": "The deal in the notation."}}
        }
    }
}
_OR_STREAM = {
    200: {
        "content": {
            EVENT_STREAM: {
                "schema": {
                    "type": "string",
                    "description": (
                        "First `event: game` with a GameView, then `event: entry` with a LogEntry "
                        "for each event, with its id; `event: end` when the match is over. Lines "
                        "that begin with a colon are signs of life."
                    ),
                }
            }
        }
    }
}
_ETAG = {
    "ETag": {
        "schema": {"type": "string", "pattern": '^"[0-9]+\\+?"$'},
        "description": (
            "The game's version, quoted, for If-Match and If-None-Match. With a plus when a timed "
            "call has closed since: the next player may draw."
        ),
        "required": True,
    }
}
_REPLAY_ETAG = {
    "ETag": {
        "schema": {"type": "string", "pattern": '^"[0-9a-f]{32}"$'},
        "description": (
            "Of this answer in this form, for If-None-Match. It stays until another deal has ended "
            "(of one deal even then), the match is over, or somebody else plays a seat."
        ),
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

_SEAT = "The seat, its token, and the game."
_AFTER = "The game afterwards, and what happened."

_OF_BODY = (400, 408, 413, 415)
_OF_TOKEN = (errors.NoToken, errors.BadToken, errors.NotYourSeat, errors.RateLimited)
_OF_GAME = (
    errors.InvalidRequest,
    errors.NoSuchGame,
    errors.StoreUnavailable,
    errors.UnreadableRecord,
)
_OF_LOOK = (
    errors.BadToken,
    errors.NotYourSeat,
    errors.NoSpectators,
    errors.RateLimited,
    *_OF_GAME,
)
_OF_REPLAY = (*_OF_LOOK, errors.NotStarted, errors.TableClosed, errors.NoReplay)
_OF_KEY = (errors.BadIdempotencyKey, errors.IdempotencyKeyReused)
_OF_CHANGE = (*_OF_GAME, *_OF_KEY, errors.StaleVersion, errors.BadVersion, errors.TooBusy)
_OF_SEATING = (errors.AlreadyStarted, errors.TableClosed, *_OF_CHANGE)
_OF_HOST = (*_OF_TOKEN, errors.NotTheHost, *_OF_SEATING)
_OF_MOVE = (
    *_OF_TOKEN,
    *_OF_CHANGE,
    errors.NotStarted,
    errors.TableClosed,
    errors.SeatAway,
    errors.MatchOver,
    errors.NoMemory,
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


# ------------------------------------------------------------------------------------ sandbox


@sandbox.route("", methods=["POST"])
@sandbox.arguments(schemas.EmptyRequest())
@sandbox.response(
    201, "Sandbox", description="The table.", headers={**_ETAG, **_LOCATION, **_REPLAYED}
)
@sandbox.refuses(
    errors.InvalidRequest,
    *_OF_KEY,
    errors.RateLimited,
    errors.TooBusy,
    errors.TablesFrozen,
    errors.StoreUnavailable,
    errors.UnreadableRecord,
    http=_OF_BODY,
)
@sandbox.doc(operationId="createSandbox", security=_PUBLIC, parameters=[_CLAIM_KEY])
def make_sandbox(_: dict[str, object]) -> Response:
    """Make a table to try things out

    A practice table for two with both its seats taken. The answer has the tokens of both, so that
    one person can play the whole match. The cards are the same each time, and its first turns have
    a use for every kind of move. Sent again without an Idempotency-Key it makes another table.
    """
    return _both_seated(*tables().sandbox(first_terms()))


# ------------------------------------------------------------------------------------- tables


@games.route("", methods=["POST"])
@games.arguments(schemas.NewTableRequest(), examples=examples.CREATE)
@games.response(201, "Seated", description=_SEAT, headers={**_ETAG, **_LOCATION, **_REPLAYED})
@games.refuses(
    errors.InvalidRequest,
    errors.OptionsRefused,
    errors.BadPractice,
    errors.BadNotation,
    errors.BadReplay,
    errors.BadTable,
    errors.BadText,
    *_OF_KEY,
    errors.RateLimited,
    errors.TablesFrozen,
    errors.StoreUnavailable,
    errors.UnreadableRecord,
    http=_OF_BODY,
)
@games.doc(operationId="createGame", security=_PUBLIC, parameters=[_CLAIM_KEY])
def create(wanted: NewTable) -> Response:
    """Make a table

    The maker takes the first seat and is the host. The answer holds the seat's token: keep
    it, and send it as `Authorization: Bearer …` with every move. The options are agreed here, for
    the whole match; what differs from the variant is listed in the game, and some variants leave a
    choice that must be made (`must_choose` of the variant). All others join by the game's `id`,
    which is in `Location` too. With `computers` for all other seats the match begins at once.
    """
    return _seated(tables().create(wanted, first_terms()))


@games.route("", methods=["GET"])
@games.arguments(schemas.GamesQuery(), location="query")
@games.response(200, "TablesOrGames", description="A page of tables, or the own game.")
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

    Public tables that wait for players, the newest first, a page at a time: to go on, ask again
    with `cursor` as the `next` of this page. With `mine` and a seat token: the game that the token
    has a seat in, or none when it is gone. `type` tells the two answers apart.
    """
    return _own_game() if wish.mine else _open_tables(wish)


@games.route("/query", methods=["POST"])
@games.arguments(schemas.GamesOfRequest(), examples=examples.QUERY)
@games.response(200, "OwnGames", description="The games.")
@games.refuses(
    errors.InvalidRequest,
    errors.BadToken,
    errors.RateLimited,
    errors.StoreUnavailable,
    errors.UnreadableRecord,
    http=_OF_BODY,
)
@games.doc(operationId="queryGames", security=_PUBLIC)
def query(wanted: dict[str, tuple[str, ...]]) -> Response:
    """Look at many of one's games at once

    The games that the tokens open, the most urgent first: where there is a move to make, by
    deadline; then the others. The tokens are in the body, so they are in no log. Nothing changes. A
    game that another version of the service has stored can be unreadable for a while: its token is
    neither among `games` nor `gone`, and it is a refusal only if that is so of all of them.
    """
    found, gone = tables().games_of(wanted["tokens"])
    return answer(own_games(((place, _view(game, seat)) for place, game, seat in found), gone))


@games.route("/<game_id>", methods=["GET"], parameters=[_GAME, _IF_NONE_MATCH])
@games.arguments(schemas.LookQuery(), location="query")
@games.response(200, "GameView", description="The game.", headers=_ETAG)
@games.alt_response(304, description="The caller has this version.", headers=_ETAG)
@games.refuses(*_OF_LOOK, errors.NoMemory)
@games.doc(operationId="getGame", security=_ANYBODY)
def look(wish: schemas.LookWish, game_id: str) -> Response:
    """Look at a game

    With a seat token: as that seat sees it, with its hand and its legal moves. Without: as
    everybody may see it. The ETag is the version. With `wait`, the answer comes when there is
    another version than If-None-Match names, or when the time is up. With `memory`, the game has
    what everybody saw of the deal so far.
    """
    known = known_tags()
    game, seat = tables().look(game_id, token(), wish.wait, known, memory=wish.memory)
    tag = tables().tag(game)  # taken first: a view that is newer than its tag does no harm
    if tag in known:
        return Response(status=304, headers=_caching(tag))
    return answer(_view(game, seat, remembers=wish.memory), headers=_caching(tag))


@games.route("/<game_id>/join", methods=["POST"], parameters=[_GAME, _IF_MATCH, _CLAIM_KEY])
@games.arguments(schemas.JoinRequest(), examples=examples.JOIN)
@games.response(201, "Seated", description=_SEAT, headers={**_ETAG, **_LOCATION, **_REPLAYED})
@games.refuses(
    errors.BadText,
    errors.InvitationNeeded,
    errors.TableFull,
    errors.OptionsDoNotFit,
    errors.RateLimited,
    *_OF_SEATING,
    http=_OF_BODY,
)
@games.doc(operationId="joinGame", security=_PUBLIC)
def join(wanted: dict[str, str], game_id: str) -> Response:
    """Take a seat

    The next free seat, clockwise. The answer holds the seat's token: keep it, only a repeat with
    the same Idempotency-Key shows it again. If the table starts by itself (`autostart`), the last
    seat taken starts it and the cards are dealt. A private table takes its invitation code.
    `entropy` adds to the chance of the first deal.
    """
    return _seated(tables().join(game_id, terms=terms(), **wanted))


@games.route("/<game_id>/computers", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@games.arguments(schemas.ComputersRequest(), examples=examples.COMPUTERS)
@games.response(200, "Changed", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@games.refuses(errors.TableFull, errors.OptionsDoNotFit, *_OF_HOST, http=_OF_BODY)
@games.doc(operationId="addComputers", security=_SEATED)
def computers(wanted: dict[str, tuple[Level, ...]], game_id: str) -> Response:
    """Give seats to computer players

    For the host, before the start: the next free seats, one for each level. If the table starts by
    itself, the last seat taken starts it.
    """
    return _changed(tables().add_computers(game_id, needed_token(), wanted["levels"], terms()))


@games.route("/<game_id>/remove", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@games.arguments(schemas.RemoveRequest(), examples=examples.REMOVE)
@games.response(200, "Changed", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@games.refuses(errors.NoSuchSeat, errors.OwnSeat, *_OF_HOST, http=_OF_BODY)
@games.doc(operationId="removePlayer", security=_SEATED)
def remove(wanted: schemas.Removal, game_id: str) -> Response:
    """Remove a player

    For the host, before the start, a person or a computer player. The seats behind move up, and
    the token of that seat opens nothing any more.
    """
    return _changed(tables().remove(game_id, needed_token(), wanted.seat, wanted.name, terms()))


@games.route("/<game_id>/start", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@games.arguments(schemas.EmptyRequest())
@games.response(200, "Changed", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@games.refuses(errors.TooFewPlayers, errors.OptionsDoNotFit, *_OF_HOST, http=_OF_BODY)
@games.doc(operationId="startGame", security=_SEATED)
def start(_: dict[str, object], game_id: str) -> Response:
    """Start the match

    For the host: with those who sit there, at least two. Free seats are taken away. Options that
    depend on the number of players are settled now, the first dealer is drawn by lot, and the
    cards are dealt. Tables with `autostart` need this only if they are to begin with free seats.
    """
    return _changed(tables().start(game_id, needed_token(), terms()))


@games.route("/<game_id>/close", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@games.arguments(schemas.EmptyRequest())
@games.response(200, "Changed", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@games.refuses(
    *_OF_TOKEN,
    errors.NotTheHost,
    errors.AlreadyStarted,
    errors.RematchStays,
    *_OF_CHANGE,
    http=_OF_BODY,
)
@games.doc(operationId="closeTable", security=_SEATED)
def close(_: dict[str, object], game_id: str) -> Response:
    """Close the table

    For the host, before the start: nobody can join any more. A closed table stays as it is, and a
    rematch stays open for its players.
    """
    return _changed(tables().close(game_id, needed_token(), terms()))


@games.route("/<game_id>/leave", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@games.arguments(schemas.EmptyRequest())
@games.response(200, "Changed", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@games.refuses(*_OF_TOKEN, errors.TableClosed, errors.MatchOver, *_OF_CHANGE, http=_OF_BODY)
@games.doc(operationId="leaveGame", security=_SEATED)
def leave(_: dict[str, object], game_id: str) -> Response:
    """Leave

    Before the start the seat is free again and those behind move up; the host's part passes on, and
    the last person closes the table. During play the computer takes the seat at once, until its
    player returns; when no person is left, the match ends as abandoned.
    """
    return _changed(tables().leave(game_id, needed_token(), terms()))


@games.route("/<game_id>/return", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@games.arguments(schemas.EmptyRequest())
@games.response(200, "Changed", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@games.refuses(
    *_OF_TOKEN,
    errors.NotStarted,
    errors.TableClosed,
    errors.MatchOver,
    *_OF_CHANGE,
    http=_OF_BODY,
)
@games.doc(operationId="returnToGame", security=_SEATED)
def come_back(_: dict[str, object], game_id: str) -> Response:
    """Return to one's seat

    Takes it back from the computer, after leaving or after too many forced turns. Who is there has
    nothing to take back: then nothing changes.
    """
    return _changed(tables().come_back(game_id, needed_token(), terms()))


@games.route("/<game_id>/rematch", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@games.arguments(schemas.RematchRequest(), required=False, examples=examples.REMATCH)
@games.response(201, "Seated", description=_SEAT, headers={**_ETAG, **_LOCATION, **_REPLAYED})
@games.refuses(
    *_OF_TOKEN,
    errors.NotStarted,
    errors.MatchNotOver,
    errors.TableFull,
    errors.OptionsDoNotFit,
    errors.TablesFrozen,
    *_OF_SEATING,
    http=_OF_BODY,
)
@games.doc(operationId="rematch", security=_SEATED)
def rematch(wanted: dict[str, str], game_id: str) -> Response:
    """Play again

    After the match: the caller's seat in the game that follows this one, with the same options and
    computer players, for the same people. They come by this same request, sit in the order of their
    old seats, and the match starts as it did here. Sent again it gives the same seat and token;
    until the match begins, other `entropy` takes the place of what it had brought.
    """
    return _seated(tables().rematch(game_id, needed_token(), terms(), **wanted))


@games.route("/<game_id>/entropy", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@games.arguments(schemas.EntropyRequest(), examples=examples.ENTROPY)
@games.response(200, "Changed", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@games.refuses(
    *_OF_TOKEN,
    errors.TableClosed,
    errors.MatchOver,
    errors.NoNextDeal,
    *_OF_CHANGE,
    http=_OF_BODY,
)
@games.doc(operationId="addEntropy", security=_SEATED)
def entropy(wanted: dict[str, str], game_id: str) -> Response:
    """Add to the chance of the next deal

    The service has fixed its own part before, and shown the commitment to it (`fairness.next`). So
    neither side can choose the cards. What the seat had added to that deal is replaced.
    """
    return _changed(tables().add_entropy(game_id, needed_token(), wanted["entropy"], terms()))


@games.route("/<game_id>/rules", methods=["GET"], parameters=[_GAME, *pages.PARAMETERS])
@games.response(200, "RuleSheet", description="The rule sheet.", headers=pages.HEADERS)
@games.alt_response(304, description="The caller has this answer.", headers=pages.ETAG)
@games.refuses(*_OF_LOOK)
@games.doc(operationId="getGameRules", security=_ANYBODY, responses=sheets.OTHER_FORMS)
def rules(game_id: str) -> Response:
    """Read the rules of a table

    Every clause in force by its number, made from the table's options, with its deviations from
    the variant marked; before the start, for a full table. The `rule` of a refusal is on it. With
    `Accept: text/markdown` or `text/html` to be read by people. In the caller's language.
    """
    game, _ = tables().look(game_id, token())
    return sheets.shown_to_caller(sheet_of(rules_of(game)), game_id)


@games.route("/<game_id>/score", methods=["GET"], parameters=[_GAME])
@games.arguments(schemas.ScoreQuery(), location="query")
@games.response(200, "Score", description="The score.")
@games.refuses(*_OF_LOOK)
@games.doc(operationId="getScore", security=_ANYBODY)
def score(wish: schemas.PageWish, game_id: str) -> Response:
    """Read the score

    The totals, and each finished deal with every hand counted. To go on, ask again with `after` as
    the number of the last deal here.
    """
    game, _ = tables().look(game_id, token())
    results = tables().results(game_id, wish.after or 0, wish.limit + 1)
    return answer(score_view(game, results, wish.limit))


@games.route(
    "/<game_id>/deals/<int:number>", methods=["GET"], parameters=[_GAME, _DEAL, pages.IF_NONE_MATCH]
)
@games.response(200, "DealReplay", description="The deal.", headers=_REPLAY_ETAG)
@games.alt_response(304, description="The caller has this answer.", headers=_REPLAY_ETAG)
@games.refuses(*_OF_REPLAY, errors.NoSuchDeal, errors.DealNotOver)
@games.doc(operationId="getDeal", security=_ANYBODY, responses=_OR_NOTATION)
def deal(game_id: str, number: int) -> Response:
    """Replay a deal

    When it has ended: its cards, every move with its time, how things stood after each with all
    hands open, the count, and the proof that its chance was fair. With `Accept: text/plain`: the
    deal in the notation, a line for each turn.
    """
    game, logs = tables().log_of_deal(game_id, token(), number)
    tag = replay_tag(game, number, text=wants(PLAIN))
    if tag in known_tags():
        return Response(status=304, headers=_caching(tag, "Authorization, Accept"))
    return _deal(game, number, next(logs, ()), tag)


@games.route("/<game_id>/replay", methods=["GET"], parameters=[_GAME, pages.IF_NONE_MATCH])
@games.response(200, "MatchReplay", description="The match.", headers=_REPLAY_ETAG)
@games.alt_response(304, description="The caller has this answer.", headers=_REPLAY_ETAG)
@games.refuses(*_OF_REPLAY)
@games.doc(operationId="getReplay", security=_ANYBODY)
def replay(game_id: str) -> Response:
    """Replay the match

    All deals that have ended, in one document: what `rummy replay` tells and `rummy verify` checks.
    It grows by a deal at a time, and a long match makes a long document: `getDeal` has one deal.
    Its schema stands by itself at `/replay.schema.json`.
    """
    game, logs = tables().logs_of_deals(game_id, token())
    tag = replay_tag(game)
    if tag in known_tags():
        return Response(status=304, headers=_caching(tag))
    return in_parts(match_replay(game, rules_of(game), logs), _caching(tag))


@games.route("/<game_id>/events", methods=["GET"], parameters=[_GAME, _LAST_EVENT_ID])
@games.arguments(schemas.EventsQuery(), location="query")
@games.response(200, "EventList", description="A page of the log, or the log as it grows.")
@games.refuses(*_OF_LOOK)
@games.doc(
    operationId="getEvents",
    security=_ANYBODY,
    responses=_OR_STREAM,
)
def events(wish: schemas.PageWish, game_id: str) -> Response:
    """Read the log

    What happened, in order, without gaps; with a seat token, with what that seat may know. To go
    on, ask again with `after` as the `last` of this page; with `wait`, the answer comes when there
    is something new. With `Accept: text/event-stream`: the game, then the log as it grows.
    """
    resumed = last_event_id()
    after = wish.after if resumed is None else resumed
    if wants(EVENT_STREAM):
        return streamed(tables().follow(game_id, token(), after), _view)
    return _event_page(game_id, after or 0, wish)


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
    headers = _caching(tables().tag(game))
    return answer(move_list(game, seat, tables().clock()), headers=headers)


@play.route("/<game_id>/draw", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@play.arguments(schemas.DrawRequest(), examples=examples.DRAW)
@play.arguments(schemas.MoveQuery(), location="query")
@play.response(200, "MoveAnswer", description=_AFTER, headers={**_ETAG, **_REPLAYED})
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
@play.doc(operationId="draw", security=_SEATED)
def draw(move: Move, wish: schemas.MoveWish, game_id: str) -> Response:
    """Draw a card

    Each turn begins with it (common.3): the top of the stock, or the upcard. The answer has the new
    hand, what can be done with it as `moves`, and the drawn card in its event, which nobody else
    sees. With `card`, the upcard is taken only if it is that card. An empty stock is renewed from
    the discard pile as the options say (`turnover`, `turnovers`).
    """
    return _played(game_id, move, wish)


@play.route("/<game_id>/meld", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@play.arguments(schemas.MeldRequest(), examples=examples.MELD)
@play.arguments(schemas.MoveQuery(), location="query")
@play.response(200, "MoveAnswer", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@play.refuses(*_OF_MELD, http=_OF_BODY)
@play.doc(operationId="meld", security=_SEATED)
def meld(move: Move, wish: schemas.MoveWish, game_id: str) -> Response:
    """Lay a new meld

    A set or a run of three cards or more from the hand, in any order, after the draw. `jokers` says
    which card each joker stands for; it can be left out where only one choice is possible. The
    meld gets an `id`, by which layoffs and swaps name it. What is wrong with cards that are no meld
    is told of these very cards. Several melds and the discard go into one request by `playTurn`.
    """
    return _played(game_id, move, wish)


@play.route("/<game_id>/layoff", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@play.arguments(schemas.LayoffRequest(), examples=examples.LAYOFF)
@play.arguments(schemas.MoveQuery(), location="query")
@play.response(200, "MoveAnswer", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@play.refuses(*_OF_LAYOFF, http=_OF_BODY)
@play.doc(operationId="layoff", security=_SEATED)
def layoff(move: Move, wish: schemas.MoveWish, game_id: str) -> Response:
    """Lay off cards on a meld

    One card or more from the hand for a meld on the table, in any order, all of them or none. Whose
    melds may be laid off on, and from when on, the options say (`layoffs`, `order`).
    """
    return _played(game_id, move, wish)


@play.route("/<game_id>/swap", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@play.arguments(schemas.SwapRequest(), examples=examples.SWAP)
@play.arguments(schemas.MoveQuery(), location="query")
@play.response(200, "MoveAnswer", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@play.refuses(*_OF_SWAP, http=_OF_BODY)
@play.doc(operationId="swap", security=_SEATED)
def swap(move: Move, wish: schemas.MoveWish, game_id: str) -> Response:
    """Swap a joker out of a meld

    For the natural card that it stands for, from the hand, after the draw; in anybody's meld
    (jokers.3). The joker is in the hand then: to be melded, laid off, kept or discarded. The
    options may forbid it (`joker_swap`).
    """
    return _played(game_id, move, wish)


@play.route("/<game_id>/discard", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@play.arguments(schemas.DiscardRequest(), examples=examples.DISCARD)
@play.arguments(schemas.LastMoveQuery(), location="query")
@play.response(200, "MoveAnswer", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@play.refuses(*_OF_DISCARD, http=_OF_BODY)
@play.doc(operationId="discard", security=_SEATED)
def discard(move: Move, wish: schemas.MoveWish, game_id: str) -> Response:
    """Discard a card

    That ends the turn, and the deal if it was the last card: then it is counted, and the next one
    is dealt by itself, until the match is over. With `wait` the answer comes when the caller can
    act again, with all events since.
    """
    return _played(game_id, move, wish)


@play.route("/<game_id>/rummy", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@play.arguments(schemas.RummyRequest(), examples=examples.RUMMY)
@play.arguments(schemas.MoveQuery(), location="query")
@play.response(200, "MoveAnswer", description=_AFTER, headers={**_ETAG, **_REPLAYED})
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
@play.doc(operationId="callRummy", security=_SEATED)
def rummy(move: Move, wish: schemas.MoveWish, game_id: str) -> Response:
    """Call "Rummy!"

    The card just discarded by somebody else goes onto the meld that it fits (call-rummy.5). The
    hand and the order of turns stay as they are. Where the table plays with it (`call`) everybody
    but the discarder may call, until the next draw or for `call_seconds`; the first call counts,
    and one that does not fit costs nothing.
    """
    return _played(game_id, move, wish)


@play.route("/<game_id>/turn", methods=["POST"], parameters=[_GAME, _IF_MATCH, _KEY])
@play.arguments(schemas.TurnRequest(), examples=examples.TURN)
@play.arguments(schemas.LastMoveQuery(), location="query")
@play.response(200, "MoveAnswer", description=_AFTER, headers={**_ETAG, **_REPLAYED})
@play.refuses(*_OF_MELD, *_OF_LAYOFF, *_OF_SWAP, *_OF_DISCARD, errors.TurnUnfinished, http=_OF_BODY)
@play.doc(operationId="playTurn", security=_SEATED)
def turn(move: Turn, wish: schemas.MoveWish, game_id: str) -> Response:
    """Play the rest of a turn in one request

    After the draw: melds, layoffs and swaps in order, then the discard. All of it or nothing: what
    is refused says which of the `plays` is in the way, by its place from 0 (`params.play`), and
    none was made. The discard may be left out only where the plays empty the hand. With `wait` the
    answer comes when the caller can act again, with all events since: so a turn of a bot is two
    requests.
    """
    return _played(game_id, move, wish)


# ------------------------------------------------------------------------------------ answers


def _played(game_id: str, move: Move | Turn, wish: schemas.MoveWish) -> Response:
    use_cases, given, memory = tables(), needed_token(), wish.memory
    if wish.check:
        checked = use_cases.check(game_id, given, move, terms(), memory=memory)
        return _checked(*checked, remembers=memory)
    outcome = use_cases.play(game_id, given, move, terms(), wish.wait, memory=memory)
    return _changed(outcome, remembers=memory)


def _checked(game: Game, then: Game | None, seat: int, *, remembers: bool) -> Response:
    body = Checked(game.version, _view(then, seat, remembers=remembers) if then else None)
    return answer(body, headers={"ETag": etag(tables().tag(game))})


def _changed(outcome: Outcome, *, remembers: bool = False) -> Response:
    headers = _after(outcome)
    view = _view(outcome.game, outcome.seat, remembers=remembers)
    return answer(Changed(outcome.version, view, _entries(outcome)), headers=headers)


def _seated(outcome: SeatTaken) -> Response:
    game, headers = outcome.game, _after(outcome)
    body = Seated(
        outcome.taken,
        outcome.token,
        outcome.invitation,
        outcome.version,
        _view(game, outcome.seat),
        _entries(outcome),
    )
    return answer(body, 201, headers | _location(game))


def _both_seated(first: SeatTaken, second: SeatTaken) -> Response:
    game = second.game
    seats = tuple(
        SandboxSeat(one.taken, game.seats[one.taken].name, one.token) for one in (first, second)
    )
    body = Sandbox(seats, _view(game, first.taken))
    return answer(body, 201, _after(second) | _location(game))


def _location(game: Game) -> dict[str, str]:
    return {"Location": f"{request.script_root}/v1/games/{game.id}"}


def _entries(outcome: Outcome) -> tuple[LogEntry, ...]:
    return log_entries(outcome.game, outcome.logged, outcome.seat)


def _after(outcome: Outcome) -> dict[str, str]:
    replayed = {"Idempotency-Replayed": "true"} if outcome.replayed else {}
    return {"ETag": etag(tables().tag(outcome.game)), **replayed}


def _event_page(game_id: str, after: int, wish: schemas.PageWish) -> Response:
    game, seat, logged = tables().events(game_id, token(), after, wish.limit + 1, wish.wait)
    return answer(event_page(game, logged, seat, after, wish.limit))


def _deal(game: Game, number: int, logged: tuple[Logged, ...], tag: str) -> Response:
    rules, headers = rules_of(game), _caching(tag, "Authorization, Accept")
    if wants(PLAIN):
        return plain(deal_notation(game, rules, number, logged), headers)
    return answer(deal_replay(game, rules, number, logged), headers=headers)


def _open_tables(wish: schemas.ListWish) -> Response:
    found, following = tables().open_tables(wish.limit, wish.cursor, wish.variant, wish.open_seats)
    views = tuple(table_view(game, tables().expires_at(game)) for game in found)
    return answer(TableList(views, following))


def _own_game() -> Response:
    found = tables().own_game(needed_token())
    return answer(GameList((_view(*found),) if found else ()))


def _view(game: Game, seat: int | None, *, remembers: bool = False) -> GameView:
    use_cases = tables()
    now, expires_at = use_cases.clock(), use_cases.expires_at(game)
    return game_view(game, seat, now, expires_at, remembers=remembers)


def _caching(tag: str, vary: str = "Authorization") -> dict[str, str]:
    return {"ETag": etag(tag), "Cache-Control": "private, no-cache", "Vary": vary}


ANSWERS = (
    Sandbox,
    Seated,
    Changed,
    Checked,
    GameView,
    TableList,
    GameList,
    OwnGames,
    EventList,
    MoveList,
    Score,
    DealReplay,
    MatchReplay,
)
"""The structures that these endpoints answer with, for the contract."""

UNIONS = {
    "MoveAnswer": {
        "description": "The answer to a move: what it did, or with `check` that it is legal.",
        **told_apart("type", {"changed": "Changed", "checked": "Checked"}),
    },
    "TablesOrGames": {
        "description": "Open tables, or with `mine` the caller's own game.",
        **told_apart("type", {"tables": "TableList", "games": "GameList"}),
    },
}
"""What is answered with one structure or another, by the name in the contract."""
