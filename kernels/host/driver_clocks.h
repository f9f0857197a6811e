// Finds data races whatever the schedule: each piece of work has a vector clock, which says what
// happens before it, and each byte of memory remembers who wrote it last and who has read it since.
// Two accesses of which one is a write race where neither is in the other's past.
#pragma once
#include <stdint.h>
#include <stdio.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

/// How much of each lane (a stream, or a branch of a graph) has happened.
class Clock {
  public:
    uint64_t of(unsigned lane) const { return lane < seen_.size() ? seen_[lane] : 0; }
    void set(unsigned lane, uint64_t epoch) {
        if (lane >= seen_.size()) {
            seen_.resize(lane + 1, 0);
        }
        seen_[lane] = epoch;
    }
    void join(const Clock &other) {
        if (seen_.size() < other.seen_.size()) {
            seen_.resize(other.seen_.size(), 0);
        }
        for (size_t lane = 0; lane < other.seen_.size(); ++lane) {
            seen_[lane] = std::max(seen_[lane], other.seen_[lane]);
        }
    }

  private:
    std::vector<uint64_t> seen_;
};

struct Range {
    uintptr_t begin = 0, end = 0;
    /// Memory of the host, which need not be known to the driver.
    bool host = false;
};

/// One piece of work that touched memory; `epoch` counts those of its lane.
struct Access {
    unsigned lane = 0;
    uint64_t epoch = 0;
    const std::string *what = nullptr;
    unsigned long long stream = 0;
    int device = 0;

    bool is_before(const Clock &clock) const { return clock.of(lane) >= epoch; }
    bool operator==(const Access &other) const { return lane == other.lane && epoch == other.epoch; }
    std::string text() const {
        return "'" + *what + "' on stream " + std::to_string(stream) + " of device "
            + std::to_string(device);
    }
};

inline std::string text(const Range &range) {
    char room[64];
    snprintf(room, sizeof room, "bytes %#llx to %#llx", (unsigned long long)range.begin,
             (unsigned long long)range.end);
    return room;
}

/// The accesses that later ones may race with.
class Shadow {
  public:
    /// Notes an access of work whose past is `clock`, itself included.
    void touch(const Range &range, const Access &now, bool writes, const Clock &clock, const Clock &host) {
        if (range.begin >= range.end) {
            return;
        }
        sweep(host);
        split(range.begin);
        split(range.end);
        fill(range);
        told_.clear();
        const auto stop = cells_.lower_bound(range.end);
        for (auto at = cells_.lower_bound(range.begin); at != stop; ++at) {
            Cell &cell = at->second;
            const Range part{at->first, cell.end};
            if (cell.written && !cell.write.is_before(clock)) {
                tell(part, cell.write, true, now, writes);
            }
            if (writes) {
                for (const Access &read : cell.reads) {
                    if (!read.is_before(clock)) {
                        tell(part, read, false, now, writes);
                    }
                }
                cell.written = true;
                cell.write = now;
                cell.reads.clear();
            } else {
                // What comes after this access comes after those in its past too.
                drop(cell.reads, clock);
                cell.reads.push_back(now);
            }
        }
        merge(range);
    }

    /// Forgets memory that is given back; whoever the host has not waited for still uses it.
    void forget(const Range &range, const char *how, const Clock &host) {
        split(range.begin);
        split(range.end);
        const auto first = cells_.lower_bound(range.begin), stop = cells_.lower_bound(range.end);
        for (auto at = first; at != stop; ++at) {
            std::vector<Access> users = at->second.reads;
            if (at->second.written) {
                users.push_back(at->second.write);
            }
            for (const Access &user : users) {
                if (!user.is_before(host)) {
                    add(user.text() + " uses " + ::text({at->first, at->second.end}) + ", which are "
                        + how + " although the host has not waited for it");
                }
            }
        }
        cells_.erase(first, stop);
    }

    /// The races found so far, a line each, which are forgotten.
    std::string take() {
        std::string all;
        for (const std::string &line : races_) {
            all += line + "\n";
        }
        races_.clear();
        return all;
    }

    size_t size() const { return cells_.size(); }

  private:
    struct Cell {
        uintptr_t end;
        bool written = false;
        Access write;
        std::vector<Access> reads;

        bool is_like(const Cell &other) const {
            return written == other.written && (!written || write == other.write)
                && reads == other.reads;
        }
    };
    /// More lines than anybody reads.
    static constexpr size_t MOST = 100;

    static void drop(std::vector<Access> &reads, const Clock &clock) {
        const auto gone = [&](const Access &read) { return read.is_before(clock); };
        reads.erase(std::remove_if(reads.begin(), reads.end(), gone), reads.end());
    }

    void add(const std::string &line) {
        if (races_.size() < MOST) {
            races_.push_back(line);
        }
    }

    void tell(const Range &part, const Access &old, bool wrote, const Access &now, bool writes) {
        if (told_.insert({old.lane, old.epoch}).second) {
            add(now.text() + (writes ? " writes " : " reads ") + ::text(part) + ", which " + old.text()
                + (wrote ? " writes" : " reads") + ", and nothing orders the two");
        }
    }

    void split(uintptr_t at) {
        auto next = cells_.upper_bound(at);
        if (next == cells_.begin()) {
            return;
        }
        auto cell = std::prev(next);
        if (cell->first < at && at < cell->second.end) {
            Cell upper = cell->second;
            cell->second.end = at;
            cells_.emplace_hint(next, at, std::move(upper));
        }
    }

    /// Cells for the bytes of a range that have none.
    void fill(const Range &range) {
        uintptr_t at = range.begin;
        auto next = cells_.lower_bound(at);
        while (at < range.end) {
            const uintptr_t end = next == cells_.end() ? range.end : std::min(next->first, range.end);
            if (at < end) {
                cells_.emplace_hint(next, at, Cell{end, false, {}, {}});
            }
            if (next == cells_.end() || end == range.end) {
                return;
            }
            at = next->second.end;
            ++next;
        }
    }

    /// Makes neighbours one that say the same.
    void merge(const Range &range) {
        auto at = cells_.lower_bound(range.begin);
        if (at != cells_.begin()) {
            --at;
        }
        while (at != cells_.end() && at->first <= range.end) {
            const auto next = std::next(at);
            if (next != cells_.end() && next->first == at->second.end && at->second.is_like(next->second)) {
                at->second.end = next->second.end;
                cells_.erase(next);
            } else {
                at = next;
            }
        }
    }

    /// Now and then forgets what the host has waited for: all that comes is after it.
    void sweep(const Clock &host) {
        if (cells_.size() < limit_) {
            return;
        }
        for (auto at = cells_.begin(); at != cells_.end();) {
            Cell &cell = at->second;
            cell.written = cell.written && !cell.write.is_before(host);
            drop(cell.reads, host);
            at = cell.written || !cell.reads.empty() ? std::next(at) : cells_.erase(at);
        }
        limit_ = 2 * cells_.size() + 1024;
    }

    std::map<uintptr_t, Cell> cells_;
    std::set<std::pair<unsigned, uint64_t>> told_;
    std::vector<std::string> races_;
    size_t limit_ = 1024;
};
