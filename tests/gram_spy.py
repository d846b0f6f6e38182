"""A Gram that notes what it is asked."""

from mercer.gram import Dense, Gram


class Spy(Gram):
    """A matrix in memory; ``asked`` lists the rows and columns of every block that was read."""

    def __init__(self, K):
        self.below = Dense(K)
        self.asked = []

    @property
    def shape(self):
        return self.below.shape

    @property
    def dtype(self):
        return self.below.dtype

    def block(self, rows, columns):
        self.asked.append((rows, columns))
        return self.below.block(rows, columns)

    def diag(self):
        return self.below.diag()
