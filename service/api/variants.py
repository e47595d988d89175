"""The endpoints that tell which rules can be played."""

from flask import Response

from service import errors
from service.api import language, pages, schemas, sheets
from service.api.http import Blueprint, answer, refuse_unread_query
from service.rummy.sheet import sheet_of_variant
from service.views import RuleSheet, VariantList, VariantView, variant_view, variant_views

variants = Blueprint(
    "variants", __name__, url_prefix="/v1/variants", description="The rule texts and their options."
)
variants.before_request(refuse_unread_query)

_LASTING = {"Cache-Control": "public, max-age=300"}
"""Variants change with the service alone."""

_VARIANT = {
    "in": "path",
    "name": "variant_id",
    "required": True,
    "schema": {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"},
    "description": "The variant's id.",
    "example": "straight",
}


@variants.route("", methods=["GET"], parameters=[language.PARAMETER])
@variants.response(200, "VariantList", description="All variants.", headers=language.HEADERS)
@variants.refuses(errors.InvalidRequest)
@variants.doc(operationId="listVariants", security=[])
def list_variants() -> Response:
    """List the variants

    Every preset with all its options: their values, defaults by number of players, and clauses. In
    the caller's language.
    """
    spoken = language.of_request()
    views = variant_views(language.translator(spoken))
    return language.marked(answer(views, headers=_LASTING), spoken)


@variants.route("/<variant_id>", methods=["GET"], parameters=[_VARIANT, language.PARAMETER])
@variants.response(200, "VariantView", description="The variant.", headers=language.HEADERS)
@variants.refuses(errors.InvalidRequest, errors.NoSuchVariant)
@variants.doc(operationId="getVariant", security=[])
def get_variant(variant_id: str) -> Response:
    """Look at one variant

    Its options with their values, defaults by number of players, and clauses. In the caller's
    language.
    """
    spoken = language.of_request()
    view = variant_view(variant_id, language.translator(spoken))
    return language.marked(answer(view, headers=_LASTING), spoken)


@variants.route("/<variant_id>/rules", methods=["GET"], parameters=[_VARIANT, *pages.PARAMETERS])
@variants.arguments(schemas.SheetQuery(), location="query")
@variants.response(200, "RuleSheet", description="The rule sheet.", headers=pages.HEADERS)
@variants.alt_response(304, description="The caller has this answer.", headers=pages.ETAG)
@variants.refuses(errors.InvalidRequest, errors.NoSuchVariant, errors.OptionsRefused)
@variants.doc(operationId="getVariantRules", security=[], responses=sheets.OTHER_FORMS)
def get_rules(wish: dict[str, int | None], variant_id: str) -> Response:
    """Read the rules of a variant

    Every clause in force by its number, made from the options; for a number of `players`, or for
    all it can have. With `Accept: text/markdown` or `text/html` to be read by people, with an
    anchor for each clause, such as `#straight.3`. In the caller's language.
    """
    return sheets.shown(sheet_of_variant(variant_id, wish["players"]))


ANSWERS = (VariantList, VariantView, RuleSheet)
"""The structures that these endpoints answer with, for the contract."""
