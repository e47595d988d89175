/**
 * A match by openapi-fetch with the types that openapi-typescript makes of the contract.
 *
 * The address of the service is the argument; the match is printed as it was received.
 */

import createClient from "openapi-fetch";
import type { components, paths } from "./rummy.js";

type Schemas = components["schemas"];
type Media = "application/json" | "application/problem+json";
type Client = ReturnType<typeof createClient<paths, Media>>;
type GameView = Schemas["GameView"];
type Problem = Schemas["Problem"];

interface Player {
  client: Client;
  token: string;
  path: { game_id: string };
}

declare const process: { argv: string[]; exitCode: number };

async function main(service: string): Promise<void> {
  const anna = await makeTable(service);
  const bo = await takeSeat(service, anna.path.game_id);
  await refusal(anna);
  await versionsAndRepeats(anna);
  let view = await restOfTurn(anna);
  while (view.status !== "finished") {
    view = view.deal?.turn ? await atOnce(bo) : await stepByStep(anna);
  }
  const { path } = anna;
  const score = given(await anna.client.GET("/v1/games/{game_id}/score", { params: { path } }));
  check(score.result !== null, "the match has a result");
  const query = { limit: 500 };
  const log = await anna.client.GET("/v1/games/{game_id}/events", { params: { path, query } });
  const page = given(log);
  const events = page.events.map((entry) => entry.event);
  check(events[1]?.type === "joined" && events[1].name === "Anna", "Anna came first");
  const kinds = new Set(events.map((event) => event.type));
  check(kinds.has("melded") && kinds.has("laid_off"), "there is something on the table");
  const drawn = events.filter((event) => event.type === "drew").filter((event) => event.card);
  const sources = new Set(drawn.map((event) => event.source));
  check(sources.has("stock") && sources.has("discard"), "cards of both piles were drawn");
  const { token } = anna;
  console.log(JSON.stringify({ token, game: await look(anna), score, events: page }));
}

/** A table for two, asked for twice with one key: the second answer is the first again. */
async function makeTable(service: string): Promise<Player> {
  const body: Schemas["NewTableRequest"] = {
    variant: "parlett",
    name: "Anna",
    options: { hand_size: 6 },
    practice: { seed: "hazel", dealer: 1 },
  };
  const header = { "Idempotency-Key": crypto.randomUUID() };
  const client = createClient<paths, Media>({ baseUrl: service });
  const first = await client.POST("/v1/games", { params: { header }, body });
  const again = await client.POST("/v1/games", { params: { header }, body });
  check(!replayed(first.response) && replayed(again.response), "the second answer is a repeat");
  check(given(first).token === given(again).token, "the repeat has the same token");
  return inSeat(service, given(first));
}

async function takeSeat(service: string, game_id: string): Promise<Player> {
  const client = createClient<paths, Media>({ baseUrl: service });
  const params = { path: { game_id } };
  const seated = given(
    await client.POST("/v1/games/{game_id}/join", { params, body: { name: "Bo" } }),
  );
  check(seated.seat === 1 && seated.game.you === 1, "Bo has the second seat");
  return inSeat(service, seated);
}

function inSeat(service: string, seated: Schemas["Seated"]): Player {
  const headers = { Authorization: `Bearer ${seated.token}` };
  const client = createClient<paths, Media>({ baseUrl: service, headers });
  return { client, token: seated.token, path: { game_id: seated.game.id } };
}

/** A card cannot go before one is drawn; the problem says so, and what can be done. */
async function refusal(player: Player): Promise<void> {
  const { client, path } = player;
  const [card] = (await look(player)).hand ?? [];
  check(card !== undefined, "there are cards in the hand");
  const answer = await client.POST("/v1/games/{game_id}/discard", {
    params: { path },
    body: { card },
  });
  const problem = refused(answer, 409);
  check(problem.code === "draw_first" && problem.rule === "common.3", "a card is to be drawn");
  const instead = problem.try?.map((move) => move.move === "draw" && move.from);
  check(instead?.includes("stock") === true, "the problem says what can be done");
}

/** A draw that is meant for another version, then for this one, and then repeated. */
async function versionsAndRepeats(player: Player): Promise<void> {
  const { client, path } = player;
  const seen = await client.GET("/v1/games/{game_id}", { params: { path } });
  const etag = seen.response.headers.get("ETag") ?? "";
  const unchanged = await client.GET("/v1/games/{game_id}", {
    params: { path, header: { "If-None-Match": etag } },
  });
  check(unchanged.response.status === 304, "there is no newer version");
  const [body] = given(seen).moves;
  check(body?.move === "draw", "the first thing to do is to draw");
  const stale = await client.POST("/v1/games/{game_id}/draw", {
    params: { path, header: { "If-Match": '"1"' } },
    body,
  });
  check(refused(stale, 412).code === "stale_version", "the game has moved on since");
  const header = { "If-Match": etag, "Idempotency-Key": crypto.randomUUID() };
  const first = await client.POST("/v1/games/{game_id}/draw", { params: { path, header }, body });
  const again = await client.POST("/v1/games/{game_id}/draw", { params: { path, header }, body });
  check(made(first).version === made(again).version, "it was carried out once");
  check(replayed(again.response), "the second answer is a repeat");
}

/** A turn with a request for each move. */
async function stepByStep(player: Player): Promise<GameView> {
  const { client, path } = player;
  const { moves } = await look(player);
  const body = moves.filter((move) => move.move === "draw").find((move) => move.from === "discard");
  check(body !== undefined, "there is an upcard");
  made(await client.POST("/v1/games/{game_id}/draw", { params: { path }, body }));
  return restOfTurn(player);
}

/** Every listed meld and layoff that is possible, then the first card that may go. */
async function restOfTurn(player: Player): Promise<GameView> {
  const { client, path } = player;
  const params = { path };
  for (;;) {
    const { moves } = given(await client.GET("/v1/games/{game_id}/moves", { params }));
    const move = moves.find(({ move }) => move === "meld" || move === "layoff") ?? moves[0];
    switch (move?.move) {
      case undefined:
        return look(player);
      case "meld":
        made(await client.POST("/v1/games/{game_id}/meld", { params, body: move }));
        break;
      case "layoff":
        made(await client.POST("/v1/games/{game_id}/layoff", { params, body: move }));
        break;
      case "discard":
        return made(await client.POST("/v1/games/{game_id}/discard", { params, body: move })).game;
      default:
        throw new Error(`Nobody asked for ${move?.move}.`);
    }
  }
}

/** A turn in two requests: the draw, and with one meld at most the rest. */
async function atOnce(player: Player): Promise<GameView> {
  const { client, path } = player;
  const params = { path };
  const body = { from: "stock" } as const;
  const { game } = made(await client.POST("/v1/games/{game_id}/draw", { params, body }));
  const plays = game.moves.filter((move) => move.move === "meld").slice(0, 1);
  const laid = plays.flatMap((play) => play.cards);
  const discard = game.hand?.find((card) => !laid.includes(card)) ?? null;
  const turn = { plays, discard };
  return made(await client.POST("/v1/games/{game_id}/turn", { params, body: turn })).game;
}

async function look(player: Player): Promise<GameView> {
  const { client, path } = player;
  return given(await client.GET("/v1/games/{game_id}", { params: { path } }));
}

/** The answer to a move that was not only checked. */
function made(answer: { data?: Schemas["MoveAnswer"]; error?: Problem }): Schemas["Changed"] {
  const data = given(answer);
  check(data.type === "changed", "the move was made");
  return data;
}

/** What was asked for. */
function given<Data>(answer: { data?: Data; error?: Problem }): Data {
  if (answer.data === undefined) {
    throw new Error(`${answer.error?.code}: ${answer.error?.detail}`);
  }
  return answer.data;
}

/** The problem that the request was refused with. */
function refused(answer: { error?: Problem; response: Response }, status: number): Problem {
  check(answer.response.status === status, `the answer is a ${status}`);
  check(answer.error !== undefined, "the answer is a problem");
  return answer.error;
}

function replayed(response: Response): boolean {
  return response.headers.get("Idempotency-Replayed") === "true";
}

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`It is not so: ${what}.`);
}

main(process.argv[2] ?? "").catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
