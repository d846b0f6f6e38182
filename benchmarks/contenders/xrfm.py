"""xRFM with the settings of its manual, for all benchmarks that have it."""

from typing import Any

from xrfm import xRFM


def feature_machine(regression: bool, leaf: int | None = None, **chosen: Any) -> Any:
    """Return an unfitted machine; ``reg`` and the settings of its kernel may be chosen."""
    reg = chosen.pop("reg", 1e-3)
    model = {"kernel": "l2", "bandwidth": 10.0, "exponent": 1.0, "diag": False} | chosen
    fit = {"reg": reg, "iters": 5, "verbose": False, "early_stop_rfm": True}
    return xRFM(
        rfm_params={"model": model | {"bandwidth_mode": "constant"}, "fit": fit},
        device="cpu",
        tuning_metric="mse" if regression else "accuracy",
        n_threads=1,
        random_state=0,
        verbose=False,
        **({} if leaf is None else {"max_leaf_size": leaf}),
    )
