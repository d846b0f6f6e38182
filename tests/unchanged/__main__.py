"""Write the stored signatures and predictions again: only where a change of them is meant.

From the folder of the tests, ``python -m unchanged``; what it changes is then read in the diff.
"""

import warnings

from unchanged import fits, signatures

if __name__ == "__main__":
    warnings.simplefilter("error")
    signatures.write()
    fits.write()
