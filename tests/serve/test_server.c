/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole server inside a test, so that sanitizers see its threads: several people
 * label and read, a page follows the events, a model is trained, and the server is
 * stopped while people label.
 */
#include "../folder.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scant/project.h"
#include "serve/serve.h"

enum { ITEMS = 400, WIDTH = 3, PEOPLE = 4, LABELS = 20, MOST = 1 << 20 };

/* ---- a project --------------------------------------------------------------------- */

static size_t true_label(size_t item) { return item * 7 % 3; }

static void make_project(const char *name, char *path, size_t size) {
    scant_ctx *ctx = ctx_threads(1);
    float rows[ITEMS * WIDTH];
    for (size_t i = 0; i < ITEMS * WIDTH; i++)
        rows[i] = (float)(normal_at(5, i) + (true_label(i / WIDTH) == i % WIDTH ? 4 : 0));
    char file[300];
    snprintf(file, sizeof file, "%s/%s.npy", dir, name);
    snprintf(path, size, "%s/%s", dir, name);
    scant_array *array;
    void *bytes;
    size_t length, shape[] = {ITEMS, WIDTH};
    assert_int_equal(scant_array_wrap(ctx, "rows", rows, SCANT_F32, 2, shape, &array), 0);
    assert_int_equal(scant_array_encode(ctx, array, &bytes, &length), 0);
    assert_int_equal(scant_file_write(ctx, file, bytes, length), 0);
    scant_bytes_free(ctx, bytes);
    scant_array_free(array);
    scant_project *project;
    const char *const classes[] = {"a", "b", "c"};
    const scant_setting settings[] = {{"batch", "15"}, {"epochs", "30"}};
    scant_project_opts opts = {.source = {.features = file},
                               .classes = classes,
                               .n_classes = 3,
                               .settings = settings,
                               .n_settings = 2};
    assert_int_equal(scant_project_create(ctx, path, &opts, &project), 0);
    scant_project_free(project);
    scant_ctx_free(ctx);
}

static scant_project_info info_of(const char *path) {
    scant_ctx *ctx = ctx_threads(1);
    scant_project *project;
    scant_project_info info;
    assert_int_equal(scant_project_open(ctx, path, &project), 0);
    assert_int_equal(scant_project_info_get(project, &info), 0);
    scant_project_free(project);
    scant_ctx_free(ctx);
    return info;
}

/* ---- the server, on a thread of its own -------------------------------------------- */

typedef struct running {
    char path[300], message[500];
    pthread_t thread;
    scant_status status;
    atomic_uint port;
    atomic_bool stop, over;
} running;

static void ready(void *user, const char *address) {
    running *s = user;
    atomic_store(&s->port, (unsigned)strtoul(strrchr(address, ':') + 1, NULL, 10));
}

static int stop(void *user) { return atomic_load(&((running *)user)->stop); }

static void *run(void *user) {
    running *s = user;
    serve_opts opts = {
        .dir = s->path, .threads = 1, .user = s, .ready = ready, .stop = stop};
    s->status = serve_run(&opts, s->message, sizeof s->message);
    atomic_store(&s->over, true);
    return NULL;
}

static void start(running *s) {
    assert_int_equal(pthread_create(&s->thread, NULL, run, s), 0);
    while (!atomic_load(&s->port) && !atomic_load(&s->over)) usleep(1000);
    if (atomic_load(&s->over)) fail_msg("%s", s->message);
}

static void end(running *s) {
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    assert_int_equal(s->status, SCANT_OK);
}

/* ---- people ------------------------------------------------------------------------ */

typedef struct person {
    const running *server;
    int number;
    char cookie[100], csrf[64];
    char *reply; /* MOST bytes */
    size_t confirmed;
    bool limited; /* stops after LABELS answers; else labels until the server stops */
} person;

/* Sends a request on a new connection and reads the whole reply. False: the server has
 * stopped. */
static bool exchange(person *p, const char *method, const char *path, const char *body) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)p->server->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char head[1000];
    int n = snprintf(head, sizeof head,
                     "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n"
                     "X-Scant: %s\r\nCookie: %s\r\n\r\n%s",
                     method, path, strlen(body), p->csrf, p->cookie, body);
    int wire = socket(AF_INET, SOCK_STREAM, 0);
    size_t size = 0;
    bool sent = connect(wire, (struct sockaddr *)&to, sizeof to) == 0 &&
                send(wire, head, (size_t)n, MSG_NOSIGNAL) == n;
    for (ssize_t got = 1; sent && got > 0 && size < MOST - 1;) {
        got = recv(wire, p->reply + size, MOST - 1 - size, 0);
        if (got > 0) size += (size_t)got;
    }
    close(wire);
    p->reply[size] = '\0';
    return sent && size > 12;
}

/* The JSON of the reply; NULL if its status is not `status`. */
static json_t *ask(person *p, const char *method, const char *path, const char *body,
                   int status) {
    if (!exchange(p, method, path, body)) return NULL;
    const char *text = strstr(p->reply, "\r\n\r\n");
    if (!text || strtol(p->reply + 9, NULL, 10) != status) return NULL;
    return json_loads(text + 4, 0, NULL);
}

static bool sign_in(person *p) {
    json_t *got = ask(p, "GET", "/api/session", "", 200);
    const char *cookie = strstr(p->reply, "Set-Cookie: ");
    if (!got || !cookie) return false;
    snprintf(p->cookie, sizeof p->cookie, "%.*s", (int)strcspn(cookie + 12, ";"),
             cookie + 12);
    snprintf(p->csrf, sizeof p->csrf, "%s",
             json_string_value(json_object_get(got, "csrf")));
    json_decref(got);
    char body[40];
    snprintf(body, sizeof body, "{\"name\": \"person %d\"}", p->number);
    got = ask(p, "POST", "/api/session", body, 200);
    cookie = strstr(p->reply, "Set-Cookie: ");
    if (!got || !cookie) return false;
    snprintf(p->cookie, sizeof p->cookie, "%.*s", (int)strcspn(cookie + 12, ";"),
             cookie + 12);
    snprintf(p->csrf, sizeof p->csrf, "%s",
             json_string_value(json_object_get(got, "csrf")));
    json_decref(got);
    return true;
}

static bool label(person *p) {
    json_t *got = ask(p, "POST", "/api/next", "{\"count\": 1}", 200);
    const json_t *item = json_array_get(json_object_get(got, "items"), 0);
    size_t number = (size_t)json_integer_value(json_object_get(item, "item"));
    char body[300];
    snprintf(body, sizeof body,
             "{\"answers\": [{\"item\": %zu, \"lease\": \"%s\", \"kind\": \"label\", "
             "\"label\": %zu, \"once\": \"%d-%zu\"}]}",
             number, item ? json_string_value(json_object_get(item, "lease")) : "",
             true_label(number), p->number, p->confirmed);
    json_decref(got);
    got = item ? ask(p, "POST", "/api/answers", body, 200) : NULL;
    bool stored = json_array_size(json_object_get(got, "receipts")) == 1;
    json_decref(got);
    p->confirmed += stored;
    return stored;
}

static void *work(void *user) {
    person *p = user;
    bool going = sign_in(p);
    for (size_t i = 0; going && (!p->limited || i < LABELS); i++) {
        going = label(p);
        static const char *const reads[] = {"/api/status", "/api/items/3", "/api/mine",
                                            "/api/map", "/api/export?format=csv"};
        if (going && i % 4 == 3) exchange(p, "GET", reads[i / 4 % 5], "");
    }
    return NULL;
}

/* Reads events until the server ends the stream; confirmed is the number of bytes. */
static void *watch(void *user) {
    person *p = user;
    exchange(p, "GET", "/api/events", "");
    p->confirmed = strlen(p->reply);
    return NULL;
}

static void start_people(running *s, person *people, pthread_t *threads, bool limited) {
    for (int i = 0; i <= PEOPLE; i++) {
        people[i] =
            (person){.server = s, .number = i, .reply = malloc(MOST), .limited = limited};
        assert_non_null(people[i].reply);
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < PEOPLE ? work : watch, &people[i]), 0);
    }
}

/* ---- tests ------------------------------------------------------------------------- */

static void people_label_read_and_watch_at_once(void **state) {
    (void)state;
    running s = {0};
    person people[PEOPLE + 1];
    pthread_t threads[PEOPLE + 1];
    make_project("busy", s.path, sizeof s.path);
    start(&s);
    start_people(&s, people, threads, true);
    for (int i = 0; i < PEOPLE; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < PEOPLE; i++) assert_int_equal(people[i].confirmed, LABELS);
    person observer = {.server = &s, .reply = malloc(MOST)};
    bool trained = false; /* in the background: there are enough labels */
    for (int i = 0; i < 3000 && !trained; i++) {
        json_t *got = ask(&observer, "GET", "/api/status", "", 200);
        trained = json_integer_value(
                      json_object_get(json_object_get(got, "info"), "models")) > 0;
        json_decref(got);
        usleep(10000);
    }
    assert_true(trained);
    free(observer.reply);
    end(&s);
    pthread_join(threads[PEOPLE], NULL); /* the event stream has ended */
    assert_non_null(strstr(people[PEOPLE].reply, "event: status"));
    for (int i = 0; i <= PEOPLE; i++) free(people[i].reply);
    scant_project_info info = info_of(s.path);
    assert_int_equal(info.labelled, PEOPLE * LABELS);
    assert_int_equal(info.entries, PEOPLE * LABELS);
    assert_int_equal(info.people, PEOPLE);
}

static void stopping_the_server_loses_no_confirmed_answer(void **state) {
    (void)state;
    running s = {0};
    person people[PEOPLE + 1];
    pthread_t threads[PEOPLE + 1];
    make_project("ended", s.path, sizeof s.path);
    start(&s);
    start_people(&s, people, threads, false);
    usleep(300000);
    end(&s);
    size_t confirmed = 0;
    for (int i = 0; i <= PEOPLE; i++) {
        pthread_join(threads[i], NULL);
        if (i < PEOPLE) confirmed += people[i].confirmed;
        free(people[i].reply);
    }
    size_t stored = info_of(s.path).entries;
    assert_true(stored >= confirmed && stored <= confirmed + PEOPLE);
}

static void startup_errors_are_reported(void **state) {
    (void)state;
    char message[300], path[300];
    serve_opts opts = {.dir = dir, .stop = stop};
    assert_int_equal(serve_run(&opts, message, sizeof message), SCANT_EINPUT);
    assert_non_null(strstr(message, dir));
    make_project("said", path, sizeof path);
    opts = (serve_opts){.dir = path, .host = "0.0.0.0"};
    assert_int_equal(serve_run(&opts, message, sizeof message), SCANT_EUSAGE);
    assert_non_null(strstr(message, "--token"));
    opts.token = "fifteen letters";
    assert_int_equal(serve_run(&opts, message, sizeof message), SCANT_EUSAGE);
    assert_non_null(strstr(message, "16"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(people_label_read_and_watch_at_once),
        cmocka_unit_test(stopping_the_server_loses_no_confirmed_answer),
        cmocka_unit_test(startup_errors_are_reported),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
