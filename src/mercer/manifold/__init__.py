"""Features, maps and curves without labels: kernel PCA, quantizers, principal manifolds."""

__all__: list[str] = []
