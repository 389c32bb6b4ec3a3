/* SPDX-License-Identifier: Apache-2.0
 *
 * report.html: one page that needs nothing else.
 */
#ifndef SCANT_REPORT_PAGE_H
#define SCANT_REPORT_PAGE_H

#include "report/measures.h"

scant_status report_write_page(report_text *out, report_results *results,
                               const report_measures *measures);

#endif
