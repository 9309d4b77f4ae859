"""Vectors of the processor as values: what the loops over rows are written in.

A compiler finds vectors in plain loops, but it writes every step of a sum back to memory. Here a sum of many
columns stays in registers until it is done. `Lanes` are so many numbers side by side, one for each of as many
rows; they are wider than any processor's registers, and the compiler cuts them to what the machine has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba.extending
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils

from shoal.domain import STEPS

ROWS = 32
"""Rows side by side: a float32 each fills four of sixteen registers, and two sums leave room for a third."""

_WORDS = {
    types.float32: ir.FloatType(),
    types.float64: ir.DoubleType(),
    types.int32: ir.IntType(32),
    types.boolean: ir.IntType(1),
}


class Lanes(types.Type):  # type: ignore[misc]
    """So many numbers of one kind, side by side."""

    def __init__(self, of: Any, n: int) -> None:
        self.of, self.n = of, n
        self.word = ir.VectorType(_WORDS[of], n)
        super().__init__(name=f"Lanes({of}, {n})")


@numba.extending.register_model(Lanes)
class _Model(numba.extending.models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Lanes) -> None:
        super().__init__(manager, kind, kind.word)


def _operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark an operation: told the types of its arguments, it returns its own and what writes it down."""
    return cast(Callable[..., Any], numba.extending.intrinsic(function))


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any, lanes: Lanes) -> Any:
    """Return where in an array of one dimension lanes begin."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), lanes.word.as_pointer())


def _filled(builder: Any, value: Any, lanes: Lanes) -> Any:
    one = builder.insert_element(ir.Constant(lanes.word, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), lanes.n), [0] * lanes.n)
    return builder.shuffle_vector(one, ir.Constant(lanes.word, ir.Undefined), order)


@_operation
def load(_: Any, array: Any, _at: Any) -> Any:
    """Read lanes for `ROWS` rows from an array of one dimension, from a place on."""
    lanes = Lanes(array.dtype, ROWS)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1], lanes)
        return builder.load(place, align=array.dtype.bitwidth // 8)

    return lanes(array, types.intp), emit


def _wide(n: int) -> Any:
    @_operation
    def load_wide(_: Any, array: Any, _at: Any) -> Any:
        narrow, wide = Lanes(array.dtype, n), Lanes(types.float64, n)

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = _place(context, builder, signature.args[0], args[0], args[1], narrow)
            return builder.fpext(builder.load(place, align=4), wide.word)

        return wide(array, types.intp), emit

    return load_wide


load_16_wide, load_8_wide = _wide(16), _wide(8)  # float32 as float64


@_operation
def store(_: Any, array: Any, _at: Any, values: Any) -> Any:
    """Write lanes to an array, from a place on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, signature.args[0], args[0], args[1], values)
        builder.store(args[2], place, align=values.of.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, values), emit


@_operation
def fill(_: Any, like: Any, value: Any) -> Any:
    """Return lanes as many as `like` has, of one value."""
    lanes = Lanes(value, like.n)

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return _filled(builder, args[1], lanes)

    return lanes(like, value), emit


@_operation
def fill_rows(_: Any, value: Any) -> Any:
    """Return lanes for `ROWS` rows, of one value."""
    lanes = Lanes(value, ROWS)

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return _filled(builder, args[0], lanes)

    return lanes(value), emit


@_operation
def times_plus(_: Any, values: Any, _factor: Any, _more: Any) -> Any:
    """Return values times a factor, plus more; where the machine can, rounded once."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        name = f"llvm.fmuladd.v{values.n}f{values.of.bitwidth}"
        kind = ir.FunctionType(values.word, [values.word] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.call(function, [args[0], _filled(builder, args[1], values), args[2]])

    return values(values, values.of, values), emit


def _binary(work: Callable[[Any, Any, Any], Any]) -> Any:
    @_operation
    def operate(_: Any, a: Any, b: Any) -> Any:
        def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return work(builder, *args)

        return a(a, b), emit

    return operate


minus = _binary(lambda builder, a, b: builder.fsub(a, b))
# Of numbers, none of which is "not a number": one instruction each.
low = _binary(lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b))
high = _binary(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))


@_operation
def less(_: Any, a: Any, b: Any) -> Any:
    """Say for each lane whether a < b."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fcmp_ordered("<", *args)

    return Lanes(types.boolean, a.n)(a, b), emit


@_operation
def pick(_: Any, which: Any, a: Any, b: Any) -> Any:
    """Return a where `which` says so, b elsewhere."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.select(*args)

    return a(which, a, b), emit


@_operation
def bits(_: Any, which: Any) -> Any:
    """Return a whole number whose bit i is what lane i says."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.zext(builder.bitcast(args[0], ir.IntType(which.n)), ir.IntType(64))

    return types.uint64(which), emit


@_operation
def eight_rows(_: Any, block: Any, _column: Any, _at: Any) -> Any:
    """Return eight rows of eight columns of a float32 block in lattice steps: lanes of int32 for each row.

    Column by column they are read, row by row they are wanted: they are turned by pairs, fours and eights.
    """
    narrow, steps = Lanes(types.float32, 8), Lanes(types.int32, 8)
    rows = types.UniTuple(steps, 8)
    turns = [
        (1, [0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]),
        (2, [0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]),
        (4, [0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]),
    ]

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        _, length = cgutils.unpack_tuple(builder, array.shape, 2)
        scale = ir.Constant(narrow.word, [float(STEPS)] * 8)
        lanes = []
        for c in range(8):
            first = builder.mul(builder.add(args[1], ir.Constant(args[1].type, c)), length)
            place = builder.gep(array.data, [builder.add(first, args[2])])
            values = builder.load(builder.bitcast(place, narrow.word.as_pointer()), align=4)
            lanes.append(builder.fptosi(builder.fmul(values, scale), steps.word))
        for span, *halves in turns:
            orders = [ir.Constant(ir.VectorType(ir.IntType(32), 8), half) for half in halves]
            turned = list(lanes)
            for i in range(8):
                if not i & span:
                    for order, to in zip(orders, (i, i + span), strict=True):
                        turned[to] = builder.shuffle_vector(lanes[i], lanes[i + span], order)
            lanes = turned
        return context.make_tuple(builder, rows, [lanes[i] for i in (0, 2, 1, 3, 4, 6, 5, 7)])

    return rows(block, types.intp, types.intp), emit


@_operation
def add_to(_: Any, array: Any, _at: Any, values: Any) -> Any:
    """Add lanes of whole numbers to an array, from a place on."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, bytes_each = _place(context, builder, signature.args[0], args[0], args[1], values), 4
        builder.store(builder.add(builder.load(place, align=bytes_each), args[2]), place, align=bytes_each)
        return context.get_dummy_value()

    return types.void(array, types.intp, values), emit
