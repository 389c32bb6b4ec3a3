/* SPDX-License-Identifier: Apache-2.0
 *
 * `scant status` in its parts: what is gathered (status.c), how it is shown
 * (status_show.c).
 */
#ifndef SCANT_CLI_STATUS_H
#define SCANT_CLI_STATUS_H

#include "cli/project.h"
#include "scant/project.h"

typedef struct status_person {
    char *name;
    size_t answers, labels; /* current ones */
    double *times;          /* seconds per answer, as far as known */
    size_t n_times;
    double median; /* of times; NaN: there are none */
} status_person;

typedef struct status_pair {
    char *a, *b;
    size_t items;
    double agreed, kappa;
} status_pair;

typedef struct status_job {
    project_job *project;
    scant_project_info info;
    scant_meter meter;
    char **classes;
    size_t *labels; /* of each class */
    status_person *people;
    size_t n_people;
    status_pair *pairs;
    size_t n_pairs;
    scant_model_point *models; /* with copies of strings; also below */
    size_t n_models;
    scant_round_point *rounds;
    size_t n_rounds;
} status_job;

int status_print_text(status_job *job);
int status_print_json(status_job *job);

#endif
