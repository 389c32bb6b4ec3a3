/* SPDX-License-Identifier: Apache-2.0
 *
 * Every kernel compared with a scalar twin or a formula in long double, for both number
 * types and both instruction sets. A pair kernel must equal its twin to the bit, whatever
 * other pairs are computed in the same call: picks depend on it.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>

#include "linalg/kernels.h"

enum { ROWS = 9, CENTRES = 8, LONGEST = 4099 };

typedef struct set {
    const la_kernels *k;
    la_type type;
} set;

static size_t sets(set out[4]) {
    size_t count = 0;
    for (la_type type = LA_F32; type <= LA_F64; type++) {
        out[count++] = (set){la_kernels_for(type), type};
        if (la_kernels_plain(type) != la_kernels_for(type))
            out[count++] = (set){la_kernels_plain(type), type};
    }
    return count;
}

static void put(void *at, la_type type, size_t i, double x) {
    if (type == LA_F32)
        ((float *)at)[i] = (float)x;
    else
        ((double *)at)[i] = x;
}

static double get(const void *at, la_type type, size_t i) {
    return type == LA_F32 ? (double)((const float *)at)[i] : ((const double *)at)[i];
}

/* A part of the rows: one sum per lane; lanes are added into four doubles, and these as
 * (0+2) + (1+3). */
static double twin_piece(const set *s, const void *x, const void *y, size_t from,
                         size_t to, int differences) {
    double four[4] = {0};
    for (size_t lane = 0; lane < s->k->lanes; lane++) {
        float f = 0;
        double e = 0;
        for (size_t i = from + lane; i < to; i += s->k->lanes) {
            if (s->type == LA_F32) {
                float a = ((const float *)x)[i], b = ((const float *)y)[i];
                if (differences) a = b = a - b;
                f = fmaf(a, b, f);
            } else {
                double a = ((const double *)x)[i], b = ((const double *)y)[i];
                if (differences) a = b = a - b;
                e = fma(a, b, e);
            }
        }
        four[lane % 4] += s->type == LA_F32 ? (double)f : e;
    }
    return (four[0] + four[2]) + (four[1] + four[3]);
}

static double twin(const set *s, const void *x, const void *y, size_t d,
                   int differences) {
    double sum = 0;
    for (size_t from = 0; from < d; from += s->k->piece) {
        size_t to = d - from < s->k->piece ? d : from + s->k->piece;
        sum += twin_piece(s, x, y, from, to, differences);
    }
    return sum;
}

/* Blocks of all sizes of rows and centres of length d: each pair equals its twin. */
static void check_pairs(const set *s, size_t d) {
    static double xs[ROWS * LONGEST], ys[CENTRES * LONGEST];
    const void *x[ROWS], *y[CENTRES];
    double out[ROWS * CENTRES];
    for (size_t i = 0; i < ROWS * d; i++) put(xs, s->type, i, normal_at(1, i % 5000));
    for (size_t i = 0; i < CENTRES * d; i++) put(ys, s->type, i, normal_at(2, i % 5001));
    for (size_t i = 0; i < ROWS; i++) x[i] = (const char *)xs + i * d * s->k->size;
    for (size_t i = 0; i < CENTRES; i++) y[i] = (const char *)ys + i * d * s->k->size;
    for (size_t nx = 1; nx <= ROWS; nx += d > 100 ? 4 : 1)
        for (size_t ny = 1; ny <= CENTRES; ny += d > 100 ? 3 : 1)
            for (int differences = 0; differences < 2; differences++) {
                (differences ? s->k->sqdist : s->k->dot)(x, nx, y, ny, d, out);
                for (size_t i = 0; i < nx; i++)
                    for (size_t j = 0; j < ny; j++)
                        assert_true(out[i * ny + j] ==
                                    twin(s, x[i], y[j], d, differences));
            }
    s->k->selfdot(xs, ROWS, d, out);
    for (size_t i = 0; i < ROWS; i++) assert_true(out[i] == twin(s, x[i], x[i], d, 0));
}

static void pairs_equal_their_scalar_twin_to_the_bit(void **state) {
    (void)state;
    const size_t lengths[] = {1,  2,  3,  5,    7,    8,    9,      13,
                              16, 31, 40, 2047, 2048, 2050, LONGEST};
    set all[4];
    for (size_t v = 0, n = sets(all); v < n; v++)
        for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
            check_pairs(&all[v], lengths[k]);
}

/* A million floats of one sign, where a single float sum would be off by 1e-3. */
static void wide_rows_are_accurate(void **state) {
    (void)state;
    enum { WIDE = 1000000 };
    float *x = malloc(WIDE * sizeof *x), *zero = calloc(WIDE, sizeof *zero);
    const void *xp = x, *yp = zero;
    double d2, square = (double)0.1F * (double)0.1F;
    for (size_t i = 0; i < WIDE; i++) x[i] = 0.1F;
    la_kernels_for(LA_F32)->sqdist(&xp, 1, &yp, 1, WIDE, &d2);
    /* sums of 256 terms: at most 256 roundings of 6e-8, on average half of one sign */
    assert_true(fabs(d2 / (WIDE * square) - 1) < 8e-6);
    free(x);
    free(zero);
}

static void distances_do_not_lose_digits_to_a_common_offset(void **state) {
    (void)state;
    float x[2] = {4096, 4096}, y[2] = {4099, 4092};
    const void *xp = x, *yp = y;
    double d2;
    la_kernels_for(LA_F32)->sqdist(&xp, 1, &yp, 1, 2, &d2);
    assert_true(d2 == 25); /* the 3-4-5 triangle, far from the origin */
}

static void sums_of_squares_are_accurate(void **state) {
    (void)state;
    set all[4];
    double xs[3 * 33], out[3];
    for (size_t v = 0, n = sets(all); v < n; v++)
        for (size_t d = 1; d <= 33; d++) {
            for (size_t i = 0; i < 3 * d; i++) put(xs, all[v].type, i, normal_at(d, i));
            all[v].k->sumsq(xs, 3, d, out);
            for (size_t r = 0; r < 3; r++) {
                long double sum = 0;
                for (size_t i = 0; i < d; i++) {
                    long double x = get(xs, all[v].type, r * d + i);
                    sum += x * x;
                }
                /* sums in double of at most 33 positive terms */
                assert_true(fabsl((long double)out[r] - sum) <= 1e-14L * sum);
            }
        }
}

/* Rows of probabilities from sharp to flat; row 0 is one-hot, row 1 uniform. */
static void make_probs(void *out, la_type type, size_t n, size_t c) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0, sharp = 60 * unit_at(7, i);
        for (size_t k = 0; k < c; k++) sum += exp(sharp * (unit_at(8, i * c + k) - 1));
        for (size_t k = 0; k < c; k++) {
            double p = exp(sharp * (unit_at(8, i * c + k) - 1)) / sum;
            if (i == 0) p = k == c / 2;
            if (i == 1) p = 1.0 / (double)c;
            put(out, type, i * c + k, p);
        }
    }
}

static const size_t widths[] = {2, 3, 4, 7, 8, 10, 15, 16, 17, 31, 100, 1000};
enum { WIDTHS = sizeof widths / sizeof *widths, PROBS = 130 };

static void row_statistics_are_exact(void **state) {
    (void)state;
    set all[4];
    double *p = malloc(PROBS * 1000 * sizeof *p);
    la_rowstat stat[PROBS];
    for (size_t v = 0, n = sets(all); v < n; v++)
        for (size_t w = 0; w < WIDTHS; w++) {
            size_t c = widths[w];
            make_probs(p, all[v].type, PROBS, c);
            all[v].k->rowstat(p, PROBS, c, stat);
            for (size_t i = 0; i < PROBS; i++) {
                double sum = 0, min = INFINITY, top = -1, second = -1;
                for (size_t k = 0; k < c; k++) {
                    double x = get(p, all[v].type, i * c + k);
                    sum += x;
                    min = x < min ? x : min;
                    if (x > top)
                        second = top, top = x;
                    else if (x > second)
                        second = x;
                }
                assert_true(stat[i].min == min && stat[i].top == top);
                assert_true(stat[i].second == second);
                /* floats: at most 65 additions per lane, each off by 6e-8 */
                assert_true(fabs(stat[i].sum - sum) <
                            (all[v].type == LA_F32 ? 4e-6 : 1e-12));
            }
        }
    free(p);
}

static long double entropy_of(const void *p, la_type type, size_t c) {
    long double sum = 0;
    for (size_t k = 0; k < c; k++) {
        long double x = get(p, type, k);
        if (x > 0) sum -= x * logl(x);
    }
    return sum;
}

static void entropies_have_a_relative_error_below_3e_10(void **state) {
    (void)state;
    set all[4];
    double *p = malloc(PROBS * 1000 * sizeof *p);
    la_rowstat out[PROBS], stat[PROBS];
    for (size_t v = 0, n = sets(all); v < n; v++)
        for (size_t w = 0; w < WIDTHS; w++) {
            size_t c = widths[w];
            make_probs(p, all[v].type, PROBS, c);
            all[v].k->entropy(p, PROBS, c, out);
            all[v].k->rowstat(p, PROBS, c, stat);
            assert_true(out[0].entropy == 0);
            for (size_t i = 0; i < PROBS; i++) {
                const char *row = (const char *)p + i * c * all[v].k->size;
                long double want = entropy_of(row, all[v].type, c);
                assert_true(out[i].min == stat[i].min);
                assert_true(fabs(out[i].sum - stat[i].sum) < 4e-6);
                /* the grid adds 5e-15 per term, to sums above 4e-5 */
                assert_true(fabsl((long double)out[i].entropy - want) <=
                            fabsl(want) * 3e-10L + 1e-30L);
            }
        }
    free(p);
}

static void permuted_rows_have_equal_entropies(void **state) {
    (void)state;
    set all[4];
    double p[2 * 100];
    la_rowstat out[2];
    for (size_t v = 0, n = sets(all); v < n; v++)
        for (size_t trial = 0; trial < 200; trial++) {
            size_t c = 3 + trial % 98;
            make_probs(p, all[v].type, 1, c);
            for (size_t k = 0; k < c; k++)
                put(p, all[v].type, k, unit_at(trial, k) * 2 / (double)c);
            for (size_t k = 0; k < c; k++)
                put(p, all[v].type, c + k, get(p, all[v].type, (k * 2 + 1) % c));
            if (c % 2 == 0) /* doubling is not a permutation of even c: rotate */
                for (size_t k = 0; k < c; k++)
                    put(p, all[v].type, c + k, get(p, all[v].type, (k + 1) % c));
            all[v].k->entropy(p, 2, c, out);
            assert_true(out[0].entropy == out[1].entropy);
            double exact[2];
            all[v].k->exact_entropy(p, 2, c, exact);
            assert_true(exact[0] == exact[1]);
        }
}

static void exact_entropies_have_a_relative_error_below_8e_16(void **state) {
    (void)state;
    set all[4];
    double *p = malloc(PROBS * 1000 * sizeof *p), out[PROBS];
    for (size_t v = 0, n = sets(all); v < n; v++)
        for (size_t w = 0; w < WIDTHS; w++) {
            size_t c = widths[w];
            make_probs(p, all[v].type, PROBS, c);
            all[v].k->exact_entropy(p, PROBS, c, out);
            assert_true(out[0] == 0);
            for (size_t i = 0; i < PROBS; i++) {
                const char *row = (const char *)p + i * c * all[v].k->size;
                long double want = entropy_of(row, all[v].type, c);
                /* a logarithm, a product and ln 2 round by 1.1e-16 each, some twice */
                assert_true(fabsl((long double)out[i] - want) <=
                            fabsl(want) * 8e-16L + 1e-30L);
            }
        }
    free(p);
}

static void cross_entropies_follow_the_formula_and_keep_ties(void **state) {
    (void)state;
    enum { N = 7 };
    set all[4];
    double a[N * 100], p[N * 100], turned[N * 100], b[N * 100], out[N], again[N];
    for (size_t v = 0, n = sets(all); v < n; v++)
        for (size_t c = 2; c <= 100; c++) {
            for (size_t i = 0; i < N * c; i++) {
                double x = unit_at(c, i);
                a[i] = 2 * unit_at(c + 1000, i) / (double)c;
                put(p, all[v].type, i, i % 11 ? x : i % 2 ? 1e-15 : 0); /* below 1e-12 */
            }
            for (size_t i = 0; i < N * c; i++) {
                size_t from = i / c * c + (i % c + 1) % c;
                b[i] = a[from];
                put(turned, all[v].type, i, get(p, all[v].type, from));
            }
            all[v].k->cross(a, p, N, c, out);
            all[v].k->cross(b, turned, N, c, again);
            for (size_t i = 0; i < N; i++) {
                long double want = 0;
                for (size_t k = 0; k < c; k++)
                    want -= a[i * c + k] *
                            logl(fmaxl(1e-12L, get(p, all[v].type, i * c + k)));
                assert_true(fabsl((long double)out[i] - want) <= want * 1e-15L);
                assert_true(out[i] == again[i]);
            }
        }
}

/* Numbers of very different magnitudes, whose plain sums depend on the order. */
static void gathered_sums_do_not_depend_on_their_order(void **state) {
    (void)state;
    enum { TERMS = 50, N = 11 };
    set all[4];
    size_t plain = 0;
    for (size_t v = 0, n = sets(all); v < n; v++) {
        double x[TERMS][N], up[N] = {0}, down[N] = {0}, up2[N] = {0}, down2[N] = {0};
        double grid = la_grid(TERMS);
        for (size_t t = 0; t < TERMS; t++)
            for (size_t i = 0; i < N; i++)
                put(x[t], all[v].type, i,
                    pow(unit_at(5, t * N + i), 1 + 12 * (double)(t % 3)));
        for (size_t t = 0; t < TERMS; t++) {
            all[v].k->gather(x[t], N, grid, up, up2);
            all[v].k->gather(x[TERMS - 1 - t], N, grid, down, down2);
        }
        for (size_t i = 0; i < N; i++) {
            double forth = 0, back = 0;
            long double want = 0;
            for (size_t t = 0; t < TERMS; t++) {
                forth += get(x[t], all[v].type, i);
                back += get(x[TERMS - 1 - t], all[v].type, i);
                want += get(x[t], all[v].type, i);
            }
            plain += forth != back;
            assert_true(up[i] + up2[i] == down[i] + down2[i]);
            assert_true(fabsl(want - (long double)(up[i] + up2[i])) <= want * 1.2e-16L);
        }
    }
    assert_true(plain > 0); /* otherwise the test shows nothing */
}

typedef void (*joint_fn)(const double *, size_t, size_t, const double *, double *);

/* The same to the bit for any position in a panel and any division of the rows. */
static void entropies_of_products_do_not_depend_on_position_or_division(void **state) {
    (void)state;
    enum { ROWS_J = 77, M = 13 };
    const joint_fn sets_of[] = {la_joint_bits, la_joint_bits_f64_base};
    static double j[ROWS_J * M], panel[M * LA_PANEL], moved[M * LA_PANEL];
    for (size_t t = 0; t < ROWS_J; t++)
        for (size_t s = 0; s < M; s++)
            j[t * M + s] = t == 3 ? 0 : unit_at(8, t * M + s) / M;
    for (size_t s = 0; s < M; s++)
        for (size_t k = 0; k < LA_PANEL; k++) {
            panel[s * LA_PANEL + k] = unit_at(9, s * LA_PANEL + k);
            moved[s * LA_PANEL + (k + 5) % LA_PANEL] = panel[s * LA_PANEL + k];
        }
    for (size_t v = 0; v < 2; v++) {
        double whole[LA_PANEL] = {0}, cut[LA_PANEL] = {0}, other[LA_PANEL] = {0};
        sets_of[v](j, ROWS_J, M, panel, whole);
        for (size_t t = 0, step = 1; t < ROWS_J; t += step, step = step % 9 + 1)
            sets_of[v](j + t * M, step < ROWS_J - t ? step : ROWS_J - t, M, panel, cut);
        sets_of[v](j, ROWS_J, M, moved, other);
        for (size_t k = 0; k < LA_PANEL; k++) {
            long double want = 0;
            for (size_t t = 0; t < ROWS_J; t++) {
                long double r = 0;
                for (size_t s = 0; s < M; s++)
                    r += (long double)j[t * M + s] * panel[s * LA_PANEL + k];
                if (r > 0) want -= r * log2l(r);
            }
            /* the grid adds 7e-15 per term, the logarithm 3e-14 of its value */
            assert_true(fabsl((long double)whole[k] - want) < ROWS_J * 4e-14L);
            assert_true(whole[k] == cut[k]);
            assert_true(whole[k] == other[(k + 5) % LA_PANEL]);
        }
    }
}

static void softmax_is_accurate_and_keeps_ties(void **state) {
    (void)state;
    double *z = malloc(1000 * sizeof *z), *was = malloc(1000 * sizeof *was);
    for (size_t w = 0; w < WIDTHS; w++) {
        size_t c = widths[w];
        for (double scale = 1e-3; scale < 1e5; scale *= 10) {
            long double sum = 0, top = -INFINITY;
            for (size_t k = 0; k < c; k++) {
                was[k] = z[k] = scale * normal_at(3, k);
                top = (long double)z[k] > top ? (long double)z[k] : top;
            }
            for (size_t k = 0; k < c; k++) sum += expl((long double)was[k] - top);
            la_softmax(z, 1, c);
            for (size_t k = 0; k < c; k++) {
                long double want = expl((long double)was[k] - top) / sum;
                if ((long double)was[k] - top < -700)
                    assert_true(z[k] < 1e-300);
                else /* the argument is rounded: |z - max| times 2e-16 */
                    assert_true(fabsl((long double)z[k] - want) <= want * 2e-13L);
            }
        }
    }
    double pair[4] = {1000, 1000, -1000, 1000};
    la_softmax(pair, 1, 4);
    assert_true(pair[0] == pair[1] && pair[1] == pair[3] && pair[2] == 0);
    assert_true(fabs(pair[0] * 3 - 1) < 1e-15);
    free(z);
    free(was);
}

static void expected_lengths_follow_the_formula(void **state) {
    (void)state;
    set all[4];
    double *p = malloc(PROBS * 1000 * sizeof *p), out[PROBS];
    la_rowstat stat[PROBS];
    for (size_t v = 0, n = sets(all); v < n; v++)
        for (size_t w = 0; w < WIDTHS; w++) {
            size_t c = widths[w];
            make_probs(p, all[v].type, PROBS, c);
            all[v].k->rowstat(p, PROBS, c, stat);
            all[v].k->residual_length(p, PROBS, c, stat, out);
            for (size_t i = 0; i < PROBS; i++) {
                long double want = 0;
                for (size_t y = 0; y < c; y++) {
                    long double square = 0;
                    for (size_t k = 0; k < c; k++) {
                        long double e =
                            (long double)get(p, all[v].type, i * c + k) - (k == y);
                        square += e * e;
                    }
                    want += (long double)get(p, all[v].type, i * c + y) * sqrtl(square);
                }
                /* 1 - p of a confident row is exact; sums of c positive terms */
                assert_true(fabsl((long double)out[i] - want) <= want * 1e-12L + 1e-300L);
            }
        }
    free(p);
}

static void statistics_of_a_row_computed_by_hand(void **state) {
    (void)state;
    const double p[3] = {.5, .3, .2};
    const la_kernels *k = la_kernels_for(LA_F64);
    la_rowstat stat;
    double length;
    k->rowstat(p, 1, 3, &stat);
    k->entropy(p, 1, 3, &stat);
    k->residual_length(p, 1, 3, &stat, &length);
    assert_true(stat.top == .5 && stat.second == .3);
    assert_true(fabs(stat.entropy - 1.0296530) < 5e-8);
    assert_true(fabs(length - .7711634) < 5e-8);
}

static void argmax_finds_the_first_of_the_largest(void **state) {
    (void)state;
    double x[70];
    for (size_t n = 1; n <= 70; n++)
        for (size_t at = 0; at < n; at++) {
            for (size_t i = 0; i < n; i++) x[i] = i < at ? -1 : (double)(i % 2) * -0.5;
            x[at] = 3;
            if (at + 2 < n) x[at + 2] = 3;
            assert_int_equal(la_argmax(x, n), at);
        }
}

/* ---- Kronecker rows --------------------------------------------------------------- */

enum { KRON_ROWS = 11, KRON_MOST = 700 };

/* Rows x with their a and s, and a panel. Sums have d columns, or d + 1 with a constant.
 */
typedef struct kron {
    size_t d, c;
    double constant;
    double x[KRON_ROWS * KRON_MOST], a[KRON_ROWS * 100], s[KRON_ROWS];
    double panel[100 * (KRON_MOST + 8)];
    const void *rows[KRON_ROWS];
} kron;

static kron *kron_make(const set *k, size_t d, size_t c, double constant) {
    kron *p = calloc(1, sizeof *p);
    size_t pitch = la_panel_pitch(d);
    p->d = d, p->c = c, p->constant = constant;
    assert_true(c * pitch <= sizeof p->panel / sizeof *p->panel);
    for (size_t i = 0; i < KRON_ROWS * d; i++)
        put(p->x, k->type, i, (double)(float)normal_at(1, i));
    for (size_t i = 0; i < KRON_ROWS * c; i++) p->a[i] = normal_at(2, i);
    for (size_t i = 0; i < KRON_ROWS; i++) {
        p->s[i] = normal_at(3, i);
        p->rows[i] = (const char *)p->x + i * d * k->k->size;
    }
    for (size_t i = 0; i < c; i++) {
        p->panel[i * pitch] = normal_at(4, i);
        for (size_t j = 0; j < d; j++)
            p->panel[i * pitch + LA_PANEL_START + j] = normal_at(5, i * d + j);
    }
    return p;
}

/* Sums of at most 70,000 products: up to 200 added in sequence, then 100 of those. */
static void kron_near(double got, long double want, long double magnitude) {
    assert_true(fabsl((long double)got - want) <= 1e-13L * magnitude);
}

static void check_kron_dot(const set *k, const kron *p) {
    double out[KRON_ROWS], alone;
    size_t pitch = la_panel_pitch(p->d);
    k->k->kron_dot(p->rows, KRON_ROWS, p->d, p->a, p->c, p->panel, out);
    for (size_t i = 0; i < KRON_ROWS; i++) {
        long double want = 0, magnitude = 0;
        for (size_t c = 0; c < p->c; c++) {
            const double *v = p->panel + c * pitch;
            long double a = p->a[i * p->c + c];
            want += a * v[0], magnitude += fabsl(a * v[0]);
            for (size_t j = 0; j < p->d; j++) {
                long double t = a * get(p->rows[i], k->type, j) * v[LA_PANEL_START + j];
                want += t, magnitude += fabsl(t);
            }
        }
        kron_near(out[i], want, magnitude);
        /* the same when computed alone: picks depend on it */
        k->k->kron_dot(p->rows + i, 1, p->d, p->a + i * p->c, p->c, p->panel, &alone);
        assert_true(alone == out[i]);
    }
}

static void check_kron_add(const set *k, const kron *p) {
    size_t width = p->d + (p->constant != 0), apart = width + 3, size = p->c * apart;
    double *sum = malloc(size * sizeof *sum), *steps = malloc(size * sizeof *sum);
    for (size_t i = 0; i < size; i++) sum[i] = steps[i] = normal_at(6, i);
    k->k->kron_add(p->rows, KRON_ROWS, p->d, p->a, p->c, p->s, p->constant, sum, apart);
    for (size_t c = 0; c < p->c; c++)
        for (size_t j = 0; j < apart; j++) {
            long double want = normal_at(6, c * apart + j), magnitude = fabsl(want);
            for (size_t i = 0; j < width && i < KRON_ROWS; i++) {
                double x = j < p->d ? get(p->rows[i], k->type, j) : p->constant;
                long double t = (long double)p->s[i] * p->a[i * p->c + c] * x;
                want += t, magnitude += fabsl(t);
            }
            kron_near(sum[c * apart + j], want, magnitude);
            if (j >= width) assert_true(sum[c * apart + j] == (double)want);
        }
    /* added in the order of rows: eight and then three give the same as eleven */
    k->k->kron_add(p->rows, 8, p->d, p->a, p->c, p->s, 0, steps, apart);
    k->k->kron_add(p->rows + 8, 3, p->d, p->a + 8 * p->c, p->c, p->s + 8, 0, steps,
                   apart);
    for (size_t c = 0; c < p->c; c++)
        assert_memory_equal(steps + c * apart, sum + c * apart, p->d * sizeof *sum);
    free(sum);
    free(steps);
}

static void kronecker_products_match_explicit_rows(void **state) {
    (void)state;
    const size_t lengths[] = {1, 2, 3, 4, 5, 8, 15, 127, 128, 129, 140, KRON_MOST};
    const size_t classes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 100};
    set all[4];
    for (size_t v = 0, n = sets(all); v < n; v++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (size_t j = 0; j < sizeof classes / sizeof *classes; j++) {
                kron *p = kron_make(&all[v], lengths[i], classes[j], j % 2 ? 0.5 : 0);
                check_kron_dot(&all[v], p);
                check_kron_add(&all[v], p);
                free(p);
            }
}

/* c + a b is 2^-64 below the middle of two floats: rounding it to double first gives the
 * middle, which rounds to the even one, the other neighbour of c. */
static void products_are_added_with_one_rounding(void **state) {
    const float c = 0x1p6f + 0x1p-17f, a = 0x1p23f + 1, b = (0x1p23f - 1) * 0x1p-64f;
    (void)state;
    assert_true((float)((double)a * (double)b + (double)c) != c);
    for (int plain = 0; plain < 2; plain++) {
        const la_kernels *k = plain ? la_kernels_plain(LA_F32) : la_kernels_for(LA_F32);
        float x[16] = {0}, y[16] = {0};
        const void *px = x, *py = y;
        double out;
        assert_int_equal(k->lanes, 8);
        x[0] = c, y[0] = 1;
        x[8] = a, y[8] = b;
        k->dot(&px, 1, &py, 1, 16, &out);
        assert_true(out == (double)c);
        x[1] = -INFINITY, y[1] = y[9] = 1;
        k->dot(&px, 1, &py, 1, 16, &out);
        assert_true(out == (double)-INFINITY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_added_with_one_rounding),
        cmocka_unit_test(pairs_equal_their_scalar_twin_to_the_bit),
        cmocka_unit_test(wide_rows_are_accurate),
        cmocka_unit_test(distances_do_not_lose_digits_to_a_common_offset),
        cmocka_unit_test(sums_of_squares_are_accurate),
        cmocka_unit_test(row_statistics_are_exact),
        cmocka_unit_test(entropies_have_a_relative_error_below_3e_10),
        cmocka_unit_test(permuted_rows_have_equal_entropies),
        cmocka_unit_test(exact_entropies_have_a_relative_error_below_8e_16),
        cmocka_unit_test(cross_entropies_follow_the_formula_and_keep_ties),
        cmocka_unit_test(gathered_sums_do_not_depend_on_their_order),
        cmocka_unit_test(entropies_of_products_do_not_depend_on_position_or_division),
        cmocka_unit_test(softmax_is_accurate_and_keeps_ties),
        cmocka_unit_test(expected_lengths_follow_the_formula),
        cmocka_unit_test(statistics_of_a_row_computed_by_hand),
        cmocka_unit_test(argmax_finds_the_first_of_the_largest),
        cmocka_unit_test(kronecker_products_match_explicit_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
