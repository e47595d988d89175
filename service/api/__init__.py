"""HTTP: the blueprints, their schemas, errors as problems, and the contract made of them."""

from service.api.contract import contract, register, replay_schema

__all__ = ["contract", "register", "replay_schema"]
