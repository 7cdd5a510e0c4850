// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef AUGUR_LOOPNEST_DETAIL_RUNNER_WORKER_SOURCE_HPP
#define AUGUR_LOOPNEST_DETAIL_RUNNER_WORKER_SOURCE_HPP

/// @file
/// C source of the worker process of the runner: loads one candidate, runs it in guarded buffers, checks and times it.
///
/// Part of the program in loopnest/detail/runner_source.hpp.

namespace augur::inline v0::loopnest::detail {

inline constexpr char runner_worker_source[] = R"SRC(
/* ---- the worker: one candidate ------------------------------------------------------------------------------------------------------------ */

struct buffer {
    int32_t role, pad;
    int64_t elements;
    uint64_t fill;
    double low, high;
    float *data;          // ends at the guard page, except for a canary of at most 15 floats
    char *region;         // starts after the front guard page
    size_t bytes, canary; // bytes of the region; bytes between data and guard page
};
struct job {
    int32_t magic, threads, repeats, warmups, buffers, huge, dump, pad;
    double min_repeat, enough, atol, rtol, best, cutoff;
    int64_t flush;
    uint32_t path, entry, pack, reference, contents, pad2; // lengths of the names that follow, including the terminating zero
};

static struct message out;
static int result_fd = -1;
static pid_t self;
static _Atomic int candidate_runs;

static _Noreturn void done(int status) {
    if (getpid() != self) _exit(98); // a fork made by the candidate
    struct envelope e;
    memset(&e, 0, sizeof e);
    out.status = status;
    e.nonce = nonce;
    e.magic = magic;
    e.length = sizeof out;
    e.body = out;
    e.crc = crc32_of(&out, sizeof out);
    _exit(write_all(result_fd, &e, sizeof e) == 0 ? 0 : 97);
}
static _Noreturn void fail(int status, const char *message, const char *detail) {
    snprintf(out.text, sizeof out.text, "%s%s%s", message, detail ? ": " : "", detail ? detail : "");
    done(status);
}

#ifdef __GLIBC__
/* Without this, an allocation above the memory limit would look like a crash at address zero. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
static void *refused(void *p, size_t n) {
    if (!p && n && candidate_runs) fail(refused_memory, "an allocation passed the memory limit", NULL);
    return p;
}
void *malloc(size_t n) { return refused(__libc_malloc(n), n); }
void *calloc(size_t n, size_t k) { return refused(__libc_calloc(n, k), n && k); }
void *realloc(void *p, size_t n) { return refused(__libc_realloc(p, n), n); }
#endif

static uint32_t mix32(uint32_t x) {
    x = (x ^ (x >> 16)) * 0x85EBCA6Bu;
    x = (x ^ (x >> 13)) * 0xC2B2AE35u;
    return x ^ (x >> 16);
}
static uint64_t mix64(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
static void fill(const struct buffer *b) { // element i of stream s; equals program_input_value() of the host
    const float low = (float)b->low, width = (float)(b->high - b->low);
    for (int64_t base = 0; base < b->elements; base += (int64_t)1 << 32) {
        const uint32_t key = (uint32_t)mix64(b->fill + ((uint64_t)base >> 32) * 0x100000001B3u);
        const int64_t rest = b->elements - base, n = rest < ((int64_t)1 << 32) ? rest : ((int64_t)1 << 32);
        for (int64_t i = 0; i < n; ++i) b->data[base + i] = fmaf(width, (float)(mix32((uint32_t)i ^ key) >> 8) * 0x1p-24f, low);
    }
}
static void poison(const struct buffer *b) {
    for (int64_t i = 0; i < b->elements; ++i) b->data[i] = NAN;
}
static int make_buffer(struct buffer *b, int huge) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), big = (size_t)2 << 20;
    const size_t need = ((size_t)b->elements * sizeof(float) + 63) / 64 * 64;
    const size_t unit = huge && need > big / 8 ? big : page;
    b->bytes = (need + unit - 1) / unit * unit;
    char *at = mmap(NULL, b->bytes + unit + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return -1;
    b->region = (char *)(((uintptr_t)at + page + unit - 1) / unit * unit);
    if (mprotect(b->region, b->bytes, PROT_READ | PROT_WRITE) != 0) return -1;
#ifdef MADV_HUGEPAGE
    if (unit == big) madvise(b->region, b->bytes, MADV_HUGEPAGE);
#endif
    b->data = (float *)(b->region + b->bytes - need);
    b->canary = need - (size_t)b->elements * sizeof(float);
    memset(b->region + b->bytes - b->canary, 0xA5, b->canary);
    const size_t front = (size_t)((char *)b->data - b->region);
    memset((char *)b->data - (front < 64 ? front : 64), 0xA5, front < 64 ? front : 64);
    return 0;
}
static void check_canary(const struct buffer *b, int number) {
    const unsigned char *tail = (const unsigned char *)(b->region + b->bytes - b->canary), *head = (const unsigned char *)b->data;
    const size_t front = (size_t)((char *)b->data - b->region);
    int bad = 0;
    for (size_t i = 0; i < b->canary; ++i) bad |= tail[i] != 0xA5;
    for (size_t i = 1; i <= (front < 64 ? front : 64); ++i) bad |= head[-(ptrdiff_t)i] != 0xA5;
    if (bad) {
        out.buffer = number;
        fail(overrun, "wrote outside a buffer", NULL);
    }
}
static int differs(const struct job *j, float got, float want) {
    if (isnan(want)) return !isnan(got);
    if (isinf(want)) return got != want;
    return !(fabsf(got - want) <= (float)j->atol + (float)j->rtol * fabsf(want));
}
static void compare(const struct job *j, struct buffer *b, const float *want) {
    const float atol = (float)j->atol, rtol = (float)j->rtol;
    double worst = out.max_error;
    for (int i = 0; i < j->buffers; ++i) {
        check_canary(&b[i], i);
        if (b[i].role != role_output || !want) continue;
        const float *got = b[i].data;
        const int64_t n = b[i].elements;
        for (int64_t at = 0; at < n;) { // blocks keep the search for the first wrong element out of the fast loop
            const int64_t end = at + 4096 < n ? at + 4096 : n;
            float block = 0;
            int bad = 0;
            for (int64_t k = at; k < end; ++k) {
                const float e = fabsf(got[k] - want[k]) / (atol + rtol * fabsf(want[k]));
                block = e > block ? e : block;
                bad |= !(e <= 1);
            }
            if (block > worst) worst = block;
            if (bad && out.where < 0) {
                for (int64_t k = at; k < end; ++k)
                    if (differs(j, got[k], want[k])) {
                        out.where = k;
                        out.buffer = i;
                        out.got = got[k];
                        out.want = want[k];
                        break;
                    }
                if (out.where >= 0 && (isnan(out.got) || isnan(out.want) || isinf(out.want))) worst = INFINITY;
            }
            at = end;
        }
        want += n;
    }
    out.max_error = worst;
    if (out.where >= 0) done(wrong);
}
static void evict(char *trash, int64_t n) {
    for (int64_t i = 0; i < n; i += 64) ++trash[i];
}

/* The job: its fields, then its buffers, then its names. */
struct wire_buffer { int32_t role, pad; int64_t elements; uint64_t fill; double low, high; int64_t offset; };
static struct job read_job(const char *bytes, size_t length) {
    struct job j;
    if (length < sizeof j) fail(bad_job, "short job", NULL);
    memcpy(&j, bytes, sizeof j);
    const size_t names = (size_t)j.path + j.entry + j.pack + j.reference + j.contents;
    if (j.magic != magic || j.buffers < 0 || length != sizeof j + (size_t)j.buffers * sizeof(struct wire_buffer) + names || j.repeats < 0 ||
        j.repeats > 64)
        fail(bad_job, "malformed job", NULL);
    return j;
}
static void read_contents(int fd, const struct buffer *b, int64_t offset) {
    char *to = (char *)b->data;
    for (size_t rest = (size_t)b->elements * sizeof(float); rest > 0;) {
        const ssize_t k = pread(fd, to, rest, offset);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) fail(bad_job, "contents", k < 0 ? strerror(errno) : "the file ends early");
        to += k;
        offset += k;
        rest -= (size_t)k;
    }
}
/* Makes and fills the buffers. Returns the number of floats of all outputs. */
static int64_t make_buffers(const struct job *j, const char *wire, const char *contents, struct buffer *b, float **data) {
    int64_t outputs = 0;
    const int fd = j->contents > 1 ? open(contents, O_RDONLY | O_CLOEXEC) : -1;
    if (j->contents > 1 && fd < 0) fail(bad_job, "contents", strerror(errno));
    for (int i = 0; i < j->buffers; ++i) {
        struct wire_buffer w;
        memcpy(&w, wire + (size_t)i * sizeof w, sizeof w);
        b[i].role = w.role;
        b[i].elements = w.elements;
        b[i].fill = w.fill;
        b[i].low = w.low;
        b[i].high = w.high;
        if (make_buffer(&b[i], j->huge) != 0) fail(no_memory, "buffers", strerror(errno));
        data[i] = b[i].data;
        if (w.role == role_input || w.role == role_weight) {
            if (w.offset >= 0) read_contents(fd, &b[i], w.offset);
            else fill(&b[i]);
            mprotect(b[i].region, b[i].bytes, PROT_READ);
        } else {
            poison(&b[i]);
        }
        if (w.role == role_output) outputs += w.elements;
    }
    if (fd >= 0) close(fd);
    return outputs;
}
static const float *map_reference(const char *path, int64_t outputs) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    if (fd < 0 || fstat(fd, &s) != 0) fail(bad_job, "reference", strerror(errno));
    if (s.st_size != (off_t)(outputs * (int64_t)sizeof(float))) fail(bad_job, "reference has another size than the outputs", NULL);
    const float *values = outputs > 0 ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (values == MAP_FAILED) fail(no_memory, "reference", strerror(errno));
    close(fd);
    return values;
}
static void write_reference(const char *path, const struct job *j, const struct buffer *b) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) fail(bad_job, "reference", strerror(errno));
    for (int i = 0; i < j->buffers; ++i)
        if (b[i].role == role_output && write_all(fd, b[i].data, (size_t)b[i].elements * sizeof(float)) != 0)
            fail(bad_job, "reference", strerror(errno));
    close(fd);
}
struct candidate {
    entry_t run;
    pack_t prepare; // NULL: none
};
static struct candidate load(const char *path, const char *entry, const char *pack) {
    struct candidate c = {NULL, NULL};
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) fail(cannot_load, "dlopen", dlerror());
    void *symbol = dlsym(object, entry), *packer = pack ? dlsym(object, pack) : NULL;
    memcpy(&c.run, &symbol, sizeof c.run);
    memcpy(&c.prepare, &packer, sizeof c.prepare);
    if (!c.run || (pack && !c.prepare)) fail(cannot_load, "entry not found", NULL);
    return c;
}
static double seconds_of_call(entry_t run, float **data) {
    const double begin = now(CLOCK_MONOTONIC);
    run(data, launch);
    return now(CLOCK_MONOTONIC) - begin;
}
/* Writes the latency of each repeat to the message. Returns the CPU time of all calls. */
static double time_repeats(const struct job *j, entry_t run, float **data, char *trash) {
    const double start = now(CLOCK_PROCESS_CPUTIME_ID);
    double call = out.first, window = j->min_repeat;
    int repeats = j->repeats;
    // The first call includes page faults, cold caches and sleeping threads; a slow first call is therefore repeated.
    if (call < 0.5 && (call < window || (j->best > 0 && call > j->cutoff * j->best))) {
        double spent = 0;
        for (int i = 0; i < j->warmups || (j->warmups > 0 && i < 32 && spent < 2e-3); ++i) {
            const double again = seconds_of_call(run, data);
            spent += again;
            if (again < call) call = again;
        }
    }
    if (j->best > 0 && call > j->cutoff * j->best) { // the exact latency of a slow candidate is not needed
        window *= 0.1;
        repeats = 1;
    }
    const double wished = call > 0 ? window / call : 1e6;
    const int calls = wished < 1 || trash ? 1 : wished > 1e6 ? 1000000 : (int)wished + 1;
    out.calls = calls;
    double total = 0;
    for (int r = 0; r < repeats && (r == 0 || total < j->enough); ++r) {
        double sum = 0;
        int count = 0;
        do {
            if (trash) evict(trash, j->flush);
            const double begin = now(CLOCK_MONOTONIC);
            for (int i = 0; i < calls; ++i) run(data, launch);
            sum += now(CLOCK_MONOTONIC) - begin;
            count += calls;
        } while (trash && sum < window && count < 1000);
        total += sum;
        out.seconds[r] = sum / count;
        out.repeats = r + 1;
    }
    return now(CLOCK_PROCESS_CPUTIME_ID) - start;
}
static _Noreturn void work(const char *bytes, size_t length) {
    self = getpid();
    out.where = -1;
    const struct job j = read_job(bytes, length);
    const char *wire = bytes + sizeof j, *path = wire + (size_t)j.buffers * sizeof(struct wire_buffer);
    const char *entry = path + j.path, *pack = entry + j.entry, *reference = pack + j.pack, *contents = reference + j.reference;
    struct buffer *b = calloc((size_t)j.buffers + 1, sizeof *b);
    float **data = calloc((size_t)j.buffers + 1, sizeof *data);
    if (!b || !data) fail(no_memory, "buffers", NULL);
    const int64_t outputs = make_buffers(&j, wire, contents, b, data);
    const float *want = j.reference > 1 && !j.dump ? map_reference(reference, outputs) : NULL;
    char *trash = j.flush > 0 ? mmap(NULL, (size_t)j.flush, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
    if (trash == MAP_FAILED) fail(no_memory, "cache flush", strerror(errno));
    if (start_threads(j.threads) != 0) fail(no_memory, "threads", NULL);
    candidate_runs = 1;
    const struct candidate c = load(path, entry, j.pack > 1 ? pack : NULL);

    if (c.prepare) {
        const double begin = now(CLOCK_MONOTONIC);
        c.prepare(data);
        out.packing = now(CLOCK_MONOTONIC) - begin;
    }
    for (int i = 0; i < j.buffers; ++i)
        if (b[i].role == role_packed) mprotect(b[i].region, b[i].bytes, PROT_READ);
    const double cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    out.first = seconds_of_call(c.run, data);
    double timed = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    compare(&j, b, want);
    if (j.dump) write_reference(reference, &j, b);
    if (j.dump && out.first > 0.5) { // a long one runs once
        out.seconds[0] = out.first;
        out.calls = out.repeats = 1;
    } else if (j.repeats > 0) {
        for (int i = 0; i < j.buffers; ++i)
            if (b[i].role == role_output) poison(&b[i]); // else a candidate that writes nothing after its first call would be right
        timed += time_repeats(&j, c.run, data, trash);
        compare(&j, b, want); // detects data races and sums that are not reset, too
    }
    out.timed_cpu = timed;
    done(fine);
}
)SRC";

} // namespace augur::inline v0::loopnest::detail

#endif
