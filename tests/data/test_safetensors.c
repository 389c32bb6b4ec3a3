/* SPDX-License-Identifier: Apache-2.0
 *
 * safetensors: files built byte by byte are read, damaged ones are refused with a
 * message, and written files read back.
 */
#include <jansson.h>
#include <math.h>

#include "counting.h"
#include "data/safetensors.h"

static buffer file_of(const char *header, const void *data, size_t size) {
    buffer b = {.size = 0};
    add_le(&b, strlen(header), 8);
    add(&b, header, strlen(header));
    add(&b, data, size);
    return b;
}

static scant__tensors *opened_path(const char *path) {
    scant__tensors *t;
    if (scant__tensors_open(ctx, path, &t) != SCANT_OK)
        fail_msg("%s", scant_ctx_errmsg(ctx));
    return t;
}

static scant__tensors *opened(const buffer *b) {
    return opened_path(put_buffer("a.safetensors", b));
}

static void refuses_path(const char *path, const char *words) {
    scant__tensors *t = (scant__tensors *)1;
    assert_int_equal(scant__tensors_open(ctx, path, &t), SCANT_EINPUT);
    assert_null(t);
    assert_says(ctx, path, words);
    assert_int_equal(ctx->used, 0);
}

static void refuses(const buffer *b, const char *words) {
    refuses_path(put_buffer("bad.safetensors", b), words);
}

/* Refuses a file of this header and eight bytes of data. */
static void refuses_header(const char *header, const char *words) {
    buffer b = file_of(header, "12345678", 8);
    refuses(&b, words);
}

/* ---- reading ------------------------------------------------------------------------
 */

#define TWO                                                                              \
    "{\"__metadata__\":{\"by\":\"hand\",\"empty\":\"\"},"                                \
    "\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[2,10]},"                 \
    "\"a\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[0,2]}}"

static buffer two(void) {
    /* 1.5 as bfloat16; 1 and -2 as float32 */
    return file_of(TWO, "\xc0\x3f\0\0\x80\x3f\0\0\0\xc0", 10);
}

static void a_file_made_by_hand_is_read(void **state) {
    (void)state;
    float out[2];
    buffer file = two();
    scant__tensors *t = opened(&file);
    assert_int_equal(scant__tensors_count(t), 2);
    const scant__tensor *a = scant__tensors_get(t, 0), *b = scant__tensors_get(t, 1);
    assert_string_equal(a->name, "a"); /* in the order of the data, not of the header */
    assert_int_equal(a->ndim, 0);
    assert_int_equal(a->count, 1);
    scant__tensor_floats(a, out);
    assert_true(out[0] == 1.5f);
    assert_string_equal(b->name, "b");
    assert_int_equal(b->dtype, SCANT_F32);
    assert_int_equal(b->ndim, 2);
    assert_int_equal(b->shape[0], 2);
    assert_int_equal(b->shape[1], 1);
    scant__tensor_floats(b, out); /* at an odd address: the header's length is odd */
    assert_true(out[0] == 1 && out[1] == -2);
    assert_ptr_equal(scant__tensors_find(t, "a"), a);
    assert_ptr_equal(scant__tensors_find(t, "b"), b);
    assert_null(scant__tensors_find(t, "c"));
    assert_null(scant__tensors_find(t, "__metadata__"));
    assert_string_equal(scant__tensors_meta(t, "by"), "hand");
    assert_string_equal(scant__tensors_meta(t, "empty"), "");
    assert_null(scant__tensors_meta(t, "a"));
    scant__tensors_close(t);
    scant__tensors_close(NULL);
}

static void a_header_may_have_spaces_escapes_and_unknown_keys(void **state) {
    (void)state;
    buffer file = file_of("{ \"\\u0061\\n\\ud83d\\ude00\" : {\"shape\": [0, 7],\n \"x\": "
                          "[{}], \"dtype\": \"F64\", \"data_offsets\": [0, 0]} }   ",
                          "", 0);
    scant__tensors *t = opened(&file);
    const scant__tensor *a = scant__tensors_find(t, "a\n\xf0\x9f\x98\x80");
    assert_non_null(a);
    assert_int_equal(a->count, 0);
    scant__tensor_floats(a, NULL);
    scant__tensors_close(t);
}

static void a_file_without_tensors_is_read(void **state) {
    (void)state;
    buffer file = file_of("{}", "", 0);
    scant__tensors *t = opened(&file);
    assert_int_equal(scant__tensors_count(t), 0);
    assert_null(scant__tensors_find(t, ""));
    assert_null(scant__tensors_meta(t, ""));
    scant__tensors_close(t);
}

static void empty_tensors_may_lie_between_others(void **state) {
    (void)state;
    static const char *const order[] = {"z", "a", "y", "b", "q", "r"};
    buffer file =
        file_of("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                "\"z\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
                "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]},"
                "\"y\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]},"
                "\"r\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[2,2]},"
                "\"q\":{\"dtype\":\"U8\",\"shape\":[3,0],\"data_offsets\":[2,2]}}",
                "xy", 2);
    scant__tensors *t = opened(&file);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(scant__tensors_get(t, i)->name, order[i]);
    scant__tensors_close(t);
}

/* Reads bytes as count elements of dtype at every alignment. */
static void assert_converts(const char *dtype, size_t item, const void *bytes,
                            const float *expected, size_t count) {
    for (size_t shift = 0; shift < 8; shift++) {
        char header[200];
        float out[16];
        snprintf(header, sizeof header,
                 "{\"x\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}%*s",
                 dtype, count, count * item, (int)shift, "");
        buffer file = file_of(header, bytes, count * item);
        scant__tensors *t = opened(&file);
        scant__tensor_floats(scant__tensors_get(t, 0), out);
        for (size_t i = 0; i < count; i++)
            if (isnan(expected[i])
                    ? !isnan(out[i])
                    : out[i] != expected[i] || signbit(out[i]) != signbit(expected[i]))
                fail_msg("%s[%zu] is %a, expected %a", dtype, i, (double)out[i],
                         (double)expected[i]);
        scant__tensors_close(t);
    }
}

static void halves_are_converted_exactly(void **state) {
    (void)state;
    assert_converts(
        "F16", 2,
        "\x00\x3c\x00\xc0\xff\x7b\x01\x00\x00\x80\x00\x7c\x00\xfc\x01\x7c\x00\x04"
        "\xff\x83",
        (const float[]){1, -2, 65504, 0x1p-24f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-14f,
                        -1023 * 0x1p-24f},
        10);
}

static void bfloats_are_converted_exactly(void **state) {
    (void)state;
    assert_converts(
        "BF16", 2,
        "\x80\x3f\x49\x40\x01\x00\x7f\x80\x00\x80\x80\x7f\x80\xff\xc0\x7f\x7f\x7f"
        "\x80\x00",
        (const float[]){1, 3.140625f, 0x1p-133f, -0x7fp-133f, -0.0f, INFINITY, -INFINITY,
                        NAN, 0xffp120f, 0x1p-126f},
        10);
}

static void other_numbers_are_converted(void **state) {
    (void)state;
    assert_converts("F64", 8, "\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\xf0\x7f",
                    (const float[]){1.5f, INFINITY}, 2);
    assert_converts("F32", 4, "\0\0\x80\x3f\x01\0\0\0", (const float[]){1, 0x1p-149f}, 2);
    assert_converts("I64", 8, "\xff\xff\xff\xff\xff\xff\xff\xff\x03\0\0\0\0\0\0\0",
                    (const float[]){-1, 3}, 2);
    assert_converts("U64", 8, "\0\0\0\0\0\0\0\x80", (const float[]){0x1p63f}, 1);
    assert_converts("I32", 4, "\xfe\xff\xff\xff", (const float[]){-2}, 1);
    assert_converts("U32", 4, "\0\0\0\x80", (const float[]){0x1p31f}, 1);
    assert_converts("I16", 2, "\x00\x80", (const float[]){-32768}, 1);
    assert_converts("U16", 2, "\x00\x80", (const float[]){32768}, 1);
    assert_converts("I8", 1, "\x80\x7f", (const float[]){-128, 127}, 2);
    assert_converts("U8", 1, "\x80\xff", (const float[]){128, 255}, 2);
    assert_converts("BOOL", 1, "\0\1\2", (const float[]){0, 1, 1}, 3);
}

/* ---- refusing -----------------------------------------------------------------------
 */

static void a_file_truncated_anywhere_is_refused(void **state) {
    (void)state;
    buffer whole = two();
    for (size_t size = 0; size < whole.size; size++)
        refuses_path(put("cut.safetensors", whole.bytes, size), "");
    whole.bytes[whole.size++] = 0;
    refuses(&whole, "the last 1 of 11 bytes of data belong to no tensor");
}

static void a_changed_bit_does_no_harm(void **state) {
    (void)state;
    float out[16];
    const buffer whole = two();
    for (size_t bit = 0; bit < 8 * (whole.size - 10); bit++) {
        buffer b = whole;
        scant__tensors *t;
        b.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        scant_status status =
            scant__tensors_open(ctx, put_buffer("bit.safetensors", &b), &t);
        assert_true(status == SCANT_OK || status == SCANT_EINPUT);
        for (size_t i = 0; status == SCANT_OK && i < scant__tensors_count(t); i++) {
            assert_true(scant__tensors_get(t, i)->count <= 10);
            scant__tensor_floats(scant__tensors_get(t, i), out);
        }
        scant__tensors_close(t);
    }
}

static void files_of_other_formats_are_refused(void **state) {
    (void)state;
    refuses_path(put("e", "", 0), "is empty");
    refuses_path(put("z", "PK\3\4aaaaaaaaaa", 14), "a zip archive (save PyTorch");
    refuses_path(put("n", "\x93NUMPY\1\0v\0{'descr'", 18), "a .npy file");
    refuses_path(put("t", "{\"a\": 1}  ", 10), "looks like text (save PyTorch");
    refuses_path(put("s", "\2\0\0\0\0\0\0\0", 8), "is not a safetensors file");
    refuses_path(path_of("none"), "no such file");
    refuses_path(dir, "is a directory");
}

static void lengths_of_headers_are_checked(void **state) {
    (void)state;
    static const uint64_t lengths[] = {3,         11,         1u << 20,      UINT32_MAX,
                                       INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        buffer b = {.size = 0};
        add_le(&b, lengths[i], 8);
        add(&b, "{}        ", 10);
        refuses(&b, i ? "cut short" : "last 7 of 7 bytes");
    }
    buffer none = {.size = 0};
    add_le(&none, 0, 8);
    add(&none, "{}", 2);
    refuses(&none, "not JSON");
}

static void a_long_header_is_refused(void **state) {
    (void)state;
    size_t size = SCANT__TENSOR_HEADER + 8 + 1;
    unsigned char *bytes = malloc(size);
    memset(bytes, ' ', size);
    memcpy(bytes, "\1\0\x40\0\0\0\0\0{}", 10);
    refuses_path(put("long.safetensors", bytes, size), "header has 4194305 bytes");
    bytes[0] = 0;
    scant__tensors_close(opened_path(put("long.safetensors", bytes, size - 1)));
    free(bytes);
}

#define X "{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"

static void invalid_headers_are_refused(void **state) {
    static const char *const headers[][2] = {
        {"{", "not JSON"},
        {"{}x", "not JSON"},
        {X "," X "}", "not JSON"},
        {X, "not JSON"},
        {X ",\"x\":{}}", "duplicate"},
        {X ",\"\\u0078\":{}}", "duplicate"},
        {X ",\"y\\u0000\":{}}", "not JSON"},
        {X ",\"y\xff\":{}}", "not JSON"},
        {X ",\"y\":1}", "tensor 'y': expected an object"},
        {X ",\"y\":null}", "tensor 'y': expected an object"},
        {X ",\"y\":{}}", "tensor 'y': 'dtype' is not a string"},
        {X ",\"\x1b[31m\":{\"dtype\":1}}", "not JSON"},
        {X ",\"\\u001b[31m\":{\"dtype\":1}}", "tensor '?[31m'"},
        {X ",\"y\":{\"dtype\":\"F8_E5M2\"}}", "dtype 'F8_E5M2' cannot be read"},
        {X ",\"y\":{\"dtype\":\"f32\"}}", "dtype 'f32' cannot"},
        {X ",\"y\":{\"dtype\":\"F32\"}}", "'shape' is not a list"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":{}}}", "'shape' is not a list"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[1.0]}}", "not a whole number"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[-1]}}", "not a whole number"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[\"1\"]}}", "not a whole number"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[9223372036854775808]}}", "not JSON"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1]}}", "more than 8"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296]}}",
         "than can be addressed"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904]}}",
         "than can be addressed"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[0,4294967296,4294967296]}}",
         "than can be addressed"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[0]}}", "'data_offsets' are not two"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0]}}", "not two"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0,0]}}",
         "not two"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[-1,0]}}",
         "not two"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0.0]}}",
         "not two"},
        {X ",\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]}}",
         "8 to 9 of 8; the file is cut short"},
        {X ",\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[9,8]}}", "9 to 8"},
        {X ",\"y\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[7,8]}}",
         "'y': its bytes overlap another tensor"},
        {X ",\"y\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[3,3]}}",
         "'y': its bytes overlap another tensor"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
         "its bytes overlap another tensor"},
        {X ",\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,8]}}",
         "has 8 bytes, but its shape needs 4"},
        {"{\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}",
         "'y': the bytes before it belong to no tensor"},
        {"{\"y\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}",
         "the last 4 of 8 bytes"},
        {X ",\"__metadata__\":[]}", "'__metadata__' is not an object"},
        {X ",\"__metadata__\":{\"k\":1}}", "'__metadata__': 'k' is not a string"},
        {X ",\"__metadata__\":{},\"__metadata__\":{}}", "duplicate"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        refuses_header(headers[i][0], headers[i][1]);
    buffer list = file_of("[]", "", 0);
    refuses(&list, "is not a safetensors file");
}

static void a_deeply_nested_header_is_refused(void **state) {
    (void)state;
    enum { DEPTH = 30000 };
    char *header = malloc(DEPTH + 100);
    const char *start = "{\"x\":";
    size_t at = strlen(start);
    memcpy(header, start, at);
    memset(header + at, '[', DEPTH);
    header[at + DEPTH] = 0;
    refuses_header(header, "not JSON");
    free(header);
}

/* ---- writing ------------------------------------------------------------------------
 */

static const scant__tensor items[] = {
    {.name = "w\"\\\n\xc3\xa9",
     .dtype = SCANT_F32,
     .ndim = 2,
     .shape = {1, 2},
     .bytes = (const unsigned char *)"\0\0\x80\x3f\0\0\0\xc0"},
    {.name = "half",
     .dtype = SCANT_F16,
     .ndim = 1,
     .shape = {1},
     .bytes = (const unsigned char *)"\0\x3c"},
    {.name = "brain",
     .dtype = (scant_dtype)SCANT__BF16,
     .ndim = 0,
     .bytes = (const unsigned char *)"\x80\x3f"},
    {.name = "", .dtype = SCANT_I64, .ndim = 3, .shape = {5, 0, 2}},
};
static const scant_setting meta[] = {{"key\t", "va\"lue"}, {"", ""}};

static void written_files_read_back(void **state) {
    (void)state;
    const char *path = path_of("w.safetensors");
    float out[2];
    assert_int_equal(scant__tensors_write(ctx, path, items, 4, meta, 2), SCANT_OK);
    scant__tensors *t = opened_path(path);
    assert_int_equal(scant__tensors_count(t), 4);
    assert_int_equal((uintptr_t)scant__tensors_get(t, 0)->bytes % 8, 0);
    for (size_t i = 0; i < 4; i++) {
        const scant__tensor *x = scant__tensors_get(t, i);
        assert_string_equal(x->name, items[i].name);
        assert_ptr_equal(scant__tensors_find(t, items[i].name), x);
        assert_int_equal(x->dtype, items[i].dtype);
        assert_int_equal(x->ndim, items[i].ndim);
        assert_memory_equal(x->shape, items[i].shape, sizeof x->shape);
        scant__tensor_floats(x, out);
        if (i < 3) assert_true(out[0] == 1);
    }
    assert_string_equal(scant__tensors_meta(t, "key\t"), "va\"lue");
    assert_string_equal(scant__tensors_meta(t, ""), "");
    scant__tensors_close(t);
}

static void a_written_header_follows_the_format(void **state) {
    (void)state;
    static const char expected[] =
        "{\"half\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,2]}}";
    unsigned char bytes[200];
    const char *path = path_of("h.safetensors");
    assert_int_equal(scant__tensors_write(ctx, path, items + 1, 1, NULL, 0), SCANT_OK);
    FILE *f = fopen(path, "rb");
    size_t size = fread(bytes, 1, sizeof bytes, f), length = bytes[0];
    fclose(f);
    assert_int_equal(length % 8, 0);
    assert_int_equal(size, 8 + length + 2);
    assert_memory_equal(bytes + 1, "\0\0\0\0\0\0", 7);
    assert_memory_equal(bytes + 8, expected, sizeof expected - 1);
    for (size_t i = sizeof expected - 1; i < length; i++)
        assert_int_equal(bytes[8 + i], ' ');
    assert_memory_equal(bytes + 8 + length, "\0\x3c", 2);
}

static void assert_does_not_write(scant_status status, const scant__tensor *x,
                                  size_t count, const scant_setting *m, size_t n_meta,
                                  const char *words) {
    const char *path = put("kept.safetensors", "old", 3);
    char kept[4] = "";
    assert_int_equal(scant__tensors_write(ctx, path, x, count, m, n_meta), status);
    assert_says(ctx, path, words);
    FILE *f = fopen(path, "rb");
    assert_int_equal(fread(kept, 1, sizeof kept, f), 3);
    fclose(f);
    assert_memory_equal(kept, "old", 3);
    assert_int_equal(ctx->used, 0);
}

static void invalid_tensors_are_not_written(void **state) {
    (void)state;
    const scant__tensor twice[2] = {items[1], items[1]};
    scant__tensor bad = items[1];
    assert_does_not_write(SCANT_EINPUT, twice, 2, NULL, 0, "duplicate");
    bad.name = "\xff";
    assert_does_not_write(SCANT_EINPUT, &bad, 1, NULL, 0, "tensor 0 is not UTF-8");
    bad.name = "__metadata__";
    assert_does_not_write(SCANT_EINPUT, &bad, 1, NULL, 0, "__metadata__");
    bad.name = "x";
    bad.dtype = (scant_dtype)0;
    assert_does_not_write(SCANT_EUSAGE, &bad, 1, NULL, 0, "dtype");
    bad.dtype = SCANT_F16;
    bad.ndim = 9;
    assert_does_not_write(SCANT_EUSAGE, &bad, 1, NULL, 0, "dimensions");
    bad.ndim = 2;
    bad.shape[0] = bad.shape[1] = (size_t)1 << 32;
    assert_does_not_write(SCANT_EUSAGE, &bad, 1, NULL, 0, "addressed");
    assert_does_not_write(SCANT_EINPUT, items, 1, (const scant_setting[]){{"k", "\xff"}},
                          1, "metadata is not UTF-8");
    assert_int_equal(scant__tensors_write(ctx, "/nowhere/at/all", items, 4, meta, 2),
                     SCANT_EIO);
}

/* ---- memory -------------------------------------------------------------------------
 */

static size_t json_calls, json_fail_at, json_live;

static void *json_allocate(size_t size) {
    if (json_calls++ == json_fail_at) return NULL;
    json_live++;
    return malloc(size);
}

static void json_release(void *block) {
    if (block) json_live--;
    free(block);
}

static scant_status open_two(void) {
    buffer file = two();
    scant__tensors *t = (scant__tensors *)1;
    scant_status status = scant__tensors_open(ctx, put_buffer("m", &file), &t);
    assert_int_equal(status == SCANT_OK, t != NULL);
    scant__tensors_close(t);
    return status;
}

static scant_status write_items(void) {
    return scant__tensors_write(ctx, path_of("m"), items, 4, meta, 2);
}

static void every_allocation_may_fail(void **state) {
    scant_status (*const calls[])(void) = {open_two, write_items};
    (void)state;
    size_t live = mem.live;
    for (size_t i = 0; i < 2; i++) {
        scant_status status = SCANT_ENOMEM;
        size_t k = 0;
        for (; status != SCANT_OK; k++) {
            mem.calls = 0;
            mem.fail_at = k;
            status = calls[i]();
            mem.fail_at = SIZE_MAX;
            assert_int_equal(mem.live, live);
            assert_int_equal(ctx->used, 0);
            assert_true(status == SCANT_OK || status == SCANT_ENOMEM);
            assert_true(k < 100);
        }
        assert_true(k > 5);
    }
}

/* The parser reports some of its failed allocations as bad JSON. */
static void every_allocation_of_the_parser_may_fail(void **state) {
    scant_status (*const calls[])(void) = {open_two, write_items};
    (void)state;
    json_set_alloc_funcs(json_allocate, json_release);
    for (size_t i = 0; i < 2; i++) {
        scant_status status = SCANT_ENOMEM;
        size_t k = 0, enomem = 0;
        for (; status != SCANT_OK; k++) {
            json_calls = 0;
            json_fail_at = k;
            status = calls[i]();
            assert_int_equal(json_live, 0);
            assert_int_equal(ctx->used, 0);
            assert_true(status == SCANT_OK || status == SCANT_ENOMEM ||
                        (status == SCANT_EINPUT &&
                         strstr(scant_ctx_errmsg(ctx), "the header is not JSON")));
            enomem += status == SCANT_ENOMEM;
            assert_true(k < 1000);
        }
        assert_true(k > 20);
        assert_true(enomem > 10);
    }
    json_set_alloc_funcs(malloc, free);
}

/* ---- published weights --------------------------------------------------------------
 */

static void published_weights_open(void **state) {
    (void)state;
    const char *data = getenv("SCANT_SHARED_DATA");
    char path[1024];
    snprintf(path, sizeof path, "%s/pretrained/mobilenetv2-imagenet.safetensors",
             data ? data : "");
    if (!data || access(path, R_OK) != 0) {
        print_message("no pretrained weights at SCANT_SHARED_DATA: skipped\n");
        skip();
    }
    scant__tensors *t = opened_path(path);
    assert_int_equal(scant__tensors_count(t), 106);
    assert_string_equal(scant__tensors_meta(t, "architecture"), "mobilenetv2 1.0");
    const scant__tensor *w = scant__tensors_find(t, "classifier.1.weight");
    assert_non_null(w);
    assert_int_equal(w->dtype, SCANT_F16);
    assert_int_equal(w->count, 1280000);
    float *out = malloc(w->count * sizeof *out), most = 0;
    scant__tensor_floats(w, out);
    for (size_t i = 0; i < w->count; i++) most = fmaxf(most, fabsf(out[i]));
    assert_true(most > 0.1f && most < 10); /* plausible weights */
    free(out);
    scant__tensors_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_made_by_hand_is_read),
        cmocka_unit_test(a_header_may_have_spaces_escapes_and_unknown_keys),
        cmocka_unit_test(a_file_without_tensors_is_read),
        cmocka_unit_test(empty_tensors_may_lie_between_others),
        cmocka_unit_test(halves_are_converted_exactly),
        cmocka_unit_test(bfloats_are_converted_exactly),
        cmocka_unit_test(other_numbers_are_converted),
        cmocka_unit_test(a_file_truncated_anywhere_is_refused),
        cmocka_unit_test(a_changed_bit_does_no_harm),
        cmocka_unit_test(files_of_other_formats_are_refused),
        cmocka_unit_test(lengths_of_headers_are_checked),
        cmocka_unit_test(a_long_header_is_refused),
        cmocka_unit_test(invalid_headers_are_refused),
        cmocka_unit_test(a_deeply_nested_header_is_refused),
        cmocka_unit_test(written_files_read_back),
        cmocka_unit_test(a_written_header_follows_the_format),
        cmocka_unit_test(invalid_tensors_are_not_written),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_the_parser_may_fail),
        cmocka_unit_test(published_weights_open),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
