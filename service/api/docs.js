"use strict";

// Addresses are relative, so that the page works under any path prefix.
const ui = SwaggerUIBundle({
  dom_id: "#swagger-ui",
  url: "openapi.json",
  validatorUrl: null,
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  displayOperationId: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  responseInterceptor: (response) => {
    if (response.status === 201 && response.obj && response.obj.game) {
      taken(response.obj);
    }
    return response;
  },
});

let seats = [];

document.querySelector("#begin a").addEventListener("click", () => {
  ui.layoutActions.show(["operations", "sandbox", "createSandbox"], true);
  document.getElementById("operations-sandbox-createSandbox").scrollIntoView();
});

/** Remember the seats that an answer gives: both of a sandbox, else the one just taken. */
function taken({ game, seats: both, seat, token }) {
  const found = both || [{ seat, token, name: game.seats.find((one) => one.seat === seat).name }];
  const known = seats.filter((one) => one.game === game.id && !found.some((other) => other.seat === one.seat));
  seats = [...known, ...found.map((one) => ({ ...one, game: game.id }))].sort((a, b) => a.seat - b.seat);
  fillIn(game.id);
  playAs(found[0]);
}

/** Put the id of the game wherever one is asked for. */
function fillIn(id) {
  for (const [path, operations] of Object.entries(ui.specSelectors.specJson().get("paths").toJS())) {
    if (path.includes("{game_id}")) {
      for (const method of Object.keys(operations)) {
        ui.specActions.changeParam([path, method], "game_id", "path", id, false);
      }
    }
  }
}

/** Send the token of that seat from now on; of none, none. */
function playAs(seat) {
  if (seat) {
    ui.preauthorizeApiKey("seatToken", seat.token);
  } else {
    ui.authActions.logoutWithPersistOption(["seatToken"]);
  }
  show(seat);
}

function show(playing) {
  const line = document.getElementById("seats");
  const buttons = [...seats, null].map((seat) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = seat ? `${seat.name}, seat ${seat.seat}` : "nobody";
    button.setAttribute("aria-pressed", String((seat && seat.token) === (playing && playing.token)));
    button.addEventListener("click", () => playAs(seat));
    return button;
  });
  const id = document.createElement("code");
  id.textContent = seats[0].game;
  line.replaceChildren("Table ", id, ", playing as ", ...buttons);
  line.hidden = false;
  document.getElementById("begin").hidden = true;
}
