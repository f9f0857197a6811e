// Kernels: the entries of libraries that a compiler of C++ made, and their launches.
#pragma once
#include <dlfcn.h>

#include "driver_capture.h"

/// An entry of a library, or null. Functions stay for as long as the process runs.
FM_API void *fm_host_function(const char *library, const char *entry) {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    static std::map<std::pair<std::string, std::string>, void *> &known =
        *new std::map<std::pair<std::string, std::string>, void *>;
    if (library == nullptr || entry == nullptr) {
        return nullptr;
    }
    const auto found = known.find({library, entry});
    if (found != known.end()) {
        return found->second;
    }
    void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) {
        all.error = dlerror();
        return nullptr;
    }
    const std::string name = entry;
    auto made = std::make_shared<Function>();
    made->name = intern(name);
    made->entry = (decltype(made->entry))dlsym(opened, ("host_" + name).c_str());
    made->launch = (decltype(made->launch))dlsym(opened, "fm_host_launch");
    const auto sizes = (const size_t *(*)())dlsym(opened, ("host_sizes_" + name).c_str());
    if (made->entry == nullptr || made->launch == nullptr || sizes == nullptr) {
        all.error = std::string(library) + " has no kernel '" + name + "'";
        dlclose(opened);
        return nullptr;
    }
    made->sizes = sizes();
    return known[{library, entry}] = all.functions.add<void *>(made);
}

/// The host uses these bytes now, for which it must have waited.
FM_API void fm_host_touch(unsigned long long begin, unsigned long long end) {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    all.shadow.forget({(uintptr_t)begin, (uintptr_t)end, true}, "used by the host", all.host);
}

/// The bytes, as pairs of their begin and end, that the next launch of this thread touches.
FM_API void fm_host_declare(const unsigned long long *reads, size_t read_count,
                            const unsigned long long *writes, size_t write_count) {
    const auto ranges = [](const unsigned long long *pairs, size_t count) {
        std::vector<Range> made;
        for (size_t at = 0; at < count; ++at) {
            made.push_back({(uintptr_t)pairs[2 * at], (uintptr_t)pairs[2 * at + 1]});
        }
        return made;
    };
    declared_reads = ranges(reads, read_count);
    declared_writes = ranges(writes, write_count);
}

/// A kernel's arguments, kept until it runs.
class Arguments {
  public:
    Arguments(const size_t *sizes, void **given) : count_(sizes[0]) {
        size_t words = 0;
        for (size_t at = 0; at < count_; ++at) {
            places_.push_back(words);
            words += (sizes[1 + at] + sizeof(Word) - 1) / sizeof(Word);
        }
        room_.resize(words);
        for (size_t at = 0; at < count_; ++at) {
            memcpy(&room_[places_[at]], given[at], sizes[1 + at]);
        }
    }
    std::vector<void *> pointers() {
        std::vector<void *> all;
        for (const size_t place : places_) {
            all.push_back(&room_[place]);
        }
        return all;
    }

  private:
    struct alignas(64) Word {
        char bytes[64];
    };
    size_t count_;
    std::vector<size_t> places_;
    std::vector<Word> room_;
};

FM_API CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                               unsigned block_x, unsigned block_y, unsigned block_z,
                               unsigned shared_bytes, CUstream stream_handle, void **args, void **extra) {
    auto work = std::make_shared<Work>();
    work->reads.swap(declared_reads);
    work->writes.swap(declared_writes);
    work->kernel = true;
    declared_reads.clear();
    declared_writes.clear();
    FM_ENTER();
    const std::shared_ptr<Function> function = all.functions.find(handle);
    const std::shared_ptr<Stream> stream = stream_of(stream_handle);
    if (function == nullptr || stream == nullptr || stream->device != current) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const unsigned long long threads = (unsigned long long)block_x * block_y * block_z;
    const bool sized = grid_x >= 1 && grid_x < 1u << 31 && grid_y >= 1 && grid_y < 1u << 16
        && grid_z >= 1 && grid_z < 1u << 16 && threads >= 1 && threads <= 1024 && block_x <= 1024
        && block_y <= 1024 && block_z <= 64 && shared_bytes <= 166912;
    if (!sized || extra != nullptr || (args == nullptr && function->sizes[0] > 0)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (size_t at = 0; at < function->sizes[0]; ++at) {
        if (args[at] == nullptr) {
            return CUDA_ERROR_INVALID_VALUE;
        }
    }
    work->name = function->name;
    const auto kept = std::make_shared<Arguments>(function->sizes, args);
    work->run = [=](unsigned seed) {
        const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
        std::vector<void *> pointers = kept->pointers();
        return std::string(function->launch(function->entry, pointers.data(), grid, block, seed));
    };
    return submit(*stream, work);
}
