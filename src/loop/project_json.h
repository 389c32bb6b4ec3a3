/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON members that the program and the server have in common, added to the object
 * that is open. Times differ: the program writes text, the server milliseconds.
 */
#ifndef SCANT_LOOP_PROJECT_JSON_H
#define SCANT_LOOP_PROJECT_JSON_H

#include "core/json.h"
#include "scant/project.h"

void scant__json_counts(scant__json *json, const scant_project_info *info);
void scant__json_model(scant__json *json, const scant_model_point *point);
void scant__json_round(scant__json *json, const scant_round_point *point);
void scant__json_meter(scant__json *json, const scant_meter *meter);
/* Adds to the object "collapsed" what is known but the time. */
void scant__json_collapse(scant__json *json, const scant_collapse *collapse);
/* Adds an object; a callback for scant_project_agreements(). */
scant_status scant__json_agreement(void *json, const scant_person_agreement *pair);

#endif
