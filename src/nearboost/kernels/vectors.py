"""What LLVM makes no vector instructions of by itself: the place of the lowest float, sums kept in registers.

Written in vectors of LLVM's, which become whatever the processor has; five to nine times faster than loops.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16  # numbers that are taken at once: a size must be a multiple
FAR = np.float32(1e30)  # above every score that counts
ROWS = 6  # that are multiplied at once: as many vectors as registers hold, and two more

INT = ir.IntType(32)
FLOATS, PLACES = (ir.VectorType(one, LANES) for one in (ir.FloatType(), INT))


@intrinsic
def subtract_row(typing_context, scores, at, width, rows, start, weight):
    """``scores[at : at + width] -= weight * rows[start : start + width]``; the place of their lowest, from 0 on.

    The first of several that are equal, one of those below FAR. Both are contiguous float32 arrays, counted as if
    they had one dimension; ``width`` is of whole vectors.
    """
    if any((one.dtype, one.layout) != (types.float32, "C") for one in (scores, rows)):
        return None
    return types.int32(scores, at, width, rows, start, weight), _subtract_row


def _subtract_row(context, builder, signature, arguments):
    scores, rows = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 3))
    here, there = (
        builder.bitcast(builder.gep(one.data, [offset]), FLOATS.as_pointer())
        for one, offset in ((scores, arguments[1]), (rows, arguments[4]))
    )
    weight = _in_all_lanes(builder, arguments[5], FLOATS)
    n_vectors = builder.udiv(arguments[2], context.get_constant(types.intp, LANES))
    lowest = cgutils.alloca_once_value(builder, ir.Constant(FLOATS, [float(FAR)] * LANES))
    found_in = cgutils.alloca_once_value(builder, ir.Constant(PLACES, [0] * LANES))
    with cgutils.for_range(builder, n_vectors) as loop:
        place = builder.gep(here, [loop.index])
        row = builder.load(builder.gep(there, [loop.index]), align=4)
        product = builder.fmul(weight, row, flags=["contract"])
        score = builder.fsub(builder.load(place, align=4), product, flags=["contract"])
        builder.store(score, place, align=4)
        before = builder.load(lowest)
        lower = builder.fcmp_ordered("<", score, before)
        builder.store(builder.select(lower, score, before), lowest)
        vector = _in_all_lanes(builder, builder.trunc(loop.index, INT), PLACES)
        builder.store(builder.select(lower, vector, builder.load(found_in)), found_in)
    return _first_place(builder, builder.load(lowest), builder.load(found_in))


def _first_place(builder, lowest, found_in):
    """Of the lowest of all lanes, given the vector that each lane's was found in."""
    least, width = lowest, LANES
    while width > 1:  # halves on halves, until all lanes hold the least
        width //= 2
        other = _turned(builder, least, width)
        least = builder.select(builder.fcmp_ordered("<", other, least), other, least)
    places = builder.mul(found_in, ir.Constant(PLACES, [LANES] * LANES))
    places = builder.add(places, ir.Constant(PLACES, list(range(LANES))))
    nowhere = ir.Constant(PLACES, [2**31 - 1] * LANES)
    places = builder.select(builder.fcmp_ordered("==", lowest, least), places, nowhere)
    kind = ir.FunctionType(INT, [PLACES])
    minimum = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.smin.v{LANES}i32")
    return builder.call(minimum, [places])


def _turned(builder, vector, width):
    """Each lane in the place of the one so many lanes off."""
    return builder.shuffle_vector(vector, vector, ir.Constant(PLACES, [lane ^ width for lane in range(LANES)]))


def _in_all_lanes(builder, number, vector):
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, number, INT(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(PLACES, [0] * LANES))


@intrinsic
def squared_gaps(typing_context, X, own, rows, first, squares):
    """``squares[i] = |X[own] − X[rows[first + i]]|²`` for ROWS rows, the last one again beyond it.

    X is a contiguous float32 matrix of whole vectors, ``rows`` are int32, ``squares`` float32.
    """
    kinds = [(one.dtype, one.ndim, one.layout) for one in (X, rows, squares)]
    if kinds != [(types.float32, 2, "C"), (types.int32, 1, "C"), (types.float32, 1, "C")]:
        return None
    return types.void(X, types.intp, rows, types.intp, squares), _squared_gaps


def _squared_gaps(context, builder, signature, arguments):
    X, rows, squares = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2, 4))
    width = builder.extract_value(X.shape, 1)
    last = builder.sub(builder.extract_value(rows.shape, 0), context.get_constant(types.intp, 1))

    def row_of(number):
        return builder.bitcast(builder.gep(X.data, [builder.mul(number, width)]), FLOATS.as_pointer())

    own, others, totals = row_of(arguments[1]), [], []
    for i in range(ROWS):
        place = builder.add(arguments[3], context.get_constant(types.intp, i))
        place = builder.select(builder.icmp_signed("<", place, last), place, last)
        number = builder.load(builder.gep(rows.data, [place]))
        others.append(row_of(builder.zext(number, width.type)))
        totals.append(cgutils.alloca_once(builder, FLOATS))
        builder.store(ir.Constant(FLOATS, [0.0] * LANES), totals[i])
    n_vectors = builder.udiv(width, context.get_constant(types.intp, LANES))
    with cgutils.for_range(builder, n_vectors) as loop:
        here = builder.load(builder.gep(own, [loop.index]), align=4)
        for other, total in zip(others, totals, strict=True):
            gap = builder.fsub(here, builder.load(builder.gep(other, [loop.index]), align=4))
            square = builder.fmul(gap, gap, flags=["contract"])
            builder.store(builder.fadd(builder.load(total), square, flags=["contract"]), total)
    for i, total in enumerate(totals):
        total, width = builder.load(total), LANES
        while width > 1:  # halves on halves
            width //= 2
            total = builder.fadd(total, _turned(builder, total, width))
        place = builder.gep(squares.data, [context.get_constant(types.intp, i)])
        builder.store(builder.extract_element(total, INT(0)), place)
    return context.get_dummy_value()


@intrinsic
def multiply_rows(typing_context, A, first, start, panel, sums):
    """``sums[i] += A[first + i, start : start + len(panel)] @ panel`` for ROWS rows, the last one again beyond it.

    All are contiguous float32 matrices, the last two LANES wide. Each sum is made in the order of the features.
    """
    if any((one.dtype, one.ndim, one.layout) != (types.float32, 2, "C") for one in (A, panel, sums)):
        return None
    return types.void(A, first, start, panel, sums), _multiply_rows


def _multiply_rows(context, builder, signature, arguments):
    A, panel, sums = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 3, 4))
    first, start = arguments[1:3]
    n_rows, n_features = (builder.extract_value(A.shape, i) for i in range(2))
    last = builder.sub(n_rows, context.get_constant(types.intp, 1))
    tops, factors = (builder.bitcast(one.data, FLOATS.as_pointer()) for one in (sums, panel))
    rows, places, totals = [], [], []
    for i in range(ROWS):
        row = builder.add(first, context.get_constant(types.intp, i))
        row = builder.select(builder.icmp_signed("<", row, last), row, last)
        rows.append(builder.gep(A.data, [builder.add(builder.mul(row, n_features), start)]))
        places.append(builder.gep(tops, [context.get_constant(types.intp, i)]))
        totals.append(cgutils.alloca_once(builder, FLOATS))
        builder.store(builder.load(places[i], align=4), totals[i])
    with cgutils.for_range(builder, builder.extract_value(panel.shape, 0)) as loop:
        factor = builder.load(builder.gep(factors, [loop.index]), align=4)
        for row, total in zip(rows, totals, strict=True):
            number = _in_all_lanes(builder, builder.load(builder.gep(row, [loop.index])), FLOATS)
            product = builder.fmul(number, factor, flags=["contract"])
            builder.store(builder.fadd(builder.load(total), product, flags=["contract"]), total)
    for place, total in zip(places, totals, strict=True):
        builder.store(builder.load(total), place, align=4)
    return context.get_dummy_value()
