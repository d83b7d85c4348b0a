"""What kernels need of a processor that numba has no name for.

Places are not checked and do not count from the end: whoever calls keeps them inside.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_BYTE, _WORD = ir.IntType(8), ir.IntType(64)


@intrinsic
def byte_at(_context: Any, array: Any, _place: Any) -> Any:
    """A byte of an array of uint8, as int64."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.zext(builder.load(_pointer(context, builder, signature, args)), _WORD)

    return types.int64(array, types.int64), code


@intrinsic
def word_at(_context: Any, array: Any, _place: Any) -> Any:
    """Eight bytes of an array of uint8 from any place on, the first one lowest, as uint64."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature, args)
        return builder.load(builder.bitcast(pointer, _WORD.as_pointer()), align=1)

    return types.uint64(array, types.int64), code


@intrinsic
def trailing_zeros(_context: Any, _word: Any) -> Any:
    """How many bits of a uint64 are 0 below the lowest that is 1, as int64; 64 where none is."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), code


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(builder.bitcast(array.data, _BYTE.as_pointer()), [args[1]])
