// Graphs: what streams that are captured would have run, to be run as a whole, many times.
#pragma once
#include <thread>

#include "driver_schedule.h"

struct Node {
    std::shared_ptr<const Work> work;
    std::vector<unsigned> after;
    /// The stream it was captured from: its nodes come one after the other.
    unsigned branch;
    int device;
};

struct Graph {
    std::vector<Node> nodes;
    unsigned branches = 0;
};

struct Capture {
    unsigned long long origin = 0;
    int mode = 0;
    std::thread::id thread;
    bool broken = false;
    Graph graph;
};

struct Exec {
    Graph graph;
    std::vector<unsigned> lanes;
    /// Where its last launch ends: launches of one graph do not overlap.
    Point last;
};

inline CUcontext context_of(int device) { return (CUcontext)(uintptr_t)(0x1000 + 16 * device); }

inline int device_of(CUcontext context) {
    const uintptr_t number = (uintptr_t)context - 0x1000;
    return number % 16 == 0 && number / 16 < machine().devices.size() ? (int)(number / 16) : -1;
}

/// Refuses a call that may wait for work while another is captured, and breaks the capture.
inline CUresult forbid_while_capturing() {
    CUresult code = CUDA_SUCCESS;
    for (const std::weak_ptr<Capture> &one : machine().captures) {
        const std::shared_ptr<Capture> capture = one.lock();
        const bool here = capture != nullptr && capture->thread == std::this_thread::get_id();
        if (capture != nullptr && (capture->mode == 0 || (capture->mode == 1 && here))) {
            capture->broken = true;
            code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return code;
}

/// Refuses to wait for a stream that is captured.
inline CUresult forbid_if_captured(Stream &stream) {
    if (stream.capture == nullptr) {
        return CUDA_SUCCESS;
    }
    stream.capture->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/// The legacy stream waits for blocking streams, which it cannot while one of them is captured.
inline CUresult forbid_implicit(Stream &stream) {
    CUresult code = CUDA_SUCCESS;
    for (const auto &entry : machine().streams.all) {
        Stream &other = *entry.second;
        if (stream.legacy && other.blocking && other.device == stream.device && other.capture) {
            other.capture->broken = true;
            code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    }
    return code;
}

/// Gives work to a stream: to its queue, or to the graph it is captured into.
inline CUresult submit(Stream &stream, std::shared_ptr<const Work> work) {
    Machine &all = machine();
    if (const CUresult code = forbid_implicit(stream)) {
        return code;
    }
    if (stream.capture != nullptr) {
        if (stream.capture->broken) {
            return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        }
        std::vector<Node> &nodes = stream.capture->graph.nodes;
        nodes.push_back({std::move(work), stream.tips, stream.branch, stream.device});
        stream.tips = {(unsigned)nodes.size() - 1};
        return CUDA_SUCCESS;
    }
    all.enqueue(stream, std::move(work));
    all.settle();
    return all.sticky;
}

FM_API CUresult cuStreamBeginCapture_v2(CUstream handle, int mode) {
    FM_ENTER();
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (mode < 0 || mode > 2) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (stream->legacy) {
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (stream->capture != nullptr) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    stream->capture = std::make_shared<Capture>();
    stream->capture->origin = stream->number;
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    stream->capture->graph.branches = 1;
    stream->branch = 0;
    stream->tips.clear();
    const auto gone = [](const std::weak_ptr<Capture> &one) { return one.expired(); };
    auto &known = all.captures;
    known.erase(std::remove_if(known.begin(), known.end(), gone), known.end());
    known.push_back(stream->capture);
    return CUDA_SUCCESS;
}

/// Whether all nodes come before those that the origin's stream ends with.
inline bool is_joined(const Graph &graph, const std::vector<unsigned> &tips) {
    std::vector<bool> reached(graph.nodes.size(), false);
    for (const unsigned tip : tips) {
        reached[tip] = true;
    }
    for (size_t node = graph.nodes.size(); node-- > 0;) {
        if (!reached[node]) {
            return false;
        }
        for (const unsigned earlier : graph.nodes[node].after) {
            reached[earlier] = true;
        }
    }
    return true;
}

FM_API CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
    FM_ENTER();
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (graph == nullptr || stream == nullptr) {
        return graph == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    *graph = nullptr;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (capture == nullptr) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (capture->origin != stream->number) {
        capture->broken = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    if (capture->mode != 2 && capture->thread != std::this_thread::get_id()) {
        capture->broken = true;
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    for (const auto &entry : all.streams.all) {
        if (entry.second->capture == capture) {
            entry.second->capture = nullptr;
        }
    }
    for (auto at = all.captures.begin(); at != all.captures.end(); ++at) {
        if (at->lock() == capture) {
            all.captures.erase(at);
            break;
        }
    }
    if (capture->broken) {
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    if (!is_joined(capture->graph, stream->tips)) {
        return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    }
    *graph = all.graphs.add<CUgraph>(std::make_shared<Graph>(capture->graph));
    return CUDA_SUCCESS;
}

FM_API CUresult cuStreamIsCapturing(CUstream handle, int *status) {
    FM_ENTER();
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (status == nullptr || stream == nullptr) {
        return status == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    *status = stream->capture == nullptr ? 0 : stream->capture->broken ? 2 : 1;
    return CUDA_SUCCESS;
}

FM_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph handle, unsigned long long) {
    FM_ENTER();
    const std::shared_ptr<Graph> graph = all.graphs.find(handle);
    if (exec == nullptr || graph == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto made = std::make_shared<Exec>();
    made->graph = *graph;
    for (unsigned branch = 0; branch < graph->branches; ++branch) {
        made->lanes.push_back(all.new_lane());
    }
    *exec = all.execs.add<CUgraphExec>(made);
    return CUDA_SUCCESS;
}

FM_API CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
    FM_ENTER();
    const std::shared_ptr<Exec> exec = all.execs.find(handle);
    const std::shared_ptr<Stream> stream = stream_of(stream_handle);
    if (exec == nullptr || stream == nullptr) {
        return exec == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    }
    for (const CUresult code : {forbid_implicit(*stream), forbid_if_captured(*stream)}) {
        if (code != CUDA_SUCCESS) {
            return code;
        }
    }
    const Point start = all.enqueue(*stream, nullptr, exec->last);
    std::vector<Point> points;
    for (const Node &node : exec->graph.nodes) {
        std::vector<Point> after = {start};
        for (const unsigned earlier : node.after) {
            after.push_back(points[earlier]);
        }
        Clock clock;
        points.push_back(all.add(node.device, stream->number, node.work, after,
                                 exec->lanes[node.branch], clock));
    }
    points.push_back(stream->tail);
    stream->tail = all.add(stream->device, stream->number, nullptr, points, stream->lane, stream->clock);
    exec->last = stream->tail;
    all.settle();
    return all.sticky;
}

FM_API CUresult cuGraphDestroy(CUgraph handle) {
    FM_ENTER();
    if (all.graphs.find(handle) == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.graphs.remove(handle);
    return CUDA_SUCCESS;
}

FM_API CUresult cuGraphExecDestroy(CUgraphExec handle) {
    FM_ENTER();
    const std::shared_ptr<Exec> exec = all.execs.find(handle);
    if (exec == nullptr) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    all.retired.insert(all.retired.end(), exec->lanes.begin(), exec->lanes.end());
    all.execs.remove(handle);
    return CUDA_SUCCESS;
}
