"""What the service is measured with: `make bench`. docs/performance.md has what came of it."""
