"""The list of open tables, and the own game."""

from tests.http.tables import House, Table, code


def listed(house: House, limit: int = 100) -> list[str]:
    """The ids of all open tables, read page by page."""
    return [item["id"] for page in pages(house, limit) for item in page]


def pages(house: House, limit: int) -> list[list[dict]]:
    found, cursor = [], ""
    while True:
        page = house.client().get(f"/v1/games?limit={limit}{cursor}").json
        assert len(page["tables"]) <= limit
        found.append(page["tables"])
        if page["next"] is None:
            return found
        cursor = f"&cursor={page['next']}"


def public(house: House, seats: int = 2, **more) -> Table:
    return house.waiting("straight", seats, more={"public": True} | more)


def only(house: House, *tables: Table) -> list[str]:
    """Those of the listed ids that are of these tables: other tests have tables too."""
    ours = {table.id for table in tables}
    return [table_id for table_id in listed(house) if table_id in ours]


def test_only_public_tables_are_listed(house):
    shown, hidden = public(house), house.waiting("straight")
    assert only(house, shown, hidden) == [shown.id]


def test_what_a_list_tells_of_a_table(house):
    table = house.waiting("seven-card", 3, taken=2, more={"public": True}, jokers=2)
    (item,) = [item for page in pages(house, 100) for item in page if item["id"] == table.id]
    view = table.stranger.look()
    assert item == {
        "id": table.id,
        "variant": "seven-card",
        "practice": False,
        "size": 3,
        "taken": 2,
        "computers": 0,
        "host": "ada",
        "spectators": True,
        "autostart": True,
        "options": view["options"],
        "deviations": view["deviations"],
        "created_at": view["created_at"],
        "expires_at": view["expires_at"],
    }
    assert [found["option"] for found in item["deviations"]] == ["jokers"]


def test_a_table_that_starts_or_fills_is_listed_no_more(house):
    started, full, waits = public(house), public(house, autostart=False), public(house, seats=3)
    assert len(only(house, started, full, waits)) == 3
    for table in (started, full, waits):
        table.seat(table.stranger.post("join", {"name": "bo"}))
    assert only(house, started, full, waits) == [waits.id]
    assert waits.players[0].post("start").status_code == 200
    assert only(house, started, full, waits) == []


def test_the_newest_table_comes_first_and_every_page_size_shows_them_all(house):
    tables = []
    for _ in range(7):
        tables.append(public(house))
        house.redis.ping()
    created = {table.id: table.game().created_at for table in tables}
    for limit in (1, 2, 3, 100):
        found = [table_id for table_id in listed(house, limit) if table_id in created]
        assert sorted(found) == sorted(created)
        times = [created[table_id] for table_id in found]
        assert times == sorted(times, reverse=True)


def test_paging_goes_on_while_tables_come_and_go(house):
    tables = [public(house) for _ in range(6)]
    order = only(house, *tables)
    by_id = {table.id: table for table in tables}
    seen: list[str] = []
    cursor = ""
    for turn in range(200):
        page = house.client().get(f"/v1/games?limit=1{cursor}").json
        seen += [item["id"] for item in page["tables"] if item["id"] in by_id]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
        if turn < 3:
            public(house)  # comes to the front, behind our back
        if seen and seen[-1] == order[0]:  # the one just shown goes, and the one after the next
            for table_id in (order[0], order[2]):
                by_id[table_id].stranger.post("join", {"name": "bo"})
    assert seen == [order[0], order[1], order[3], order[4], order[5]]


def test_a_practice_table_is_marked(house):
    table = public(house, practice={"seed": "x"})
    (item,) = [item for page in pages(house, 100) for item in page if item["id"] == table.id]
    assert item["practice"]
    assert "x" not in item.values()


def test_a_table_that_has_expired_is_listed_no_more(house):
    gone, stays = public(house), public(house)
    house.redis.delete(f"rummy:{{{gone.id}}}:game")
    assert only(house, gone, stays) == [stays.id]


# ------------------------------------------------------------------------------ the own game


def own(table: Table, seat: int, query: str = "mine"):
    token = table.players[seat].token
    return table.house.client().get(
        f"/v1/games?{query}", headers={"Authorization": f"Bearer {token}"}
    )


def test_a_token_finds_its_game(house):
    table = house.table("straight")
    for player in table.players:
        for query in ("mine", "mine=", "mine=true", "mine&limit=1"):
            (view,) = own(table, player.seat, query).json["games"]
            assert view == player.look()


def test_the_own_game_is_found_before_the_start_too(house):
    table = house.waiting("straight", 3, taken=2)
    (view,) = own(table, 1).json["games"]
    assert (view["id"], view["you"], view["status"]) == (table.id, 1, "waiting")


def test_a_token_of_a_game_that_is_gone_finds_nothing(house):
    table = house.table("straight")
    house.redis.delete(f"rummy:{{{table.id}}}:game")
    assert own(table, 0).json == {"type": "games", "games": []}


def test_the_own_game_needs_the_own_token(house):
    table = house.table("straight")
    client = house.client()
    for header, answered in [
        ({}, "no_token"),
        ({"Authorization": "Bearer x"}, "bad_token"),
        ({"Authorization": f"Bearer {table.id}.{'A' * 43}"}, "not_your_seat"),
    ]:
        assert code(client.get("/v1/games?mine", headers=header)) == answered


def test_a_token_makes_no_difference_to_the_list(house):
    table = house.table("straight")
    answer = house.client().get(
        "/v1/games", headers={"Authorization": f"Bearer {table.players[0].token}"}
    )
    assert "tables" in answer.json
