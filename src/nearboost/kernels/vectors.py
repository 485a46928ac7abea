"""What LLVM makes no vector instructions of by itself: a loop that looks for the place of the lowest float.

Written in vectors of LLVM's, which become whatever the processor has; five to nine times faster than the loop.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16  # numbers that are taken at once: a size must be a multiple
FAR = np.float32(1e30)  # above every score that counts

INT = ir.IntType(32)
FLOATS, PLACES, KEYS = (ir.VectorType(one, LANES) for one in (ir.FloatType(), INT, ir.IntType(64)))


@intrinsic
def subtract_row(typing_context, scores, row, weight):
    """``scores -= weight * row``; the first place with the lowest score, one of those below FAR.

    ``scores`` and ``row`` are contiguous float32 arrays; the first has whole vectors, the second as many numbers.
    """
    if any((one.dtype, one.ndim, one.layout) != (types.float32, 1, "C") for one in (scores, row)):
        return None
    return types.int32(scores, row, weight), _subtract_row


def _subtract_row(context, builder, signature, arguments):
    scores, row = (
        context.make_array(kind)(context, builder, one)
        for kind, one in zip(signature.args[:2], arguments[:2], strict=True)
    )
    weight = _in_all_lanes(builder, arguments[2], FLOATS)
    n_vectors = builder.udiv(builder.extract_value(scores.shape, 0), context.get_constant(types.intp, LANES))
    lowest = cgutils.alloca_once_value(builder, ir.Constant(FLOATS, [float(FAR)] * LANES))
    found_in = cgutils.alloca_once_value(builder, ir.Constant(PLACES, [0] * LANES))
    with cgutils.for_range(builder, n_vectors) as loop:
        here, there = (
            builder.gep(builder.bitcast(one.data, FLOATS.as_pointer()), [loop.index]) for one in (scores, row)
        )
        product = builder.fmul(weight, builder.load(there, align=4), flags=["contract"])
        score = builder.fsub(builder.load(here, align=4), product, flags=["contract"])
        builder.store(score, here, align=4)
        before = builder.load(lowest)
        lower = builder.fcmp_ordered("<", score, before)
        builder.store(builder.select(lower, score, before), lowest)
        vector = _in_all_lanes(builder, builder.trunc(loop.index, INT), PLACES)
        builder.store(builder.select(lower, vector, builder.load(found_in)), found_in)
    return _first_place(builder, builder.load(lowest), builder.load(found_in))


def _first_place(builder, lowest, found_in):
    """Of the lowest of all lanes, given the vector that each lane's was found in.

    The bits of a float, those after the sign turned round below 0, are a whole number of the same order; with the
    place below them, one search for a minimum finds both.
    """
    bits = builder.bitcast(lowest, PLACES)
    signs = builder.ashr(bits, ir.Constant(PLACES, [31] * LANES))
    ordered = builder.xor(bits, builder.and_(signs, ir.Constant(PLACES, [2**31 - 1] * LANES)))
    places = builder.mul(found_in, ir.Constant(PLACES, [LANES] * LANES))
    places = builder.add(places, ir.Constant(PLACES, list(range(LANES))))
    above = builder.shl(builder.sext(ordered, KEYS), ir.Constant(KEYS, [32] * LANES))
    keys = builder.or_(above, builder.zext(places, KEYS))
    kind = ir.FunctionType(KEYS.element, [KEYS])
    minimum = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.smin.v{LANES}i64")
    return builder.trunc(builder.call(minimum, [keys]), INT)


def _in_all_lanes(builder, number, vector):
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, number, INT(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(PLACES, [0] * LANES))
