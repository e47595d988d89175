"""A REST microservice that hosts games of rummy."""

__version__ = "0.1.0"
