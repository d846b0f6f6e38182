"""The studio: see, choose, fit and understand in the browser."""
