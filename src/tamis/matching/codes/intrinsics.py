"""SIMD intrinsics for kernels: sixteen int32 lanes at a time, prefetch, reads by address; Numba lacks them.

They are called from kernels only. The vector operations are LLVM's own and run on any processor; `compress16` alone is
fast only where the processor compresses lanes itself (AVX-512), so kernels are told whether it does (`has_compress`)
and pick their lanes one by one elsewhere.
"""

from __future__ import annotations

import os
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 16

_I16, _I32, _I64 = ir.IntType(16), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_I32, LANES)
_MASK = ir.VectorType(ir.IntType(1), LANES)


def has_compress() -> bool:
    """True if this process compiles for a processor that compresses lanes into memory in one instruction."""
    if os.environ.get("TAMIS_NO_COMPRESS") or "-avx512f" in os.environ.get("NUMBA_CPU_FEATURES", ""):
        return False
    return bool(llvm.get_host_cpu_features().get("avx512f", False))


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


def _load(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.load(
        builder.bitcast(_address(context, builder, array_type, array, index), _VECTOR.as_pointer()), align=4
    )


def _splat(builder: Any, value: Any) -> Any:
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(undefined, value, _I32(0))
    return builder.shuffle_vector(one, undefined, ir.Constant(_VECTOR, [0] * LANES))


def _as_bits(builder: Any, mask: Any) -> Any:
    return builder.zext(builder.bitcast(mask, _I16), _I64)


@intrinsic
def not_above16(typing_context, array, index, value):  # type: ignore[no-untyped-def]
    """Mask of sixteen lanes; bit i: `array[index + i] <= value`."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        lanes = _load(context, builder, signature.args[0], args[0], args[1])
        return _as_bits(builder, builder.icmp_signed("<=", lanes, _splat(builder, args[2])))

    return types.uint64(array, types.int64, types.int32), codegen


@intrinsic
def not_below16(typing_context, array, index, value):  # type: ignore[no-untyped-def]
    """Mask of sixteen lanes; bit i: `array[index + i] >= value`."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        lanes = _load(context, builder, signature.args[0], args[0], args[1])
        return _as_bits(builder, builder.icmp_signed(">=", lanes, _splat(builder, args[2])))

    return types.uint64(array, types.int64, types.int32), codegen


@intrinsic
def gathered_within16(typing_context, pool, columns, lows, highs, event, mask):  # type: ignore[no-untyped-def]
    """Mask of lanes; bit i (where set in `mask`): `pool[lows + i] <= event[pool[columns + i]] <= pool[highs + i]`."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        column, low, high = (_load(context, builder, signature.args[0], args[0], at) for at in args[1:4])
        wide = ir.VectorType(_I64, LANES)
        undefined = ir.Constant(wide, ir.Undefined)
        base = builder.ptrtoint(context.make_array(signature.args[4])(context, builder, args[4]).data, _I64)
        bases = builder.shuffle_vector(
            builder.insert_element(undefined, base, _I32(0)), undefined, ir.Constant(_VECTOR, [0] * LANES)
        )
        addresses = builder.add(bases, builder.shl(builder.zext(column, wide), ir.Constant(wide, [2] * LANES)))
        pointers = ir.VectorType(_I32.as_pointer(), LANES)
        gather = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(_VECTOR, [pointers, _I32, _MASK, _VECTOR]),
            "llvm.masked.gather.v16i32.v16p0",
        )
        wanted = builder.bitcast(builder.trunc(args[5], _I16), _MASK)
        value = builder.call(
            gather, [builder.inttoptr(addresses, pointers), _I32(4), wanted, ir.Constant(_VECTOR, [0] * LANES)]
        )
        held = builder.and_(builder.icmp_signed("<=", low, value), builder.icmp_signed("<=", value, high))
        return _as_bits(builder, held)

    return types.uint64(pool, types.int64, types.int64, types.int64, event, types.uint64), codegen


@intrinsic
def compress16(typing_context, pool, index, mask, out, end):  # type: ignore[no-untyped-def]
    """Writes `pool[index + i]` for every bit i of `mask` to `out` from `end` on; returns the new end."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        lanes = _load(context, builder, signature.args[0], args[0], args[1])
        store = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [_VECTOR, _I32.as_pointer(), _MASK]),
            "llvm.masked.compressstore.v16i32",
        )
        kept = builder.bitcast(builder.trunc(args[2], _I16), _MASK)
        builder.call(store, [lanes, _address(context, builder, signature.args[3], args[3], args[4]), kept])
        return builder.add(args[4], builder.ctpop(args[2]))

    return types.int64(pool, types.int64, types.uint64, out, types.int64), codegen


@intrinsic
def trailing_zeros(typing_context, bits):  # type: ignore[no-untyped-def]
    """The number of the lowest bit set."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.cttz(args[0], cgutils.false_bit)

    return types.uint64(types.uint64), codegen


@intrinsic
def prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]
    """Asks for the cache line of `array[index]`."""

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        byte = ir.IntType(8).as_pointer()
        address = builder.bitcast(_address(context, builder, signature.args[0], args[0], args[1]), byte)
        fetch = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32]), "llvm.prefetch.p0"
        )
        builder.call(fetch, [address, _I32(0), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


def _reader(kind: Any, numba_type: Any, size: int) -> Any:
    """An intrinsic `read(address, index)` of one machine type, unaligned."""

    @intrinsic
    def read(typing_context, address, index):  # type: ignore[no-untyped-def]
        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            at = builder.add(args[0], builder.mul(args[1], _I64(size)))
            return builder.load(builder.inttoptr(at, kind.as_pointer()), align=1)

        return numba_type(types.int64, types.int64), codegen

    return read


# Reads from an address: Arrow's buffers reach the encoding kernel by address, all columns in one call.
read_byte = _reader(ir.IntType(8), types.uint8, 1)
read_int32 = _reader(_I32, types.int32, 4)
read_int64 = _reader(_I64, types.int64, 8)
read_float = _reader(ir.DoubleType(), types.float64, 8)
