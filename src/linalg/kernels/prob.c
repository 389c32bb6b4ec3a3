/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions of rows of class probabilities: sum, smallest and two largest numbers,
 * entropies, cross entropies, residual lengths; and softmax and arg max.
 *
 * Sums of p log p and of exponentials do not depend on the order of their terms, so rows
 * that are permutations of each other have equal values: each term is rounded to a grid
 * that is coarse enough for sums of such terms to be exact.
 */
#include "linalg/kernels/log.h"

#include <math.h>

#include "linalg/kernels.h"

enum { SHORT_ROW = 16 }; /* in shorter rows the scalar tail would dominate */

static double row_entropy(const T *p, size_t c, double base) {
    D4 sum = spread(base);
    size_t k = 0;
    for (; k + 4 <= c; k += 4) sum = surprise(sum, load_d(p + k));
    return above(surprise(sum, load_rest(p + k, c - k)), base);
}

/* Returns whether all numbers are 0 or 1: x(1-x) is not 0 for any other number. */
static int is_certain(const T *p, size_t c) {
    V rest = {0};
    size_t k = 0;
    for (; k + LANES <= c; k += LANES) {
        V x = load(p + k);
        rest += x * ((T)1 - x);
    }
    double sum = sum4(fold(rest));
    for (; k < c; k++) sum += (double)(p[k] * ((T)1 - p[k]));
    return sum == 0;
}

/* Recomputes a small entropy on a finer grid: one pass finds its magnitude, the next one
 * uses a grid for that magnitude. */
static __attribute__((noinline)) double faint_entropy(const T *p, size_t c) {
    if (is_certain(p, c)) return 0;
    double plain = row_entropy(p, c, 0);
    return plain > 0 ? row_entropy(p, c, 1.5 * ldexp(1, ilogb(plain) + 4)) : plain;
}

/* Loads a column of four adjacent rows. Short rows are processed by columns, which needs
 * no sum across lanes. */
INLINE D4 load_column(const T *p, size_t c) {
    return (D4){(double)p[0], (double)p[c], (double)p[2 * c], (double)p[3 * c]};
}

/* Converts bits to nats; recomputes entropies too small for the grid. */
INLINE double nats(const T *p, size_t c, double bits) {
    return LN2 * (fabs(bits) < FAINT ? faint_entropy(p, c) : bits);
}

static void four_entropies(const T *p, size_t c, la_rowstat *out) {
    D4 sum = {0}, least = spread(INFINITY), entropy = spread(BASE);
    for (size_t k = 0; k < c; k++) {
        D4 x = load_column(p + k, c);
        sum += x;
        least = min_d(least, x);
        entropy = surprise(entropy, x);
    }
    for (size_t j = 0; j < 4; j++) {
        out[j].sum = sum[j];
        out[j].min = least[j];
        out[j].entropy = nats(p + j * c, c, entropy[j] - BASE);
    }
}

/* One loop, so that memory is read while logarithms are computed. */
static void one_entropy(const T *p, size_t c, la_rowstat *out) {
    V sum = {0}, least = (V){0} + (T)INFINITY;
    D4 entropy = spread(BASE), more = entropy;
    size_t k = 0;
    for (; k + LANES <= c; k += LANES) {
        V x = load(p + k);
        sum += x;
        least = min_v(least, x);
#ifdef KERNEL_f32
        entropy = surprise(entropy, low(x));
        more = surprise(more, high(x));
#else
        entropy = surprise(entropy, x);
#endif
    }
    double bits = above(entropy, BASE) + above(more, BASE);
    out->entropy = nats(p, c, bits + row_entropy(p + k, c - k, BASE));
    out->sum = sum4(fold(sum));
    out->min = INFINITY;
    for (int j = 0; j < LANES; j++) out->min = fmin(out->min, (double)least[j]);
    for (; k < c; k++) {
        out->sum += (double)p[k];
        out->min = fmin(out->min, (double)p[k]);
    }
}

void KERNEL(entropy)(const void *rows, size_t n, size_t c, la_rowstat *out) {
    const T *p = rows;
    size_t i = 0;
    for (; c < SHORT_ROW && i + 4 <= n; i += 4) four_entropies(p + i * c, c, out + i);
    for (; i < n; i++) one_entropy(p + i * c, c, out + i);
}

/* Entropies for differences have full precision. Terms are rounded to a grid of 2^-45, on
 * which sums below 64 bits are exact; the remainders are summed separately. Cross
 * entropies are at most 40 bits, because probabilities are raised to FLOOR. */
#define EXACT_BASE 192.0
#define FLOOR 1e-12

typedef struct two_sums {
    D4 coarse, fine;
} two_sums;

/* Lane by lane: without AVX2 gcc 12 fails to compile the logarithm of max_d(). */
INLINE D4 at_least_floor(D4 p) {
#ifdef __AVX2__
    return max_d(p, spread(FLOOR));
#else
    return (D4){fmax(p[0], FLOOR), fmax(p[1], FLOOR), fmax(p[2], FLOOR),
                fmax(p[3], FLOOR)};
#endif
}

INLINE void add_term(two_sums *sum, D4 term, double base) {
    D4 part = (term + base) - base;
    sum->coarse += part;
    sum->fine += term - part;
}

INLINE void miss(two_sums *sum, D4 a, D4 p) {
    add_term(sum, -a * log2_exact(at_least_floor(p)), EXACT_BASE);
}

INLINE D4 column_of(const double *a, size_t c) {
    return (D4){a[0], a[c], a[2 * c], a[3 * c]};
}

static void four_crosses(const double *a, const T *p, size_t c, double *out) {
    two_sums sum = {{0}, {0}};
    for (size_t k = 0; k < c; k++) miss(&sum, column_of(a + k, c), load_column(p + k, c));
    for (size_t j = 0; j < 4; j++) out[j] = LN2 * (sum.coarse[j] + sum.fine[j]);
}

static double one_cross(const double *a, const T *p, size_t c) {
    two_sums sum = {{0}, {0}};
    D4 four;
    double rest[4] = {0};
    size_t k = 0;
    for (; k + 4 <= c; k += 4) {
        memcpy(&four, a + k, sizeof four);
        miss(&sum, four, load_d(p + k));
    }
    memcpy(rest, a + k, (c - k) * sizeof *rest);
    memcpy(&four, rest, sizeof four);
    miss(&sum, four, load_rest(p + k, c - k));
    return LN2 * (sum4(sum.coarse) + sum4(sum.fine));
}

void KERNEL(cross)(const double *a, const void *rows, size_t n, size_t c, double *out) {
    const T *p = rows;
    size_t i = 0;
    for (; c < SHORT_ROW && i + 4 <= n; i += 4)
        four_crosses(a + i * c, p + i * c, c, out + i);
    for (; i < n; i++) out[i] = one_cross(a + i * c, p + i * c, c);
}

static double exact_bits(const T *p, size_t c, double base) {
    two_sums sum = {{0}, {0}};
    size_t k = 0;
    for (; k + 4 <= c; k += 4) {
        D4 x = load_d(p + k);
        add_term(&sum, -x * log2_exact(x), base);
    }
    D4 x = load_rest(p + k, c - k);
    add_term(&sum, -x * log2_exact(x), base);
    return sum4(sum.coarse) + sum4(sum.fine);
}

/* Converts bits to nats; uses a finer grid if the entropy is small, so that permutations
 * still have equal values. */
INLINE double exact_nats(const T *p, size_t c, double bits) {
    if (bits > 0 && bits < FAINT)
        bits = exact_bits(p, c, 1.5 * ldexp(1, ilogb(bits) + 4));
    return LN2 * bits;
}

static void four_exact(const T *p, size_t c, double *out) {
    two_sums sum = {{0}, {0}};
    for (size_t k = 0; k < c; k++) {
        D4 x = load_column(p + k, c);
        add_term(&sum, -x * log2_exact(x), EXACT_BASE);
    }
    for (size_t j = 0; j < 4; j++)
        out[j] = exact_nats(p + j * c, c, sum.coarse[j] + sum.fine[j]);
}

void KERNEL(exact_entropy)(const void *rows, size_t n, size_t c, double *out) {
    const T *p = rows;
    size_t i = 0;
    for (; c < SHORT_ROW && i + 4 <= n; i += 4) four_exact(p + i * c, c, out + i);
    for (; i < n; i++)
        out[i] = exact_nats(p + i * c, c, exact_bits(p + i * c, c, EXACT_BASE));
}

INLINE void insert(la_rowstat *s, double x) {
    double below = x < s->top ? x : s->top;
    s->top = x > s->top ? x : s->top;
    s->second = below > s->second ? below : s->second;
}

static void short_row_stat(const T *p, size_t c, la_rowstat *out) {
    la_rowstat s = {.min = INFINITY, .top = -INFINITY, .second = -INFINITY};
    for (size_t k = 0; k < c; k++) {
        double x = (double)p[k];
        s.sum += x;
        s.min = x < s.min ? x : s.min;
        insert(&s, x);
    }
    *out = s;
}

/* The hardware prefetcher stops at page boundaries; this does not. Prefetching beyond the
 * pool is harmless: a prefetch cannot fault. */
INLINE void prefetch_rows(const T *p) {
    __builtin_prefetch((const void *)((uintptr_t)p + 4096), 0, 3);
}

typedef struct column_stat { /* one column per lane */
    V sum, least, top, second;
} column_stat;

INLINE void take(column_stat *s, V x) {
    s->sum += x;
    s->least = min_v(s->least, x);
    s->second = max_v(s->second, min_v(s->top, x));
    s->top = max_v(s->top, x);
}

/* Two sets of columns, so that additions do not wait for each other. */
static void long_row_stat(const T *p, size_t c, la_rowstat *out) {
    const V low = (V){0} - (T)INFINITY;
    column_stat a = {load(p), load(p), load(p), low}, b = {{0}, load(p), low, low};
    la_rowstat s;
    size_t k = LANES;
    for (; k + 2 * LANES <= c; k += 2 * LANES) {
        prefetch_rows(p + k);
        take(&a, load(p + k));
        take(&b, load(p + k + LANES));
    }
    short_row_stat(p + k, c - k, &s);
    s.sum += sum4(fold(a.sum) + fold(b.sum));
    V least = min_v(a.least, b.least), top = max_v(a.top, b.top);
    V second = max_v(min_v(a.top, b.top), max_v(a.second, b.second));
    for (int j = 0; j < LANES; j++) {
        s.min = (double)least[j] < s.min ? (double)least[j] : s.min;
        insert(&s, (double)top[j]);
        insert(&s, (double)second[j]);
    }
    *out = s;
}

static void four_row_stats(const T *p, size_t c, la_rowstat *out) {
    D4 sum = load_column(p, c), least = sum, top = sum, second = spread(-INFINITY);
    for (size_t k = 1; k < c; k++) {
        D4 x = load_column(p + k, c);
        sum += x;
        least = min_d(least, x);
        second = max_d(second, min_d(top, x));
        top = max_d(top, x);
    }
    for (int j = 0; j < 4; j++)
        out[j] = (la_rowstat){
            .sum = sum[j], .min = least[j], .top = top[j], .second = second[j]};
}

void KERNEL(rowstat)(const void *rows, size_t n, size_t c, la_rowstat *out) {
    const T *p = rows;
    size_t i = 0;
    for (; c < SHORT_ROW && i + 4 <= n; i += 4) four_row_stats(p + i * c, c, out + i);
    for (; i < n; i++) {
        if (c < SHORT_ROW)
            short_row_stat(p + i * c, c, out + i);
        else
            long_row_stat(p + i * c, c, out + i);
    }
}

INLINE D4 load_some(const T *p, size_t count) {
    return count >= 4 ? load_d(p) : load_rest(p, count);
}

static double sum_of_squares(const T *p, size_t count) {
    D4 sum = {0};
    for (size_t k = 0; k < count; k += 4) {
        D4 x = load_some(p + k, count - k);
        sum = fma_d(x, x, sum);
    }
    return sum4(sum);
}

/* sum of p_k sqrt((1 - p_k)^2 + squares - p_k^2) */
static double sum_of_lengths(const T *p, size_t count, double squares) {
    D4 sum = {0};
    for (size_t k = 0; k < count; k += 4) {
        D4 x = load_some(p + k, count - k), miss = 1.0 - x;
        D4 rest = max_d(squares - x * x, spread(0));
        sum += x * sqrt_d(fma_d(miss, miss, rest));
    }
    return sum4(sum);
}

/* |p - e_k|^2 = (1 - p_k)^2 + the other squares. For the largest p_k the other squares
 * are summed separately: if p_k is near 1, subtracting its square from the sum of all
 * squares would lose digits. */
void KERNEL(residual_length)(const void *rows, size_t n, size_t c, const la_rowstat *stat,
                             double *out) {
    for (size_t i = 0; i < n; i++) {
        const T *p = (const T *)rows + i * c;
        double top = stat[i].top;
        size_t y = 0;
        while ((double)p[y] != top) y++;
        size_t after = c - y - 1;
        double others = sum_of_squares(p, y) + sum_of_squares(p + y + 1, after);
        double all = top * top + others, miss = 1 - top;
        out[i] = top * sqrt(miss * miss + others) + sum_of_lengths(p, y, all) +
                 sum_of_lengths(p + y + 1, after, all);
    }
}

#ifdef KERNEL_f64
/* e^x for x <= 0; 0 below -708. After range reduction by powers of two, 14 terms of the
 * series on |r| < 0.347 have an error of 4e-18. */
INLINE D4 exp_d(D4 x) {
    D4 kept = max_d(x, spread(-708.0));
    D4 shifted = fma_d(kept, spread(1.4426950408889634074), spread(0x1.8p52));
    D4 k = shifted - 0x1.8p52;
    D4 r = fma_d(k, spread(-0x1.62e42fefa3800p-1), kept); /* ln 2 in two parts; the */
    r = fma_d(k, spread(-0x1.ef35793c76730p-45), r);      /* first times k is exact */
    D4 p = spread(1.0 / 6227020800);
    static const double over_factorial[] = {1.0 / 479001600,
                                            1.0 / 39916800,
                                            1.0 / 3628800,
                                            1.0 / 362880,
                                            1.0 / 40320,
                                            1.0 / 5040,
                                            1.0 / 720,
                                            1.0 / 120,
                                            1.0 / 24,
                                            1.0 / 6,
                                            1.0 / 2,
                                            1.0,
                                            1.0};
#pragma GCC unroll 13
    for (int i = 0; i < 13; i++) p = fma_d(p, r, spread(over_factorial[i]));
    U4 scaled = (U4)p + ((U4)shifted << 52); /* the low bits of shifted are k */
    return (D4)(scaled & (U4)(x >= -708.0));
}

/* Works in place. Terms are rounded to a grid on which c terms of at most 1 add up
 * exactly; the remainders are summed separately, with an error below the precision of the
 * sum. */
void KERNEL(softmax)(double *rows, size_t n, size_t c) {
    double grid = 1.5 * ldexp(1.0, ilogb((double)c) + 2);
    for (size_t i = 0; i < n; i++) {
        double *z = rows + i * c, top = z[0];
        for (size_t k = 1; k < c; k++) top = z[k] > top ? z[k] : top;
        D4 coarse = {0}, fine = {0};
        for (size_t k = 0; k < c; k += 4) {
            size_t count = c - k < 4 ? c - k : 4;
            D4 e = exp_d(count == 4 ? load(z + k) - top : load_rest(z + k, count) - top);
            for (size_t j = count; j < 4; j++) e[j] = 0;
            D4 part = (e + grid) - grid;
            coarse += part;
            fine += e - part;
            memcpy(z + k, &e, count * sizeof *z);
        }
        double total = sum4(coarse) + sum4(fine);
        for (size_t k = 0; k < c; k++) z[k] /= total;
    }
}

size_t KERNEL(argmax)(const double *x, size_t n) {
    V top = {0};
    top -= (T)INFINITY;
    size_t k = 0;
    for (; k + LANES <= n; k += LANES) top = max_v(top, load(x + k));
    double best = -INFINITY;
    for (int j = 0; j < LANES; j++) best = top[j] > best ? top[j] : best;
    for (; k < n; k++) best = x[k] > best ? x[k] : best;
    for (k = 0; k < n && x[k] != best;) k++;
    return k < n ? k : 0;
}
#endif
