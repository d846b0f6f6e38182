"""The studio: a table seen, fitted and understood in the browser; it needs the extra ``studio``."""
