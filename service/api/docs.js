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
  onComplete: () => {
    if (seats.length) {
      fillIn(seats[0].game);
      playAs(seats.find((seat) => seat.playing));
    }
  },
});

// The seats of the table made last; they outlive that the page is loaded again, but not its tab.
let seats = JSON.parse(sessionStorage.getItem("seats")) || [];

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
  playAs(seats.find((one) => one.token === found[0].token));
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
function playAs(playing) {
  if (playing) {
    ui.preauthorizeApiKey("seatToken", playing.token);
  } else {
    ui.authActions.logoutWithPersistOption(["seatToken"]);
  }
  seats = seats.map((seat) => ({ ...seat, playing: Boolean(playing) && seat.token === playing.token }));
  sessionStorage.setItem("seats", JSON.stringify(seats));
  show();
}

function show() {
  const line = document.getElementById("seats");
  const nobody = { playing: !seats.some((seat) => seat.playing) };
  const buttons = [...seats, nobody].map((seat) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = seat.token ? `${seat.name}, seat ${seat.seat}` : "nobody";
    button.setAttribute("aria-pressed", String(seat.playing));
    button.addEventListener("click", () => playAs(seat.token ? seat : null));
    return button;
  });
  const id = document.createElement("code");
  id.textContent = seats[0].game;
  line.replaceChildren("Table ", id, ", playing as ", ...buttons);
  line.hidden = false;
  document.getElementById("begin").hidden = true;
}
