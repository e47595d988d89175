"""Secrets: tokens and invitation codes, of which only hashes are kept, and the seeds of chance."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable

from service.errors import BadToken
from service.text import Text

Chance = Callable[[int], bytes]
"""Gives so many random bytes: `secrets.token_bytes`, but where a run is to be the same again."""

_TOKEN = re.compile(r"([a-z2-7]{16})\.[A-Za-z0-9_-]{43}")
_ID_BYTES = 10
_SECRET_BYTES = 32
_CODE_LETTERS = 10
_SEPARATORS = re.compile(r"[\s-]+")


def new_game_id(chance: Chance) -> str:
    """The id of a game: 80 random bits."""
    return _id(chance(_ID_BYTES))


def game_id_for(secret: str, purpose: str) -> str:
    """The one game id that belongs to a secret and a purpose.

    Whoever can guess the secret can find it by the id, which is public: of 256 random bits only.
    """
    return _id(_derived(secret, purpose)[:_ID_BYTES])


def new_token(game_id: str, chance: Chance) -> str:
    """A token of 256 random bits that also says which game it opens."""
    return _token(game_id, chance(_SECRET_BYTES))


def token_for(game_id: str, secret: str, salt: str) -> str:
    """The one token of that game that belongs to a secret of the client's and a salt of ours."""
    return _token(game_id, _derived(secret, f"token {game_id} {salt}"))


def new_salt(chance: Chance) -> str:
    """256 random bits, in hex."""
    return chance(_SECRET_BYTES).hex()


def new_seed(chance: Chance) -> str:
    """Where all chance of a match comes from: 256 random bits, in hex."""
    return chance(_SECRET_BYTES).hex()


def invitation_for(token: str) -> str:
    """The invitation code of the table that was made with this token: ten letters and digits."""
    code = base64.b32encode(_derived(token, "invitation")).decode().lower()[:_CODE_LETTERS]
    return f"{code[: _CODE_LETTERS // 2]}-{code[_CODE_LETTERS // 2 :]}"


def hash_of_invitation(game_id: str, code: str) -> str:
    """What is kept of an invitation code; small letters, spaces and dashes do not matter."""
    return hash_of(f"{game_id} {_SEPARATORS.sub('', code).lower()}")


def game_id_of(token: str) -> str:
    """The game that a token opens. Raises BadToken for what cannot be a token."""
    parts = _TOKEN.fullmatch(token)
    if parts is None:
        raise BadToken(Text("The token is not one that this service gives out."))
    return parts[1]


def hash_of(secret: str) -> str:
    """SHA-256 in hex: what is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def same(kept: str | None, given: str) -> bool:
    """Whether two hashes are equal, in a time that does not tell where they differ."""
    return kept is not None and hmac.compare_digest(kept, given)


def _derived(secret: str, purpose: str) -> bytes:
    return hmac.digest(secret.encode(), purpose.encode(), "sha256")


def _id(bits: bytes) -> str:
    return base64.b32encode(bits).decode().lower()


def _token(game_id: str, bits: bytes) -> str:
    return f"{game_id}.{base64.urlsafe_b64encode(bits).decode().rstrip('=')}"
