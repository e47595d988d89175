// Checks that nobody chose the cards (docs/fairness.md) of a replay, one deal or the test vectors.
// Compare the commitments and what the seats added with what you saw; moves are for `rummy verify`.
// Node 18 or newer: node verify.mjs FILE (- is standard input). In a page: import { verify }.
const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto;
const FACES = [..."CDHS"].flatMap((suit) => [..."A23456789TJQK"].map((rank) => rank + suit));
const inOrder = (cards) => [...FACES, "JK"].flatMap((face) => cards.filter((one) => one === face));
const bytes = (text) => new TextEncoder().encode(text);
const lines = (all) => bytes(["rummy-shuffle-1", ...all, ""].join("\n"));
const hex = (made) => [...new Uint8Array(made)].map((n) => n.toString(16).padStart(2, 0)).join("");
const hmac = async (key, message, how = { name: "HMAC", hash: "SHA-256" }) =>
  subtle.sign("HMAC", await subtle.importKey("raw", key, how, false, ["sign"]), message);
const added = (entropy) => entropy.flatMap((text, seat) => (text ? [`${seat} ${text}`] : []));
const keyOf = ({ seed, entropy }) => hmac(bytes(seed), lines(added(entropy)));
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
  const { number, dealer, cards, turnovers, proof } = deal, { nonce, seed, entropy } = proof;
  const name = `deal ${number}`, { players, decks, jokers } = match.options, { shuffle } = proof;
  const plain = /^rummy-shuffle-1 [0-9a-f]{32} [0-9a-f]{64}$/.test(`${shuffle} ${nonce} ${seed}`)
    && [0, players].includes(entropy.length) && entropy.every((one) => /^[!-~]{0,100}$/.test(one));
  const digest = hex(await subtle.digest("SHA-256", lines([match.game, number, nonce, seed])));
  const what = `${proof.commitment}, mixed with: ${added(entropy).join(", ") || "nothing"}`;
  tell(`${name}: commitment ${what}`, plain && digest === proof.commitment);
  const key = await keyOf(proof), open = match.practice || (match.deal && number > 1);
  const next = before ? (before.dealer + 1) % players : await lots(key, "dealer")(players);
  const known = before || (number === 1 && match.dealer_by_lot);
  tell(`${name}: dealer`, known ? dealer === next : open ? undefined : false);
  const pack = [...Array(decks).fill(FACES).flat(), ...Array(jokers).fill("JK")];
  const reshuffles = turnovers.map((order, at) => [`turnover ${at + 1}`, order, inOrder(order)]);
  const laidOut = proof.laid_out && match.practice && number === 1 ? deal.turnovers_given ?? 0 : -1;
  for (const [at, [label, order, from]] of [["cards", cards, pack], ...reshuffles].entries())
    if (at <= laidOut) tell(`${name}: ${label}, laid out`);
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
  const { readFileSync } = await import("node:fs"), [file, seen] = [process.argv[2], new Set()];
  await verify(JSON.parse(readFileSync(file === "-" ? 0 : file, "utf8")), (what, fits) => {
    console.log(seen.add(fits) && fits ? "ok" : fits === false ? "WRONG" : "not proved", what);
  });
  process.exitCode = seen.has(true) && !seen.has(false) ? 0 : 1;
}
