/* SPDX-License-Identifier: Apache-2.0
 *
 * Projects are created completely or not at all, from every kind of source, and grow.
 */
#include "people.h"
#include "scant/project.h"

static void a_project_is_created_and_opened(void **state) {
    scant_project *project;
    (void)state;
    scant_project_free(make_project("one", 50, NULL, 0));
    OK(scant_project_open(ctx, path_of("one"), &project));
    scant_project_info info = info_of(project);
    assert_int_equal(info.items, 50);
    assert_int_equal(info.classes, 3);
    assert_int_equal(info.withheld, 10);
    assert_int_equal(info.copies, 0);
    assert_string_equal(info.kind, "features");
    assert_string_equal(info.dir, path_of("one"));
    assert_true(info.created > 0);
    assert_string_equal(scant_project_class(project, 2), "c");
    assert_null(scant_project_class(project, 3));
    assert_string_equal(scant_project_get(project, "name"), "one");
    assert_string_equal(item_of(project, 7).id, "7");
    assert_int_equal(store_seed(project), 5);
    assert_counted(project);
    scant_project_free(project);
}

/* ---- what is refused --------------------------------------------------------------- */

static void assert_refused(const scant_project_opts *opts, scant_status status,
                           const char *words) {
    scant_project *project = (scant_project *)1;
    size_t before = entries_of(dir);
    REFUSED(scant_project_create(ctx, path_of("refused"), opts, &project), status, words);
    assert_null(project);
    assert_int_equal(entries_of(dir), before); /* nothing is left behind */
}

static void invalid_options_are_refused_and_leave_no_files(void **state) {
    const char *rows = put_features("r.npy", 4, 2, 1);
    static const char *const twice[] = {"a", "b", "a"}, *const empty[] = {"a", ""};
    (void)state;
    mkdir(path_of("nopics"), 0777);
    put_text("nopics/readme.txt", "no picture");
    scant_project_opts o = {
        .source = {.features = rows}, .classes = twice, .n_classes = 3};
    assert_refused(&o, SCANT_EUSAGE, "two classes 'a'");
    o.classes = empty, o.n_classes = 2;
    assert_refused(&o, SCANT_EUSAGE, "a class's name is empty");
    static const char *const blank[] = {"a", "b "};
    o.classes = blank;
    assert_refused(&o, SCANT_EUSAGE,
                   "a class's name, 'b ', must not begin or end with a blank");
    o.classes = abc, o.n_classes = 3;
    o.source = (scant_source){0};
    assert_refused(&o, SCANT_EUSAGE, "no items: images, features or a manifest");
    o.source = (scant_source){.features = rows, .images = dir};
    assert_refused(&o, SCANT_EUSAGE, "not both");
    o.source = (scant_source){.images = path_of("nopics")};
    assert_refused(&o, SCANT_EINPUT, "nopics");
    o.source = (scant_source){.features = path_of("none.npy")};
    assert_refused(&o, SCANT_EINPUT, "none.npy");
    o.source = (scant_source){.features = rows};
    o.backbone = "resnet18";
    assert_refused(&o, SCANT_EUSAGE, "needs its weights");
    o.weights = rows;
    assert_refused(&o, SCANT_EUSAGE, "features are given");
    /* weights that cannot be loaded are refused now, not when features are computed */
    mkdir(path_of("somepics"), 0777);
    put_text("somepics/a.png", "picture a");
    o.source = (scant_source){.images = path_of("somepics")};
    o.weights = path_of("r.npy"); /* path_of() reuses its buffers */
    assert_refused(&o, SCANT_EINPUT, "r.npy");
    scant_net *net;
    OK(scant_net_create(ctx, "mlp", &(scant_net_opts){.shape = {1, 1, 4}, .classes = 2},
                        &net));
    OK(scant_net_save(net, path_of("mlp.safetensors")));
    scant_net_free(net);
    o.source = (scant_source){.images = path_of("somepics")};
    o.weights = path_of("mlp.safetensors");
    assert_refused(&o, SCANT_EINPUT, "mlp.safetensors");
    o.source = (scant_source){.features = path_of("r.npy")};
    o.backbone = o.weights = NULL;
    o.settings = (scant_setting[]){{"bach", "3"}}, o.n_settings = 1;
    assert_refused(&o, SCANT_EUSAGE, "no setting 'bach'; the nearest is 'batch'");
    o.settings = (scant_setting[]){{"batch", "many"}};
    assert_refused(&o, SCANT_EUSAGE, "batch is 'many', expected a whole number");
    o.settings = (scant_setting[]){{"strategy", "bagde"}};
    assert_refused(&o, SCANT_EUSAGE, "the nearest is 'badge'");
}

static void invalid_manifests_are_refused_with_the_line(void **state) {
    scant_project_opts o = {.source = {.features = put_features("m.npy", 4, 2, 1),
                                       .manifest = path_of("m.csv")},
                            .classes = abc,
                            .n_classes = 3};
    char manifest[512];
    snprintf(manifest, sizeof manifest, "%s", o.source.manifest);
    o.source.manifest = manifest;
    (void)state;
    put_text("m.csv", "id,row\nx,0\ny,1\nx,2\n");
    assert_refused(&o, SCANT_EINPUT, "line 4: the id 'x' is also that of line 2");
    put_text("m.csv", "id,row\nx,0\ny,4\n");
    assert_refused(&o, SCANT_EINPUT, "line 3: there is no row 4 in");
    put_text("m.csv", "id\nx\ny\n");
    assert_refused(&o, SCANT_EINPUT, "has 2 lines; ");
    put_text("m.csv", "id,row\nx,\ny,1\nz,2\nw,3\n");
    assert_refused(&o, SCANT_EINPUT, "line 3: has a row; others have none");
    put_text("m.csv", "id,row,label\nx,0,a\ny,1,bee\n");
    assert_refused(&o, SCANT_EINPUT,
                   "line 3: there is no class 'bee'; the nearest is 'b'");
    static char long_text[300 * 1024] = "id,row,text\nx,0,a\ny,1,";
    memset(long_text + strlen(long_text), 'x', 263 * 1024);
    put_text("m.csv", long_text);
    assert_refused(&o, SCANT_EINPUT, "line 3: the text has 269312 bytes; at most 262144");
    put_text("m.csv", "id,path\nx,no.png\n");
    o.source.features = NULL;
    assert_refused(&o, SCANT_EINPUT, "no.png: cannot be read");
    put_text("m.csv", "id,text\nx,hello\n");
    assert_refused(&o, SCANT_EINPUT, "line 2: has a text and no path");
}

static void an_existing_folder_must_be_empty(void **state) {
    scant_project_opts o = {.source = {.features = put_features("f.npy", 4, 2, 1)},
                            .classes = abc,
                            .n_classes = 3};
    scant_project *project;
    (void)state;
    mkdir(path_of("full"), 0777);
    put_text("full/mine", "precious");
    REFUSED(scant_project_create(ctx, path_of("full"), &o, &project), SCANT_ECONFLICT,
            "is not empty");
    REFUSED(scant_project_create(ctx, path_of("full/mine"), &o, &project),
            SCANT_ECONFLICT, "is not a folder");
    mkdir(path_of("empty"), 0777);
    o.source.manifest = put_text("bad.csv", "id\nx\n");
    assert_int_equal(scant_project_create(ctx, path_of("empty"), &o, &project),
                     SCANT_EINPUT);
    assert_int_equal(entries_of(path_of("empty")), 0);
    o.source.manifest = NULL;
    OK(scant_project_create(ctx, path_of("empty"), &o, &project));
    scant_project_free(project);
    assert_int_equal(entries_of(path_of("empty")), 1);
    OK(scant_project_create(ctx, path_of("new/deep/down/"), &o, &project));
    assert_string_equal(scant_project_get(project, "name"), "down");
    scant_project_free(project);
    REFUSED(scant_project_create(ctx, path_of("empty"), &o, &project), SCANT_ECONFLICT,
            "is not empty");
}

/* ---- items ------------------------------------------------------------------------- */

static void a_manifest_gives_ids_labels_and_groups(void **state) {
    scant_project *project;
    scant_project_opts o = {
        .source = {.features = put_features("t.npy", 5, 2, 1),
                   .manifest =
                       put_text("t.csv", "id,row,text,label,group\n"
                                         "p,3,three,b,g\nq,1,one,,g\n,0,zero,,\n")},
        .classes = abc,
        .n_classes = 3};
    (void)state;
    OK(scant_project_create(ctx, path_of("texts"), &o, &project));
    scant_project_info info = info_of(project);
    assert_string_equal(info.kind, "texts");
    assert_int_equal(info.items, 3);
    assert_int_equal(info.labelled, 1);
    scant_item item = item_of(project, 0);
    assert_string_equal(item.id, "p");
    assert_string_equal(item.text, "three");
    assert_string_equal(item.group, "g");
    assert_int_equal(ask(project, "SELECT count(*) FROM people WHERE name = 'manifest'"
                                  " AND answers = 1"),
                     1);
    assert_int_equal(item.label, 1);
    assert_string_equal(item_of(project, 2).id, "0");
    assert_null(item_of(project, 2).group);
    assert_int_equal(ask(project, "SELECT row FROM items WHERE id = 'q'"), 1);
    size_t found;
    OK(scant_project_find(project, "q", &found));
    assert_int_equal(found, 1);
    REFUSED(scant_project_find(project, "nobody", &found), SCANT_ENOTFOUND,
            "no item 'nobody'");
    scant_project_free(project);
    o.n_classes = 0; /* they come from the manifest, without blanks around them */
    o.source.manifest = put_text(
        "t2.csv", "id,row,text,label\np,3,three,\" b\xc2\xa0\"\nq,1,one,\" \"\n");
    OK(scant_project_create(ctx, path_of("texts2"), &o, &project));
    assert_string_equal(scant_project_class(project, 0), "b");
    assert_int_equal(info_of(project).labelled, 1);
    assert_counted(project);
    scant_project_free(project);
    o.source.manifest = put_text("t3.csv", "id,row,label\np,3,b\nq,1,\xe2\x80\xae"
                                           "c\n");
    REFUSED(
        scant_project_create(ctx, path_of("texts3"), &o, &project), SCANT_EINPUT,
        "t3.csv: line 3: the label: a class's name must not contain a character that");
}

static void no_statement_runs_while_folders_are_searched(void **state) {
    scant_project *project = NULL;
    scant_ctx *own;
    size_t added;
    (void)state;
    mkdir(path_of("searched"), 0777);
    put_text("searched/a.png", "picture a");
    OK(scant_ctx_create(&(scant_ctx_opts){.user = &project, .cancel = no_statement_runs},
                        &own));
    OK(scant_project_create(
        own, path_of("searching"),
        &(scant_project_opts){.source = {.images = path_of("searched")}}, &project));
    put_text("searched/b.png", "picture b");
    OK(scant_project_add(project, NULL, &added));
    assert_int_equal(added, 1);
    scant_project_free(project);
    project = NULL;
    scant_ctx_free(own);
}

static void images_are_items_named_by_their_paths_and_copies_are_found(void **state) {
    scant_project *project;
    size_t added;
    int64_t labels[5];
    scant_project_opts o = {
        .source = {.images = path_of("pics")}, .classes = abc, .n_classes = 3};
    static char large[2][200000];
    (void)state;
    mkdir(path_of("pics"), 0777);
    mkdir(path_of("pics/deep"), 0777);
    put_text("pics/b.png", "picture b");
    put_text("pics/deep/a.jpg", "picture a");
    put_text("pics/deep/b2.png", "picture b"); /* never decoded here */
    memset(large, 'x', sizeof large);
    large[1][100000] = 'y'; /* only its middle differs */
    put("pics/l1.png", large[0], sizeof large[0]);
    put("pics/l2.png", large[1], sizeof large[1]);
    OK(scant_project_create(ctx, path_of("pp"), &o, &project));
    scant_project_info info = info_of(project);
    assert_string_equal(info.kind, "pictures");
    assert_int_equal(info.items, 5);
    assert_int_equal(info.copies, 1);
    assert_string_equal(item_of(project, 0).path, "b.png");
    assert_int_equal(item_of(project, 2).copy_of, 0);
    assert_int_equal(item_of(project, 4).copy_of, 4);
    /* a copy is never handed out, and has its original's label */
    size_t ann = person(project, "ann"), n;
    scant_lease leases[9];
    OK(scant_project_next(project, ann, 9, leases, &n));
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++)
        OK(say(project, ann, &leases[i], SCANT_ANSWER_LABEL, leases[i].item % 3));
    assert_int_equal(item_of(project, 2).label, 0);
    assert_int_equal(info_of(project).labelled, 4);
    OK(scant_project_labels(project, labels, 5));
    assert_int_equal(labels[2], 0);
    assert_int_equal(labels[4], 1);
    /* the folder is searched again for new images */
    OK(scant_project_add(project, NULL, &added));
    assert_int_equal(added, 0);
    put_text("pics/c.png", "picture c");
    put_text("pics/c2.png", "picture a");
    OK(scant_project_add(project, &(scant_source){.images = path_of("pics")}, &added));
    assert_int_equal(added, 2);
    assert_string_equal(item_of(project, 5).id, "c.png");
    assert_int_equal(item_of(project, 6).copy_of, 1);
    assert_counted(project);
    scant_project_free(project);
    /* a project inside its image folder does not add its own thumbnails */
    o.source.images = path_of("pics");
    OK(scant_project_create(ctx, path_of("pics/project"), &o, &project));
    mkdir(path_of("pics/project/cache"), 0777);
    put_text("pics/project/cache/1.jpg", "a thumbnail");
    OK(scant_project_add(project, NULL, &added));
    assert_int_equal(added, 0);
    scant_project_free(project);
}

/* Rows 0 and 1 are the same float32, rows 0 and 2 the same numbers. */
static void rows_that_are_equal_only_as_float32_are_not_copies(void **state) {
    const double rows[][2] = {{1, 0.25}, {1 + 1e-12, 0.25}, {1, 0.25}};
    const size_t shape[] = {3, 2};
    scant_project *project;
    scant_array *array;
    void *bytes;
    size_t size;
    (void)state;
    OK(scant_array_wrap(ctx, "close", rows, SCANT_F64, 2, shape, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    OK(scant_file_write(ctx, path_of("close.npy"), bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    const scant_project_opts o = {.source = {.features = path_of("close.npy")}};
    OK(scant_project_create(ctx, path_of("close"), &o, &project));
    assert_int_equal(info_of(project).copies, 1);
    assert_int_equal(item_of(project, 1).copy_of, 1);
    assert_int_equal(item_of(project, 2).copy_of, 0);
    scant_project_free(project);
}

static void rows_are_added_once_and_copies_are_found(void **state) {
    scant_project *project = make_project("grow", 30, NULL, 0);
    size_t added;
    (void)state;
    OK(scant_project_add(project,
                         &(scant_source){.features = put_features("more.npy", 20, 3, 8)},
                         &added));
    assert_int_equal(added, 20);
    assert_string_equal(item_of(project, 40).id, "40");
    /* the same file, grown */
    OK(scant_project_add(project,
                         &(scant_source){.features = put_features("more.npy", 25, 3, 8)},
                         &added));
    assert_int_equal(added, 5);
    assert_int_equal(info_of(project).items, 55);
    assert_int_equal(info_of(project).copies, 0);
    /* another file with the first rows of the first one */
    OK(scant_project_add(project,
                         &(scant_source){.features = put_features("same.npy", 10, 3, 7)},
                         &added));
    assert_int_equal(info_of(project).copies, 10);
    assert_int_equal(item_of(project, 58).copy_of, 3);
    assert_counted(project);
    REFUSED(scant_project_add(
                project, &(scant_source){.features = put_features("wide.npy", 9, 4, 1)},
                NULL),
            SCANT_EINPUT, "has 4 numbers per row");
    REFUSED(scant_project_add(
                project,
                &(scant_source){.features = put_features("two.npy", 2, 3, 9),
                                .manifest = put_text("ids.csv", "id\nnew\n7\n")},
                NULL),
            SCANT_EINPUT, "line 3: the id '7' is in the project already");
    REFUSED(scant_project_add(project, NULL, NULL), SCANT_ENOTREADY,
            "no folder to search");
    assert_int_equal(info_of(project).items, 65);
    scant_project_free(project);
}

/* Ten images of 4 x 4 pixels. */
static const char *put_array(const char *name) {
    const char *path = path_of(name);
    float x[10 * 16];
    scant_array *array;
    void *bytes;
    size_t size;
    for (size_t i = 0; i < 160; i++) x[i] = (float)unit_at(3, i);
    OK(scant_array_wrap(ctx, name, x, SCANT_F32, 4, (size_t[]){10, 1, 4, 4}, &array));
    OK(scant_array_encode(ctx, array, &bytes, &size));
    OK(scant_file_write(ctx, path, bytes, size));
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    return path;
}

static void added_items_must_be_of_the_projects_kind(void **state) {
    static const char *const words[] = {"images in files", "images in an array",
                                        "feature rows"};
    (void)state;
    mkdir(path_of("kinds"), 0777);
    put_text("kinds/a.png", "picture a");
    put_array("kinds.npy");
    put_features("kinds-rows.npy", 12, 3, 1);
    for (size_t i = 0; i < 3; i++) {
        scant_project *project;
        char name[32], expected[100];
        const scant_source sources[] = {{.images = path_of("kinds")},
                                        {.images = path_of("kinds.npy")},
                                        {.features = path_of("kinds-rows.npy")}};
        scant_project_opts o = {.source = sources[i], .classes = abc, .n_classes = 3};
        snprintf(name, sizeof name, "kind%zu", i);
        OK(scant_project_create(ctx, path_of(name), &o, &project));
        size_t items = info_of(project).items;
        for (size_t j = 0; j < 3; j++) {
            if (j == i) continue;
            snprintf(expected, sizeof expected, "contains %s; the project has %s",
                     words[j], words[i]);
            REFUSED(scant_project_add(project, &sources[j], NULL), SCANT_ECONFLICT,
                    expected);
        }
        assert_int_equal(info_of(project).items, items);
        scant_project_free(project);
    }
}

/* Ten groups of four labelled items; four more of each group are added later. */
static void a_group_that_joins_the_audit_set_is_no_longer_trained_on(void **state) {
    static const char groups[] =
        "SELECT count(DISTINCT grp) FROM items WHERE withheld = 1";
    char manifest[2000] = "id,row,group,label\n", later[2000] = "id,row,group\n";
    scant_project *project;
    (void)state;
    for (size_t i = 0; i < 40; i++) {
        snprintf(manifest + strlen(manifest), 40, "i%zu,%zu,g%zu,a\n", i, i, i / 4);
        snprintf(later + strlen(later), 40, "j%zu,%zu,g%zu\n", i, i, i / 4);
    }
    scant_project_opts o = {.source = {.features = put_features("gl.npy", 40, 2, 1),
                                       .manifest = put_text("gl.csv", manifest)},
                            .classes = abc,
                            .n_classes = 3,
                            .settings = (scant_setting[]){{"audit_most", "3"}},
                            .n_settings = 1};
    OK(scant_project_create(ctx, path_of("learned"), &o, &project));
    int64_t before = ask(project, groups);
    assert_int_equal(info_of(project).training, 40 - 4 * before);
    OK(scant_project_add(project,
                         &(scant_source){.features = put_features("gm.npy", 40, 2, 2),
                                         .manifest = put_text("gm.csv", later)},
                         NULL));
    assert_true(ask(project, groups) > before); /* else the seed tests nothing */
    assert_int_equal(info_of(project).training, 40 - 4 * ask(project, groups));
    assert_counted(project);
    scant_project_free(project);
}

static void copies_with_two_labels_are_refused(void **state) {
    scant_project *project;
    (void)state;
    mkdir(path_of("two"), 0777);
    put_text("two/x.png", "same");
    put_text("two/y.png", "other");
    put_text("two/z.png", "same");
    scant_project_opts o = {
        .source = {.manifest = put_text("tw.csv", "id,path,label\nx,two/x.png,a\n"
                                                  "y,two/y.png,b\nz,two/z.png,b\n")},
        .classes = abc,
        .n_classes = 3};
    REFUSED(scant_project_create(ctx, path_of("twice"), &o, &project), SCANT_EINPUT,
            "line 4: is labelled 'b', but is an exact copy");
}

static void a_group_with_a_withheld_item_is_no_candidate(void **state) {
    char manifest[2000] = "id,row,group\n";
    scant_project *project;
    scant__arena arena;
    int64_t *candidates;
    size_t n, added;
    (void)state;
    for (size_t i = 0; i < 40; i++)
        snprintf(manifest + strlen(manifest), 40, "i%zu,%zu,g%zu\n", i, i, i / 4);
    scant_project_opts o = {.source = {.features = put_features("gg.npy", 40, 2, 1),
                                       .manifest = put_text("gg.csv", manifest)},
                            .classes = abc,
                            .n_classes = 3,
                            .settings = (scant_setting[]){{"audit_most", "3"}},
                            .n_settings = 1};
    OK(scant_project_create(ctx, path_of("groups"), &o, &project));
    scant__arena_init(&arena, ctx);
    OK(store_candidates(project, &arena, &candidates, &n));
    assert_int_equal(info_of(project).withheld, 3);
    assert_int_equal(n, 40 - 4 * ask(project, "SELECT count(DISTINCT grp) FROM items"
                                              " WHERE withheld = 1"));
    for (size_t i = 0; i < n; i++) {
        char sql[200];
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM items WHERE withheld = 1 AND grp = 'g%lld'",
                 (long long)candidates[i] / 4);
        assert_int_equal(ask(project, sql), 0);
    }
    /* items added later can bring a group into the audit set, too */
    snprintf(manifest, sizeof manifest, "id,row,group\n");
    for (size_t i = 0; i < 40; i++)
        snprintf(manifest + strlen(manifest), 40, "j%zu,%zu,g%zu\n", i, i, i / 4);
    OK(scant_project_add(project,
                         &(scant_source){.features = put_features("g2.npy", 40, 2, 2),
                                         .manifest = put_text("g2.csv", manifest)},
                         &added));
    OK(store_candidates(project, &arena, &candidates, &n));
    int64_t groups = ask(project, "SELECT count(DISTINCT grp) FROM items"
                                  " WHERE withheld = 1");
    assert_int_equal(n, 80 - 8 * groups);
    assert_counted(project);
    scant__arena_end(&arena);
    scant_project_free(project);
}

/* ---- names and settings ------------------------------------------------------------ */

static void names_are_checked(void **state) {
    scant_project *project = make_project("names", 5, NULL, 0);
    size_t number;
    char longest[102];
    (void)state;
    REFUSED(scant_project_person(project, "", &number), SCANT_EUSAGE, "is empty");
    REFUSED(scant_project_person(project, "a\nb", &number), SCANT_EUSAGE, "control");
    REFUSED(scant_project_person(project, "a\x7f", &number), SCANT_EUSAGE, "control");
    REFUSED(scant_project_person(project, "\xc2\x85", &number), SCANT_EUSAGE, "control");
    REFUSED(scant_project_person(project, "\xff", &number), SCANT_EUSAGE, "not UTF-8");
    REFUSED(scant_project_person(project, "\xc0\xaf", &number), SCANT_EUSAGE,
            "not UTF-8");
    REFUSED(scant_project_person(project, "\xed\xa0\x80", &number), SCANT_EUSAGE,
            "not UTF-8");
    REFUSED(scant_project_person(project, "\xf4\x90\x80\x80", &number), SCANT_EUSAGE,
            "not UTF-8");
    REFUSED(scant_project_person(project, "\xe2\x82", &number), SCANT_EUSAGE,
            "not UTF-8");
    static const char *const blanks[] = {" ", "\xc2\xa0", "\xe2\x80\x8b", "\xe3\x80\x80 ",
                                         "\xef\xbb\xbf\xe2\x81\xa0"};
    static const char *const ends[] = {" anna",
                                       "anna ",
                                       "anna\xc2\xa0",
                                       "\xe2\x80\x8b"
                                       "anna",
                                       "anna\xc2\xad",
                                       "\xef\xbb\xbf"
                                       "anna",
                                       "anna\xe2\x80\x8d"};
    static const char *const turning[] = {"a\xe2\x80\xae"
                                          "b",
                                          "\xe2\x80\x8f"
                                          "b",
                                          "a\xd8\x9c"
                                          "b",
                                          "a\xe2\x81\xa6"
                                          "b"};
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        REFUSED(scant_project_person(project, blanks[i], &number), SCANT_EUSAGE,
                "a person's name consists of blanks only");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        REFUSED(scant_project_class_add(project, ends[i], &number), SCANT_EUSAGE,
                "must not begin or end with a blank");
    for (size_t i = 0; i < sizeof turning / sizeof *turning; i++)
        REFUSED(scant_project_person(project, turning[i], &number), SCANT_EUSAGE,
                "changes the direction");
    REFUSED(scant_project_person(project,
                                 "a\xe2\x80\xa8"
                                 "b",
                                 &number),
            SCANT_EUSAGE, "control");
    /* inside a name blanks and joiners are allowed: a family emoji, Persian */
    person(project, "Jean Paul");
    person(project, "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7");
    person(project,
           "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae\xd9\x88\xd8\xa7\xd9\x87\xd9\x85");
    memset(longest, 'x', sizeof longest);
    longest[101] = 0;
    REFUSED(scant_project_person(project, longest, &number), SCANT_EUSAGE, "101 bytes");
    longest[100] = 0;
    OK(scant_project_person(project, longest, &number));
    size_t z = person(project, "Zo\xc3\xab \xf0\x9f\x98\x80");
    assert_int_equal(z, person(project, "Zo\xc3\xab \xf0\x9f\x98\x80"));
    assert_string_equal(scant_project_person_name(project, z),
                        "Zo\xc3\xab \xf0\x9f\x98\x80");
    assert_null(scant_project_person_name(project, 99));
    assert_null(scant_project_person_name(project, SIZE_MAX));
    OK(scant_project_class_add(project, "d", &number));
    assert_int_equal(number, 3);
    assert_string_equal(scant_project_class(project, 3), "d");
    REFUSED(scant_project_class_add(project, "b", NULL), SCANT_ECONFLICT,
            "class 'b' already");
    scant_project_free(project);
}

enum { ALL = 1000 };

static scant_status add_event(void *user, const scant_event *event) {
    char *all = user;
    size_t used = strlen(all);
    snprintf(all + used, ALL - used, "%s%s", event->kind, event->text);
    return SCANT_OK;
}

static void a_strategy_and_the_setting_it_needs_are_set_together(void **state) {
    static const scant_setting both[] = {{"bayes", "dropout"}, {"strategy", "bald"}};
    static const scant_setting other[] = {{"strategy", "sparse-greedy"},
                                          {"bayes", "none"}};
    scant_project *project = make_project("fit", 5, NULL, 0);
    scant_project_opts o = {.source = {.features = put_features("fit2.npy", 5, 3, 7)},
                            .classes = abc,
                            .n_classes = 3,
                            .settings = both + 1,
                            .n_settings = 1};
    (void)state;
    REFUSED(scant_project_set(project, "strategy", "bald"), SCANT_ECONFLICT, "bayes");
    assert_string_equal(scant_project_get(project, "strategy"), "badge");
    OK(scant_project_set_all(project, both, 2));
    assert_string_equal(scant_project_get(project, "strategy"), "bald");
    REFUSED(scant_project_set(project, "bayes", "none"), SCANT_ECONFLICT, "bald");
    OK(scant_project_set(project, "batch", "7"));
    OK(scant_project_set_all(project, other, 2)); /* which needs no posterior draws */
    scant_project_free(project);
    REFUSED(scant_project_create(ctx, path_of("fit2"), &o, &project), SCANT_EUSAGE,
            "bayes");
    assert_int_equal(access(path_of("fit2"), F_OK), -1);
    o.settings = both, o.n_settings = 2;
    OK(scant_project_create(ctx, path_of("fit2"), &o, &project));
    scant_project_free(project);
}

static void settings_are_stored_and_logged(void **state) {
    scant_project *project = make_project("settings", 5, NULL, 0), *other;
    char all[ALL] = "";
    (void)state;
    OK(scant_project_open(ctx, path_of("settings"), &other));
    size_t count;
    const scant_option *rows = scant_project_options(&count);
    for (size_t i = 0; i < count; i++) { /* every default may be set */
        const scant_option *key = &rows[i];
        assert_non_null(key->help);
        if (*key->value)
            assert_string_equal(scant_project_get(other, key->key), key->value);
        OK(scant_project_set(project, key->key, key->value));
    }
    OK(scant_project_set(project, "batch", "7"));
    const scant_setting two[] = {{"batch", "8"}, {"overlap", "-1"}};
    assert_int_equal(scant_project_set_all(project, two, 2), SCANT_EUSAGE);
    assert_string_equal(scant_project_get(other, "batch"), "7"); /* all or none */
    assert_true(store_number(other, "batch") == 7);
    assert_true(store_number(other, "auto_train") == 1);
    assert_true(store_number(other, "audit_most") == 0);
    assert_null(scant_project_get(other, "bach"));
    static const char *const wrong[][2] = {
        {"batch", "0"},      {"batch", "1.5"},    {"overlap", "-1"},  {"lr", "0"},
        {"epochs", "nan"},   {"auto_train", "y"}, {"bayes", "maybe"}, {"method", "x"},
        {"model", "resnet"}, {"stop_width", "2"}, {"name", "a\tb"},   {"batch", ""}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(scant_project_set(project, wrong[i][0], wrong[i][1]),
                         SCANT_EUSAGE);
    static const char *const switches[][2] = {
        {"off", "no"},   {"true", "yes"}, {"0", "no"},  {"1", "yes"},
        {"false", "no"}, {"on", "yes"},   {"no", "no"}, {"yes", "yes"}};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        OK(scant_project_set(project, "auto_train", switches[i][0]));
        assert_string_equal(scant_project_get(project, "auto_train"), switches[i][1]);
        assert_true(store_number(other, "auto_train") == (double)(i % 2));
    }
    OK(scant_project_events(project, 0, add_event, all));
    assert_non_null(strstr(all, "set{\"key\":\"batch\",\"value\":\"7\"}"));
    assert_non_null(strstr(all, "created{\"items\":5,\"source\":\""));
    scant_project_free(other);
    scant_project_free(project);
}

/* ---- locks ------------------------------------------------------------------------- */

static void a_lock_has_one_holder_and_the_error_names_it(void **state) {
    scant_project *project = make_project("locks", 5, NULL, 0), *other;
    scant_hold *hold, *second;
    (void)state;
    OK(scant_project_open(ctx, path_of("locks"), &other));
    OK(scant_project_hold(project, "serve", "process 1 on here", &hold));
    REFUSED(scant_project_hold(other, "serve", "me", &second), SCANT_ECONFLICT,
            "process 1 on here");
    assert_null(second);
    OK(scant_project_hold(other, "train", "me", &second));
    scant_hold_free(second);
    scant_hold_free(hold);
    OK(scant_project_hold(other, "serve", "me", &second));
    scant_hold_free(second);
    REFUSED(scant_project_hold(other, "../x", "me", &second), SCANT_EUSAGE, "no lock");
    scant_hold_free(NULL);
    scant_project_free(other);
    scant_project_free(project);
}

/* ---- memory ------------------------------------------------------------------------ */

static scant_status use(const char *name, const scant_project_opts *o) {
    scant_project *project;
    scant_lease leases[3];
    scant_item item;
    int64_t labels[12], entry;
    size_t who, n;
    scant_status status = scant_project_create(ctx, path_of(name), o, &project);
    if (status != SCANT_OK) return status;
    status = scant_project_person(project, "ann", &who);
    if (status == SCANT_OK) status = scant_project_next(project, who, 3, leases, &n);
    for (size_t i = 0; status == SCANT_OK && i < n; i++)
        status = say(project, who, &leases[i], SCANT_ANSWER_LABEL, i);
    if (status == SCANT_OK)
        status = scant_project_undo(project, who, 0, NULL, &entry, leases);
    scant_answer_kind kind;
    if (status == SCANT_OK)
        status = scant_project_current_answer(project, who, 3, &entry, &kind, labels);
    if (status == SCANT_OK) status = scant_project_item(project, 3, &item);
    if (status == SCANT_OK) status = scant_project_labels(project, labels, 12);
    if (status == SCANT_OK) status = scant_project_class_add(project, "d", NULL);
    if (status == SCANT_OK) status = scant_project_set(project, "audit_every", "3");
    if (status == SCANT_OK && !scant_project_class(project, 3)) status = SCANT_ENOMEM;
    if (status == SCANT_OK)
        status = scant_project_add(
            project, &(scant_source){.features = path_of("mem2.npy")}, NULL);
    scant_project_free(project);
    return status;
}

static void a_failed_allocation_is_reported_and_leaks_nothing(void **state) {
    scant_project_opts o = {
        .source = {.features = put_features("mem.npy", 12, 2, 1),
                   .manifest =
                       put_text("mem.csv", "id,row,label\na,0,a\nb,1,\nc,2,b\nd,3,"
                                           "\ne,4,\nf,5,\ng,6,\nh,7,\ni,8,\nj,9,\n"
                                           "k,10,\nl,11,\n")},
        .classes = abc,
        .n_classes = 3};
    scant_status status;
    (void)state;
    put_features("mem2.npy", 3, 2, 4);
    bool failed = true; /* whether an allocation failed */
    for (size_t step = 0; failed; step++) {
        char name[32];
        snprintf(name, sizeof name, "mem%zu", step);
        o.source.features = path_of("mem.npy"); /* path_of() reuses its buffers */
        o.source.manifest = path_of("mem.csv");
        size_t live = mem.live;
        mem.fail_at = mem.calls + step;
        status = use(name, &o);
        failed = mem.calls > mem.fail_at;
        mem.fail_at = SIZE_MAX;
        if (failed) assert_int_equal(status, SCANT_ENOMEM);
        if (status != SCANT_OK && status != SCANT_ENOMEM)
            fail_msg("step %zu: %s", step, scant_ctx_errmsg(ctx));
        assert_int_equal(mem.live, live);
        assert_true(step < 5000);
        if (!failed) print_message("%zu allocations failed in turn\n", step);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_project_is_created_and_opened),
        cmocka_unit_test(invalid_options_are_refused_and_leave_no_files),
        cmocka_unit_test(invalid_manifests_are_refused_with_the_line),
        cmocka_unit_test(an_existing_folder_must_be_empty),
        cmocka_unit_test(a_manifest_gives_ids_labels_and_groups),
        cmocka_unit_test(no_statement_runs_while_folders_are_searched),
        cmocka_unit_test(images_are_items_named_by_their_paths_and_copies_are_found),
        cmocka_unit_test(rows_that_are_equal_only_as_float32_are_not_copies),
        cmocka_unit_test(rows_are_added_once_and_copies_are_found),
        cmocka_unit_test(added_items_must_be_of_the_projects_kind),
        cmocka_unit_test(copies_with_two_labels_are_refused),
        cmocka_unit_test(a_group_with_a_withheld_item_is_no_candidate),
        cmocka_unit_test(a_group_that_joins_the_audit_set_is_no_longer_trained_on),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(a_strategy_and_the_setting_it_needs_are_set_together),
        cmocka_unit_test(settings_are_stored_and_logged),
        cmocka_unit_test(a_lock_has_one_holder_and_the_error_names_it),
        cmocka_unit_test(a_failed_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
