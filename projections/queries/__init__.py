"""The questions that the book answers, one module each."""
