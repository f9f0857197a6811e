// When work runs: at once, when the host waits, by chance, or all but that of one stream.
#pragma once
#include "driver_machine.h"

inline uint64_t Machine::random(uint64_t below) { // splitmix64
    uint64_t x = random_state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % below;
}

/// An error of the device: it stays, and nothing that waits runs any more.
inline void Machine::fail(CUresult code, const std::string &text) {
    sticky = code;
    error = text;
    for (auto &entry : pending) {
        Item &item = *entry.second;
        item.done = true;
        item.after.clear();
        item.before.clear();
    }
    pending.clear();
    runnable.clear();
}

inline void Machine::run(Item *item) {
    const Point kept = pending.at(item->number);
    runnable.erase(std::find(runnable.begin(), runnable.end(), item));
    const std::string who = item->work == nullptr ? "" : "'" + *item->work->name + "' on stream "
            + std::to_string(item->stream) + " of device " + std::to_string(item->device);
    if (item->fail != CUDA_SUCCESS) {
        return fail(item->fail, who + " " + item->reason);
    }
    if (item->work != nullptr) {
        const std::string wrong = item->work->run((unsigned)random(1u << 31));
        if (!wrong.empty()) {
            return fail(CUDA_ERROR_LAUNCH_FAILED, who + ": " + wrong);
        }
        item->work.reset();
    }
    item->done = true;
    for (Item *next : item->before) {
        next->after.erase(std::find(next->after.begin(), next->after.end(), item));
        if (next->after.empty()) {
            runnable.push_back(next);
        }
    }
    item->before.clear();
    pending.erase(item->number);
}

/// One item by chance; for a while one stream is shy, and seldom gets its turn.
inline void Machine::run_random() {
    if (random(16) == 0) {
        shy = random(next_stream + 1);
    }
    Item *pick = runnable[random(runnable.size())];
    for (int turn = 0; turn < 4 && pick->stream == shy; ++turn) {
        pick = runnable[random(runnable.size())];
    }
    run(pick);
}

/// Runs what `wanted` comes after, and itself, the oldest first; no more than `most` items.
inline void Machine::run_for(const std::vector<Item *> &wanted, size_t most) {
    std::vector<Item *> stack, order;
    ++visit;
    const auto push = [&](Item *item) {
        if (item->visited != visit) {
            item->visited = visit;
            stack.push_back(item);
        }
    };
    for (Item *item : wanted) {
        push(item);
    }
    while (!stack.empty()) {
        Item *item = stack.back();
        stack.pop_back();
        order.push_back(item);
        for (Item *earlier : item->after) {
            push(earlier);
        }
    }
    std::sort(order.begin(), order.end(), [](Item *a, Item *b) { return a->number < b->number; });
    for (size_t at = 0; at < order.size() && at < most && sticky == CUDA_SUCCESS; ++at) {
        run(order[at]);
    }
}

/// Runs what the policy has run as soon as it can.
inline void Machine::settle() {
    if (policy != EAGER && policy != STARVE) {
        return;
    }
    const uint64_t starved = policy == STARVE && next_stream > 0 ? seed % next_stream : ~(uint64_t)0;
    for (bool any = true; any && sticky == CUDA_SUCCESS;) {
        any = false;
        for (Item *item : std::vector<Item *>(runnable)) {
            if (item->stream != starved && sticky == CUDA_SUCCESS) {
                run(item);
                any = true;
            }
        }
    }
}

/// What goes on beside a call of the host.
inline void Machine::progress() {
    if (policy != RANDOM) {
        return settle();
    }
    uint64_t count = random(4) == 0 ? random(8) : 0;
    while (count-- > 0 && !runnable.empty() && sticky == CUDA_SUCCESS) {
        run_random();
    }
}

/// Blocks the host until these are done, and orders all that it does from here on after them.
inline void Machine::wait(const std::vector<Point> &points) {
    std::vector<Item *> wanted;
    for (const Point &point : points) {
        if (policy == RANDOM) {
            while (!point->done && sticky == CUDA_SUCCESS) {
                run_random();
            }
        } else if (!point->done) {
            wanted.push_back(point.get());
        }
    }
    run_for(wanted, ~(size_t)0);
    for (const Point &point : points) {
        host.join(point->clock);
    }
}

inline void Machine::wait_device(int device) {
    std::vector<Point> points;
    for (const auto &entry : pending) {
        if (entry.second->device == device) {
            points.push_back(entry.second);
        }
    }
    wait(points);
    host.join(devices[device].clock);
}

/// A lane of the clocks; one that was in use only if the host has seen all of it.
inline unsigned Machine::new_lane() {
    for (size_t at = 0; at < retired.size(); ++at) {
        const unsigned lane = retired[at];
        if (host.of(lane) >= epochs[lane]) {
            retired.erase(retired.begin() + at);
            return lane;
        }
    }
    epochs.push_back(0);
    return (unsigned)epochs.size() - 1;
}

/// Adds an item after others; `clock` is its past, and then holds itself too.
inline Point Machine::add(int device, unsigned long long stream, std::shared_ptr<const Work> work,
                          const std::vector<Point> &after, unsigned lane, Clock &clock) {
    const Point item = std::make_shared<Item>();
    item->number = ++next_item;
    item->stream = stream;
    item->device = device;
    clock.join(host);
    for (const Point &point : after) {
        clock.join(point->clock);
        if (!point->done && std::find(item->after.begin(), item->after.end(), point.get())
                == item->after.end()) {
            item->after.push_back(point.get());
            point->before.push_back(item.get());
        }
    }
    const uint64_t epoch = ++epochs[lane];
    clock.set(lane, epoch);
    if (work != nullptr) {
        const Access now{lane, epoch, work->name, stream, device};
        for (const Range &range : work->reads) {
            shadow.touch(range, now, false, clock, host);
        }
        for (const Range &range : work->writes) {
            shadow.touch(range, now, true, clock, host);
        }
        item->reason = stray(*work, device);
        item->fail = item->reason.empty() ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
        for (size_t at = 0; at < failing_items.size();) {
            if (failing_items[at].first-- > 1) {
                ++at;
                continue;
            }
            item->fail = failing_items[at].second;
            item->reason = "fails, as fm_host_fail asked for";
            failing_items.erase(failing_items.begin() + at);
        }
    }
    item->work = std::move(work);
    item->clock = clock;
    devices[device].clock.join(clock);
    pending.emplace(item->number, item);
    if (item->after.empty()) {
        runnable.push_back(item.get());
    }
    return item;
}

/// Adds an item to a stream, after all that is in it, and after `also`.
inline Point Machine::enqueue(Stream &stream, std::shared_ptr<const Work> work, const Point &also) {
    std::vector<Point> after;
    const auto push = [&](const Point &point) {
        if (point != nullptr) {
            after.push_back(point);
        }
    };
    push(stream.tail);
    push(also);
    if (stream.legacy) {
        for (const auto &entry : streams.all) {
            if (entry.second->blocking && entry.second->device == stream.device) {
                push(entry.second->tail);
            }
        }
    } else if (stream.blocking) {
        push(devices[stream.device].legacy->tail);
    }
    stream.tail = add(stream.device, stream.number, std::move(work), after, stream.lane, stream.clock);
    return stream.tail;
}
