"""HTTP: the blueprints, their schemas, errors as problems, and the contract made of them."""

from service.api.contract import contract, register

__all__ = ["contract", "register"]
