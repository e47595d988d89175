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
    // A move counts only at that version of the game; a look is answered when there is a new one.
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
    let why, wait = 0;
    try {
      const how = { signal: AbortSignal.timeout(60_000), redirect: "manual" };
      const answer = await fetch(address, { method, headers, body: content, ...how });
      const { status } = answer, said = await answer.text(), etag = answer.headers.get("ETag");
      const ours = [200, 201, 304].includes(status) || said.includes('"detail"'); // else of others
      const text = ours ? said || "{}" : JSON.stringify({ detail: `answered with ${status}` });
      if (status !== 429 && status < 500) return { status, body: JSON.parse(text), etag };
      why = `put off with ${status}`;
      wait = Number(answer.headers.get("Retry-After")?.match(/^\d+$/)?.[0] ?? 1);
    } catch (error) {
      why = `no answer (${error.cause?.message || error.message})`;
    }
    console.error(`${address}: ${why}`);
    await sleep(1000 * (wait + pause));
  }
  throw new GaveUp(`${address}: gave up after two minutes`);
}

class GaveUp extends Error {}
const USAGE = "usage: bot.mjs [--url http(s)://HOST] --game ID [--name NAME]";
try {
  const url = { type: "string", default: process.env.SERVICE ?? "http://127.0.0.1:8000" };
  const options = { url, game: { type: "string" }, name: { type: "string", default: "Bot" } };
  const { url: service, game: id, name } = parseArgs({ options }).values;
  const tokens = (process.env.SEAT_TOKENS ?? "").split(/\s+/).filter(Boolean);
  if (!/^https?:[/][/][^/]/.test(service) || !(tokens.length || id)) throw new GaveUp(USAGE);
  if (!tokens.length) {
    const { body } = await send("POST", `${service}/v1/games/${id}/join`, {}, { name });
    if (!body.token) throw new GaveUp(body.detail);
    tokens.push(body.token);
    console.log(`To go on with this seat later: SEAT_TOKENS=${body.token}`);
  }
  await Promise.all(tokens.map(async (token) => {
    const game = await play(service, token), won = game.result?.winners.includes(game.you);
    console.log(game.id, game.status, won ? "won" : "not won", game.totals);
  }));
} catch (why) {
  console.error(/^ERR_PARSE/.test(why.code) ? USAGE : why instanceof GaveUp ? why.message : why);
  process.exitCode = 1;
}
