"""Write the stored signatures and predictions again: only where a change of them is meant.

From the folder of the tests, ``python -m unchanged``; the diff then shows every changed line.
"""

import warnings

from unchanged import fits, signatures

if __name__ == "__main__":
    warnings.simplefilter("error")
    signatures.write()
    fits.write()
