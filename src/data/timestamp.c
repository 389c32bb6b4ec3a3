/* SPDX-License-Identifier: Apache-2.0 */
#include "data/timestamp.h"

#include <stdio.h>
#include <string.h>

enum { DAY = 86400 };
static const int64_t LAST = INT64_C(253402300799999); /* the end of 9999 */

/* ---- days -------------------------------------------------------------------------- */

/* Days from 1970-01-01 to a Gregorian date. Years start in March, so that the leap day
 * comes last. */
static int64_t days_from(int64_t year, int64_t month, int64_t day) {
    if (month <= 2) year--;
    int64_t age = year / 400, of_age = year % 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return age * 146097 + of_age * 365 + of_age / 4 - of_age / 100 + of_year - 719468;
}

static int64_t days_of_month(int64_t year, int64_t month) {
    return days_from(month == 12 ? year + 1 : year, month == 12 ? 1 : month + 1, 1) -
           days_from(year, month, 1);
}

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

static bool read_date(const char **at, int64_t *days) {
    int64_t year, month, day;
    if (!digits(at, 4, &year) || !pass(at, '-') || !digits(at, 2, &month) ||
        !pass(at, '-') || !digits(at, 2, &day))
        return false;
    if (year < 1 || month < 1 || month > 12 || day < 1) return false;
    if (day > days_of_month(year, month)) return false;
    *days = days_from(year, month, day);
    return true;
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
    int64_t days, clock = 0, zone = 0, at;
    if (!read_milliseconds(text, &at)) {
        if (!read_date(&text, &days)) return false;
        if (*text && !pass(&text, 'T') && !pass(&text, 't') && !pass(&text, ' '))
            return false;
        if (text[0] && (!read_clock(&text, &clock) || !read_zone(&text, &zone)))
            return false;
        if (*text) return false;
        at = days * DAY * 1000 + clock - zone;
    }
    if (at < 0 || at > LAST) return false;
    *out = at;
    return true;
}

/* ---- writing ----------------------------------------------------------------------- */

const char *scant__timestamp_format(int64_t at, char out[SCANT__TIMESTAMP]) {
    int64_t ms = at % 1000, second = at / 1000, days = second / DAY;
    second %= DAY;
    int64_t year = days / 366 + 1970,
            month = 1; /* a lower bound: no year has more than 366 days */
    while (days_from(year + 1, 1, 1) <= days) year++;
    while (month < 12 && days_from(year, month + 1, 1) <= days) month++;
    snprintf(out, SCANT__TIMESTAMP, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (int)year,
             (int)month, (int)(days - days_from(year, month, 1) + 1),
             (int)(second / 3600), (int)(second / 60 % 60), (int)(second % 60), (int)ms);
    return out;
}
