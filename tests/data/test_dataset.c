/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples from arrays with labels, and synthetic samples.
 */
#include "samples.h"
#include "scant/train.h"

static const char *array(const char *name, const char *header, const void *data,
                         size_t size) {
    buffer b = npy(1, header, data, size);
    return put_buffer(name, &b);
}

static void feature_rows_are_read_unchanged(void **state) {
    const float x[] = {1, -2.5F, 3, 4, 5, 6e30F};
    (void)state;
    scant_data *d =
        opened(array("a.npy", NPY("<f4", "(2, 3)"), x, sizeof x), (scant_data_opts){0});
    has_shape(d, 2, 3, 1, 1);
    assert_false(scant__data_is_image(d));
    assert_false(scant_data_has_test(d));
    assert_null(scant_data_labels(d));
    assert_null(scant_data_targets(d));
    assert_int_equal(scant_data_classes(d), 0);
    assert_null(scant_data_class_name(d, 0));
    assert_null(scant_data_sample_name(d, 0));
    assert_string_equal(scant_data_name(d), path_of("a.npy"));
    reads(d, 0, x);
    reads(d, 1, x + 3);
    scant_data_free(d);
}

static void bytes_are_read_as_fractions_of_255(void **state) {
    const unsigned char x[] = {0, 255, 51, 102, 1, 254};
    (void)state;
    scant_data *d =
        opened(array("a.npy", NPY("|u1", "(2, 3)"), x, sizeof x), (scant_data_opts){0});
    reads(d, 0, (float[]){0, 1, .2F});
    reads(d, 1, (float[]){.4F, 1 / 255.F, 254 / 255.F});
    scant_data_free(d);
}

static void doubles_halves_and_the_other_byte_order_are_converted(void **state) {
    const double f8[] = {1.5, -2};
    const unsigned char f2[] = {0x00, 0x3c, 0x00, 0xc0}; /* 1, -2 */
    const unsigned char be[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    (void)state;
    scant_data *d =
        opened(array("a.npy", NPY("=f8", "(1, 2)"), f8, sizeof f8), (scant_data_opts){0});
    reads(d, 0, (float[]){1.5F, -2});
    scant_data_free(d);
    d = opened(array("a.npy", NPY("<f2", "(1, 2)"), f2, sizeof f2), (scant_data_opts){0});
    reads(d, 0, (float[]){1, -2});
    scant_data_free(d);
    d = opened(array("a.npy", NPY(">f4", "(1, 2)"), be, sizeof be), (scant_data_opts){0});
    reads(d, 0, (float[]){1, -2});
    scant_data_free(d);
}

static void channels_in_the_last_dimension_become_planes(void **state) {
    unsigned char x[2 * 2 * 3 * 2];
    float f[24], want[12];
    (void)state;
    for (size_t i = 0; i < 24; i++) x[i] = (unsigned char)i, f[i] = (float)i;
    scant_data *d = opened(array("a.npy", NPY("|u1", "(2, 2, 3, 2)"), x, sizeof x),
                           (scant_data_opts){0});
    has_shape(d, 2, 2, 2, 3);
    assert_true(scant__data_is_image(d));
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < 6; i++) want[c * 6 + i] = (float)(12 + 2 * i + c) / 255;
    reads(d, 1, want);
    scant_data_free(d);
    d = opened(array("a.npy", NPY("=f4", "(2, 2, 3, 2)"), f, sizeof f),
               (scant_data_opts){0});
    for (size_t i = 0; i < 12; i++) want[i] = (float)(12 + 2 * (i % 6) + i / 6);
    reads(d, 1, want);
    scant_data_free(d);
    d = opened(array("a.npy", NPY("=f4", "(2, 3, 4)"), f, sizeof f),
               (scant_data_opts){0});
    has_shape(d, 2, 1, 3, 4);
    assert_true(scant__data_is_image(d));
    reads(d, 1, f + 12);
    scant_data_free(d);
}

/* More values than one chunk of the conversion. */
static void large_images_are_converted_in_order(void **state) {
    static float x[40 * 50 * 3], want[3 * 2000];
    (void)state;
    for (size_t i = 0; i < 6000; i++) x[i] = (float)i;
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < 2000; i++) want[c * 2000 + i] = x[3 * i + c];
    scant_data *d = opened(array("a.npy", NPY("=f4", "(1, 40, 50, 3)"), x, sizeof x),
                           (scant_data_opts){0});
    reads(d, 0, want);
    scant_data_free(d);
}

static void reading_reports_numbers_that_are_not_finite(void **state) {
    float x[4] = {1, 2, 3, NAN}, out[2];
    scant__fault fault = {{0}};
    (void)state;
    for (int i = 0; i < 2; i++, x[3] = -INFINITY) {
        scant_data *d = opened(array("a.npy", NPY("=f4", "(2, 2)"), x, sizeof x),
                               (scant_data_opts){0});
        assert_int_equal(scant__data_read(d, 0, out, &fault), SCANT_OK);
        assert_int_equal(scant__data_read(d, 1, out, &fault), SCANT_EINPUT);
        assert_non_null(strstr(fault.text, "a.npy: sample 1 has a number"));
        assert_int_equal(scant__data_read(d, 2, out, &fault), SCANT_EUSAGE);
        assert_non_null(strstr(fault.text, "has no sample 2, only 2"));
        scant_data_free(d);
    }
}

static void arrays_of_wrong_types_or_shapes_are_refused(void **state) {
    const scant_data_opts none = {0};
    const uint64_t zeros[16] = {0};
    (void)state;
    refuses(array("a.npy", NPY("<i4", "(2, 2)"), zeros, 16), none, "samples of int32");
    refuses(array("a.npy", NPY("|u1", "(4,)"), zeros, 4), none,
            "has 1 dimension, expected");
    refuses(array("a.npy", NPY("|u1", "()"), zeros, 1), none,
            "has 0 dimensions, expected");
    refuses(array("a.npy", NPY("|u1", "(1, 2, 2, 2, 2)"), zeros, 16), none,
            "has 5 dimensions, expected");
    refuses(array("a.npy", NPY("|u1", "(0, 3)"), NULL, 0), none, "has no samples");
    refuses(array("a.npy", NPY("|u1", "(3, 0)"), NULL, 0), none,
            "samples without values");
    refuses(array("a.npy", NPY("|u1", "(3, 2, 2, 0)"), NULL, 0), none, "without values");
    refuses(array("a.npy", NPY("|u1", "(2, 2)"), zeros, 3), none, "expected, 3 found");
    refuses(put("a.npy", "", 0), none, "is empty");
    refuses(put("a.npy", "hello", 5), none, "looks like text");
    refuses(path_of("nothing.npy"), none, "there is no such file");
    assert_int_equal(mkdir(path_of("none"), 0700), 0);
}

static const float four[] = {1, 2, 3, 4};

static void labels_may_be_integers_of_any_type(void **state) {
    const int64_t wide[] = {2, 0, 6, 1};
    const unsigned char narrow[] = {2, 0, 6, 1}, be[] = {0, 2, 0, 0, 0, 6, 0, 1};
    const char *x = array("a.npy", NPY("=f4", "(4, 1)"), four, sizeof four);
    (void)state;
    const char *const files[] = {array("b.npy", NPY("=i8", "(4,)"), wide, sizeof wide),
                                 array("c.npy", NPY("|u1", "(4, 1)"), narrow, 4),
                                 array("d.npy", NPY(">i2", "(4,)"), be, 8)};
    for (size_t i = 0; i < 3; i++) {
        scant_data *d = opened(x, (scant_data_opts){.labels = files[i]});
        assert_int_equal(scant_data_classes(d), 7);
        for (size_t j = 0; j < 4; j++) assert_int_equal(scant_data_labels(d)[j], wide[j]);
        assert_null(scant_data_targets(d));
        scant_data_free(d);
    }
}

static void targets_may_be_numbers_of_any_type(void **state) {
    const double f8[] = {.5, -1, 1e30, 2};
    const signed char i1[] = {1, -2, 3, 4};
    const char *x = array("a.npy", NPY("=f4", "(4, 1)"), four, sizeof four);
    (void)state;
    scant_data *d = opened(
        x, (scant_data_opts){.labels = array("b.npy", NPY("=f8", "(4,)"), f8, sizeof f8),
                             .regression = 1});
    assert_null(scant_data_labels(d));
    assert_int_equal(scant_data_classes(d), 0);
    for (size_t j = 0; j < 4; j++) assert_true(scant_data_targets(d)[j] == (float)f8[j]);
    scant_data_free(d);
    d = opened(x, (scant_data_opts){.labels = array("b.npy", NPY("|i1", "(4,)"), i1, 4),
                                    .regression = 1});
    assert_true(scant_data_targets(d)[1] == -2);
    scant_data_free(d);
}

static void a_label_of_minus_one_means_unlabelled(void **state) {
    const char *x = array("a.npy", NPY("=f4", "(4, 1)"), four, sizeof four);
    const int64_t y[4] = {-1, 1, 0, -1}, none[4] = {-1, -1, -1, -1};
    scant_data *d;
    (void)state;
    const char *file = array("b.npy", NPY("=i8", "(4,)"), y, sizeof y);
    d = opened(x, (scant_data_opts){.labels = file});
    assert_int_equal(scant_data_classes(d), 2);
    for (int i = 0; i < 4; i++) assert_int_equal(scant_data_labels(d)[i], y[i]);
    scant_data_free(d);
    file = array("b.npy", NPY("=i8", "(4,)"), none, sizeof none);
    d = opened(x, (scant_data_opts){.labels = file});
    assert_int_equal(scant_data_classes(d), 0);
    scant_data_free(d);
}

static void labels_that_do_not_fit_are_refused(void **state) {
    const char *x = array("a.npy", NPY("=f4", "(4, 1)"), four, sizeof four);
    int64_t y[4] = {0, 1, 2, -2};
    const double huge[] = {1, 2, 1e300, 4};
    const char *file;
    (void)state;
#define BAD(header, data, size, regress, words)                                          \
    file = array("b.npy", header, data, size);                                           \
    refuses_as(SCANT_EINPUT, x,                                                          \
               (scant_data_opts){.labels = file, .regression = regress}, file, words)
    BAD(NPY("=i8", "(4,)"), y, 32, 0, "the label of sample 3 is -2");
    y[3] = 1000000;
    BAD(NPY("=i8", "(4,)"), y, 32, 0, "the label of sample 3 is 1000000; classes");
    BAD(NPY("=i8", "(3,)"), y, 24, 0, "has 3 labels, but ");
    BAD(NPY("=i8", "(2, 2)"), y, 32, 0, "has 2 dimensions");
    BAD(NPY("=f8", "(4,)"), huge, 32, 0, "labels of float64");
    BAD(NPY("=f8", "(4,)"), huge, 32, 1, "target of sample 2 is not finite");
#undef BAD
    file = path_of("gone.npy");
    refuses_as(SCANT_EINPUT, x, (scant_data_opts){.labels = file}, file, "no such file");
}

/* ---- synthetic samples ------------------------------------------------------------- */

static void read_rows(const scant_data *d, float *out) {
    scant__fault fault;
    for (size_t i = 0; i < scant_data_count(d); i++)
        assert_int_equal(scant__data_read(d, i, out + i * scant__data_width(d), &fault),
                         SCANT_OK);
}

static void read_points(const scant_data *d, float (*out)[2]) { read_rows(d, out[0]); }

static void moons_lie_on_two_half_circles(void **state) {
    static float p[2001][2];
    double square = 0;
    size_t many[2] = {0}, turns = 0;
    (void)state;
    scant_data *d = opened("moons", (scant_data_opts){.count = 2001, .seed = 7});
    has_shape(d, 2001, 2, 1, 1);
    assert_int_equal(scant_data_classes(d), 2);
    assert_true(scant_data_has_test(d));
    read_points(d, p);
    const int32_t *y = scant_data_labels(d);
    for (size_t i = 0; i < 2001; i++) {
        double x = (double)p[i][0] - (y[i] ? 1 : 0),
               z = (double)p[i][1] - (y[i] ? .5 : 0);
        double off = sqrt(x * x + z * z) - 1;
        square += off * off;
        many[y[i]]++;
        turns += i && y[i] != y[i - 1];
    }
    /* noise of .1 across the circle; its bend and ends account for the tolerance */
    assert_true(fabs(sqrt(square / 2001) - .1) < .01);
    assert_int_equal(many[0], 1000);
    assert_int_equal(many[1], 1001);
    assert_true(turns > 900 && turns < 1100); /* shuffled */
    scant_data_free(d);
}

static void blobs_are_three_round_clouds(void **state) {
    static float p[3000][2];
    double mean[3][2] = {{0}}, square[3] = {0};
    size_t many[3] = {0};
    (void)state;
    scant_data *d = opened("blobs", (scant_data_opts){.count = 3000, .seed = 1});
    assert_int_equal(scant_data_classes(d), 3);
    read_points(d, p);
    const int32_t *y = scant_data_labels(d);
    for (size_t i = 0; i < 3000; i++) {
        many[y[i]]++;
        for (size_t j = 0; j < 2; j++) mean[y[i]][j] += (double)p[i][j];
    }
    for (size_t k = 0; k < 3; k++) {
        assert_true(many[k] > 900 && many[k] < 1100);
        for (size_t j = 0; j < 2; j++) mean[k][j] /= (double)many[k];
        double radius = sqrt(mean[k][0] * mean[k][0] + mean[k][1] * mean[k][1]);
        assert_true(fabs(radius - 4) < .15);
    }
    for (size_t i = 0; i < 3000; i++)
        for (size_t j = 0; j < 2; j++)
            square[y[i]] +=
                ((double)p[i][j] - mean[y[i]][j]) * ((double)p[i][j] - mean[y[i]][j]) / 2;
    for (size_t k = 0; k < 3; k++)
        assert_true(fabs(square[k] / (double)many[k] - 1) < .15);
    scant_data_free(d);
}

/* The mean of n numbers of variance v is within 4.5 standard errors of want. */
static void mean_is(double sum, double n, double want, double v) {
    if (fabs(sum / n - want) > 4.5 * sqrt(v / n))
        fail_msg("the mean is %g, expected %g", sum / n, want);
}

/* rest: targets minus their noiseless values. */
static void noise_is(const double *rest, size_t n, double deviation) {
    double sum = 0, square = 0, v = deviation * deviation;
    for (size_t i = 0; i < n; i++) sum += rest[i], square += rest[i] * rest[i];
    mean_is(sum, (double)n, 0, v);
    mean_is(square, (double)n, v, 2 * v * v); /* the fourth moment of a normal is 3 */
}

static void waves_are_a_smooth_function_of_a_square(void **state) {
    enum { N = 20000 };
    static float x[N][2];
    static double rest[N];
    const double pi = acos(-1), half = sqrt(.5);
    double sum[2] = {0}, square[2] = {0}, both = 0, y2 = 0;
    (void)state;
    scant_data *d =
        opened("waves", (scant_data_opts){.count = N, .seed = 7, .regression = 1});
    has_shape(d, N, 2, 1, 1);
    assert_int_equal(scant_data_classes(d), 0);
    assert_null(scant_data_labels(d));
    assert_true(scant_data_has_test(d));
    read_points(d, x);
    const float *y = scant_data_targets(d);
    for (size_t i = 0; i < N; i++) {
        double u[2];
        for (size_t j = 0; j < 2; j++) {
            u[j] = (double)x[i][j] / half;
            assert_true(fabs(u[j]) <= 1 + 1e-6);
            sum[j] += u[j], square[j] += u[j] * u[j];
        }
        both += u[0] * u[1];
        rest[i] = (double)y[i] - sin(pi * u[0]) * cos(pi * u[1] / 2);
        y2 += (double)y[i] * (double)y[i];
    }
    for (size_t j = 0; j < 2; j++) { /* moments of the uniform distribution */
        mean_is(sum[j], N, 0, 1. / 3);
        mean_is(square[j], N, 1. / 3, 1. / 5 - 1. / 9);
    }
    mean_is(both, N, 0, 1. / 9);
    mean_is(y2, N, .25 + .0025, 9. / 64); /* 9/64 is the fourth moment: a bound */
    noise_is(rest, N, .05);
    scant_data_free(d);
}

static void heavy_rows_have_a_pareto_tail(void **state) {
    enum { N = 20000, D = 8 };
    static float x[N][D];
    static double rest[N];
    static const double far[] = {.025, .04, .1, .3, .6, .95};
    const double pi = acos(-1), a = .02;
    double beyond[6] = {0}, on = 0, sum[D] = {0}, square[D][D] = {{0}}, centre = 0;
    (void)state;
    scant_data *d =
        opened("heavy", (scant_data_opts){.count = N, .seed = 3, .regression = 1});
    has_shape(d, N, D, 1, 1);
    assert_int_equal(scant_data_classes(d), 0);
    read_rows(d, x[0]);
    const float *y = scant_data_targets(d);
    for (size_t i = 0; i < N; i++) {
        double length = 0;
        for (size_t j = 0; j < D; j++) length += (double)x[i][j] * (double)x[i][j];
        length = sqrt(length);
        assert_true(length <= 1 + 1e-6 && length >= a - 1e-6);
        for (size_t k = 0; k < 6; k++) beyond[k] += length > far[k];
        on += length > 1 - 1e-6;
        for (size_t j = 0; j < D; j++) {
            sum[j] += (double)x[i][j] / length;
            for (size_t k = 0; k < D; k++)
                square[j][k] += (double)x[i][j] * (double)x[i][k] / length / length;
        }
        double f = sin(pi * (double)x[i][0]) + 2 * (double)x[i][1] * (double)x[i][2];
        rest[i] = (double)y[i] - f;
        centre += length < .04 ? f * f : 0;
    }
    for (size_t k = 0; k < 6; k++) mean_is(beyond[k], N, a / far[k], a / far[k]);
    mean_is(on, N, a, a);
    for (size_t j = 0; j < D; j++) { /* directions: E u u^T = I / D */
        mean_is(sum[j], N, 0, 1. / D);
        for (size_t k = 0; k < D; k++)
            mean_is(square[j][k], N, j == k ? 1. / D : 0, 3. / (D * (D + 2)));
    }
    assert_true(centre / N < .001); /* half of the rows are here, with small targets */
    noise_is(rest, N, .02);
    scant_data_free(d);
}

static void samples_depend_on_the_seed_and_the_test_set_is_another_draw(void **state) {
    static float a[9000], b[9000]; /* rows of up to 8, and targets */
    static const char *const names[] = {"moons", "blobs", "waves", "heavy"};
    (void)state;
    for (int k = 0; k < 4; k++) {
        const scant_data_opts opts[] = {
            {0}, {.count = 1000}, {.test = 1}, {.seed = 1}, {.seed = 1, .test = 1}};
        for (size_t i = 0; i < 5; i++) {
            scant_data_opts o = opts[i];
            o.regression = k >= 2;
            scant_data *d = opened(names[k], o);
            size_t n = 1000 * scant__data_width(d);
            assert_int_equal(scant_data_count(d), 1000);
            read_rows(d, i ? b : a);
            if (k >= 2) memcpy((i ? b : a) + n, scant_data_targets(d), 1000 * sizeof *a);
            if (i) assert_int_equal(memcmp(a, b, n * sizeof *a) == 0, i == 1);
            if (i && k >= 2)
                assert_int_equal(memcmp(a + n, b + n, 1000 * sizeof *a) == 0, i == 1);
            scant_data_free(d);
        }
    }
}

/* A longer draw extends a shorter one. */
static void a_longer_draw_begins_with_the_shorter_one(void **state) {
    static float a[80], b[800];
    (void)state;
    for (int k = 0; k < 2; k++) {
        const char *name = k ? "heavy" : "waves";
        scant_data *few = opened(name, (scant_data_opts){.count = 10, .regression = 1});
        scant_data *many = opened(name, (scant_data_opts){.count = 100, .regression = 1});
        size_t n = 10 * scant__data_width(few);
        read_rows(few, a);
        read_rows(many, b);
        assert_memory_equal(a, b, n * sizeof *a);
        assert_memory_equal(scant_data_targets(few), scant_data_targets(many), 40);
        scant_data_free(few);
        scant_data_free(many);
    }
}

static void few_points_can_be_drawn_and_wrong_options_are_refused(void **state) {
    (void)state;
    for (size_t n = 1; n < 5; n++) {
        scant_data *d = opened("moons", (scant_data_opts){.count = n});
        assert_int_equal(scant_data_count(d), n);
        assert_int_equal(scant_data_labels(d)[0] == 1, n == 1 || scant_data_labels(d)[0]);
        scant_data_free(d);
    }
    for (size_t n = 1; n < 3; n++) {
        scant_data *d = opened("heavy", (scant_data_opts){.count = n, .regression = 1});
        has_shape(d, n, 8, 1, 1);
        scant_data_free(d);
    }
    /* without targets the task need not be given */
    scant_data *d = opened("heavy", (scant_data_opts){.unlabelled = 1});
    assert_null(scant_data_targets(d));
    scant_data_free(d);
    refuses_as(SCANT_EUSAGE, "moons", (scant_data_opts){.regression = 1}, "moons",
               "has classes, not regression targets");
    refuses_as(SCANT_EUSAGE, "waves", (scant_data_opts){0}, "waves",
               "has regression targets, not classes: ask for regression");
    refuses_as(SCANT_EUSAGE, "heavy",
               (scant_data_opts){.labels = "y.npy", .regression = 1}, "y.npy",
               "heavy has its own");
    refuses_as(SCANT_ENOMEM, "heavy",
               (scant_data_opts){.count = SIZE_MAX / 4, .regression = 1}, "",
               "more than can be addressed");
    refuses_as(SCANT_EUSAGE, "blobs", (scant_data_opts){.labels = "y.npy"}, "y.npy",
               "blobs has its own");
    refuses_as(SCANT_ENOMEM, "blobs", (scant_data_opts){.count = SIZE_MAX / 4}, "",
               "more than can be addressed");
}

static void samples_survive_failing_memory(void **state) {
    const int64_t y[] = {0, 1, 2, 3};
    (void)state;
    const char *x = array("a.npy", NPY("=f4", "(4, 1)"), four, sizeof four);
    const char *labels = array("b.npy", NPY("=i8", "(4,)"), y, sizeof y);
    assert_true(torture(x, (scant_data_opts){.labels = labels}) >= 5);
    assert_true(torture(x, (scant_data_opts){.labels = labels, .regression = 1}) >= 5);
    assert_true(torture("moons", (scant_data_opts){0}) >= 4);
    assert_true(torture("blobs", (scant_data_opts){0}) >= 3);
    assert_true(torture("heavy", (scant_data_opts){.regression = 1}) >= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feature_rows_are_read_unchanged),
        cmocka_unit_test(bytes_are_read_as_fractions_of_255),
        cmocka_unit_test(doubles_halves_and_the_other_byte_order_are_converted),
        cmocka_unit_test(channels_in_the_last_dimension_become_planes),
        cmocka_unit_test(large_images_are_converted_in_order),
        cmocka_unit_test(reading_reports_numbers_that_are_not_finite),
        cmocka_unit_test(arrays_of_wrong_types_or_shapes_are_refused),
        cmocka_unit_test(labels_may_be_integers_of_any_type),
        cmocka_unit_test(targets_may_be_numbers_of_any_type),
        cmocka_unit_test(a_label_of_minus_one_means_unlabelled),
        cmocka_unit_test(labels_that_do_not_fit_are_refused),
        cmocka_unit_test(moons_lie_on_two_half_circles),
        cmocka_unit_test(blobs_are_three_round_clouds),
        cmocka_unit_test(waves_are_a_smooth_function_of_a_square),
        cmocka_unit_test(heavy_rows_have_a_pareto_tail),
        cmocka_unit_test(a_longer_draw_begins_with_the_shorter_one),
        cmocka_unit_test(samples_depend_on_the_seed_and_the_test_set_is_another_draw),
        cmocka_unit_test(few_points_can_be_drawn_and_wrong_options_are_refused),
        cmocka_unit_test(samples_survive_failing_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
