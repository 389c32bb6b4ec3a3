/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/project_json.h"

void scant__json_counts(scant__json *json, const scant_project_info *info) {
    JSON_MEMBERS(json, MEMBER("items", info->items), MEMBER("copies", info->copies),
                 MEMBER("withheld", info->withheld), MEMBER("labelled", info->labelled),
                 MEMBER("training", info->training), MEMBER("audited", info->audited),
                 MEMBER("disputed", info->disputed), MEMBER("skipped", info->skipped),
                 MEMBER("unsure", info->unsure), MEMBER("entries", info->entries),
                 MEMBER("picked", info->picked), MEMBER("waiting", info->waiting),
                 MEMBER("untrained", info->untrained));
}

void scant__json_model(scant__json *json, const scant_model_point *point) {
    JSON_MEMBERS(json, MEMBER("model", point->model), MEMBER("labels", point->labels),
                 MEMBER("audited", point->audited), MEMBER("right", point->right),
                 MEMBER("accuracy", point->accuracy), MEMBER("low", point->low),
                 MEMBER("high", point->high), MEMBER("agreement", point->agreement),
                 MEMBER("seconds", point->seconds));
}

void scant__json_round(scant__json *json, const scant_round_point *point) {
    JSON_MEMBERS(json, MEMBER("round", point->round), MEMBER("strategy", point->strategy),
                 MEMBER("picked", point->picked), MEMBER("answered", point->answered));
}

void scant__json_meter(scant__json *json, const scant_meter *meter) {
    JSON_MEMBERS(
        json, MEMBER("accuracy", meter->last.accuracy), MEMBER("low", meter->last.low),
        MEMBER("high", meter->last.high), MEMBER("left_out", meter->left_out),
        MEMBER("added", meter->added), MEMBER("over_random", meter->over_random),
        MEMBER("over_random_low", meter->over_random_low),
        MEMBER("over_random_high", meter->over_random_high),
        MEMBER("over_random_labels", meter->over_random_labels),
        MEMBER("per_ten", meter->per_ten), MEMBER("per_ten_high", meter->per_ten_high),
        MEMBER("narrow", meter->narrow), MEMBER("fading", meter->fading),
        MEMBER("agreeing", meter->agreeing), MEMBER("stop", meter->stop));
}

void scant__json_collapse(scant__json *json, const scant_collapse *collapse) {
    char names[SCANT_SIGNS_SIZE];
    JSON_MEMBERS(json, MEMBER("labels", collapse->labels),
                 OPTIONAL("model", collapse->model ? (int64_t)collapse->model : -1),
                 MEMBER("signs", scant_train_sign_names(collapse->signs, names)),
                 MEMBER("found", (const char *)collapse->found),
                 MEMBER("same", collapse->same));
}

scant_status scant__json_agreement(void *json, const scant_person_agreement *pair) {
    JSON_OBJECT(json, NULL, MEMBER("a", pair->a), MEMBER("b", pair->b),
                MEMBER("items", pair->items), MEMBER("agreed", pair->agreed),
                MEMBER("kappa", pair->kappa));
    return SCANT_OK;
}
