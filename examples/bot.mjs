// Plays rummy over the API, at many tables at once; README.md beside it tells how it works.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

// ------------------------------------------------ CHOOSE A MOVE: replace this by your own ideas
const RANKS = "A23456789TJQK";

// One of game.moves, which are all that this seat may do now: the one of the most value.
function choose(game) {
  const values = game.moves.map((move) => value(move, game.hand));
  return game.moves[values.indexOf(Math.max(...values))];
}

function value(move, hand) {
  if (move.move === "discard") // what has the fewest friends, and of such cards the highest
    return RANKS.indexOf(move.card[0]) / 20 - friends(move.card, hand);
  if (move.move === "draw") // the upcard if it has two friends, else from the stock
    return move.from === "discard" ? friends(move.card, hand) - 1.5 : 0;
  return 100 + ["swap", "layoff", "meld", "rummy"].indexOf(move.move); // whatever can be laid
}

function friends(card, hand) { // how many cards of the hand could be in a meld with this one
  const place = (one) => RANKS.indexOf(one[0]);
  const near = (other) => other[1] === card[1] && Math.abs(place(other) - place(card)) < 3;
  const goes = (other) => [card, other].includes("JK") || other[0] === card[0] || near(other);
  return hand.filter(goes).length;
}

// ------------------------------------------------------------------ the rest can stay as it is
// Play a seat until its match is over; the game as it is then.
async function play(service, token) {
  const address = `${service}/v1/games/${token.split(".")[0]}`;
  const seat = { Authorization: `Bearer ${token}` };
  let [game, tag, refused] = [null, "", null];
  while (!game || ["waiting", "playing"].includes(game.status)) {
    const away = game?.seats[game.you].away; // and the computer plays meanwhile
    const move = away ? { move: "return" } : game?.moves.length ? choose(game) : null;
    const end = move?.move + (["discard", "turn"].includes(move?.move) ? "?wait=30" : "");
    // A move counts only if nothing has changed since that version of the game. Without a move:
    // answered when there is something new, or after half a minute.
    const { status, body, etag } = move
      ? await send("POST", `${address}/${end}`, { ...seat, "If-Match": tag }, move)
      : await send("GET", `${address}?wait=30`, { ...seat, "If-None-Match": tag });
    if (status === 200) { // after a move it is the game and what happened
      [game, tag] = [body.game ?? body, etag];
    } else if (status === 412 || (status === 409 && tag !== refused)) { // look again, choose anew
      console.error(`${address}: ${body.detail}`, ...(body.try ?? []));
      [game, tag, refused] = [null, "", tag];
    } else if (status !== 304) {
      throw new GaveUp(`${address}: ${body.detail}`);
    }
  }
  return game;
}

// Status, body and ETag of the answer. Without one the same is sent again: it counts once.
async function send(method, address, headers, { move, ...rest } = {}) {
  const key = crypto.randomUUID(), content = method === "POST" ? JSON.stringify(rest) : undefined;
  headers = { ...headers, "Content-Type": "application/json", "Idempotency-Key": key };
  for (const pause of [0, 1, 2, 4, 8, 15, 30, 30, 30]) {
    let [why, wait] = ["", 0];
    try {
      const signal = AbortSignal.timeout(60_000);
      const answer = await fetch(address, { method, headers, body: content, signal });
      const { status } = answer, said = await answer.text();
      if (status !== 429 && status < 500)
        return { status, body: JSON.parse(said || "{}"), etag: answer.headers.get("ETag") };
      [why, wait] = [`put off with ${status}`, parseInt(answer.headers.get("Retry-After")) || 1];
    } catch (error) {
      why = `no answer (${error.cause?.message || error.message})`;
    }
    console.error(`${address}: ${why}`);
    await sleep(1000 * (wait + pause));
  }
  throw new GaveUp(`${address}: gave up after two minutes`);
}

class GaveUp extends Error {}

try {
  const url = { type: "string", default: process.env.SERVICE ?? "http://127.0.0.1:8000" };
  const options = { url, game: { type: "string" }, name: { type: "string", default: "Bot" } };
  const given = parseArgs({ options }).values;
  const tokens = (process.env.SEAT_TOKENS ?? "").split(/\s+/).filter(Boolean);
  if (!tokens.length) {
    if (!given.game) throw new GaveUp("usage: bot.mjs [--url URL] --game ID [--name NAME]");
    const join = `${given.url}/v1/games/${given.game}/join`;
    const { body } = await send("POST", join, {}, { name: given.name });
    if (!body.token) throw new GaveUp(body.detail);
    tokens.push(body.token);
    console.log(`To go on with this seat later: SEAT_TOKENS=${body.token}`);
  }
  await Promise.all(tokens.map(async (token) => {
    const game = await play(given.url, token), won = game.result?.winners.includes(game.you);
    console.log(game.id, game.status, won ? "won" : "not won", game.totals);
  }));
} catch (error) {
  console.error(error instanceof GaveUp ? error.message : error);
  process.exitCode = 1;
}
