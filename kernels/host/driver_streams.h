// Streams, events, and who waits for whom.
#pragma once
#include "driver_capture.h"

inline std::shared_ptr<Stream> new_stream(int device, bool blocking, bool legacy) {
    Machine &all = machine();
    auto made = std::make_shared<Stream>();
    made->number = all.next_stream++;
    made->device = device;
    made->lane = all.new_lane();
    made->blocking = blocking;
    made->legacy = legacy;
    return made;
}

/// Whether a point is reached; one that the host asks for again and again is reached at last.
inline CUresult query(const Point &point) {
    Machine &all = machine();
    if (point == nullptr || point->done) {
        if (point != nullptr) {
            all.host.join(point->clock);
        }
        return all.sticky;
    }
    if (all.policy != RANDOM) {
        all.run_for({point.get()}, 1);
    }
    return all.sticky != CUDA_SUCCESS ? all.sticky : CUDA_ERROR_NOT_READY;
}

FM_API CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    FM_ENTER();
    if (stream == nullptr || flags > 1) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *stream = all.streams.add<CUstream>(new_stream(current, flags == 0, false));
    return CUDA_SUCCESS;
}

FM_API CUresult cuStreamDestroy_v2(CUstream handle) {
    FM_ENTER();
    const std::shared_ptr<Stream> stream = all.streams.find(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->capture != nullptr) {
        stream->capture->broken = true;
    }
    all.retired.push_back(stream->lane);
    all.streams.remove(handle);
    return CUDA_SUCCESS;
}

FM_API CUresult cuStreamSynchronize(CUstream handle) {
    FM_ENTER();
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (const CUresult code : {forbid_implicit(*stream), forbid_if_captured(*stream)}) {
        if (code != CUDA_SUCCESS) {
            return code;
        }
    }
    // On the legacy stream the point also stands for what it waits for.
    const Point point = stream->legacy ? all.enqueue(*stream, nullptr) : stream->tail;
    if (point != nullptr) {
        all.wait({point});
    }
    return all.sticky;
}

FM_API CUresult cuStreamQuery(CUstream handle) {
    FM_ENTER();
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (const CUresult code : {forbid_implicit(*stream), forbid_if_captured(*stream)}) {
        if (code != CUDA_SUCCESS) {
            return code;
        }
    }
    return query(stream->tail);
}

/// A wait while one side, or both, are captured.
inline CUresult wait_captured(Stream &stream, Event &event) {
    if (event.capture == nullptr) {
        if (event.recorded == nullptr) {
            return CUDA_SUCCESS;
        }
        stream.capture->broken = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    const auto &known = machine().captures;
    const auto is_open = [&](const std::weak_ptr<Capture> &one) { return one.lock() == event.capture; };
    if (std::none_of(known.begin(), known.end(), is_open)) {
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    if (stream.capture != nullptr && stream.capture != event.capture) {
        stream.capture->broken = event.capture->broken = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (stream.legacy) {
        event.capture->broken = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream.capture == nullptr) {
        stream.capture = event.capture;
        stream.branch = event.capture->graph.branches++;
        stream.tips.clear();
    }
    for (const unsigned tip : event.tips) {
        if (std::find(stream.tips.begin(), stream.tips.end(), tip) == stream.tips.end()) {
            stream.tips.push_back(tip);
        }
    }
    return CUDA_SUCCESS;
}

FM_API CUresult cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned) {
    FM_ENTER();
    const std::shared_ptr<Stream> stream = stream_of(handle);
    const std::shared_ptr<Event> event = all.events.find(event_handle);
    if (stream == nullptr || event == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->capture != nullptr || event->capture != nullptr) {
        return wait_captured(*stream, *event);
    }
    if (const CUresult code = forbid_implicit(*stream)) {
        return code;
    }
    if (event->recorded != nullptr) {
        all.enqueue(*stream, nullptr, event->recorded);
        all.settle();
    }
    return all.sticky;
}

FM_API CUresult cuEventCreate(CUevent *event, unsigned flags) {
    FM_ENTER();
    if (event == nullptr || flags > 7) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    auto made = std::make_shared<Event>();
    made->device = current;
    *event = all.events.add<CUevent>(made);
    return CUDA_SUCCESS;
}

FM_API CUresult cuEventRecord(CUevent handle, CUstream stream_handle) {
    FM_ENTER();
    const std::shared_ptr<Event> event = all.events.find(handle);
    const std::shared_ptr<Stream> stream = stream_of(stream_handle);
    if (stream == nullptr || event == nullptr || event->device != stream->device) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (const CUresult code = forbid_implicit(*stream)) {
        return code;
    }
    if (stream->capture != nullptr) {
        event->capture = stream->capture;
        event->tips = stream->tips;
        event->recorded = nullptr;
        return CUDA_SUCCESS;
    }
    event->capture = nullptr;
    event->recorded = all.enqueue(*stream, nullptr);
    all.settle();
    return all.sticky;
}

FM_API CUresult cuEventQuery(CUevent handle) {
    FM_ENTER();
    const std::shared_ptr<Event> event = all.events.find(handle);
    if (event == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (const CUresult code = forbid_while_capturing()) {
        return code;
    }
    return event->capture != nullptr ? CUDA_ERROR_CAPTURED_EVENT : query(event->recorded);
}

FM_API CUresult cuEventSynchronize(CUevent handle) {
    FM_ENTER();
    const std::shared_ptr<Event> event = all.events.find(handle);
    if (event == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (event->capture != nullptr) {
        event->capture->broken = true;
        return CUDA_ERROR_CAPTURED_EVENT;
    }
    if (event->recorded != nullptr) {
        all.wait({event->recorded});
    }
    return all.sticky;
}

FM_API CUresult cuEventDestroy_v2(CUevent handle) {
    FM_ENTER();
    if (all.events.find(handle) == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    all.events.remove(handle);
    return CUDA_SUCCESS;
}

FM_API CUresult cuCtxSynchronize() {
    FM_ENTER();
    if (const CUresult code = forbid_while_capturing()) {
        return code;
    }
    all.wait_device(current);
    return all.sticky;
}
