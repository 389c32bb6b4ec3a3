/* SPDX-License-Identifier: Apache-2.0 */
#include "data/timestamp.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const int64_t LAST = INT64_C(253402300799999); /* the end of 9999 */

/* ---- reading ----------------------------------------------------------------------- */

/* Reads exactly count digits at *at; false if there are fewer. */
static bool digits(const char **at, int count, int64_t *out) {
    *out = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9') return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool pass(const char **at, char c) {
    if (**at != c) return false;
    (*at)++;
    return true;
}

static bool read_date(const char **at, int64_t *ms) {
    int64_t year, month, day;
    if (!digits(at, 4, &year) || !pass(at, '-') || !digits(at, 2, &month) ||
        !pass(at, '-') || !digits(at, 2, &day))
        return false;
    struct tm date = {
        .tm_year = (int)year - 1900, .tm_mon = (int)month - 1, .tm_mday = (int)day};
    *ms = (int64_t)timegm(&date) * 1000;
    /* timegm() changes a date that does not exist, such as February 30 */
    return year >= 1 && date.tm_mon == month - 1 && date.tm_mday == day;
}

static bool read_clock(const char **at, int64_t *ms) {
    int64_t hour, minute, second = 0, part = 0, unit = 100;
    if (!digits(at, 2, &hour) || !pass(at, ':') || !digits(at, 2, &minute)) return false;
    if (pass(at, ':')) {
        if (!digits(at, 2, &second)) return false;
        if (pass(at, '.') || pass(at, ',')) {
            int64_t digit;
            if (!digits(at, 1, &digit)) return false;
            do part += digit * unit, unit /= 10;
            while (digits(at, 1, &digit));
        }
    }
    if (hour > 23 || minute > 59 || second > 60) return false;
    *ms = (hour * 3600 + minute * 60 + second) * 1000 + part;
    return true;
}

static bool read_zone(const char **at, int64_t *ms) {
    int64_t hour, minute = 0, sign = **at == '-' ? -1 : 1;
    *ms = 0;
    if (!**at || pass(at, 'Z') || pass(at, 'z')) return true;
    if (!pass(at, '+') && !pass(at, '-')) return false;
    if (!digits(at, 2, &hour)) return false;
    if ((pass(at, ':') || **at) && !digits(at, 2, &minute)) return false;
    if (hour > 23 || minute > 59) return false;
    *ms = sign * (hour * 60 + minute) * 60000;
    return true;
}

static bool read_milliseconds(const char *text, int64_t *out) {
    size_t length = strlen(text);
    return length > 0 && length <= 15 && strspn(text, "0123456789") == length &&
           digits(&text, (int)length, out);
}

bool scant__timestamp_parse(const char *text, int64_t *out) {
    int64_t date, clock = 0, zone = 0, at;
    if (!read_milliseconds(text, &at)) {
        if (!read_date(&text, &date)) return false;
        if (*text && !pass(&text, 'T') && !pass(&text, 't') && !pass(&text, ' '))
            return false;
        if (text[0] && (!read_clock(&text, &clock) || !read_zone(&text, &zone)))
            return false;
        if (*text) return false;
        at = date + clock - zone;
    }
    if (at < 0 || at > LAST) return false;
    *out = at;
    return true;
}

/* ---- writing ----------------------------------------------------------------------- */

const char *scant__timestamp_format(int64_t at, char out[SCANT__TIMESTAMP]) {
    time_t seconds = (time_t)(at / 1000);
    struct tm t = {0};
    gmtime_r(&seconds, &t);
    size_t used = strftime(out, SCANT__TIMESTAMP, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(out + used, SCANT__TIMESTAMP - used, ".%03dZ", (int)(at % 1000));
    return out;
}
