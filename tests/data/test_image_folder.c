/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders of images. make_pictures.py made tests/data/pictures and golden.npy, PIL's
 * version of them.
 */
#include "samples.h"

#include "core/parfor.h"
#include "data/array.h"
#include "data/images.h"
#include "scant/train.h"

#ifndef PICTURES
#error "PICTURES is the folder tests/data/pictures"
#endif

enum { SIDE = 14, WIDTH = 3 * SIDE * SIDE };

static const scant_data_opts small = {.side = SIDE};

/* ---- pixels ------------------------------------------------------------------------ */

static void images_match_those_of_pil(void **state) {
    scant_array *golden;
    float want[WIDTH], got[WIDTH];
    scant__fault fault;
    size_t jpegs = 0;
    (void)state;
    scant_data *d = opened(PICTURES, small);
    assert_int_equal(scant_array_open(ctx, PICTURES "/golden.npy", &golden), SCANT_OK);
    has_shape(d, golden->shape[0], 3, SIDE, SIDE);
    assert_true(scant__data_is_image(d));
    assert_null(scant_data_labels(d));
    for (size_t row = 0; row < golden->shape[0]; row++) {
        const char *name = scant_data_sample_name(d, row);
        int most = strstr(name, ".png") ? 0 : 1; /* JPEG decoders may round differently */
        jpegs += most > 0;
        scant__array_read_f32(golden, row * WIDTH, WIDTH, want);
        if (scant__data_read(d, row, got, &fault) != SCANT_OK) fail_msg("%s", fault.text);
        for (size_t i = 0; i < WIDTH; i++) {
            float value = want[i % (SIDE * SIDE) * 3 + i / (SIDE * SIDE)];
            if (fabsf(got[i] * 255 - value) > (float)most + .001F)
                fail_msg("%s: value %zu is %g, expected %g", name, i,
                         (double)(got[i] * 255), (double)value);
        }
    }
    assert_int_equal(jpegs, 15);
    scant_array_free(golden);
    scant_data_free(d);
}

static void keep_first(void *self, size_t y, const unsigned char *rgb) {
    unsigned char *out = self;
    for (size_t x = 0; x < SIDE; x++) out[y * SIDE + x] = rgb[3 * x];
}

/* The first channel of the centre crop. */
static void centre_crop(const unsigned char *rows, size_t stride, size_t width,
                        size_t height, unsigned char *out) {
    scant__resize r;
    scant__fault fault;
    scant__fit fit = scant__fit_middle(width, height, SIDE);
    assert_int_equal(
        scant__resize_begin(&r, ctx, width, height, &fit, keep_first, out, &fault),
        SCANT_OK);
    for (size_t y = 0; y < height; y++) scant__resize_row(&r, rows + y * stride);
    scant__resize_end(&r);
}

/* Constant images stay constant, and an image of the right size is only cropped. */
static void resizing_keeps_constant_images_and_only_crops_fitting_ones(void **state) {
    static unsigned char rows[16][16][3], flat[100 * 3];
    unsigned char out[SIDE * SIDE];
    (void)state;
    for (size_t y = 0; y < 16; y++)
        for (size_t x = 0; x < 16; x++)
            for (size_t c = 0; c < 3; c++) rows[y][x][c] = (unsigned char)(y * 16 + x);
    centre_crop(rows[0][0], sizeof rows[0], 16, 16, out);
    for (size_t y = 0; y < SIDE; y++)
        for (size_t x = 0; x < SIDE; x++)
            assert_int_equal(out[y * SIDE + x], (y + 1) * 16 + x + 1);
    memset(flat, 201, sizeof flat);
    for (size_t high = 1; high < 90; high++) {
        centre_crop(flat, 0, 100, high, out);
        for (size_t i = 0; i < sizeof out; i++) assert_int_equal(out[i], 201);
    }
}

static void orientation_is_found_in_either_byte_order_and_nowhere_else(void **state) {
    static const unsigned char little[] =
        "II*\0\x08\0\0\0\x02\0\x0f\x01\x03\0\x01\0\0\0\x09\0\0\0"
        "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0";
    static const unsigned char big[] = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01"
                                       "\0\0\0\x08\0\0\0";
    unsigned char bytes[64];
    (void)state;
    assert_int_equal(scant__exif_orientation(little, sizeof little), 6);
    assert_int_equal(scant__exif_orientation(big, sizeof big), 8);
    for (size_t n = 0; n < 8 + 2 + 12 + 10; n++)
        assert_int_equal(scant__exif_orientation(little, n), 1);
    memcpy(bytes, little, sizeof little);
    bytes[30] = 9; /* not an orientation */
    assert_int_equal(scant__exif_orientation(bytes, sizeof little), 1);
    memset(bytes + 4, 0xff, 4); /* an offset outside the data */
    assert_int_equal(scant__exif_orientation(bytes, sizeof little), 1);
}

/* ---- damage ------------------------------------------------------------------------ */

static size_t slurp(const char *name, unsigned char *out, size_t room) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", PICTURES, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(out, 1, room, f);
    assert_true(size < room);
    fclose(f);
    return size;
}

/* Reads these bytes as the only image of a folder. */
static scant_status read_bytes(const char *name, const void *bytes, size_t size,
                               scant__fault *fault) {
    char file[100];
    float out[WIDTH];
    snprintf(file, sizeof file, "one/%s", name);
    mkdir(path_of("one"), 0700);
    const char *path = put(file, bytes, size);
    scant_data *d = opened(path_of("one"), small);
    size_t used = ctx->used;
    *fault = (scant__fault){{0}};
    scant_status status = scant__data_read(d, 0, out, fault);
    assert_int_equal(ctx->used, used);
    if (status != SCANT_OK) assert_ptr_equal(strstr(fault->text, path), fault->text);
    scant_data_free(d);
    unlink(path);
    return status;
}

static void images_truncated_anywhere_are_refused(void **state) {
    static const char *const names[] = {"rgb8_interlaced_tiny.png", "orientation6.jpg",
                                        "one_pixel.png", "grey1.png"};
    static unsigned char bytes[32768];
    scant__fault fault;
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        size_t size = slurp(names[k], bytes, sizeof bytes);
        assert_int_equal(read_bytes(names[k], bytes, size, &fault), SCANT_OK);
        for (size_t n = 0; n < size; n++)
            assert_int_equal(read_bytes(names[k], bytes, n, &fault), SCANT_EINPUT);
    }
    size_t size = slurp("progressive.jpg", bytes, sizeof bytes);
    for (size_t n = 0; n < size; n += 41)
        assert_int_equal(read_bytes("progressive.jpg", bytes, n, &fault), SCANT_EINPUT);
}

/* Reading returns an image or a message, whichever byte is changed. */
static void images_with_a_changed_byte_do_no_harm(void **state) {
    static const char *const names[] = {"rgb8_interlaced_tiny.png", "palette2.png",
                                        "orientation3.jpg", "grey.JPEG"};
    static unsigned char bytes[32768];
    scant__fault fault;
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        size_t size = slurp(names[k], bytes, sizeof bytes), failed = 0;
        for (size_t i = 0; i < size; i += 1 + size / 500) {
            unsigned char kept = bytes[i];
            bytes[i] ^= 0x55;
            scant_status status = read_bytes(names[k], bytes, size, &fault);
            assert_true(status == SCANT_OK || status == SCANT_EINPUT);
            failed += status != SCANT_OK;
            bytes[i] = kept;
        }
        assert_true(failed > 20);
    }
}

static void files_that_are_not_images_are_refused_by_name(void **state) {
    scant__fault fault;
    (void)state;
    assert_int_equal(read_bytes("a.png", "", 0, &fault), SCANT_EINPUT);
    assert_non_null(strstr(fault.text, "a.png: is empty"));
    assert_int_equal(read_bytes("a.jpg", "hello", 5, &fault), SCANT_EINPUT);
    assert_non_null(
        strstr(fault.text, "a.jpg: is neither PNG nor JPEG; it looks like t"));
    /* the format is detected by content, not by name */
    static unsigned char bytes[8192];
    size_t size = slurp("rgb8.png", bytes, sizeof bytes);
    assert_int_equal(read_bytes("a.jpg", bytes, size, &fault), SCANT_OK);
}

static void decompression_bombs_are_refused_before_decoding(void **state) {
    static unsigned char bytes[32768];
    scant__fault fault;
    (void)state;
    size_t size = slurp("rgb8.png", bytes, sizeof bytes);
    bytes[17] = 1, bytes[21] = 1; /* 65565 x 65573 */
    uint32_t crc = (uint32_t)crc32(0, bytes + 12, 17);
    for (size_t i = 0; i < 4; i++) bytes[29 + i] = (unsigned char)(crc >> (24 - 8 * i));
    assert_int_equal(read_bytes("a.png", bytes, size, &fault), SCANT_EINPUT);
    assert_non_null(strstr(fault.text, "has 65565 x 65573 pixels"));
    size = slurp("baseline.jpg", bytes, sizeof bytes);
    for (size_t i = 2; i + 9 < size; i++)
        if (bytes[i] == 0xff && bytes[i + 1] == 0xc0) {
            memset(bytes + i + 5, 0xff, 4); /* libjpeg refuses 65535 x 65535 itself */
            bytes[i + 5] = 0xf0, bytes[i + 7] = 0xf0;
            break;
        }
    assert_int_equal(read_bytes("a.jpg", bytes, size, &fault), SCANT_EINPUT);
    assert_non_null(strstr(fault.text, "has 61695 x 61695 pixels"));
}

/* libjpeg holds a progressive image in memory as a whole, which counts. */
static void the_cap_covers_the_memory_of_libjpeg(void **state) {
    static unsigned char bytes[32768];
    float out[WIDTH];
    scant_ctx *tight;
    scant_data *d;
    scant__fault fault = {{0}};
    (void)state;
    mkdir(path_of("prog"), 0700);
    put("prog/a.jpg", bytes, slurp("progressive.jpg", bytes, sizeof bytes));
    assert_int_equal(
        scant_ctx_create(&(scant_ctx_opts){.threads = 1, .memory = 128 << 10}, &tight),
        SCANT_OK);
    assert_int_equal(scant_data_open(tight, path_of("prog"), &small, &d), SCANT_OK);
    assert_int_equal(scant__data_read(d, 0, out, &fault), SCANT_ENOMEM);
    assert_true(strlen(fault.text) > 0);
    scant_data_free(d);
    scant_ctx_free(tight);
}

/* ---- folders ----------------------------------------------------------------------- */

static const char *copy(const char *name, const char *to) {
    static unsigned char bytes[65536];
    size_t size = slurp(name, bytes, sizeof bytes);
    return put(to, bytes, size);
}

static char warnings[2048];
static void keep_warning(void *user, scant_log_level level, const char *text) {
    (void)user;
    assert_int_equal(level, SCANT_LOG_WARNING);
    strncat(warnings, text, sizeof warnings - strlen(warnings) - 1);
    strncat(warnings, "|", sizeof warnings - strlen(warnings) - 1);
}

static void class_folders_are_classes_in_byte_order(void **state) {
    static const char *const want[] = {"Zebra/b.png",    "Zebra/c.png",
                                       "ant/1.jpg",      "ant/2.png",
                                       "ant/more/0.png", "ant/more/deep/3.png"};
    static const int labels[] = {0, 0, 1, 1, 1, 1};
    (void)state;
    for (const char *const *f =
             (const char *const[]){"zoo", "zoo/ant", "zoo/Zebra", "zoo/bee", "zoo/.git",
                                   "zoo/ant/more", "zoo/ant/more/deep", NULL};
         *f; f++)
        assert_int_equal(mkdir(path_of(*f), 0700), 0);
    copy("rgb8.png", "zoo/Zebra/b.png");
    copy("grey8.png", "zoo/ant/2.png");
    copy("baseline.jpg", "zoo/ant/1.jpg");
    copy("grey8.png", "zoo/ant/more/deep/3.png");
    copy("grey8.png", "zoo/ant/more/0.png");
    copy("grey8.png", "zoo/ant/.hidden.png");
    copy("grey8.png", "zoo/.git/x.png");
    copy("grey8.png", "zoo/loose.png");
    put("zoo/ant/notes.txt", "", 0);
    assert_int_equal(symlink("b.png", path_of("zoo/Zebra/c.png")), 0);
    assert_int_equal(symlink("nothing", path_of("zoo/Zebra/d.png")), 0);
    warnings[0] = 0;
    ctx->opts.log = keep_warning;
    scant_data *d = opened(path_of("zoo//"), small);
    ctx->opts.log = NULL;
    assert_int_equal(scant_data_count(d), 6);
    assert_int_equal(scant_data_classes(d), 3);
    assert_string_equal(scant_data_class_name(d, 0), "Zebra");
    assert_string_equal(scant_data_class_name(d, 1), "ant");
    assert_string_equal(scant_data_class_name(d, 2), "bee");
    assert_null(scant_data_class_name(d, 3));
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(scant_data_sample_name(d, i), want[i]);
        assert_int_equal(scant_data_labels(d)[i], labels[i]);
    }
    assert_null(scant_data_sample_name(d, 6));
    float out[WIDTH];
    scant__fault fault;
    assert_int_equal(scant__data_read(d, 1, out, &fault), SCANT_OK);
    assert_non_null(strstr(warnings, "1 of 3 class folders have no images|"));
    assert_non_null(strstr(warnings, "2 files are not used"));
    scant_data_free(d);
    refuses_as(SCANT_EUSAGE, path_of("zoo"), (scant_data_opts){.labels = "y.npy"},
               "y.npy", "has its own");
    refuses_as(SCANT_EUSAGE, path_of("zoo"), (scant_data_opts){.regression = 1},
               path_of("zoo"), "has class folders, not regression targets");
    refuses_as(SCANT_EUSAGE, path_of("zoo"), (scant_data_opts){.side = 5000},
               path_of("zoo"), "at most 4096");
    assert_int_equal(symlink("..", path_of("zoo/ant/loop")), 0);
    refuses(path_of("zoo"), small, "folders deep");
}

/* Each folder has two links to the next one: 4096 paths lead to the last. */
static void links_that_multiply_paths_are_refused(void **state) {
    char name[32], link[40], next[32];
    scant__names names = {0};
    (void)state;
    assert_int_equal(mkdir(path_of("dag"), 0700), 0);
    for (int i = 0; i < 13; i++) {
        snprintf(name, sizeof name, "dag/%02d", i);
        snprintf(next, sizeof next, "../%02d", i + 1);
        assert_int_equal(mkdir(path_of(name), 0700), 0);
        for (int k = 0; i < 12 && k < 2; k++) {
            snprintf(link, sizeof link, "%s/%c", name, 'a' + k);
            assert_int_equal(symlink(next, path_of(link)), 0);
        }
    }
    copy("grey8.png", "dag/12/0.png");
    assert_int_equal(scant__images_list(ctx, path_of("dag/00"), &names), SCANT_EINPUT);
    assert_says(ctx, path_of("dag/00"), "other paths lead to");
    scant__names_end(&names);
    /* a few links to one folder are followed */
    assert_int_equal(scant__images_list(ctx, path_of("dag/09"), &names), SCANT_OK);
    assert_int_equal(names.count, 8);
    scant__names_end(&names);
}

static void images_without_class_folders_take_labels_from_a_file(void **state) {
    const unsigned char y[] = {4, 2};
    (void)state;
    assert_int_equal(mkdir(path_of("flat"), 0700), 0);
    assert_int_equal(mkdir(path_of("flat/sub"), 0700), 0);
    copy("rgb8.png", "flat/b.PNG");
    copy("baseline.jpg", "flat/a.jpeg");
    buffer b = npy(1, NPY("|u1", "(2,)"), y, 2);
    scant_data *d = opened(
        path_of("flat"), (scant_data_opts){.labels = put_buffer("y.npy", &b), .side = 2});
    has_shape(d, 2, 3, 2, 2);
    assert_string_equal(scant_data_sample_name(d, 0), "a.jpeg");
    assert_string_equal(scant_data_sample_name(d, 1), "b.PNG");
    assert_null(scant_data_class_name(d, 0));
    assert_int_equal(scant_data_labels(d)[0], 4);
    assert_int_equal(scant_data_classes(d), 5);
    scant_data_free(d);
    d = opened(path_of("flat"), (scant_data_opts){0});
    has_shape(d, 2, 3, 224, 224);
    scant_data_free(d);
}

static void a_folder_without_images_is_refused(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("bare"), 0700), 0);
    refuses(path_of("bare"), small, "has no images");
    put("bare/a.txt", "", 0);
    assert_int_equal(mkdir(path_of("bare/class"), 0700), 0);
    refuses(path_of("bare"), small, "has no images (.png, .jpg, .jpeg), neither in");
}

static void reading_reports_a_deleted_image(void **state) {
    float out[WIDTH];
    scant__fault fault;
    (void)state;
    assert_int_equal(mkdir(path_of("gone"), 0700), 0);
    const char *path = copy("rgb8.png", "gone/a.png");
    scant_data *d = opened(path_of("gone"), small);
    unlink(path);
    assert_int_equal(scant__data_read(d, 0, out, &fault), SCANT_EINPUT);
    assert_non_null(strstr(fault.text, "gone/a.png: there is no such file"));
    scant_data_free(d);
}

static void images_survive_failing_memory(void **state) {
    static const char *const names[] = {"rgb8_interlaced.png", "palette4.png",
                                        "orientation6.jpg", "cmyk.jpg", "exif6.png"};
    char to[64];
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        snprintf(to, sizeof to, "fail%zu", i);
        assert_int_equal(mkdir(path_of(to), 0700), 0);
        snprintf(to, sizeof to, "fail%zu/class", i);
        assert_int_equal(mkdir(path_of(to), 0700), 0);
        snprintf(to, sizeof to, "fail%zu/class/a.png", i);
        copy(names[i], to);
        snprintf(to, sizeof to, "fail%zu", i);
        assert_true(torture(path_of(to), small) >= 15);
    }
}

/* ---- threads ----------------------------------------------------------------------- */

typedef struct all {
    const scant_data *data;
    float *out;
} all;

static scant_status read_block(void *arg, size_t block, unsigned worker,
                               scant__fault *fault) {
    const all *a = arg;
    (void)worker;
    size_t row = block % scant_data_count(a->data);
    return scant__data_read(a->data, row, a->out + block * WIDTH, fault);
}

static void any_number_of_threads_reads_the_same(void **state) {
    enum { BLOCKS = 200 };
    float *out[2];
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        scant_ctx *many = ctx_threads(k ? 4 : 1);
        scant_data *d;
        assert_int_equal(scant_data_open(many, PICTURES, &small, &d), SCANT_OK);
        size_t used = many->used;
        out[k] = malloc(BLOCKS * WIDTH * sizeof(float));
        assert_int_equal(scant__parfor(many, NULL, BLOCKS, read_block, &(all){d, out[k]}),
                         SCANT_OK);
        assert_int_equal(many->used, used);
        scant_data_free(d);
        scant_ctx_free(many);
    }
    assert_memory_equal(out[0], out[1], BLOCKS * WIDTH * sizeof(float));
    free(out[0]);
    free(out[1]);
}

static void listing_can_be_cancelled(void **state) {
    (void)state;
    assert_int_equal(mkdir(path_of("slow"), 0700), 0);
    assert_int_equal(mkdir(path_of("slow/a"), 0700), 0);
    assert_int_equal(mkdir(path_of("slow/b"), 0700), 0);
    copy("rgb8.png", "slow/b/x.png");
    assert_true(cancels(path_of("slow"), small) >= 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_match_those_of_pil),
        cmocka_unit_test(resizing_keeps_constant_images_and_only_crops_fitting_ones),
        cmocka_unit_test(orientation_is_found_in_either_byte_order_and_nowhere_else),
        cmocka_unit_test(images_truncated_anywhere_are_refused),
        cmocka_unit_test(images_with_a_changed_byte_do_no_harm),
        cmocka_unit_test(files_that_are_not_images_are_refused_by_name),
        cmocka_unit_test(decompression_bombs_are_refused_before_decoding),
        cmocka_unit_test(the_cap_covers_the_memory_of_libjpeg),
        cmocka_unit_test(class_folders_are_classes_in_byte_order),
        cmocka_unit_test(links_that_multiply_paths_are_refused),
        cmocka_unit_test(images_without_class_folders_take_labels_from_a_file),
        cmocka_unit_test(a_folder_without_images_is_refused),
        cmocka_unit_test(reading_reports_a_deleted_image),
        cmocka_unit_test(images_survive_failing_memory),
        cmocka_unit_test(any_number_of_threads_reads_the_same),
        cmocka_unit_test(listing_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
