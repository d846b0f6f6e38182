"""Research: may change without notice.

Machines and programs of the literature that are tested and documented like the rest, and that
nothing else in this library imports: hyperparameters as part of the problem (`fusion`), linear
models (`linear`), machines without slack and networks (`estimators`), classical distributions
(`density`), kernels and operators (`kernels`, `operators`), programs with cones (`programs`),
realizations of series (`series`), diagnostics of theory (`diagnostics`), solution paths and
held-out choices (`selection`), rates of few terms (`compression`), clusters and planes
(`manifold`), covering numbers (`covering`), and figures (`plotting`).
"""
