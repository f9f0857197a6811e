// The part of NCCL's interface that Ferromix calls: sums and copies among devices. A device sends when its
// stream gets there, and receives when those that send have; nothing else orders the streams.
#pragma once
#include "driver_blas.h"

typedef struct ncclComm *ncclComm_t;
typedef int ncclResult_t;

enum { NCCL_SUCCESS = 0, NCCL_UNHANDLED = 1, NCCL_INVALID_ARGUMENT = 4, NCCL_INVALID_USAGE = 5 };

/// One device's part of a group of devices, which `group` numbers.
struct Communicator {
    uint64_t group = 0;
    int device = 0, rank = 0, count = 0;
};

inline Table<Communicator> &communicators() {
    static Table<Communicator> &all = *new Table<Communicator>(0x10007);
    return all;
}

/// A call within a group of calls.
struct Part {
    std::shared_ptr<Communicator> comm;
    std::shared_ptr<Stream> stream;
    const char *from;
    char *to;
    size_t count;
    int type, root;
    bool sums;
};

static thread_local std::vector<Part> parts;
static thread_local int open_groups = 0;

inline size_t nccl_size(int type) {
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return type < 0 || type > 9 ? 0 : sizes[type];
}

template <class T> inline void add_plain(char *to, const char *from, size_t i) {
    ((T *)to)[i] = (T)(((T *)to)[i] + ((const T *)from)[i]);
}

/// `to[i] += from[i]`; integers wrap, halves are rounded.
inline void add_one(int type, char *to, const char *from, size_t i) {
    switch (type) {
    case 0: case 1: return add_plain<uint8_t>(to, from, i);
    case 2: case 3: return add_plain<uint32_t>(to, from, i);
    case 4: case 5: return add_plain<uint64_t>(to, from, i);
    case 6: return store(to, FLOAT16, i, load(to, FLOAT16, i) + load(from, FLOAT16, i));
    case 7: return add_plain<float>(to, from, i);
    case 8: return add_plain<double>(to, from, i);
    default: return store(to, BFLOAT16, i, load(to, BFLOAT16, i) + load(from, BFLOAT16, i));
    }
}

typedef std::vector<std::vector<char>> Messages;

inline std::shared_ptr<Work> nccl_work(bool sums) {
    static const std::string &sum = *new std::string("ncclReduce"), &copy = *new std::string("ncclBroadcast");
    auto work = std::make_shared<Work>();
    work->name = sums ? &sum : &copy;
    work->kernel = true;
    return work;
}

/// What a part reads leaves its device when its stream gets there.
inline Point send(const Part &part, const std::shared_ptr<Messages> &messages) {
    const size_t bytes = part.count * nccl_size(part.type);
    const std::shared_ptr<Work> work = nccl_work(part.sums);
    work->reads = {{(uintptr_t)part.from, (uintptr_t)part.from + bytes}};
    const char *const from = part.from;
    const int rank = part.comm->rank;
    work->run = [=](unsigned) {
        (*messages)[rank].assign(from, from + bytes);
        return std::string();
    };
    return machine().enqueue(*part.stream, work);
}

/// Writes the sum of all messages, or the root's, when those have been sent.
inline void receive(const Part &part, const std::shared_ptr<Messages> &messages, const std::vector<Point> &sent) {
    for (const Point &point : sent) {
        machine().enqueue(*part.stream, nullptr, point);
    }
    const size_t bytes = part.count * nccl_size(part.type);
    const std::shared_ptr<Work> work = nccl_work(part.sums);
    work->writes = {{(uintptr_t)part.to, (uintptr_t)part.to + bytes}};
    const Part given = part;
    work->run = [=](unsigned) {
        const std::vector<char> &first = (*messages)[given.sums ? 0 : given.root];
        memcpy(given.to, first.data(), bytes);
        for (size_t rank = 1; given.sums && rank < messages->size(); ++rank) {
            for (size_t i = 0; i < given.count; ++i) {
                add_one(given.type, given.to, (*messages)[rank].data(), i);
            }
        }
        return std::string();
    };
    machine().enqueue(*part.stream, work);
}

/// Whether these are all parts of one sum or copy.
inline bool fits(const std::vector<Part> &all) {
    std::set<int> ranks;
    const Part &first = all.front();
    for (const Part &part : all) {
        ranks.insert(part.comm->rank);
        if (part.comm->group != first.comm->group || part.count != first.count || part.type != first.type
            || part.root != first.root || part.sums != first.sums || part.stream->device != part.comm->device
            || part.stream->capture != nullptr) {
            return false;
        }
    }
    return (int)ranks.size() == first.comm->count && ranks.size() == all.size();
}

inline ncclResult_t run_group(const std::vector<Part> &all) {
    if (all.empty()) {
        return NCCL_SUCCESS;
    }
    if (!fits(all)) {
        return NCCL_INVALID_USAGE;
    }
    const auto messages = std::make_shared<Messages>(all.size());
    std::vector<Point> sent;
    for (const Part &part : all) {
        if (part.sums || part.comm->rank == part.root) {
            sent.push_back(send(part, messages));
        }
    }
    for (const Part &part : all) {
        if (!part.sums || part.comm->rank == part.root) {
            receive(part, messages, sent);
        }
    }
    machine().settle();
    return machine().sticky == CUDA_SUCCESS ? NCCL_SUCCESS : NCCL_UNHANDLED;
}

FM_API const char *ncclGetErrorString(ncclResult_t result) {
    switch (result) {
    case NCCL_SUCCESS: return "no error";
    case NCCL_INVALID_ARGUMENT: return "invalid argument";
    case NCCL_INVALID_USAGE: return "invalid usage";
    default: return "unhandled cuda error";
    }
}

FM_API ncclResult_t ncclCommInitAll(ncclComm_t *made, int count, const int *devices) {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (enter(__func__) != CUDA_SUCCESS) {
        return NCCL_UNHANDLED;
    }
    std::set<int> different(devices, devices + count);
    if (made == nullptr || (int)different.size() != count || *different.begin() < 0
        || *different.rbegin() >= (int)all.devices.size()) {
        return NCCL_INVALID_ARGUMENT;
    }
    static uint64_t groups = 0;
    ++groups;
    for (int rank = 0; rank < count; ++rank) {
        auto one = std::make_shared<Communicator>();
        one->group = groups;
        one->device = devices[rank];
        one->rank = rank;
        one->count = count;
        made[rank] = communicators().add<ncclComm_t>(one);
    }
    return NCCL_SUCCESS;
}

FM_API ncclResult_t ncclGroupStart() {
    ++open_groups;
    return NCCL_SUCCESS;
}

FM_API ncclResult_t ncclGroupEnd() {
    Machine &all = machine();
    std::lock_guard<std::mutex> lock(all.mutex);
    if (open_groups == 0) {
        return NCCL_INVALID_USAGE;
    }
    if (--open_groups > 0) {
        return NCCL_SUCCESS;
    }
    std::vector<Part> given;
    given.swap(parts);
    return enter(__func__) == CUDA_SUCCESS ? run_group(given) : NCCL_UNHANDLED;
}

inline ncclResult_t add_part(
    const void *from, void *to, size_t count, int type, int root, bool sums, ncclComm_t comm, CUstream stream) {
    {
        std::lock_guard<std::mutex> lock(machine().mutex);
        Part part{communicators().find(comm), stream_of(stream), (const char *)from, (char *)to,
                  count, type, root, sums};
        if (part.comm == nullptr || part.stream == nullptr || nccl_size(type) == 0 || root < 0
            || root >= part.comm->count) {
            return NCCL_INVALID_ARGUMENT;
        }
        parts.push_back(std::move(part));
    }
    if (open_groups > 0) {
        return NCCL_SUCCESS;
    }
    ncclGroupStart();
    return ncclGroupEnd();
}

FM_API ncclResult_t ncclReduce(
    const void *from, void *to, size_t count, int type, int op, int root, ncclComm_t comm, CUstream stream) {
    return op == 0 ? add_part(from, to, count, type, root, true, comm, stream) : NCCL_INVALID_ARGUMENT;
}

FM_API ncclResult_t ncclBroadcast(
    const void *from, void *to, size_t count, int type, int root, ncclComm_t comm, CUstream stream) {
    return add_part(from, to, count, type, root, false, comm, stream);
}
