// Checks that nobody chose the cards, as docs/fairness.md says: those of a replay, of one deal, or
// docs/shuffle-vectors.json. Whether the moves fit the rules is for `rummy verify` to say.
// Node 18 or newer: node verify.mjs FILE (- is standard input). In a page: import { verify }.
const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto;
const FACES = [..."CDHS"].flatMap((suit) => [..."A23456789TJQK"].map((rank) => rank + suit));
const inOrder = (cards) => [...FACES, "JK"].flatMap((face) => cards.filter((one) => one === face));
const bytes = (text) => new TextEncoder().encode(text);
const lines = (all) => bytes(["rummy-shuffle-1", ...all, ""].join("\n"));
const hex = (made) => [...new Uint8Array(made)].map((n) => n.toString(16).padStart(2, 0)).join("");
const hmac = async (key, message, how = { name: "HMAC", hash: "SHA-256" }) =>
  subtle.sign("HMAC", await subtle.importKey("raw", key, how, false, ["sign"]), message);
const keyOf = ({ seed, entropy }) =>
  hmac(bytes(seed), lines(entropy.flatMap((text, seat) => (text ? [`${seat} ${text}`] : []))));

// What draws one lot after another, each below a bound, from that word of the stream onwards.
const lots = (key, label, word = 0) => async function below(bound) {
  const block = [27, 19, 11, 3].map((shift) => word >>> shift); // the low eight bits of each
  const made = await hmac(key, Uint8Array.of(...bytes(label), 0, ...block));
  const drawn = new DataView(made).getUint32(4 * (word++ % 8));
  return drawn < 2 ** 32 - (2 ** 32 % bound) ? drawn % bound : below(bound);
};
async function shuffled(cards, key, label) {
  const [order, below] = [[...cards], lots(key, label)];
  for (let last = order.length - 1; last > 0; last--) // exchange it with the one drawn
    order[last] = order.splice(await below(last + 1), 1, order[last])[0];
  return order;
}

async function verifyDeal(deal, before, match, tell) {
  const { number, dealer, cards, turnovers, proof, proof: { shuffle, nonce, seed } } = deal;
  const name = `deal ${number}`, { players, decks, jokers } = match.options;
  const plain = /^rummy-shuffle-1 [0-9a-f]{32} [0-9a-f]{64}$/.test(`${shuffle} ${nonce} ${seed}`)
    && proof.entropy.every((text) => /^[!-~]{0,100}$/.test(text));
  const digest = hex(await subtle.digest("SHA-256", lines([match.game, number, nonce, seed])));
  tell(`${name}: commitment ${proof.commitment}`, plain && digest === proof.commitment);
  const key = await keyOf(proof);
  const next = before ? (before.dealer + 1) % players : await lots(key, "dealer")(players);
  const known = before || (number === 1 && match.dealer_by_lot);
  tell(`${name}: dealer`, known ? dealer === next : undefined);
  const pack = [...Array(decks).fill(FACES).flat(), ...Array(jokers).fill("JK")];
  const reshuffles = turnovers.map((order, at) => [`turnover ${at + 1}`, order, inOrder(order)]);
  for (const [at, [label, order, from]] of [["cards", cards, pack], ...reshuffles].entries())
    if (proof.laid_out && at <= (deal.turnovers_given ?? 0)) tell(`${name}: ${label}, laid out`);
    else tell(`${name}: ${label}`, `${order}` === `${await shuffled(from, key, label)}`);
}
export async function verify(told, tell) { // tells what, and whether it fits, if it can be proved
  for (const { label, word, bound, gives, ...secret } of told.lots ?? [])
    tell(`lot ${gives}`, gives === (await lots(await keyOf(secret), label, word)(bound)));
  for (const match of told.matches ?? [told])
    for (const [at, deal] of (match.deals ?? [match.deal]).entries())
      await verifyDeal(deal, match.deals?.[at - 1], match, tell);
}
if (globalThis.process?.argv[1]?.endsWith("verify.mjs")) {
  const { readFileSync } = await import("node:fs");
  const text = readFileSync(process.argv[2] === "-" ? 0 : process.argv[2], "utf8");
  await verify(JSON.parse(text), (what, fits) => {
    console.log(fits ? "ok" : fits === false ? "WRONG" : "not proved", what);
    if (fits === false) process.exitCode = 1;
  });
}
