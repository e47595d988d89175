"""Cases from play: disputes, and known faults of other games and servers, with the right answer."""
