"""Features, maps and curves without labels: kernel PCA, principal curves and manifolds."""

from mercer.manifold.curve import PrincipalCurve
from mercer.manifold.distortions import HuberDistortion
from mercer.manifold.kernel_pca import KernelPCA
from mercer.manifold.latent import Circle, Grid, Interval
from mercer.manifold.principal_manifold import PrincipalManifold

__all__ = [
    "Circle",
    "Grid",
    "HuberDistortion",
    "Interval",
    "KernelPCA",
    "PrincipalCurve",
    "PrincipalManifold",
]
