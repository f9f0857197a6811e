"""Blocks of threads on the host: barriers, warps and shared memory as CUDA defines them."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from host import NEEDS_COMPILER, Kernels

from ferromix.dispatch import host_driver
from ferromix.dispatch.source import folder

pytestmark = NEEDS_COMPILER

SOURCE = (
    (folder() / "include" / "shared.cuh").read_text().replace("#pragma once", "")
    + r"""
extern "C" __global__ void sum(const float *x, float *out, int count) {
    FM_SHARED(float, part, 256);
    float total = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        total += x[blockIdx.x * count + i];
    }
    part[threadIdx.x] = total;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            part[threadIdx.x] += part[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = part[0];
    }
}

extern "C" __global__ void reversed_without_a_barrier(float *out) {
    FM_SHARED(float, all, 64);
    all[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void warps(
    const double *x, double *down, double *flip, double *up, double *one) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    double total = x[i], all = x[i];
    for (unsigned by = 16; by > 0; by /= 2) {
        total += __shfl_down_sync(0xffffffffu, total, by);
        all += __shfl_xor_sync(0xffffffffu, all, by);
    }
    down[i] = total;
    flip[i] = all;
    up[i] = __shfl_up_sync(0xffffffffu, x[i], 3, 8);
    one[i] = __shfl_sync(0xffffffffu, x[i], 5, 16);
}

extern "C" __global__ void half_a_warp(int *out) {
    if (threadIdx.x % 2 == 0) {
        out[threadIdx.x] = __shfl_xor_sync(0x55555555u, (int)threadIdx.x, 2);
    } else {
        __syncwarp(0xaaaaaaaau);
        out[threadIdx.x] = -1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        out[blockDim.x] = out[2] + out[1];
    }
}

extern "C" __global__ void who(int *out, int *count) {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
    atomicAdd(count, 1);
}

template <int N> __device__ float own(float x) {
    FM_SHARED(float, room, N);
    if (threadIdx.x == 0) {
        room[N - 1] = x;
    }
    __syncthreads();
    return room[N - 1];
}
extern "C" __global__ void instances(float *out) {
    const float a = own<2>(2), b = own<3>(3);
    out[threadIdx.x] = a * 10 + b;
}

extern "C" __global__ void apart(int *out) {
    if (threadIdx.x == 1) {
        __syncthreads();
    } else {
        __syncwarp(1);
        __shfl_sync(3, 1, 0);
    }
    out[threadIdx.x] = 1;
}

extern "C" __global__ void some_leave(int *out) {
    if (threadIdx.x >= 2) {
        return;
    }
    __syncthreads();
    out[threadIdx.x] = 1;
}
"""
)


@pytest.fixture(scope="module")
def kernels():
    return Kernels(host_driver.text_library(SOURCE))


SEEDS = [0, 1, 2, 77]


@pytest.mark.parametrize("seed", SEEDS)
def test_barriers_and_shared_memory(kernels, seed):
    x = np.random.default_rng(0).standard_normal((5, 1000), np.float32)
    out = np.zeros(5, np.float32)
    kernels.launch("sum", (5,), (256,), x, out, ctypes.c_int(1000), seed=seed)
    np.testing.assert_allclose(out, x.sum(1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_missing_barrier_shows(kernels, seed):
    out = np.zeros(64, np.float32)
    kernels.launch("reversed_without_a_barrier", (1,), (64,), out, seed=seed)
    assert np.isnan(out).sum() == 32


@pytest.mark.parametrize("seed", SEEDS)
def test_lanes_of_a_warp_exchange_values(kernels, seed):
    x = np.random.default_rng(1).integers(0, 100, 128).astype(np.float64)
    down, flip, up, one = (np.zeros(128) for _ in range(4))
    kernels.launch("warps", (2,), (64,), x, down, flip, up, one, seed=seed)
    rows, eights = x.reshape(4, 32), x.reshape(16, 8)
    np.testing.assert_array_equal(down[::32], rows.sum(1))
    np.testing.assert_array_equal(flip.reshape(4, 32), np.repeat(rows.sum(1), 32).reshape(4, 32))
    np.testing.assert_array_equal(up.reshape(16, 8), eights[:, [0, 1, 2, 0, 1, 2, 3, 4]])
    np.testing.assert_array_equal(one.reshape(8, 16), np.repeat(x[5::16], 16).reshape(8, 16))


def test_lanes_wait_for_those_of_their_mask_alone(kernels):
    out = np.zeros(65, np.int32)
    kernels.launch("half_a_warp", (1,), (64,), out)
    number = np.arange(64)
    np.testing.assert_array_equal(out[:64], np.where(number % 2, -1, number ^ 2))
    assert out[64] == -1


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_and_threads_have_three_dimensions(kernels, seed):
    out, count = np.full(3 * 2 * 2 * 24, -1, np.int32), np.zeros(1, np.int32)
    kernels.launch("who", (3, 2, 2), (4, 3, 2), out, count, seed=seed)
    block, thread = np.divmod(np.arange(out.size), 24)
    np.testing.assert_array_equal(out, block * 1000 + thread)
    assert count[0] == out.size


def test_no_blocks_do_nothing(kernels):
    count = np.zeros(1, np.int32)
    kernels.launch("who", (0,), (4,), count, count)
    assert count[0] == 0


def test_each_instance_of_a_template_has_shared_memory_of_its_own(kernels):
    out = np.zeros(32, np.float32)
    kernels.launch("instances", (1,), (32,), out)
    assert out.tolist() == [23] * 32


def test_threads_that_wait_in_vain_are_named(kernels):
    out = np.zeros(2, np.int32)
    for _ in range(2):
        with pytest.raises(
            RuntimeError, match=r"apart: thread 0 of block \(0, 0, 0\) waits in vain"
        ):
            kernels.launch("apart", (1,), (2,), out)
    assert out.tolist() == [0, 0]


def test_threads_that_ended_are_not_waited_for_at_barriers(kernels):
    out = np.zeros(8, np.int32)
    kernels.launch("some_leave", (1,), (8,), out)
    assert out.tolist() == [1, 1, 0, 0, 0, 0, 0, 0]


def test_the_compiler_has_nothing_to_say(tmp_path):
    path, entries, warnings = host_driver.build(SOURCE, tmp_path)
    assert warnings == ""
    assert "sum" in entries
    assert entries == Kernels(path).entries
