"""The configuration, read from RUMMY_ variables."""

import pytest

from service.config import Config, ConfigError, load_config


def test_nothing_needs_to_be_set():
    assert load_config({}) == Config()


def test_every_setting_has_a_variable():
    assert load_config(
        {
            "RUMMY_REDIS_URL": "redis+sentinel://a,b:26380/games/2",
            "RUMMY_REDIS_USERNAME": "rummy",
            "RUMMY_REDIS_PASSWORD": "null",
            "RUMMY_REDIS_SENTINEL_USERNAME": "watcher",
            "RUMMY_REDIS_SENTINEL_PASSWORD": "p:w@d",
            "RUMMY_REDIS_REPLICAS": "1",
            "RUMMY_REDIS_TIMEOUT_SECONDS": "1.5",
            "RUMMY_EXPIRE_UNSTARTED_SECONDS": "10",
            "RUMMY_EXPIRE_RUNNING_SECONDS": "20",
            "RUMMY_EXPIRE_FINISHED_SECONDS": "30",
            "RUMMY_MAX_BODY_BYTES": "2048",
            "RUMMY_LOG_LEVEL": "WARNING",
            "RUMMY_LOG_FORMAT": "JSON",
            "RUMMY_METRICS": "false",
            "RUMMY_TRACING": "true",
            "RUMMY_PROXIES": "1",
            "RUMMY_RATE_LIMITS": "false",
            "RUMMY_LIMIT_CREATE": "5/minute; 10 per 2 hours",
            "RUMMY_LIMIT_JOIN": "1/second",
            "RUMMY_LIMIT_CHANGES": "2/second",
            "RUMMY_LIMIT_ENTROPY": "3/second",
            "RUMMY_LIMIT_REPLAYS": "4/second",
            "RUMMY_LIMIT_QUERIES": "5/second",
            "RUMMY_LIMIT_FAILURES": "6/second",
            "RUMMY_MOST_WAITS": "7",
            "RUMMY_CORS_ORIGINS": "https://cards.example, http://localhost:5173",
            "RUMMY_RECORD_FORMAT": "4",
        }
    ) == Config(
        redis_url="redis+sentinel://a,b:26380/games/2",
        redis_username="rummy",
        redis_password="null",
        redis_sentinel_username="watcher",
        redis_sentinel_password="p:w@d",
        redis_replicas=1,
        redis_timeout_seconds=1.5,
        expire_unstarted_seconds=10,
        expire_running_seconds=20,
        expire_finished_seconds=30,
        max_body_bytes=2048,
        log_level="warning",
        log_format="json",
        metrics=False,
        tracing=True,
        proxies=1,
        rate_limits=False,
        limit_create="5/minute; 10 per 2 hours",
        limit_join="1/second",
        limit_changes="2/second",
        limit_entropy="3/second",
        limit_replays="4/second",
        limit_queries="5/second",
        limit_failures="6/second",
        most_waits=7,
        cors_origins=("https://cards.example", "http://localhost:5173"),
        record_format=4,
    )


def test_variables_of_others_are_not_looked_at():
    assert load_config({"PATH": "/bin", "REDIS_URL": "nonsense", "rummy_proxies": "x"}) == Config()


def test_an_empty_variable_counts_as_not_set():
    assert load_config({"RUMMY_REDIS_URL": "", "RUMMY_PROXIES": "  "}) == Config()


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost",
        "redis://user:secret@cache:6379/0",
        "rediss://cache:6380?ssl_cert_reqs=none",
        "redis://[::1]:6379",
        "unix:///run/valkey.sock",
        "unix:///run/valkey.sock?db=1",
        "redis+sentinel://a:26379,b:26379,[::1]:26379/games",
        "rediss+sentinel://user:secret@a/games/3?ssl_ca_certs=/ca.pem",
        "redis+cluster://a,b:7001,c",
        "rediss+cluster://:secret@a:6379/",
    ],
)
def test_these_addresses_of_a_redis_are_accepted(url):
    assert load_config({"RUMMY_REDIS_URL": url}).redis_url == url


@pytest.mark.parametrize(
    ("variable", "text", "reason"),
    [
        ("RUMMY_REDIS_URL", "localhost:6379", "starts with redis://"),
        ("RUMMY_REDIS_URL", "http://localhost", "starts with redis://"),
        ("RUMMY_REDIS_URL", "redis://", "a host"),
        ("RUMMY_REDIS_URL", "redis://cache:0", "a port"),
        ("RUMMY_REDIS_URL", "redis://cache:70000", "a port"),
        ("RUMMY_REDIS_URL", "redis://cache:http", "a port"),
        ("RUMMY_REDIS_URL", "redis://cache/games", "the number of a database"),
        ("RUMMY_REDIS_URL", "redis://[::1", "Invalid IPv6 URL"),
        ("RUMMY_REDIS_URL", "unix://valkey.sock", "an absolute path"),
        ("RUMMY_REDIS_URL", "unix:///run/valkey.sock?db=games", "the number of a database"),
        ("RUMMY_REDIS_URL", "redis://localhost?db=-1", "the number of a database"),
        ("RUMMY_REDIS_URL", "rediss://localhost?ssl_cert=a.pem", "nothing but db, ssl_ca_certs"),
        ("RUMMY_REDIS_URL", "rediss://localhost?ssl_cert_reqs=perhaps", "none, optional or"),
        ("RUMMY_REDIS_URL", "redis://localhost/0?foo=bar", "nothing but db"),
        ("RUMMY_REDIS_URL", "redis://a?ssl_ca_certs=/ca.pem", "nothing but db"),
        ("RUMMY_REDIS_URL", "redis+cluster://a?ssl_ca_certs=/ca.pem", "Expected nothing after"),
        ("RUMMY_REDIS_URL", "redis://a,b", "one host"),
        ("RUMMY_REDIS_URL", "redis+sentinel://a,b", "the name that the sentinels know"),
        ("RUMMY_REDIS_URL", "redis+sentinel://a:0,b/games", "a port"),
        ("RUMMY_REDIS_URL", "redis+sentinel://a,,b/games", "a host before each comma"),
        ("RUMMY_REDIS_URL", "redis+sentinel://a/games/first", "the number of a database"),
        ("RUMMY_REDIS_URL", "rediss+sentinel://a/games?db=1", "nothing but ssl_"),
        ("RUMMY_REDIS_URL", "redis+sentinel:///games", "a host"),
        ("RUMMY_REDIS_URL", "redis+cluster://a,b:x", "a port"),
        ("RUMMY_REDIS_URL", "redis+cluster://a/1", "a cluster has no databases"),
        ("RUMMY_REDIS_URL", "redis+clusters://a", "starts with redis://"),
        ("RUMMY_REDIS_URL", "unix+cluster:///a", "starts with redis://"),
        ("RUMMY_REDIS_REPLICAS", "-1", ">= 0"),
        ("RUMMY_REDIS_URL", "redis://localhost?db=1&socket_timeout=9", "nothing but db"),
        ("RUMMY_REDIS_TIMEOUT_SECONDS", "soon", "`float`"),
        ("RUMMY_REDIS_TIMEOUT_SECONDS", "0", ">= 0.05"),
        ("RUMMY_REDIS_TIMEOUT_SECONDS", "inf", "<= 30"),
        ("RUMMY_REDIS_TIMEOUT_SECONDS", "nan", "`float`"),
        ("RUMMY_EXPIRE_UNSTARTED_SECONDS", "1 day", "`int`"),
        ("RUMMY_EXPIRE_RUNNING_SECONDS", "0", ">= 1"),
        ("RUMMY_EXPIRE_FINISHED_SECONDS", "1.5", "`int`"),
        ("RUMMY_MAX_BODY_BYTES", "64k", "`int`"),
        ("RUMMY_LOG_LEVEL", "loud", "Expected debug or info or warning or error"),
        ("RUMMY_LOG_FORMAT", "xml", "Expected text or json"),
        ("RUMMY_RECORD_FORMAT", "5", "Expected 3 or 4"),
        ("RUMMY_RECORD_FORMAT", "new", "Expected 3 or 4"),
        ("RUMMY_METRICS", "perhaps", "`bool`"),
        ("RUMMY_PROXIES", "-1", ">= 0"),
        ("RUMMY_RATE_LIMITS", "some", "`bool`"),
        ("RUMMY_LIMIT_CREATE", "many", "rates such as 60/minute"),
        ("RUMMY_LIMIT_CREATE", "60", "rates such as 60/minute"),
        ("RUMMY_LIMIT_CREATE", "60/fortnight", "rates such as 60/minute"),
        ("RUMMY_LIMIT_CREATE", "0/minute", "at least one request"),
        ("RUMMY_LIMIT_CREATE", "2000000/minute", "at most"),
        ("RUMMY_LIMIT_CREATE", "60/year", "at most"),
        ("RUMMY_LIMIT_CREATE", "5/minute;6/minute", "one rate for each"),
        ("RUMMY_MOST_WAITS", "0", ">= 1"),
        ("RUMMY_CORS_ORIGINS", "cards.example", "origins such as"),
        ("RUMMY_CORS_ORIGINS", "https://cards.example/", "origins such as"),
        ("RUMMY_CORS_ORIGINS", "https://*.example", "origins such as"),
        ("RUMMY_CORS_ORIGINS", "null", "origins such as"),
        ("RUMMY_CORS_ORIGINS", "*, https://cards.example", "no other origin"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_reason(variable, text, reason):
    with pytest.raises(ConfigError) as refusal:
        load_config({variable: text})
    (problem,) = refusal.value.problems
    assert problem.startswith(f"{variable}={text!r}: ")
    assert reason in problem


@pytest.mark.parametrize(
    ("url", "beside", "reason"),
    [
        ("redis://:secret@a", {"PASSWORD": "geheim"}, "has a password already"),
        ("redis://user:secret@a", {"USERNAME": "geheim"}, "has a user already"),
        ("redis://a", {"USERNAME": "geheim"}, "Expected RUMMY_REDIS_PASSWORD"),
        (
            "redis+sentinel://a/games",
            {"SENTINEL_USERNAME": "geheim"},
            "Expected RUMMY_REDIS_SENTINEL_PASSWORD",
        ),
        ("redis+cluster://a", {"SENTINEL_PASSWORD": "geheim"}, "Expected redis+sentinel://"),
    ],
)
def test_passwords_that_do_not_fit_the_address_are_refused_and_not_repeated(url, beside, reason):
    variables = {f"RUMMY_REDIS_{name}": text for name, text in beside.items()}
    with pytest.raises(ConfigError) as refusal:
        load_config({"RUMMY_REDIS_URL": url} | variables)
    (problem,) = refusal.value.problems
    assert problem.startswith(next(iter(variables)))
    assert reason in problem
    assert not any(secret in problem for secret in ("secret", "geheim"))


def test_what_is_about_a_redis_wants_to_know_which():
    """Or the service would keep the games itself, and nobody would notice."""
    about = {"RUMMY_REDIS_PASSWORD": "secret", "RUMMY_REDIS_REPLICAS": "1"}
    for url in ({}, {"RUMMY_REDIS_URL": " "}):
        with pytest.raises(ConfigError) as refusal:
            load_config(about | url)
        assert refusal.value.problems == [
            "RUMMY_REDIS_PASSWORD: Expected RUMMY_REDIS_URL too",
            "RUMMY_REDIS_REPLICAS: Expected RUMMY_REDIS_URL too",
        ]
    with pytest.raises(ConfigError, match=r"^RUMMY_REDIS_URL=.*\Z"):
        load_config(about | {"RUMMY_REDIS_URL": "http://cache"})


def test_the_password_of_a_refused_address_of_many_is_not_repeated():
    with pytest.raises(ConfigError) as refusal:
        load_config({"RUMMY_REDIS_URL": "redis+cluster://user:secret@a:port,b"})
    assert "secret" not in str(refusal.value)


def test_all_problems_are_told_at_once():
    with pytest.raises(ConfigError) as refusal:
        load_config({"RUMMY_PROXIES": "two", "RUMMY_LOG_LEVEL": "loud", "RUMMY_COLOUR": "red"})
    assert [problem.split("=")[0].split(" ")[0] for problem in refusal.value.problems] == [
        "RUMMY_COLOUR",
        "RUMMY_LOG_LEVEL",
        "RUMMY_PROXIES",
    ]


def test_a_misspelt_variable_is_refused_with_the_name_that_was_probably_meant():
    with pytest.raises(ConfigError, match=r"RUMMY_REDIS_URI .*did you mean RUMMY_REDIS_URL\?"):
        load_config({"RUMMY_REDIS_URI": "redis://cache"})


def test_the_password_of_a_refused_address_is_not_repeated():
    with pytest.raises(ConfigError) as refusal:
        load_config({"RUMMY_REDIS_URL": "rediss://user:secret@cache:port?ssl_password=secret&a=b"})
    assert "secret" not in str(refusal.value)
    assert "rediss://***@cache:port?ssl_password=***&a=b" in str(refusal.value)
