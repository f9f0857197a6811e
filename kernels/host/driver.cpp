// Stands in for libcuda on a machine without a GPU: a program that opens this library instead finds
// the same functions, and its kernels run on the host. What CUDA leaves open is left to chance: when
// and in which order work runs. Contexts, and what tests ask of the stand-in, are here; the rest is in
// the headers, by subject.
#include "driver_blas.h"
#include "driver_dnn.h"
#include "driver_launch.h"
#include "driver_memory.h"
#include "driver_nccl.h"
#include "driver_streams.h"

/// A number from the environment, or what it is by default; false where it is no number.
static bool setting(const char *name, uint64_t &value) {
    const char *text = getenv(name);
    if (text == nullptr || *text == 0) {
        return true;
    }
    char *end = nullptr;
    value = strtoull(text, &end, 0);
    return *end == 0 && *text != '-';
}

/// Makes the devices that the environment asks for.
bool Machine::configure() {
    uint64_t count = 2, bytes = 1 << 30;
    if (!setting("FERROMIX_HOST_GPUS", count) || count > 64
        || !setting("FERROMIX_HOST_GPU_MEMORY", bytes)) {
        error = "expected numbers in FERROMIX_HOST_GPUS (at most 64) and FERROMIX_HOST_GPU_MEMORY";
        return false;
    }
    memory = bytes;
    for (uint64_t number = 0; number < count; ++number) {
        devices.emplace_back();
        devices.back().legacy = new_stream((int)number, false, true);
    }
    ready = true;
    return true;
}

void Machine::reset() {
    for (auto &entry : pending) {
        entry.second->done = true;
    }
    for (const auto &entry : allocations) {
        free((void *)entry.first);
    }
    for (const auto &entry : grave) {
        free(entry.first);
    }
    ready = false;
    devices.clear();
    allocations.clear();
    registered.clear();
    grave.clear();
    buried = next_stream = 0;
    streams.all.clear();
    events.all.clear();
    graphs.all.clear();
    execs.all.clear();
    captures.clear();
    pending.clear();
    runnable.clear();
    shadow = Shadow();
    host = Clock();
    epochs.clear();
    retired.clear();
    sticky = CUDA_SUCCESS;
    error.clear();
    failing_calls.clear();
    skipping.clear();
    failing_items.clear();
    uint64_t chosen = RANDOM;
    seed = 0;
    setting("FERROMIX_HOST_SEED", seed);
    setting("FERROMIX_HOST_POLICY", chosen);
    policy = chosen <= STARVE ? (int)chosen : (int)RANDOM;
    random_state = seed;
}

FM_API CUresult cuInit(unsigned flags) {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (flags != 0 || (!all.ready && !all.configure())) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult code = enter(__func__, false);
    return code == CUDA_SUCCESS && all.devices.empty() ? CUDA_ERROR_NO_DEVICE : code;
}

FM_API CUresult cuDriverGetVersion(int *version) {
    if (version == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *version = 12040;
    return CUDA_SUCCESS;
}

FM_API CUresult cuGetErrorName(CUresult code, const char **name) {
    const ErrorText *found = error_text(code);
    if (name != nullptr) {
        *name = found == nullptr ? nullptr : found->name;
    }
    return found == nullptr || name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

FM_API CUresult cuGetErrorString(CUresult code, const char **text) {
    const ErrorText *found = error_text(code);
    if (text != nullptr) {
        *text = found == nullptr ? nullptr : found->text;
    }
    return found == nullptr || text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

FM_API CUresult cuDeviceGetCount(int *count) {
    FM_ENTER_WITH(false);
    if (count == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *count = (int)all.devices.size();
    return CUDA_SUCCESS;
}

/// What is wrong with the number of a device and with where the answer goes.
static CUresult check(CUdevice device, const void *answer) {
    if (answer == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return device >= 0 && (size_t)device < machine().devices.size() ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_DEVICE;
}

FM_API CUresult cuDeviceGet(CUdevice *device, int number) {
    FM_ENTER_WITH(false);
    const CUresult code = check(number, device);
    if (code == CUDA_SUCCESS) {
        *device = number;
    }
    return code;
}

FM_API CUresult cuDeviceGetName(char *name, int room, CUdevice device) {
    FM_ENTER_WITH(false);
    const CUresult code = check(device, name);
    if (code == CUDA_SUCCESS && room > 0) {
        snprintf(name, (size_t)room, "Ferromix host device %d", device);
    }
    return code != CUDA_SUCCESS || room > 0 ? code : CUDA_ERROR_INVALID_VALUE;
}

FM_API CUresult cuDeviceGetAttribute(int *value, int number, CUdevice device) {
    FM_ENTER_WITH(false);
    const CUresult code = check(device, value);
    return code != CUDA_SUCCESS || attribute(number, value) ? code : CUDA_ERROR_INVALID_VALUE;
}

FM_API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    FM_ENTER_WITH(false);
    const CUresult code = check(device, context);
    if (code == CUDA_SUCCESS) {
        *context = context_of(device);
    }
    return code;
}

FM_API CUresult cuCtxSetCurrent(CUcontext context) {
    FM_ENTER_WITH(false);
    if (context != nullptr && device_of(context) < 0) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    current = context == nullptr ? -1 : device_of(context);
    return CUDA_SUCCESS;
}

FM_API CUresult cuCtxGetCurrent(CUcontext *context) {
    FM_ENTER_WITH(false);
    if (context == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *context = current < 0 ? nullptr : context_of(current);
    return CUDA_SUCCESS;
}

FM_API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    FM_ENTER_WITH(false);
    for (const CUdevice one : {device, peer}) {
        if (const CUresult code = check(one, can)) {
            return code;
        }
    }
    *can = device != peer;
    return CUDA_SUCCESS;
}

FM_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    FM_ENTER();
    const int device = device_of(peer);
    if (device < 0 || flags != 0) {
        return device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    }
    if (device == current) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    return all.devices[current].peers.insert(device).second ? CUDA_SUCCESS
                                                            : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

/// When work runs (see `Policy`), and the seed of what is left to chance.
FM_API void fm_host_schedule(int policy, unsigned long long seed) {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.policy = policy >= EAGER && policy <= STARVE ? policy : (int)RANDOM;
    all.seed = all.random_state = seed;
}

/// The races found since the last call, a line each; this thread's next call replaces the text.
FM_API const char *fm_host_races() {
    static thread_local std::string text;
    std::lock_guard<std::mutex> lock(machine().mutex);
    text = machine().shadow.take();
    return text.c_str();
}

/// What the error that stays is about, or why a function was not found.
FM_API const char *fm_host_error() {
    static thread_local std::string text;
    std::lock_guard<std::mutex> lock(machine().mutex);
    text = machine().error;
    return text.c_str();
}

/// The `after`-th copy, memset or launch from now (1: the next) fails when it runs.
FM_API void fm_host_fail(int code, unsigned long long after) {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.failing_items.emplace_back(after, code);
}

/// The next call of a function gives this error, and does nothing.
FM_API void fm_host_fail_call(const char *symbol, int code) {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.failing_calls[symbol] = code;
}

/// The call of a function after so many others does nothing, and says that it did; with -1, none does.
/// Whether the one that was asked for last has come.
FM_API int fm_host_skip(const char *symbol, long long after) {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = all.skipping.find(symbol);
    const bool came = found != all.skipping.end() && found->second < 0;
    all.skipping.erase(symbol);
    if (after >= 0) {
        all.skipping[symbol] = after;
    }
    return came;
}

/// How many pieces the memory of the race detector is in, how many items wait, how many lanes exist.
FM_API void fm_host_sizes(size_t sizes[3]) {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    sizes[0] = all.shadow.size();
    sizes[1] = all.pending.size();
    sizes[2] = all.epochs.size();
}

/// Forgets all but the kernels: as in a new process. What it gave out before is invalid.
FM_API void fm_host_reset() {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.reset();
}
