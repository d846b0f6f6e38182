"""Settings shared by every test."""

import os

import hypothesis

# Figures are drawn into memory; set before anything imports matplotlib.
os.environ.setdefault("MPLBACKEND", "Agg")

# A run must mean the same twice, so examples are derandomized;
# `HYPOTHESIS_PROFILE=explore` looks for new ones.
# Deadlines measure the first call of a compiled loop rather than the code under test.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
