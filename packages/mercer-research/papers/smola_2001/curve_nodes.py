"""The number of nodes hardly matters under the penalty of the kernel, and does under weight decay.

Smola and others say so in sections 6.1 and 8 without numbers; those of another program stand in.
"""

from itertools import pairwise

from mercer.kernels import Gaussian
from mercer.manifold import Interval
from papers.outcome import Result, at_least, at_most, near, recorded
from papers.smola_2001.fits import fit, moved, sine

SETTINGS = ((0.3, 0.01), (0.3, 0.05), (0.4, 0.01), (0.4, 0.05))
NODES = (10, 20, 40, 80)
PENALTIES = ("kernel", "weight decay")
DECAY = (0.0117, 0.0095, 0.0083, 0.0069)


def run(short: bool = False, random_state: int = 0) -> Result:
    X = sine(random_state)
    nodes, settings = (NODES[:2], SETTINGS[:1]) if short else (NODES, SETTINGS)
    fits = {
        (penalty, *setting): [
            fit(
                Interval(M),
                X,
                penalty=penalty,
                kernel=Gaussian(setting[0]),
                lam=setting[1],
                tol=1e-6,
                max_iter=1000,
            )
            for M in nodes
        ]
        for penalty in PENALTIES
        for setting in settings
    }
    R = {key: [m.distortion_ for m in found] for key, found in fits.items()}
    steps = {
        key: [moved(a, b, (-1.0, 1.0)) for a, b in pairwise(found)] for key, found in fits.items()
    }
    kernel, decay = (
        [v for key, values in steps.items() if key[0] == penalty for v in values]
        for penalty in PENALTIES
    )
    spread = [max(R["weight decay", *s]) / min(R["weight decay", *s]) for s in settings]
    caption = SETTINGS[0]
    return Result(
        "Number of nodes of a principal curve",
        "Smola, Mika, Schölkopf and Williamson 2001, sections 6.1 and 8; Smola 1998, section 5.3",
        f"the noisy sine of figure 1; {', '.join(map(str, nodes))} nodes, width 0.3 or 0.4 on "
        "[-1, 1], mean loss, λ = 0.01 or 0.05 (in a short run the first of both). How far a curve "
        "moves when its nodes are doubled is the root mean squared distance of both curves to the "
        "nearest points of the other, over the deviation of the curve from its mean; references "
        "are those of another program for width 0.3 and λ = 0.01.",
        [
            at_most(
                "kernel penalty: largest move of the curve as nodes double",
                max(kernel),
                0.003,
                "0.3 % of the size of the curve by the other program",
            ),
            near(
                "kernel penalty: mean squared distance, ten nodes",
                R["kernel", *caption][0],
                0.01,
                1e-4,
                "the last digit",
            ),
            at_most(
                "kernel penalty: largest over smallest mean squared distance, all settings",
                max(max(R["kernel", *s]) / min(R["kernel", *s]) for s in settings),
                1.003,
                "constant in the number of nodes",
            ),
            at_least(
                "weight decay: smallest move of the curve over the largest of the kernel penalty",
                min(decay) / max(kernel),
                3.0,
                "3 to 5 % against at most 0.3 %, to within a factor of three",
                must=not short,
            ),
            at_least(
                "weight decay: largest over smallest mean squared distance, least of all settings",
                min(spread),
                1.05,
                "it varies in every setting",
            ),
            *(
                recorded(
                    f"weight decay: mean squared distance, {M} nodes",
                    ours,
                    "local minima depend on the start",
                    reference=reference,
                )
                for M, ours, reference in zip(
                    nodes, R["weight decay", *caption], DECAY, strict=False
                )
            ),
        ],
        {
            "moves": {" ".join(map(str, key)): v for key, v in steps.items()},
            "errors": {" ".join(map(str, key)): v for key, v in R.items()},
        },
        revised="from a start √3 times wider, the default, both penalties end in minima with "
        "larger objectives (0.044 instead of 0.033 for the kernel), among which weight decay moves "
        "by more than half of its size; the start was set to that of the other program.",
    )
