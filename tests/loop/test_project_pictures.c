/* SPDX-License-Identifier: Apache-2.0
 *
 * Projects of images: a network on the pixels, or on a backbone's features; and images
 * that cannot be read.
 */
#include "projects.h"

#include "core/mem.h"
#include "data/images.h"
#include "scant/project.h"

/* ---- images ------------------------------------------------------------------------ */

/* Class 0 is dark at the top, class 1 at the bottom; noise makes each image different. */
static int32_t class_at(size_t i) { return (int32_t)(i % 2); }

static void paint(size_t i, size_t side, size_t channels, unsigned char *out) {
    for (size_t y = 0; y < side; y++)
        for (size_t x = 0; x < side * channels; x++) {
            bool dark = (y < side / 2) == (class_at(i) == 0);
            size_t at = y * side * channels + x;
            out[at] = (unsigned char)((dark ? 40 : 180) + 40 * unit_at(i, at));
        }
}

static void put_images(scant_ctx *ctx, const char *folder, size_t from, size_t to) {
    enum { SIDE = 16 };
    unsigned char rgb[SIDE * SIDE * 3];
    char name[64];
    mkdir(path_of(folder), 0777);
    for (size_t i = from; i < to; i++) {
        void *bytes;
        size_t size;
        paint(i, SIDE, 3, rgb);
        OK(scant__encode_png(ctx, rgb, SIDE, SIDE, false, &bytes, &size));
        snprintf(name, sizeof name, "%s/%04zu.png", folder, i);
        put(name, bytes, size);
        scant__free(ctx, bytes);
    }
}

static void open_folder(lab *l, const char *name, const char *folder,
                        const char *weights) {
    const scant_setting settings[] = {{"epochs", "20"}, {"audit_every", "5"}};
    scant_project_opts opts = {.source = {.images = path_of(folder)},
                               .classes = class_names(2),
                               .n_classes = 2,
                               .backbone = weights ? "mobilenetv2" : NULL,
                               .weights = weights,
                               .seed = 1,
                               .settings = settings,
                               .n_settings = 2};
    lab_ctx = l->ctx;
    l->truth = malloc(l->n * sizeof *l->truth);
    for (size_t i = 0; i < l->n; i++) l->truth[i] = class_at(i);
    l->classes = 2;
    snprintf(l->dir, sizeof l->dir, "%s/%s", dir, name);
    OK(scant_project_create(l->ctx, l->dir, &opts, &l->project));
}

static size_t count_right(lab *l) {
    scant_array *p;
    size_t model, right = 0;
    OK(scant_project_predict(l->project, &p, &model));
    assert_int_equal(scant_array_shape(p)[0], l->n);
    const float *x = (const float *)p->data;
    for (size_t i = 0; i < l->n; i++)
        right += (x[2 * i + 1] > x[2 * i]) == (l->truth[i] == 1);
    scant_array_free(p);
    return right;
}

/* ---- pixels ------------------------------------------------------------------------ */

static void a_small_network_learns_pixels(void **state) {
    (void)state;
    enum { N = 120, SIDE = 28 };
    scant_ctx *ctx = ctx_threads(2);
    static unsigned char pixels[N * SIDE * SIDE];
    static int32_t truth[N];
    lab l = {.ctx = ctx, .n = N, .classes = 2, .truth = truth};
    scant_array *array, *features;
    void *bytes;
    size_t size, shape[] = {N, SIDE, SIDE}, items[5], n;
    scant_why why;
    lab_ctx = ctx;
    for (size_t i = 0; i < N; i++) {
        paint(i, SIDE, 1, pixels + i * SIDE * SIDE);
        truth[i] = class_at(i);
    }
    OK(scant_array_wrap(ctx, "pixels", pixels, SCANT_U8, 3, shape, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    put("pixels.npy", bytes, size);
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    snprintf(l.dir, sizeof l.dir, "%s/pixels", dir);
    const scant_setting settings[] = {{"epochs", "20"}};
    scant_project_opts opts = {.source = {.images = path_of("pixels.npy")},
                               .classes = class_names(2),
                               .n_classes = 2,
                               .settings = settings,
                               .n_settings = 1};
    OK(scant_project_create(ctx, l.dir, &opts, &l.project));
    OK(scant_project_features(l.project, &features));
    assert_null(features); /* there is no network yet */
    assert_int_equal(scant_project_alike(l.project, 0, 5, items, &n), SCANT_ENOTREADY);
    lab_answer(&l, 40, false);
    OK(scant_project_train(l.project, NULL, NULL));
    assert_true(count_right(&l) > N * 9 / 10);
    OK(scant_project_features(l.project, &features));
    assert_non_null(features);
    assert_int_equal(scant_array_shape(features)[0], N);
    scant_array_free(features);
    lab_query(&l, "badge", 5);
    lab_query(&l, "sparse-greedy", 5); /* calibrated by five short trainings */
    OK(scant_project_alike(l.project, 0, 5, items, &n));
    assert_int_equal(n, 5);
    OK(scant_project_why(l.project, 1, &why));
    assert_int_equal(why.n_neighbours, SCANT_WHY_NEIGHBOURS);
    lab_remove(&l, "cache");
    assert_true(count_right(&l) > N * 9 / 10); /* from the weights, with features */
    OK(scant_project_features(l.project, &features));
    assert_non_null(features);
    scant_array_free(features);
    scant_project_free(l.project);
    scant_ctx_free(ctx);
}

static char warned[1024];
static size_t warnings;

static void note_warning(void *user, scant_log_level level, const char *text) {
    (void)user;
    if (level != SCANT_LOG_WARNING || !strstr(text, "a black image is used")) return;
    warnings++;
    snprintf(warned, sizeof warned, "%s", text);
}

static void unreadable_images_are_black_and_reported(void **state) {
    (void)state;
    scant_ctx *ctx;
    lab l = {.n = 30};
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.threads = 2, .log = note_warning}, &ctx),
        SCANT_OK);
    l.ctx = lab_ctx = ctx;
    put_images(ctx, "broken", 0, 30);
    open_folder(&l, "broken-project", "broken", NULL);
    put("broken/0003.png", "what is this?", 13);
    unlink(path_of("broken/0017.png"));
    lab_answer(&l, 24, false);
    warnings = 0;
    OK(scant_project_train(l.project, NULL, NULL));
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(warned, "0003.png"));
    assert_non_null(strstr(warned, "1 other"));
    assert_true(count_right(&l) >= 27);
    lab_end(&l);
}

/* ---- a backbone -------------------------------------------------------------------- */

typedef struct watch {
    size_t begun; /* reports of reading images */
    int stop_at;  /* reports until it is cancelled; -1: never */
} watch;

static void on_progress(void *user, const char *phase, double fraction) {
    watch *w = user;
    (void)fraction;
    if (strcmp(phase, "reading images") == 0) w->begun++;
}

static int on_cancel(void *user) {
    watch *w = user;
    return w->stop_at >= 0 && w->begun > (size_t)w->stop_at;
}

/* Untrained weights are enough here. */
static void put_backbone(scant_ctx *ctx, const char *name, uint64_t seed) {
    scant_net *net;
    scant_net_opts opts = {.shape = {3, 224, 224}, .classes = 10, .seed = seed};
    OK(scant_net_create(ctx, "mobilenetv2", &opts, &net));
    OK(scant_net_save(net, path_of(name)));
    scant_net_free(net);
}

static float *features_of(lab *l, size_t n) {
    scant_array *array;
    OK(scant_project_prepare(l->project));
    OK(scant_project_features(l->project, &array));
    assert_int_equal(scant_array_shape(array)[0], n);
    assert_int_equal(scant_array_shape(array)[1], 1280);
    float *copy = malloc(n * 1280 * sizeof *copy);
    memcpy(copy, array->data, n * 1280 * sizeof *copy);
    scant_array_free(array);
    return copy;
}

static void features_of_a_backbone_are_computed_once(void **state) {
    (void)state;
    watch w = {.stop_at = -1};
    scant_ctx *ctx;
    lab l = {.n = 12};
    size_t added;
    assert_int_equal(scant_ctx_create(&(scant_ctx_opts){.threads = 2,
                                                        .user = &w,
                                                        .progress = on_progress,
                                                        .cancel = on_cancel},
                                      &ctx),
                     SCANT_OK);
    l.ctx = lab_ctx = ctx;
    put_backbone(ctx, "backbone.safetensors", 1);
    put_images(ctx, "some", 0, 12);
    open_folder(&l, "some-project", "some", path_of("backbone.safetensors"));
    float *first = features_of(&l, 12);
    w.begun = 0;
    OK(scant_project_prepare(l.project));
    assert_int_equal(w.begun, 0); /* nothing to do */
    put_images(ctx, "some", 12, 15);
    OK(scant_project_add(l.project, NULL, &added));
    assert_int_equal(added, 3);
    float *more = features_of(&l, 15);
    assert_memory_equal(first, more, 12 * 1280 * sizeof *first);
    assert_true(w.begun > 0);
    /* other weights give other features, of all images */
    put_backbone(ctx, "backbone.safetensors", 2);
    float *other = features_of(&l, 15);
    assert_true(memcmp(first, other, 1280 * sizeof *first) != 0);
    assert_true(memcmp(more + 14 * 1280, other + 14 * 1280, 1280 * sizeof *first) != 0);
    free(first);
    free(more);
    free(other);
    lab_end(&l);
}

static void features_of_a_cancelled_backbone_are_kept(void **state) {
    (void)state;
    watch w = {.stop_at = -1};
    scant_ctx *ctx;
    lab l = {.n = 60};
    scant_array *array;
    assert_int_equal(scant_ctx_create(&(scant_ctx_opts){.threads = 2,
                                                        .user = &w,
                                                        .progress = on_progress,
                                                        .cancel = on_cancel},
                                      &ctx),
                     SCANT_OK);
    l.ctx = lab_ctx = ctx;
    put_backbone(ctx, "backbone.safetensors", 1);
    put_images(ctx, "many", 0, 60);
    open_folder(&l, "many-project", "many", path_of("backbone.safetensors"));
    w = (watch){.stop_at = 2};
    assert_int_equal(scant_project_prepare(l.project), SCANT_ECANCELLED);
    w.stop_at = -1;
    OK(scant_project_features(l.project, &array));
    size_t had = array ? scant_array_shape(array)[0] : 0;
    assert_true(had > 0 && had < 60);
    scant_array_free(array);
    free(features_of(&l, 60));
    lab_end(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_network_learns_pixels),
        cmocka_unit_test(unreadable_images_are_black_and_reported),
        cmocka_unit_test(features_of_a_backbone_are_computed_once),
        cmocka_unit_test(features_of_a_cancelled_backbone_are_kept),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
