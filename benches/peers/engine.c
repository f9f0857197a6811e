/* Shapes of dependency on peers of the engine, a line of JSON per round:
 *
 *   engine omp   SHAPE OPERATIONS [GRAIN]  OpenMP's `task depend`, which follows the same rule; by
 *                                          GCC's runtime or LLVM's, as the compiler has it
 *   engine mxnet SHAPE OPERATIONS [GRAIN]  MXNet 1.9.1's engine through its C API; $LIBMXNET names
 *                                          libmxnet.so
 *
 * SHAPE is a file that `patterns dump` of rust/engine/examples wrote; the shape is repeated until
 * there are enough operations. An operation is one relaxed addition and GRAIN turns of a loop. As
 * some peers take seconds for what others do at once, a first round of a tenth of the operations
 * finds how many fit into a second; the others have no more than that.
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

enum { MOST_READS = 15, ROUNDS = 4 };

typedef struct {
    int reads, read[MOST_READS], write;
} Access;

typedef struct {
    int variables;
    long length;
    Access *list;
} Shape;

static long count;
static int grain;

static void payload(void *context, void *parameter) {
    (void)context;
    (void)parameter;
    double x = 0.5;
    __asm__ volatile("" : "+x"(x));
    for (int i = 0; i < grain; i++) x = x * 0.999 + 0.001;
    __asm__ volatile("" : : "x"(x));
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void fail(const char *what, const char *which) {
    fprintf(stderr, "%s: %s\n", what, which);
    exit(1);
}

static int number(FILE *file, int most) {
    int value;
    if (fscanf(file, "%d", &value) != 1 || value < 0 || value > most) fail("bad shape", "number");
    return value;
}

static Shape load(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail("no such shape", path);
    Shape shape = {.variables = number(file, 1 << 20), .length = number(file, 1 << 28)};
    shape.list = calloc((size_t)shape.length, sizeof(Access));
    for (long i = 0; i < shape.length; i++) {
        Access *a = &shape.list[i];
        a->reads = number(file, MOST_READS + 1) - 1;
        for (int k = 0; k < a->reads; k++) a->read[k] = number(file, shape.variables - 1);
        a->write = number(file, shape.variables - 1);
    }
    fclose(file);
    return shape;
}

/* Prints what a round took; returns how many operations the next ones should have. */
static long report(int round, long n, long wanted, double begin, double pushed, double done) {
    if (count != n) fail("peer", "operations were lost");
    if (round > 0) {
        printf("{\"ns_per_op\": %.1f, \"push_ns\": %.1f, \"operations\": %ld}\n",
               (done - begin) * 1e9 / n, (pushed - begin) * 1e9 / n, n);
        fflush(stdout);
        return n;
    }
    double fit = n / (done - begin);
    return fit < wanted ? (long)fit + 1 : wanted;
}

static void omp_push(char *vars, const Access *a) {
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
        int reads = a->reads;
#pragma omp task depend(iterator(int k = 0 : reads), in : vars[64 * a->read[k]]) depend(inout : w[0])
        payload(NULL, NULL);
    }
}

static void run_omp(const Shape *shape, long n) {
    char *vars = malloc(64 * (size_t)shape->variables);
    long part = n / 10 + 1;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = seconds(), pushed = 0;
        count = 0;
#pragma omp parallel
#pragma omp single
        {
            for (long i = 0; i < part; i++) omp_push(vars, &shape->list[i % shape->length]);
            pushed = seconds();
#pragma omp taskwait
        }
        part = report(round, part, n, begin, pushed, seconds());
    }
}

typedef int Create(const uint32_t *, uint32_t, int, int, int, void **);
typedef int Push(void *, void *, void *, void *, void **, int, void **, int, void *, int,
                 const char *, _Bool);
typedef int WaitAll(void);

static void *symbol(void *library, const char *name) {
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) fail("MXNet", dlerror());
    return found;
}

static void run_mxnet(const Shape *shape, long n) {
    const char *path = getenv("LIBMXNET");
    void *library = dlopen(path ? path : "libmxnet.so", RTLD_NOW | RTLD_GLOBAL);
    Create *create = (Create *)symbol(library, "MXNDArrayCreate");
    Push *push = (Push *)symbol(library, "MXEnginePushSyncND");
    WaitAll *wait_all = (WaitAll *)symbol(library, "MXNDArrayWaitAll");
    void **var = malloc(sizeof(void *) * (size_t)shape->variables);
    uint32_t dims[1] = {1};
    int failed = 0;
    for (int i = 0; i < shape->variables; i++) failed |= create(dims, 1, 1, 0, 0, &var[i]);
    struct {
        int type, id;
    } cpu = {1, 0};
    long part = n / 10 + 1;
    for (int round = 0; round < ROUNDS; round++) {
        wait_all();
        count = 0;
        double begin = seconds();
        for (long i = 0; i < part; i++) {
            const Access *a = &shape->list[i % shape->length];
            void *reads[MOST_READS], *writes[1] = {var[a->write]};
            for (int k = 0; k < a->reads; k++) reads[k] = var[a->read[k]];
            failed |= push((void *)payload, NULL, NULL, &cpu, reads, a->reads, writes, 1, NULL, 0,
                           "add", 0);
        }
        double pushed = seconds();
        wait_all();
        if (failed) fail("MXNet", "a call was refused");
        part = report(round, part, n, begin, pushed, seconds());
    }
}

static void print_peak(void) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1) printf("{\"peak_mib\": %.1f}\n", kib / 1024.0);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: engine omp|mxnet SHAPE OPERATIONS [GRAIN]\n");
        return 2;
    }
    Shape shape = load(argv[2]);
    grain = argc > 4 ? atoi(argv[4]) : 0;
    (strcmp(argv[1], "mxnet") ? run_omp : run_mxnet)(&shape, atol(argv[3]));
    print_peak();
    fflush(stdout);
    _exit(0); /* MXNet's static destructors may hang. */
}
