/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

scant_status report_write_page(report_text *out, report_results *r,
                               const report_measures *m) {
    report_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
                    "<title>scant report</title>\n<h1>Results</h1>\n<table><tr>"
                    "<th>strategy<th>AUC<th>std<th>runs\n");
    for (size_t s = 0; s < r->n_strategies; s++) {
        report_add(out, "<tr><td>");
        report_add_escaped(out, r->strategies[s].name);
        report_add(out, "<td>");
        report_add_fixed(out, 100 * m->areas[s].mean, 2);
        report_add(out, "<td>");
        report_add_fixed(out, 100 * m->areas[s].std, 2);
        report_addf(out, "<td>%zu\n", m->areas[s].n);
    }
    report_add(out, "</table></html>\n");
    return SCANT_OK;
}
