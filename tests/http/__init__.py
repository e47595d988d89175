"""The service over HTTP: every answer is checked against the contract."""
