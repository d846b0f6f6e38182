"""The compiled sweep of coordinate descent over the rows of a factor, one loop for all losses.

It lowers ``1/2 |Z'a|^2 + beta'B'a + rho/2 |B'a|^2 + sum_i g_i(a_i)``, one coefficient after the
other, where ``g_i`` is two parabolas that meet at zero, over a box.

Rows are read in blocks that lie together, blocks in random order: memory comes faster in line than
at random. Indices are unsigned, and a row is summed in four parts that do not wait for each other.
"""

import numpy as np

from mercer._compile_numba import njit
from mercer.solvers._smo_numba import BARE

__all__ = ["sweep"]

ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


@njit(cache=True, **BARE)
def sweep(starts, columns, values, B, rho, rows, w, beta, active, blocks, size, limit, resting):
    """Move each of the active coefficients once; return the largest violation that was met.

    Row i of Z is ``values`` at ``columns`` from ``starts[i]`` to ``starts[i + 1]``; without columns
    it is all of them in turn. A row of ``rows`` is a coefficient, its square in ``ZZ' + rho BB'``,
    linear and quadratic coefficients of its cost below and above zero, and its bounds. ``w = Z'a``
    and ``beta`` follow the coefficients. Those that rest by more than ``limit`` are marked.
    """
    sparse, width, total = columns.shape[0] > 0, np.uint64(w.shape[0]), np.uint64(active.shape[0])
    q = np.uint64(beta.shape[0])
    largest = 0.0
    for block in blocks:
        begin = block * size
        for k in range(begin, min(begin + size, total)):
            i = active[k]
            first, last = starts[i], starts[i + ONE]
            f, f_1, f_2, f_3 = 0.0, 0.0, 0.0, 0.0
            j, fours = first, first + (last - first) // FOUR * FOUR
            if sparse:
                while j < fours:
                    f += w[columns[j]] * values[j]
                    f_1 += w[columns[j + ONE]] * values[j + ONE]
                    f_2 += w[columns[j + TWO]] * values[j + TWO]
                    f_3 += w[columns[j + THREE]] * values[j + THREE]
                    j += FOUR
                while j < last:
                    f += w[columns[j]] * values[j]
                    j += ONE
            else:
                j = np.uint64(0)
                fours = width // FOUR * FOUR
                while j < fours:
                    f += w[j] * values[first + j]
                    f_1 += w[j + ONE] * values[first + j + ONE]
                    f_2 += w[j + TWO] * values[first + j + TWO]
                    f_3 += w[j + THREE] * values[first + j + THREE]
                    j += FOUR
                while j < width:
                    f += w[j] * values[first + j]
                    j += ONE
            f += f_1 + f_2 + f_3
            for c in range(q):
                f += beta[c] * B[i, c]
            row = rows[i]
            a = row[0]
            # Derivatives upwards and downwards; where the box forbids the move none is wanted.
            right = f + row[3] + row[5] * a if a >= 0.0 else f + row[2] + row[4] * a
            left = f + row[3] + row[5] * a if a > 0.0 else f + row[2] + row[4] * a
            up = -right if a < row[7] else -np.inf
            down = left if a > row[6] else -np.inf
            violation = max(up, down)
            if violation <= 0.0:
                resting[k] = violation < -limit
                continue
            largest = max(largest, violation)
            target, new = row[1] * a - f, 0.0
            if target > row[3]:
                new = min((target - row[3]) / (row[1] + row[5]), row[7])
            elif target < row[2]:
                new = max((target - row[2]) / (row[1] + row[4]), row[6])
            change = new - a
            if change == 0.0:
                continue
            row[0] = new
            if sparse:
                for j in range(first, last):
                    w[columns[j]] += change * values[j]
            else:
                for j in range(width):
                    w[j] += change * values[first + j]
            for c in range(q):
                beta[c] += rho[c] * change * B[i, c]
    return largest
