/* SPDX-License-Identifier: Apache-2.0
 *
 * Each allocation of each call fails in turn: the call returns SCANT_ENOMEM and no
 * result, and nothing leaks.
 */
#include "zip.h"

static memory mem;
static scant_ctx *ctx;
static char archive[600], ids_spec[600];

static int setup(void **state) {
    static zip z;
    const float data[] = {1, 2, 3};
    const uint32_t points[] = {'a', 0x20ac};
    ctx = ctx_counting(&mem);
    if (make_dir(state) != 0) return -1;
    buffer numbers = npy(1, NPY("<f4", "(3,)"), data, sizeof data);
    buffer strings = npy(1, NPY("=U1", "(2,)"), points, sizeof points);
    z = (zip){0};
    zip_add(&z, "x.npy", &numbers, DEFLATED);
    zip_add(&z, "s.npy", &strings, DEFLATED);
    zip_end(&z, "");
    put_buffer("a.npy", &numbers);
    put("ids.txt", "a\nb\n", 4);
    snprintf(archive, sizeof archive, "%s:x", put_buffer("a.npz", &z.out));
    snprintf(ids_spec, sizeof ids_spec, "%s:s", path_of("a.npz"));
    return 0;
}

static int teardown(void **state) {
    ctx_end(ctx, &mem);
    return remove_dir(state);
}

/* The calls under test; each frees its result. */
static scant_status open_array(const char *spec) {
    scant_array *array = (scant_array *)1;
    scant_status status = scant_array_open(ctx, spec, &array);
    assert_int_equal(status == SCANT_OK, array != NULL);
    scant_array_free(array);
    return status;
}

static scant_status open_ids(const char *spec) {
    scant_ids *ids = (scant_ids *)1;
    scant_status status = scant_ids_open(ctx, spec, &ids);
    assert_int_equal(status == SCANT_OK, ids != NULL);
    scant_ids_free(ids);
    return status;
}

static scant_status wrap_and_encode(const char *name) {
    const double data[2] = {1, 2};
    scant_array *array;
    void *bytes = NULL;
    size_t size;
    scant_status status =
        scant_array_wrap(ctx, name, data, SCANT_F64, 1, (size_t[]){2}, &array);
    if (status == SCANT_OK) status = scant_array_encode(ctx, array, &bytes, &size);
    assert_int_equal(status == SCANT_OK, bytes != NULL);
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    return status;
}

/* Returns the number of allocations that call makes. */
static size_t torture(scant_status (*call)(const char *), const char *spec) {
    size_t live = mem.live;
    for (size_t k = 0;; k++) {
        mem.calls = 0;
        mem.fail_at = k;
        scant_status status = call(spec);
        mem.fail_at = SIZE_MAX;
        assert_int_equal(mem.live, live);
        assert_int_equal(ctx->used, 0);
        if (status == SCANT_OK) return k;
        assert_int_equal(status, SCANT_ENOMEM);
        assert_true(strlen(scant_ctx_errmsg(ctx)) > 0);
        assert_true(k < 100);
    }
}

static void a_mapped_array_survives_failing_memory(void **state) {
    (void)state;
    assert_true(torture(open_array, path_of("a.npy")) >= 1);
}

static void an_inflated_array_survives_failing_memory(void **state) {
    (void)state;
    assert_true(torture(open_array, archive) >= 4); /* zlib's are counted, too */
}

static void ids_survive_failing_memory(void **state) {
    (void)state;
    assert_true(torture(open_ids, path_of("ids.txt")) >= 2);
    assert_true(torture(open_ids, ids_spec) >= 5);
}

static void encoding_survives_failing_memory(void **state) {
    (void)state;
    assert_true(torture(wrap_and_encode, "w") >= 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mapped_array_survives_failing_memory),
        cmocka_unit_test(an_inflated_array_survives_failing_memory),
        cmocka_unit_test(ids_survive_failing_memory),
        cmocka_unit_test(encoding_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
