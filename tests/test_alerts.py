"""The alerts: each is about something that is told, can be parsed, and is explained."""

import re
from pathlib import Path

import promql_parser
import pytest
import yaml

from service import metrics

DEPLOY = Path(__file__).parents[1] / "deploy"
FILE = yaml.safe_load((DEPLOY / "prometheus-alerts.yaml").read_text(encoding="utf-8"))
RULES = [rule for group in FILE["groups"] for rule in group["rules"]]
README = (DEPLOY / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def told() -> str:
    """All metrics with their labels, those too that nothing has been counted of yet."""
    metrics.REQUEST_SECONDS.labels("draw")
    metrics.STORE_SECONDS.labels("change")
    return metrics.exposition({"unreadable": 0}, {}).decode()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_can_be_parsed_and_is_about_metrics_that_there_are(rule, told):
    promql_parser.parse(rule["expr"])
    for name, labels in re.findall(r"\b(rummy_\w+)(?:\{([^}]*)\})?", rule["expr"]):
        assert re.search(rf"^{name}[{{ ]", told, re.MULTILINE), name
        for label, value in re.findall(r'(\w+)=~?"([^"]*)"', labels):
            assert re.search(rf'^{name}\{{.*{label}="({value})"', told, re.MULTILINE), label


def test_the_rules_are_of_the_form_that_prometheus_reads():
    assert FILE.keys() == {"groups"}
    for rule in RULES:
        assert rule.keys() - {"for"} == {"alert", "expr", "labels", "annotations"}
        assert re.fullmatch(r"\d+[ms]", rule.get("for", "0s"))
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"].keys() == {"summary"}


def test_each_alert_is_explained_and_no_other():
    section = README.partition("## What to alert on")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [rule["alert"] for rule in RULES]


def test_each_metric_is_explained(told):
    section = README.partition("## Is it well?")[2].partition("\n## ")[0]
    names = re.findall(r"^# TYPE (\w+) ", told, re.MULTILINE)
    assert [name for name in names if f"`{name}`" not in section] == []
