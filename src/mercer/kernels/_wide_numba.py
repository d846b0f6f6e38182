"""A compiler hint for loops over kernel values: use the widest vectors of the processor."""

from contextlib import suppress

from numba import types

from mercer._compile_numba import instruction

__all__ = ["wide"]


@instruction(plain=lambda: None)
def wide(typing_context):
    """Ask the compiler for vectors of 512 bits in the function that calls this, if there are any.

    LLVM takes half of a vector on processors with AVX-512, because the first of them ran slower
    for all other code after a wide instruction. A loop that does nothing but arithmetic is up to
    twice as fast with whole vectors; processors without them ignore the hint. A function that is
    compiled into its caller follows the hint of the caller, and should have its own.
    """

    def generate(context, builder, signature, arguments):
        # A set of strings whose own method knows no attributes with values.
        with suppress(TypeError):
            set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return context.get_dummy_value()

    return types.none(), generate
