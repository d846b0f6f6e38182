"""The path from a declaration to its problem and back: what all estimators share."""
