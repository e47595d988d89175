"""What the service is compared with: small, and honest. Each does the work of a move or a look."""
