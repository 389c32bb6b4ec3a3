/* SPDX-License-Identifier: Apache-2.0
 *
 * The little JSON that the program writes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

void cli_json_string(cli_text *text, const char *bytes, size_t size) {
    cli_text_add(text, "\"");
    for (size_t at = 0; at < size;) {
        uint32_t code;
        size_t taken = cli_utf8(bytes + at, size - at, &code);
        if (code == '"' || code == '\\') {
            cli_text_addf(text, "\\%c", (int)code);
        } else if (code == '\n') {
            cli_text_add(text, "\\n");
        } else if (code == '\t') {
            cli_text_add(text, "\\t");
        } else if (code < 0x20 || code == 0x7F) {
            cli_text_addf(text, "\\u%04x", (unsigned)code);
        } else if (code ==
                   0xFFFD) { /* was it there, or is it our replacement? the same */
            cli_text_add(text, "\xEF\xBF\xBD");
        } else {
            cli_text_bytes(text, bytes + at, taken);
        }
        at += taken;
    }
    cli_text_add(text, "\"");
}

void cli_json_number(cli_text *text, double value) {
    if (!isfinite(value)) {
        cli_text_add(text, "null");
        return;
    }
    char digits[40];
    for (int precision = 9; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    cli_text_add(text, digits);
}

void cli_json_setting(cli_text *text, scant_option_kind kind, const char *value) {
    char *end = NULL;
    double number = kind == SCANT_OPTION_CHOICE ? (double)NAN : strtod(value, &end);
    if (kind != SCANT_OPTION_CHOICE && end != value && !*end && isfinite(number))
        cli_json_number(text, number);
    else
        cli_json_string(text, value, strlen(value));
}
