// Memory of devices and of the host, and copies.
#pragma once
#include "driver_capture.h"

/// Memory that was given back and is still poisoned, at most.
constexpr size_t GRAVE = 16 << 20;

inline const Allocation *Machine::holds(const Range &range) const {
    auto at = allocations.upper_bound(range.begin);
    if (at == allocations.begin()) {
        return nullptr;
    }
    --at;
    return range.end <= at->first + at->second.bytes && range.begin <= range.end ? &at->second : nullptr;
}

inline bool Machine::is_registered(const Range &range) const {
    auto at = registered.upper_bound(range.begin);
    return at != registered.begin() && range.end <= std::prev(at)->first + std::prev(at)->second;
}

/// What work touches that its device cannot reach; empty if nothing.
inline std::string Machine::stray(const Work &work, int device) const {
    for (const auto *ranges : {&work.reads, &work.writes}) {
        for (const Range &range : *ranges) {
            if (range.begin >= range.end || range.host) {
                continue;
            }
            const Allocation *found = holds(range);
            const std::string what =
                (ranges == &work.reads ? "reads " : "writes ") + text(range) + ", which ";
            if (found == nullptr && !(work.kernel && is_registered(range))) {
                return what + "lie in no allocation";
            }
            if (work.kernel && found != nullptr && found->device != device
                && devices[device].peers.count(found->device) == 0) {
                return what + "belong to device " + std::to_string(found->device)
                    + ", to which it has no peer access";
            }
        }
    }
    return "";
}

FM_API CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
    FM_ENTER();
    if (free == nullptr || total == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *total = all.memory;
    *free = all.memory - all.devices[current].used;
    return CUDA_SUCCESS;
}

FM_API CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
    FM_ENTER();
    if (const CUresult code = forbid_while_capturing()) {
        return code;
    }
    if (address == nullptr || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    Device &device = all.devices[current];
    if (bytes > all.memory - device.used) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    void *made = aligned_alloc(512, (bytes + 511) / 512 * 512);
    if (made == nullptr) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memset(made, 0xff, bytes);
    all.allocations[(uintptr_t)made] = {bytes, current};
    device.used += bytes;
    *address = (CUdeviceptr)made;
    return CUDA_SUCCESS;
}

FM_API CUresult cuMemFree_v2(CUdeviceptr address) {
    FM_ENTER();
    if (const CUresult code = forbid_while_capturing()) {
        return code;
    }
    if (address == 0) {
        return CUDA_SUCCESS;
    }
    const auto at = all.allocations.find(address);
    if (at == all.allocations.end()) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const Allocation gone = at->second;
    all.wait_device(gone.device);
    // Another device may still be about to use it, which is told as a race; it must not crash.
    all.shadow.forget({address, address + gone.bytes}, "given back", all.host);
    all.allocations.erase(at);
    all.devices[gone.device].used -= gone.bytes;
    memset((void *)address, 0xff, gone.bytes);
    all.grave.emplace_back((void *)address, gone.bytes);
    all.buried += gone.bytes;
    while (all.buried > GRAVE) {
        if (!all.pending.empty()) {
            const Clock seen = all.host;
            for (size_t other = 0; other < all.devices.size(); ++other) {
                all.wait_device((int)other);
            }
            all.host = seen;
        }
        free(all.grave.front().first);
        all.buried -= all.grave.front().second;
        all.grave.pop_front();
    }
    return all.sticky;
}

FM_API CUresult cuMemHostRegister_v2(void *start, size_t bytes, unsigned) {
    FM_ENTER();
    if (const CUresult code = forbid_while_capturing()) {
        return code;
    }
    const uintptr_t begin = (uintptr_t)start;
    if (begin == 0 || bytes == 0) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    const auto next = all.registered.lower_bound(begin);
    if ((next != all.registered.end() && next->first < begin + bytes)
        || (next != all.registered.begin()
            && std::prev(next)->first + std::prev(next)->second > begin)) {
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    all.registered[begin] = bytes;
    return CUDA_SUCCESS;
}

FM_API CUresult cuMemHostUnregister(void *start) {
    FM_ENTER();
    if (const CUresult code = forbid_while_capturing()) {
        return code;
    }
    const uintptr_t begin = (uintptr_t)start;
    const auto at = all.registered.find(begin);
    if (at == all.registered.end()) {
        return begin == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    // It may go away as soon as this returns, so nothing may be about to use it.
    all.shadow.forget({begin, begin + at->second}, "unregistered", all.host);
    for (size_t device = 0; device < all.devices.size(); ++device) {
        all.wait_device((int)device);
    }
    all.registered.erase(begin);
    return all.sticky;
}

/// Gives a stream a copy: `to_host` and `from_host` say which end is the host's.
inline CUresult copy(const char *name, uintptr_t to, uintptr_t from, size_t bytes, CUstream handle,
                     bool to_host, bool from_host) {
    Machine &all = machine();
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    const Range target{to, to + bytes, to_host}, source{from, from + bytes, from_host};
    for (const Range &range : {target, source}) {
        const bool known = all.holds(range) != nullptr;
        if (range.begin == 0 || range.end < range.begin || known == range.host) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    auto work = std::make_shared<Work>();
    work->name = intern(name);
    work->reads = {source};
    work->writes = {target};
    const bool late = stream->capture != nullptr;
    if (from_host && !late && !all.is_registered(source)) {
        work->reads.clear();
        const std::string staged((const char *)from, bytes);
        work->run = [=](unsigned) { return memcpy((void *)to, staged.data(), bytes), ""; };
    } else {
        work->run = [=](unsigned) { return memmove((void *)to, (const void *)from, bytes), ""; };
    }
    const CUresult code = submit(*stream, work);
    if (code == CUDA_SUCCESS && to_host && !late && !all.is_registered(target)) {
        all.wait({stream->tail});
        all.shadow.forget(target, "the host's", all.host);
    }
    return code != CUDA_SUCCESS ? code : all.sticky;
}

FM_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    FM_ENTER();
    return copy("copy to the device", to, (uintptr_t)from, bytes, stream, false, true);
}

FM_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    FM_ENTER();
    return copy("copy to the host", (uintptr_t)to, from, bytes, stream, true, false);
}

FM_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    FM_ENTER();
    return copy("copy on the device", to, from, bytes, stream, false, false);
}

FM_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                  CUcontext from_context, size_t bytes, CUstream stream) {
    FM_ENTER();
    const Allocation *target = all.holds({to, to + bytes}), *source = all.holds({from, from + bytes});
    if (bytes > 0
        && (target == nullptr || source == nullptr || target->device != device_of(to_context)
            || source->device != device_of(from_context))) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return copy("copy between devices", to, from, bytes, stream, false, false);
}

FM_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream handle) {
    FM_ENTER();
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (bytes == 0) {
        return CUDA_SUCCESS;
    }
    const Range target{to, to + bytes};
    if (all.holds(target) == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto work = std::make_shared<Work>();
    work->name = intern("memset");
    work->writes = {target};
    work->run = [=](unsigned) { return memset((void *)to, value, bytes), ""; };
    return submit(*stream, work);
}

constexpr int ATTRIBUTE_DEVICE_ORDINAL = 9;

FM_API CUresult cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address) {
    FM_ENTER_WITH(false);
    const Allocation *found = all.holds({(uintptr_t)address, (uintptr_t)address + 1});
    if (value == nullptr || attribute != ATTRIBUTE_DEVICE_ORDINAL || found == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *(int *)value = found->device;
    return CUDA_SUCCESS;
}
