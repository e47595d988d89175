"""The rules of rummy as pure functions of values: no clock, no chance, no input, no output."""
