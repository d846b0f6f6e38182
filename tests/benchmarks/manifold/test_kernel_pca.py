"""The benchmark of kernel PCA: its estimate of errors, its count of bounds, its page."""

import numpy as np
import pytest

from benchmarks.manifold import kernel_pca, kernel_pca_page


def test_the_estimate_needs_no_clean_image():
    """Of a linear shrinkage the error is known: s^2 a^2 + (1 - a)^2 x^2."""
    rng = np.random.default_rng(0)
    clean = rng.uniform(size=(2000, 50))
    noisy = clean + kernel_pca.NOISE * rng.normal(size=clean.shape)
    for a in (0.3, 0.8, 1.0):
        estimate = kernel_pca.risk(lambda Y, a=a: a * Y, noisy)
        assert estimate == pytest.approx(np.mean((a * noisy - clean) ** 2), abs=2e-3)


def test_eigenvalues_out_of_bounds_are_counted():
    few = {"values": [10.0, 5.0, 1.0], "errors": [0.5] * 3}
    exact = {"values": [10.4, 5.6, 0.8], "errors": [0.05] * 3}
    assert kernel_pca.outside(exact, few) == 2


def test_bounds_hold_on_a_small_sample():
    few, exact = kernel_pca.centred(400, 60), kernel_pca.exact(400, "randomized")
    assert kernel_pca.outside(exact, few) == 0


def test_the_page_shows_what_was_measured(tmp_path, monkeypatch):
    fit = {"seconds": 1.0, "peak": 2e6, "values": [3.0], "errors": [0.1]}
    kept = {
        "about": {
            **dict.fromkeys(("processor", "cores", "python", "date", "commit"), "x"),
            "versions": dict.fromkeys(("mercer", "scikit-learn", "numpy", "scipy"), "1"),
        },
        "denoising": [
            {"name": "noisy", "error": 0.06},
            {"name": "mercer", "error": 0.02, "estimate": 0.03, "settings": {"gamma": 1}},
        ],
        "centres": [{"n": 1000, "how": "5 centres"} | fit],
        "exact": [{"n": 1000, "how": "randomized"} | fit],
        "streams": [
            {"n": 10, "how": "Parquet"} | fit,
            {"n": 10, "how": "Dask", "difference": 2e-12} | fit,
        ],
    }
    monkeypatch.setattr(kernel_pca_page, "PAGE", tmp_path / "page.md")
    kernel_pca_page.publish(kept)
    text = (tmp_path / "page.md").read_text()
    assert "| **mercer** | gamma=1 |  | 0.0300 | 0.0200 |" in text
    assert "| 1,000 | randomized | 1.0 | 2 | 3 | 0.1 | 0 |" in text
    assert "2.0e-12 |" in text
    verdicts = kernel_pca.verdicts(kept)
    assert all(verdicts.values())
    kept["exact"][0]["values"] = [4.0]
    assert not kernel_pca.verdicts(kept)["eigenvalues within bounds"]
