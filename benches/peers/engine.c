/* The dependency patterns of rust/engine/examples/patterns.rs on two peers, one JSON line a round:
 *
 *   engine gomp  PATTERN OPERATIONS    OpenMP's `task depend`, which follows the same rule
 *   engine mxnet PATTERN OPERATIONS    MXNet 1.9.1's engine through its C API; $LIBMXNET names
 *                                      libmxnet.so
 *
 * Built and run by benches/engine.py: gcc -O2 -fopenmp engine.c -o engine -ldl
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_READS = 8, ROUNDS = 4 };

typedef struct {
    int reads, read[MOST_READS], write;
} Access;

static volatile long count;

static void payload(void *context, void *parameter) {
    (void)context;
    (void)parameter;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Marsaglia's xorshift64. */
static int below(int n) {
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((uint32_t)(state >> 11) % (uint32_t)n);
}

static int variables(const char *pattern) {
    if (!strcmp(pattern, "independent") || !strcmp(pattern, "wide")) return 1024;
    if (!strcmp(pattern, "chain")) return 1;
    if (!strcmp(pattern, "fan")) return 65;
    if (!strcmp(pattern, "random")) return 128;
    fprintf(stderr, "unknown pattern '%s'\n", pattern);
    exit(2);
}

static Access access_of(const char *pattern, long i) {
    Access a = {0};
    if (!strcmp(pattern, "independent")) {
        a.write = (int)(i % 1024);
    } else if (!strcmp(pattern, "fan")) {
        a.write = (int)(i % 64);
        a.reads = a.write != 0;
    } else if (!strcmp(pattern, "random")) {
        a.write = below(128);
        while (a.reads < 2) {
            int read = below(128);
            if (read != a.write && !(a.reads && read == a.read[0])) a.read[a.reads++] = read;
        }
    } else if (!strcmp(pattern, "wide")) {
        int base = below(1015);
        while (a.reads < 8) a.read[a.reads] = base + a.reads, a.reads++;
        a.write = base + 8;
    }
    return a;
}

static void report(int round, long n, double begin, double pushed, double done) {
    if (count != n) {
        fprintf(stderr, "lost operations: %ld of %ld ran\n", count, n);
        exit(1);
    }
    if (round > 0)
        printf("{\"ns_per_op\": %.1f, \"push_ns\": %.1f}\n", (done - begin) * 1e9 / n,
               (pushed - begin) * 1e9 / n);
    fflush(stdout);
}

static void gomp_push(char *vars, const Access *a) {
    char *w = vars + 64 * a->write, *r0 = vars + 64 * a->read[0], *r1 = vars + 64 * a->read[1];
    if (a->reads == 0) {
#pragma omp task depend(inout : w[0])
        payload(NULL, NULL);
    } else if (a->reads == 1) {
#pragma omp task depend(in : r0[0]) depend(inout : w[0])
        payload(NULL, NULL);
    } else if (a->reads == 2) {
#pragma omp task depend(in : r0[0], r1[0]) depend(inout : w[0])
        payload(NULL, NULL);
    } else {
#pragma omp task depend(iterator(int k = 0 : 8), in : vars[64 * a->read[k]]) depend(inout : w[0])
        payload(NULL, NULL);
    }
}

static void run_gomp(const char *pattern, const Access *list, long n) {
    char *vars = malloc(64 * (size_t)variables(pattern));
    for (int round = 0; round < ROUNDS; round++) {
        long part = round ? n : n / 10;
        double begin = seconds(), pushed = 0;
        count = 0;
#pragma omp parallel
#pragma omp single
        {
            for (long i = 0; i < part; i++) gomp_push(vars, &list[i]);
            pushed = seconds();
#pragma omp taskwait
        }
        report(round, part, begin, pushed, seconds());
    }
}

typedef int Create(const uint32_t *, uint32_t, int, int, int, void **);
typedef int Push(void *, void *, void *, void *, void **, int, void **, int, void *, int,
                 const char *, _Bool);
typedef int WaitAll(void);

static void *symbol(void *library, const char *name) {
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void run_mxnet(const char *pattern, const Access *list, long n) {
    const char *path = getenv("LIBMXNET");
    void *library = dlopen(path ? path : "libmxnet.so", RTLD_NOW | RTLD_GLOBAL);
    Create *create = (Create *)symbol(library, "MXNDArrayCreate");
    Push *push = (Push *)symbol(library, "MXEnginePushSyncND");
    WaitAll *wait_all = (WaitAll *)symbol(library, "MXNDArrayWaitAll");
    int vars = variables(pattern);
    void **var = malloc(sizeof(void *) * (size_t)vars);
    uint32_t shape[1] = {1};
    int failed = 0;
    for (int i = 0; i < vars; i++) failed |= create(shape, 1, 1, 0, 0, &var[i]);
    struct {
        int type, id;
    } cpu = {1, 0};
    for (int round = 0; round < ROUNDS; round++) {
        long part = round ? n : n / 10;
        wait_all();
        count = 0;
        double begin = seconds();
        for (long i = 0; i < part; i++) {
            void *reads[MOST_READS], *writes[1] = {var[list[i].write]};
            for (int k = 0; k < list[i].reads; k++) reads[k] = var[list[i].read[k]];
            failed |= push((void *)payload, NULL, NULL, &cpu, reads, list[i].reads, writes, 1,
                           NULL, 0, "add", 0);
        }
        double pushed = seconds();
        wait_all();
        if (failed) {
            fprintf(stderr, "MXNet refused a call\n");
            exit(1);
        }
        report(round, part, begin, pushed, seconds());
    }
    _exit(0); /* MXNet's static destructors may hang. */
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: engine gomp|mxnet PATTERN OPERATIONS\n");
        return 2;
    }
    long n = atol(argv[3]);
    variables(argv[2]);
    Access *list = malloc(sizeof(Access) * (size_t)n);
    for (long i = 0; i < n; i++) list[i] = access_of(argv[2], i);
    if (!strcmp(argv[1], "mxnet"))
        run_mxnet(argv[2], list, n);
    else
        run_gomp(argv[2], list, n);
    return 0;
}
