// Runs kernels without a GPU. The threads of a block are fibers of one thread of the host: each runs
// until it ends or waits for others, at a barrier or within its warp. Blocks come one after the other,
// in an order that a seed chooses, as do the threads of a block, so that a barrier that is missing
// shows: shared memory is NaN until it is written.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <type_traits>
#include <utility>
#include <vector>

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
static thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

namespace fm_host {

typedef void (*Entry)(void **);

constexpr size_t STACK = 256 << 10, SHARED = 227 << 10;

enum class State { Fresh, Ready, AtBarrier, InWarp, Done };

struct Fiber {
    ucontext_t context;
    void *stack = nullptr;
    State state = State::Fresh;
    /// The lanes that a wait within the warp is for.
    unsigned mask = 0;
    /// How many exchanges it has begun: two neighbouring ones use different slots.
    unsigned exchanges = 0;
};

/// A thing in shared memory: where it is declared says which one it is.
struct Piece {
    const void *key;
    size_t offset;
};

struct Warp {
    unsigned long long slots[2][warpSize];
};

/// The block that this thread of the host runs.
struct Block {
    Entry entry;
    void **args;
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<void *> stacks;
    std::vector<Piece> pieces;
    size_t used = 0;
    alignas(128) char shared[SHARED];
    ucontext_t scheduler;
    unsigned current = 0;
    char error[256] = "";
};
static thread_local Block *block = nullptr;

/// Gives the word to the scheduler until it lets this fiber go on.
inline void wait(State state, unsigned mask = 0) {
    Block &all = *block;
    Fiber &me = all.fibers[all.current];
    me.state = state;
    me.mask = mask;
    swapcontext(&me.context, &all.scheduler);
}

inline void body() {
    Block &all = *block;
    all.entry(all.args);
    all.fibers[all.current].state = State::Done;
    // The scheduler takes the stack back, so nothing may run on it any more.
    setcontext(&all.scheduler);
}

inline void resume(unsigned number) {
    Block &all = *block;
    Fiber &fiber = all.fibers[number];
    all.current = number;
    threadIdx = {number % blockDim.x, number / blockDim.x % blockDim.y,
                 number / blockDim.x / blockDim.y};
    if (fiber.state == State::Fresh) {
        if (all.stacks.empty()) {
            const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
            void *more = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, flags, -1, 0);
            if (more == MAP_FAILED) {
                perror("no memory for the stack of a thread of a block");
                abort();
            }
            all.stacks.push_back(more);
        }
        fiber.stack = all.stacks.back();
        all.stacks.pop_back();
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack;
        fiber.context.uc_stack.ss_size = STACK;
        makecontext(&fiber.context, body, 0);
    }
    fiber.state = State::Ready;
    swapcontext(&all.scheduler, &fiber.context);
    if (fiber.state == State::Done) {
        all.stacks.push_back(fiber.stack);
        fiber.stack = nullptr;
    }
}

/// Lets the lanes of a warp go on for which all have come that they wait for.
inline bool release_warp(unsigned first, unsigned count) {
    std::vector<Fiber> &fibers = block->fibers;
    for (unsigned lane = 0; lane < count; ++lane) {
        const Fiber &one = fibers[first + lane];
        if (one.state != State::InWarp) {
            continue;
        }
        bool complete = true;
        for (unsigned other = 0; other < (unsigned)warpSize; ++other) {
            if (one.mask >> other & 1) {
                complete = complete && other < count && fibers[first + other].state == State::InWarp
                    && fibers[first + other].mask == one.mask;
            }
        }
        if (complete) {
            const unsigned mask = one.mask;
            for (unsigned other = 0; other < count; ++other) {
                if (mask >> other & 1) {
                    fibers[first + other].state = State::Ready;
                }
            }
            return true;
        }
    }
    return false;
}

/// Lets fibers go on that waited for each other; false where none can.
inline bool release() {
    std::vector<Fiber> &fibers = block->fibers;
    bool any = false, at_barrier = true;
    for (unsigned first = 0; first < fibers.size(); first += warpSize) {
        const size_t left = fibers.size() - first;
        any |= release_warp(first, left < (size_t)warpSize ? (unsigned)left : warpSize);
    }
    for (const Fiber &fiber : fibers) {
        at_barrier = at_barrier && (fiber.state == State::AtBarrier || fiber.state == State::Done);
    }
    for (Fiber &fiber : fibers) {
        if (at_barrier && fiber.state == State::AtBarrier) {
            fiber.state = State::Ready;
            any = true;
        }
    }
    return any;
}

inline bool is_over() {
    for (const Fiber &fiber : block->fibers) {
        if (fiber.state != State::Done) {
            return false;
        }
    }
    return true;
}

/// A number that has no divisor in common with `count`, so that its multiples go through all.
inline unsigned long long stride(unsigned long long count, unsigned long long seed) {
    for (unsigned long long step = seed % count + 1;; ++step) {
        unsigned long long a = step, b = count;
        while (b != 0) {
            const unsigned long long rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) {
            return step;
        }
    }
}

inline void run_block(unsigned seed) {
    Block &all = *block;
    const size_t count = all.fibers.size();
    for (Fiber &fiber : all.fibers) {
        fiber.state = State::Fresh;
        fiber.exchanges = 0;
    }
    memset(all.shared, 0xff, all.used);
    const size_t step = stride(count, seed);
    while (!is_over()) {
        for (size_t turn = 0; turn < count; ++turn) {
            const size_t number = (seed + turn * step) % count;
            const State state = all.fibers[number].state;
            if (state == State::Fresh || state == State::Ready) {
                resume((unsigned)number);
            }
        }
        if (!is_over() && !release()) {
            unsigned at = 0;
            while (all.fibers[at].state == State::Done) {
                ++at;
            }
            const char *place = all.fibers[at].state == State::AtBarrier ? "a barrier" : "its warp";
            snprintf(all.error, sizeof all.error,
                     "thread %u of block (%u, %u, %u) waits in vain at %s: others ended, or wait "
                     "somewhere else",
                     at, blockIdx.x, blockIdx.y, blockIdx.z, place);
            return;
        }
    }
}

/// Where a thing of the block's shared memory lies; `key` says which.
inline void *shared(const void *key, size_t bytes) {
    Block &all = *block;
    for (const Piece &piece : all.pieces) {
        if (piece.key == key) {
            return all.shared + piece.offset;
        }
    }
    const size_t offset = (all.used + 127) / 128 * 128;
    if (offset + bytes > SHARED) {
        fprintf(stderr, "a block asks for more than %zu bytes of shared memory\n", SHARED);
        abort();
    }
    all.pieces.push_back({key, offset});
    all.used = offset + bytes;
    memset(all.shared + offset, 0xff, bytes);
    return all.shared + offset;
}

/// What the lane of this number gave in the exchange that all lanes of `mask` take part in.
template <class T, class From> inline T exchange(unsigned mask, T value, From from) {
    static_assert(sizeof(T) <= 8, "a word of a register or two");
    Block &all = *block;
    const unsigned number = all.current, lane = number % warpSize;
    auto &slots = all.warps[number / warpSize].slots[all.fibers[number].exchanges++ % 2];
    memcpy(&slots[lane], &value, sizeof value);
    wait(State::InWarp, mask);
    // Another's slot stays until this lane has come to the exchange after the next.
    T found;
    memcpy(&found, &slots[from((int)lane) % warpSize], sizeof found);
    return found;
}

template <class... A, size_t... I>
inline void call(void (*kernel)(A...), void **args, std::index_sequence<I...>) {
    kernel(*(typename std::decay<A>::type *)args[I]...);
}
template <class... A> inline void call(void (*kernel)(A...), void **args) {
    call(kernel, args, std::index_sequence_for<A...>());
}

/// How many arguments a kernel has, then the bytes of each. Not `inline`: libraries would share the numbers,
/// and two of them may have structs of one name.
template <class... A> static const size_t *sizes(void (*)(A...)) {
    static const size_t all[] = {sizeof...(A), sizeof(typename std::decay<A>::type)...};
    return all;
}

} // namespace fm_host

// Makes `host_NAME`, which takes the kernel's arguments as a launch of CUDA's driver does, and
// `host_sizes_NAME`, which tells who keeps them for later how many there are and how large each is.
#define FM_HOST_ENTRY(NAME) \
    extern "C" void host_##NAME(void **args) { fm_host::call(NAME, args); } \
    extern "C" const size_t *host_sizes_##NAME() { return fm_host::sizes(NAME); }

/// Runs a kernel; gives an empty text, or what went wrong, which the thread's next launch replaces.
extern "C" const char *fm_host_launch(
    fm_host::Entry entry, void **args, const unsigned *grid, const unsigned *threads, unsigned seed) {
    using namespace fm_host;
    static thread_local Block *const own = new Block;
    block = own;
    own->entry = entry;
    own->args = args;
    own->error[0] = 0;
    own->pieces.clear();
    own->used = 0;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {threads[0], threads[1], threads[2]};
    const size_t count = (size_t)blockDim.x * blockDim.y * blockDim.z;
    own->fibers.assign(count, Fiber());
    own->warps.assign((count + warpSize - 1) / warpSize, Warp());
    const unsigned long long blocks = (unsigned long long)grid[0] * grid[1] * grid[2];
    const unsigned long long step = blocks == 0 ? 1 : stride(blocks, seed);
    for (unsigned long long turn = 0; turn < blocks && own->error[0] == 0; ++turn) {
        const unsigned long long number = (seed + turn * step) % blocks;
        blockIdx = {(unsigned)(number % grid[0]), (unsigned)(number / grid[0] % grid[1]),
                    (unsigned)(number / grid[0] / grid[1])};
        run_block(seed + (unsigned)number);
    }
    for (Fiber &fiber : own->fibers) {
        if (fiber.stack != nullptr) { // it waited in vain
            own->stacks.push_back(fiber.stack);
        }
    }
    return own->error;
}
