// The GPUs that the host plays: their memory, their streams, and the work that waits in them. Work
// runs late, in any order that its dependencies allow, on the thread of the host that calls.
#pragma once
#include <stdlib.h>
#include <string.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "driver_abi.h"
#include "driver_clocks.h"

struct Work {
    const std::string *name = nullptr;
    std::vector<Range> reads, writes;
    /// It runs on the device itself, which must reach what it touches.
    bool kernel = false;
    /// Does it; gives what went wrong.
    std::function<std::string(unsigned seed)> run;
};

/// What a stream has got: work, or only a point in time. Pointers between items are to those not done.
struct Item {
    uint64_t number = 0, visited = 0;
    unsigned long long stream = 0;
    int device = 0;
    std::shared_ptr<const Work> work;
    std::vector<Item *> after, before;
    Clock clock;
    bool done = false;
    CUresult fail = CUDA_SUCCESS;
    std::string reason;
};
typedef std::shared_ptr<Item> Point;

struct Capture;

struct Stream {
    unsigned long long number = 0;
    int device = 0;
    unsigned lane = 0;
    /// It and the legacy stream of its device wait for each other.
    bool blocking = false, legacy = false;
    Clock clock;
    Point tail;
    /// While it is captured: the nodes that its next node comes after, and its branch of the graph.
    std::shared_ptr<Capture> capture;
    std::vector<unsigned> tips;
    unsigned branch = 0;
};

struct Event {
    int device = 0;
    Point recorded;
    std::shared_ptr<Capture> capture;
    std::vector<unsigned> tips;
};

struct Function {
    const std::string *name;
    void (*entry)(void **);
    const char *(*launch)(void (*)(void **), void **, const unsigned *, const unsigned *, unsigned);
    const size_t *sizes;
};

struct Allocation {
    size_t bytes;
    int device;
};

struct Device {
    size_t used = 0;
    /// All that was ever given to it.
    Clock clock;
    std::shared_ptr<Stream> legacy;
    std::set<int> peers;
};

enum Policy { EAGER, ON_WAIT, RANDOM, STARVE };

/// Things that the caller knows by handles, which are never used twice and never looked through.
template <class T> class Table {
  public:
    explicit Table(uintptr_t first) : next_(first) {}
    template <class H> H add(std::shared_ptr<T> thing) {
        all.emplace(next_ += 1 << 8, std::move(thing));
        return (H)next_;
    }
    template <class H> std::shared_ptr<T> find(H handle) const {
        const auto at = all.find((uintptr_t)handle);
        return at == all.end() ? nullptr : at->second;
    }
    template <class H> void remove(H handle) { all.erase((uintptr_t)handle); }
    std::map<uintptr_t, std::shared_ptr<T>> all;

  private:
    uintptr_t next_;
};

struct Graph;
struct Exec;

struct Machine {
    std::mutex mutex;
    bool ready = false;
    std::vector<Device> devices;
    size_t memory = 0;
    std::map<uintptr_t, Allocation> allocations;
    std::map<uintptr_t, size_t> registered;
    /// Memory given back, kept poisoned for a while so that late users read NaN.
    std::deque<std::pair<void *, size_t>> grave;
    size_t buried = 0;

    Table<Stream> streams{0x10001};
    Table<Event> events{0x10002};
    Table<Graph> graphs{0x10003};
    Table<Exec> execs{0x10004};
    Table<Function> functions{0x10005};
    std::vector<std::weak_ptr<Capture>> captures;
    uint64_t next_stream = 0;

    std::map<uint64_t, Point> pending;
    std::vector<Item *> runnable;
    uint64_t next_item = 0, visit = 0;
    int policy = RANDOM;
    uint64_t random_state = 0, seed = 0, shy = 0;

    Shadow shadow;
    Clock host;
    std::vector<uint64_t> epochs;
    std::vector<unsigned> retired;

    CUresult sticky = CUDA_SUCCESS;
    std::string error;
    std::map<std::string, CUresult> failing_calls;
    /// Calls until one is left out; -1: it has been.
    std::map<std::string, long long> skipping;
    std::vector<std::pair<unsigned long long, CUresult>> failing_items;

    // driver_schedule.h
    uint64_t random(uint64_t below);
    void run(Item *item);
    void run_random();
    void run_for(const std::vector<Item *> &wanted, size_t most);
    void settle();
    void progress();
    void wait(const std::vector<Point> &points);
    void wait_device(int device);
    void fail(CUresult code, const std::string &text);
    unsigned new_lane();
    Point add(int device, unsigned long long stream, std::shared_ptr<const Work> work,
              const std::vector<Point> &after, unsigned lane, Clock &clock);
    Point enqueue(Stream &stream, std::shared_ptr<const Work> work, const Point &also = nullptr);

    // driver_memory.h
    const Allocation *holds(const Range &range) const;
    bool is_registered(const Range &range) const;
    std::string stray(const Work &work, int device) const;

    bool configure();
    void reset();
};

/// Never destroyed: threads may still call while the process ends.
inline Machine &machine() {
    static Machine &only = *[] {
        Machine *made = new Machine;
        made->reset();
        return made;
    }();
    return only;
}

inline const std::string *intern(const std::string &name) {
    static std::set<std::string> &all = *new std::set<std::string>;
    return &*all.insert(name).first;
}

/// The device of this thread's context; -1: none.
static thread_local int current = -1;
/// What the next launch of this thread touches.
static thread_local std::vector<Range> declared_reads, declared_writes;

/// What every call does first: what `fm_host_fail_call` asked for, errors that stay, some late work.
inline CUresult enter(const char *symbol, bool needs_context = true) {
    Machine &all = machine();
    const auto failing = all.failing_calls.find(symbol);
    if (failing != all.failing_calls.end()) {
        const CUresult code = failing->second;
        all.failing_calls.erase(failing);
        return code;
    }
    if (!all.ready) {
        return CUDA_ERROR_NOT_INITIALIZED;
    }
    if (all.sticky == CUDA_SUCCESS) {
        all.progress();
    }
    if (all.sticky != CUDA_SUCCESS) {
        return all.sticky;
    }
    return needs_context && (current < 0 || (size_t)current >= all.devices.size())
        ? CUDA_ERROR_INVALID_CONTEXT
        : CUDA_SUCCESS;
}

/// Whether this is the call that `fm_host_skip` is about.
inline bool skips(const char *symbol) {
    const auto found = machine().skipping.find(symbol);
    return found != machine().skipping.end() && found->second >= 0 && --found->second < 0;
}

#define FM_ENTER_WITH(NEEDS_CONTEXT) \
    Machine &all = machine(); \
    std::lock_guard<std::mutex> lock(all.mutex); \
    if (const CUresult code = enter(__func__, NEEDS_CONTEXT)) { \
        return code; \
    } \
    if (skips(__func__)) { \
        return CUDA_SUCCESS; \
    }
#define FM_ENTER() FM_ENTER_WITH(true)

/// The stream of a handle; without one, the legacy stream of the current device.
inline std::shared_ptr<Stream> stream_of(CUstream handle) {
    Machine &all = machine();
    return handle == nullptr || handle == (CUstream)1 ? all.devices[current].legacy
                                                      : all.streams.find(handle);
}
