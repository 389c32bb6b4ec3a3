/* SPDX-License-Identifier: Apache-2.0
 *
 * The closed-form tangent kernel compared with values by hand, the integrals that define
 * it, its expansion at small angles, and networks of growing width.
 */
#include <math.h>

#include "linalg/dense.h"
#include "linalg/ntk.h"
#include "matrix.h"

/* A few roundings per layer, each at most 1e-16 of the terms that are added. */
static const double NEAR = 2e-14;

/* out (n, n) for rows h (n, d), computed in tiles as lambda.h does. */
static void kernel_of(const la_rows *h, double bias, size_t depth, double *out) {
    la_view view = {.h = h, .bias = bias, .m = h->n};
    la_ntk ntk = {&view, depth};
    la_kernel kernel;
    la_kernel_of_ntk(&ntk, &kernel);
    size_t n = h->n, *rows = malloc(n * sizeof *rows);
    void *room = aligned_alloc(64, (kernel.room_bytes + 127) / 64 * 64);
    assert_int_equal(kernel.n, n);
    assert_null(kernel.features);
    for (size_t i = 0; i < n; i++) rows[i] = i;
    for (size_t i = 0; i < n; i += LA_KERNEL_TILE)
        for (size_t j = 0; j < n; j += LA_KERNEL_TILE)
            kernel.values(kernel.self, rows + i, size_min(LA_KERNEL_TILE, n - i),
                          rows + j, size_min(LA_KERNEL_TILE, n - j), out + i * n + j, n,
                          room);
    free(room);
    free(rows);
}

static void of_doubles(const double *h, size_t n, size_t d, size_t depth, double *out) {
    kernel_of(&(la_rows){.n = n, .d = d, .type = LA_F64, .base = h}, 0, depth, out);
}

static double of_pair(double angle, double a, double b, size_t depth) {
    const double h[] = {a, 0, b * cos(angle), b * sin(angle)};
    double k[4];
    of_doubles(h, 2, 2, depth, k);
    assert_true(k[1] == k[2]);
    return k[1];
}

/* ---- by hand ---- */

static void
the_kernel_of_a_row_with_itself_is_its_square_times_depth_plus_one(void **state) {
    (void)state;
    static const double h[] = {3, 4, 0, 0, 0, 0, 1, 2, 2};
    double k[9];
    for (size_t depth = 1; depth <= LA_NTK_DEPTH; depth++) {
        of_doubles(h, 3, 3, depth, k);
        assert_true(k[0] == 25 * (double)(depth + 1));
        assert_true(k[8] == 9 * (double)(depth + 1));
        for (size_t i = 0; i < 3; i++) assert_true(k[3 + i] == 0 && k[3 * i + 1] == 0);
    }
}

/* r = 0: Sigma_1 = 1/pi, Theta_1 = 1/pi + 0/2; then kappa0(1/pi) and kappa1(1/pi). */
static void orthogonal_rows_match_values_by_hand(void **state) {
    (void)state;
    static const double h[] = {2, 0, 0, 3};
    double k[4], r = 1 / M_PI;
    of_doubles(h, 2, 2, 1, k);
    assert_true(fabs(k[1] - 6 * r) < 1e-14);
    of_doubles(h, 2, 2, 2, k);
    double two = (sqrt(1 - r * r) + r * (M_PI - acos(r))) / M_PI;
    assert_true(fabs(k[1] - 6 * (two + r * (1 - acos(r) / M_PI))) < 1e-14);
}

/* r = -1: both kappas are 0, so depth 1 gives 0; depth 2 gives 1/pi, as r = 0 does. */
static void opposite_rows_match_values_by_hand(void **state) {
    (void)state;
    static const double h[] = {0.3, -0.7, 1.1, -0.6, 1.4, -2.2}; /* the second is -2 x */
    double k[4], square = 0.3 * 0.3 + 0.7 * 0.7 + 1.1 * 1.1;
    of_doubles(h, 2, 3, 1, k);
    assert_true(fabs(k[1]) < 1e-14);
    of_doubles(h, 2, 3, 2, k);
    assert_true(fabs(k[1] - 2 * square / M_PI) < 1e-14);
}

/* K(t x, y) = t K(x, y) for t > 0. */
static void collinear_rows_give_multiples(void **state) {
    (void)state;
    static const double h[] = {0.3, -0.7, 0.9, -2.1, 1.7, 0.4};
    double k[9];
    of_doubles(h, 3, 2, 3, k);
    assert_true(fabs(k[1] - 3 * k[0]) < NEAR * k[4]);
    assert_true(fabs(k[7] - 3 * k[6]) < NEAR * k[4]);
}

/* ---- by integrals ---- */

/* kappa_q(cos t) = 2 E[(u v)^q; u, v > 0] for normal u, v with correlation cos t, in
 * polar coordinates by Simpson's rule: over the radius and over the arc where both are
 * positive. */
static double kappa(int q, double t) {
    enum { STEPS = 4000 };
    double radius = 0, arc = 0, far = 12, from = t - M_PI / 2, width = M_PI - t;
    for (int i = 0; i <= STEPS; i++) {
        double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        double r = far * i / STEPS, a = from + width * i / STEPS;
        radius += weight * exp(-r * r / 2) * (q ? r * r * r : r);
        arc += weight * (q ? cos(a) * cos(a - t) : 1);
    }
    radius *= far / STEPS / 3;
    arc *= width / STEPS / 3;
    return 2 * radius * arc / (2 * M_PI);
}

static void values_match_the_integrals(void **state) {
    (void)state;
    for (int step = 1; step < 32; step++) {
        double t = M_PI * step / 32, sigma = cos(t), theta = sigma;
        for (size_t depth = 1; depth <= 6; depth++) {
            double angle = acos(sigma), next = kappa(1, angle);
            theta = next + theta * kappa(0, angle);
            sigma = next;
            double got = of_pair(M_PI * step / 32, 1.5, 0.5, depth);
            assert_true(fabs(got - 0.75 * theta) <
                        1e-9); /* Simpson's rule, over the sine of the angle */
        }
    }
}

/* At a small angle t each layer keeps the angle and subtracts t/pi of the previous sum:
 * T_K = K + 1 - K (K + 1) t / (2 pi), plus fewer than K^3 terms in t^2. The arc cosine of
 * an inner product would be off by 1e-8 here. */
static void small_angles_follow_their_expansion(void **state) {
    (void)state;
    for (int e = 5; e <= 15; e++)
        for (size_t depth = 1; depth <= 20; depth++) {
            double t = pow(10, -e), k = (double)depth;
            double want = k + 1 - k * (k + 1) * t / (2 * M_PI);
            double slack = k * k * k * t * t + NEAR * (k + 1);
            assert_true(fabs(of_pair(t, 1, 1, depth) - want) <= slack);
        }
}

/* At pi - s, kappa0 is s/pi and kappa1 is of third order, so T_1 = -s/pi + O(s^3). */
static void angles_near_pi_follow_their_expansion(void **state) {
    (void)state;
    for (int e = 2; e <= 12; e++) {
        double s = pow(10, -e);
        const double h[] = {1, 0, -cos(s), sin(s)};
        double k[4];
        of_doubles(h, 2, 2, 1, k);
        assert_true(fabs(k[1] + s / M_PI) <= s * s * s + NEAR);
    }
}

/* Inner products and differences agree where the code switches between them. */
static void the_kernel_is_smooth_where_the_code_switches_formulas(void **state) {
    (void)state;
    double border = acos(1 - 1e-3);
    for (int side = 0; side < 2; side++)
        for (size_t depth = 1; depth <= 10; depth += 3) {
            double at = side ? M_PI - border : border, step = 1e-9;
            double slope =
                (of_pair(at + 1e-6, 1, 1, depth) - of_pair(at, 1, 1, depth)) / 1e-6;
            for (int i = -3; i < 3; i++) {
                double a = of_pair(at + i * step, 1, 1, depth);
                double b = of_pair(at + (i + 1) * step, 1, 1, depth);
                assert_true(fabs(b - a - slope * step) < 1e-12);
            }
        }
}

/* Both implementations in vector code, incomplete vectors included, compared with the
 * recursion in functions of libm. */
static void vector_code_matches_libm(void **state) {
    (void)state;
    enum { N = 1003 };
    void (*const sets[])(const double *, double *, size_t,
                         size_t) = {la_tangents_f64_base, la_tangents};
    static double part[N], sum[N];
    for (size_t s = 0; s < 2; s++)
        for (size_t depth = 1; depth <= 9; depth += 4) {
            for (size_t i = 0; i < N; i++) {
                sum[i] = cos(M_PI * (double)i / (N - 1));
                part[i] = 1 - fabs(sum[i]);
            }
            sets[s](part, sum, N, depth);
            for (size_t i = 0; i < N; i++) {
                double cosine = cos(M_PI * (double)i / (N - 1)), want = cosine;
                for (size_t h = 0; h < depth; h++) {
                    double angle = acos(fmin(cosine, 1));
                    double next = (sin(angle) + (M_PI - angle) * cosine) / M_PI;
                    want = next + want * (1 - angle / M_PI), cosine = next;
                }
                /* an arc cosine has the error of its argument, divided by the sine */
                double slack =
                    1e-14 + 4e-16 * (double)(N - 1) / M_PI * (i > 0 && i < N - 1);
                assert_true(fabs(sum[i] - want) < slack * (double)(depth * (depth + 1)));
            }
        }
}

/* ---- by networks ---- */

/* A network without biases in the parametrization of the paper: g_l = W_l h_l-1, h_l =
 * sqrt(2 / width) max(g_l, 0), f = w . h_K, all weights standard normal. Its kernel is
 * the sum over layers of (delta_l . delta_l') (h_l-1 . h_l-1'). */
typedef struct network {
    size_t d, width, depth;
    double *w[4]; /* (width, d), then (width, width), then (width) */
} network;

static network network_make(uint64_t seed, size_t d, size_t width, size_t depth) {
    network net = {d, width, depth, {0}};
    for (size_t l = 0; l <= depth; l++) {
        size_t size = (l ? width : d) * (l == depth ? 1 : width);
        const scant__rng rng = {seed, (uint32_t)(2000 + l)};
        net.w[l] = malloc(size * sizeof(double));
        for (size_t i = 0; i < size; i++) net.w[l][i] = scant__rng_normal(&rng, i);
    }
    return net;
}

/* h[l], l = 0..depth, and delta[l] = df / dg_l, l = 1..depth. */
static void network_pass(const network *net, const double *x, double *h[4],
                         double *delta[4]) {
    size_t width = net->width;
    double scale = sqrt(2 / (double)width);
    memcpy(h[0], x, net->d * sizeof *x);
    for (size_t l = 0; l < net->depth; l++) {
        size_t in = l ? width : net->d;
        for (size_t i = 0; i < width; i++) {
            double g = 0;
            for (size_t k = 0; k < in; k++) g += net->w[l][i * in + k] * h[l][k];
            h[l + 1][i] = g > 0 ? scale * g : 0;
        }
    }
    for (size_t l = net->depth; l > 0; l--) {
        const double *w = net->w[l];
        for (size_t i = 0; i < width; i++) {
            double back = l == net->depth ? w[i] : 0;
            for (size_t k = 0; l < net->depth && k < width; k++)
                back += w[k * width + i] * delta[l + 1][k];
            delta[l][i] = h[l][i] > 0 ? scale * back : 0;
        }
    }
}

static double dot(const double *x, const double *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

enum { NET_D = 5, NET_ROWS = 4 };

/* Adds the squared differences between the network's kernel and k to *error. */
static void compare_network(const network *net, const double *x, const double *k,
                            double *error) {
    double *h[NET_ROWS][4], *delta[NET_ROWS][4];
    for (size_t i = 0; i < NET_ROWS; i++) {
        for (size_t l = 0; l < 4; l++) {
            h[i][l] = malloc((net->width + NET_D) * sizeof(double));
            delta[i][l] = malloc(net->width * sizeof(double));
        }
        network_pass(net, x + i * NET_D, h[i], delta[i]);
    }
    for (size_t i = 0; i < NET_ROWS; i++)
        for (size_t j = 0; j < NET_ROWS; j++) {
            double sum = dot(h[i][net->depth], h[j][net->depth], net->width);
            for (size_t l = 1; l <= net->depth; l++)
                sum += dot(delta[i][l], delta[j][l], net->width) *
                       dot(h[i][l - 1], h[j][l - 1], l > 1 ? net->width : NET_D);
            *error += pow(sum - k[i * NET_ROWS + j], 2);
        }
    for (size_t i = 0; i < NET_ROWS; i++)
        for (size_t l = 0; l < 4; l++) free(h[i][l]), free(delta[i][l]);
}

/* The error falls as 1/sqrt(width): the slope of its logarithm is -1/2. */
static void wide_networks_approach_the_kernel(void **state) {
    (void)state;
    enum { WIDTHS = 5, NETS = 24 };
    double x[NET_ROWS * NET_D], k[NET_ROWS * NET_ROWS];
    for (size_t i = 0; i < NET_ROWS * NET_D; i++) x[i] = normal_at(5, i) / 2;
    for (size_t depth = 1; depth <= 3; depth++) {
        double sx = 0, sy = 0, sxx = 0, sxy = 0, last = 0;
        of_doubles(x, NET_ROWS, NET_D, depth, k);
        for (size_t s = 0; s < WIDTHS; s++) {
            size_t width = (size_t)16 << s;
            double error = 0;
            for (uint64_t seed = 0; seed < NETS; seed++) {
                network net = network_make(100 * s + seed, NET_D, width, depth);
                compare_network(&net, x, k, &error);
                for (size_t l = 0; l <= depth; l++) free(net.w[l]);
            }
            last = sqrt(error / NETS / NET_ROWS / NET_ROWS);
            double a = log((double)width), b = log(last);
            sx += a, sy += b, sxx += a * a, sxy += a * b;
        }
        double slope = (WIDTHS * sxy - sx * sy) / (WIDTHS * sxx - sx * sx);
        assert_true(slope > -0.7 && slope < -0.3);
        assert_true(last < 0.2 * k[0]); /* the limit is this kernel */
    }
}

/* ---- as a kernel ---- */

typedef enum kind { NORMAL, RECTIFIED, COPIES, LINES, ZEROS, ALIKE, KINDS } kind;

static double number(kind k, size_t i, size_t j, size_t d) {
    double x = normal_at(40, i * d + j);
    if (k == RECTIFIED) return x > 0 ? x + 0.5 : 0;
    if (k == COPIES) return normal_at(40, i / 3 * d + j);
    if (k == LINES) return normal_at(40, i / 4 * d + j) * (1 + (double)(i % 4));
    if (k == ZEROS) return i % 5 == 2 ? 0 : x;
    if (k == ALIKE) return 1 + 1e-7 * x;
    return x;
}

static double smallest(const double *k, size_t n, double *largest) {
    scant_ctx *ctx = ctx_threads(1);
    double *a = malloc(n * n * sizeof *a), *values = malloc(n * sizeof *a);
    double *room = malloc(la_eigh_room(n, false) * sizeof *a);
    memcpy(a, k, n * n * sizeof *a);
    assert_int_equal(la_eigh_alone(ctx, n, a, false, values, room), SCANT_OK);
    double least = values[0];
    *largest = values[n - 1];
    scant_ctx_free(ctx);
    free(a);
    free(values);
    free(room);
    return least;
}

static void no_eigenvalue_is_negative(void **state) {
    (void)state;
    enum { N = 90, D = 6 };
    static const size_t depths[] = {1, 3, LA_NTK_DEPTH};
    static double h[N * D], k[N * N];
    for (int what = 0; what < KINDS; what++)
        for (size_t s = 0; s < 3; s++) {
            double largest, least;
            for (size_t i = 0; i < N * D; i++) h[i] = number((kind)what, i / D, i % D, D);
            of_doubles(h, N, D, depths[s], k);
            least = smallest(k, N, &largest);
            assert_true(least >= -NEAR * largest);
            /* rows on distinct lines are independent, even more than D of them */
            if (what == NORMAL) assert_true(least > 1e-6 * largest);
            if (what == COPIES || what == LINES) assert_true(least < 1e-12 * largest);
        }
}

/* Copies give the same bits wherever they are, and the order of a pair is irrelevant. */
static void copies_give_the_same_bits(void **state) {
    (void)state;
    enum { N = 150, D = 37 };
    static double h[N * D], k[N * N];
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < D; j++) h[i * D + j] = number(NORMAL, i % 50, j, D);
    of_doubles(h, N, D, 3, k);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            assert_true(k[i * N + j] == k[j * N + i]);
            assert_true(k[i * N + j] == k[i % 50 * N + j % 50]);
        }
}

/* Float and double rows, direct and fetched, with a bias: the same bits. */
static void the_kernel_does_not_depend_on_how_rows_are_stored(void **state) {
    (void)state;
    enum { N = 70, D = 9 };
    static double plus[N * (D + 1)], want[N * N], k[N * N];
    for (int type = 0; type < 2; type++)
        for (int direct = 0; direct < 2; direct++) {
            matrix m;
            matrix_make(&m, 8, N, D, type ? LA_F64 : LA_F32, direct);
            for (size_t i = 0; i < N; i++) {
                memcpy(plus + i * (D + 1), m.value + i * D, D * sizeof *plus);
                plus[i * (D + 1) + D] = 0.5;
            }
            of_doubles(plus, N, D + 1, 2, want);
            kernel_of(&m.rows, 0.5, 2, k);
            assert_memory_equal(k, want, sizeof k);
            matrix_end(&m);
        }
}

static void the_kernel_between_two_matrices_is_the_same(void **state) {
    (void)state;
    enum { A = 5, B = 64, D = 3 };
    static double h[(A + B) * D], k[(A + B) * (A + B)], out[A * (B + 1)];
    for (size_t i = 0; i < (A + B) * D; i++) h[i] = normal_at(3, i);
    of_doubles(h, A + B, D, 4, k);
    la_rows a = {.n = A, .d = D, .type = LA_F64, .base = h};
    la_rows b = {.n = B, .d = D, .type = LA_F64, .base = h + A * D};
    la_view x = {.h = &a, .m = A}, y = {.h = &b, .m = B};
    la_ntk one = {&x, 4}, two = {&y, 4};
    void *room = aligned_alloc(64, (la_ntk_room(&one, &two) + 127) / 64 * 64);
    la_ntk_between(&one, 1, A - 1, &two, 2, B - 2, out, B + 1, room);
    for (size_t i = 1; i < A; i++)
        for (size_t j = 2; j < B; j++)
            assert_true(out[(i - 1) * (B + 1) + j - 2] == k[i * (A + B) + A + j]);
    free(room);
}

/* Rows of any scale: very large and very small squares do no harm. */
static void rows_of_any_scale_are_accurate(void **state) {
    (void)state;
    for (int e = -500; e <= 500; e += 100) {
        double at = ldexp(1, e), one = of_pair(0.7, 1, 1, 3);
        assert_true(fabs(of_pair(0.7, at, 1, 3) / at - one) < 1e-13);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_kernel_of_a_row_with_itself_is_its_square_times_depth_plus_one),
        cmocka_unit_test(orthogonal_rows_match_values_by_hand),
        cmocka_unit_test(opposite_rows_match_values_by_hand),
        cmocka_unit_test(collinear_rows_give_multiples),
        cmocka_unit_test(values_match_the_integrals),
        cmocka_unit_test(small_angles_follow_their_expansion),
        cmocka_unit_test(angles_near_pi_follow_their_expansion),
        cmocka_unit_test(the_kernel_is_smooth_where_the_code_switches_formulas),
        cmocka_unit_test(vector_code_matches_libm),
        cmocka_unit_test(wide_networks_approach_the_kernel),
        cmocka_unit_test(no_eigenvalue_is_negative),
        cmocka_unit_test(copies_give_the_same_bits),
        cmocka_unit_test(the_kernel_does_not_depend_on_how_rows_are_stored),
        cmocka_unit_test(the_kernel_between_two_matrices_is_the_same),
        cmocka_unit_test(rows_of_any_scale_are_accurate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
