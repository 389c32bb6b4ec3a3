# SPDX-License-Identifier: Apache-2.0
"""The files in experiments/ stay valid: all keys exist and print with the given values. Their settings
are those that the papers give."""
import configparser
import fnmatch
import glob
import itertools
import os
import re
import unittest

from scantcli import ROOT, Case

FOLDER = os.path.join(ROOT, "experiments")
FILES = sorted(glob.glob(os.path.join(FOLDER, "*.ini")))

# What the papers give: files, the place in the paper, settings ("section.key"). Settings that a paper
# does not give are not listed. `5 runs` in a paper are five seeds here.
PAPERS = [
    # Deep active learning by leveraging training dynamics (dynamicAL)
    ("*dynamical-*", "5.1, C.1: constant rate; equation 15: gradient of all parameters",
     {"train.lr": 0.001, "train.schedule": "constant", "train.augment": "auto",
      "loop.dynamic.layers": "all"}),
    ("dynamical-*", "5.1: 500 labels, 5 runs",
     {"loop.initial": 500, "loop.initial_how": "random", "loop.seeds": "0,1,2,3,4"}),
    ("dynamical-cifar10-cnn-*", "tables 2, 3; C.1: PyTorch's tutorial", {"model.name": "cnn"}),
    ("dynamical-*-250.ini", "table 2", {"loop.batch": 250, "loop.rounds": 9}),
    ("dynamical-*-500.ini", "tables 3, 4, 6, 8", {"loop.batch": 500, "loop.rounds": 9}),
    ("dynamical-c*10-*-1000.ini", "table 5", {"loop.batch": 1000, "loop.rounds": 9}),
    ("dynamical-svhn-*-1000.ini", "table 7", {"loop.batch": 1000, "loop.rounds": 9}),
    ("dynamical-caltech101-*-1000.ini", "table 9, E.2", {"loop.batch": 1000, "loop.rounds": 4}),
    ("dynamical-*-retrain.ini", "E.5, tables 11, 12",
     {"train.reinit": "yes", "train.until": 0.99, "loop.batch": 500, "loop.rounds": 9,
      "loop.strategies": "random,coreset,dynamic"}),
    ("dynamical-*-[125]*0.ini", "5.1: no re-initialisation", {"train.reinit": "no"}),
    ("dynamical-cifar10-*-[125]*0.ini", "5.1, tables 2 to 5",
     {"loop.strategies": "random,margin,entropy,coreset,confidence,albl,badge,dynamic"}),
    ("dynamical-svhn-*-[125]*0.ini", "5.1, tables 6, 7",
     {"loop.strategies": "random,margin,entropy,coreset,confidence,albl,badge,dynamic"}),
    ("dynamical-caltech101-*", "5.2, tables 8, 9: without BADGE",
     {"model.name": "resnet18",
      "loop.strategies": "random,margin,entropy,coreset,confidence,albl,dynamic"}),
    ("dynamical-*resnet18*", "5.1", {"model.name": "resnet18"}),
    ("dynamical-*vgg11*", "5.1", {"model.name": "vgg11"}),
    ("dynamical-gamma.ini", "figure 5",
     {"loop.dynamic.gamma": 2, "loop.batch": 500, "loop.rounds": 5, "train.reinit": "no"}),
    ("dynamical-rounds.ini", "table 1", {"loop.batch": 100, "loop.rounds": 10, "train.reinit": "no"}),
    ("*theory-ratio.ini", "figure 4: an expectation over batches; equation 14; C.1",
     {"loop.strategies": "random,dynamic", "loop.dynamic.layers": "all", "loop.theory": "all",
      "loop.initial": 500, "train.lr": 0.001}),
    # Neural pre-conditioning (NPC)
    ("npc-*", "5.1: WRN-28-2, 3 trials, from scratch; 2.1: FixMatch with DARP, uniform target; "
              "algorithm 1: O(n) batches; 3.4: the last layer",
     {"model.name": "wrn-28-2", "train.method": "fixmatch", "train.darp": "yes",
      "train.darp_target": "", "train.reinit": "yes", "loop.seeds": "0,1,2",
      "loop.npc.candidates": 50000}),
    ("npc-cifar10-wrn.ini", "5.1, table 1",
     {"loop.initial": 10, "loop.initial_how": "balanced", "loop.batch": 20, "loop.rounds": 3,
      "loop.strategies": "random,margin,albl,badge,npc"}),
    ("npc-cifar100-wrn.ini", "5.1, table 2",
     {"loop.initial": 100, "loop.initial_how": "balanced", "loop.batch": 200, "loop.rounds": 4,
      "loop.strategies": "random,margin,albl,badge,npc"}),
    ("npc-single-shot-40.ini", "table 3",
     {"loop.initial": 10, "loop.initial_how": "balanced", "loop.batch": 30, "loop.rounds": 1}),
    ("npc-single-shot-60.ini", "table 3",
     {"loop.initial": 10, "loop.initial_how": "balanced", "loop.batch": 50, "loop.rounds": 1}),
    ("npc-cifar*", "5.1: the median of 5; tables 1, 2: one initial accuracy for all trials",
     {"train.initial_models": 5, "train.initial_keep": "median", "loop.initial_seed": 0}),
    ("npc-single-shot-*", "table 3: the same initial model",
     {"train.initial_models": 5, "train.initial_keep": "median", "loop.initial_seed": 0}),
    ("npc-zero-shot-40.ini", "table 3", {"loop.initial_how": "none", "loop.batch": 40, "loop.rounds": 1}),
    ("npc-zero-shot-60.ini", "table 3", {"loop.initial_how": "none", "loop.batch": 60, "loop.rounds": 1}),
    # Batch active learning from the perspective of sparse approximation
    ("bayes-*", "G.1, table 4; section 5: 5 seeds, re-initialised; the prior of the model it names",
     {"model.name": "resnet18", "model.bayes": "variational", "train.optimizer": "adam",
      "train.lr": 0.001, "train.beta2": 0.999, "train.weight_decay": 5e-4, "train.batch": 256,
      "train.epochs": 200, "train.augment": "flip-crop", "train.schedule": "cosine",
      "train.reinit": "yes", "loop.seeds": "0,1,2,3,4", "loop.initial_how": "random"}),
    ("bayes-fashion-*", "G.1",
     {"model.samples": 100, "model.prior": 0.2, "loop.initial": 1000, "loop.batch": 1000,
      "loop.rounds": 9, "loop.preset": "fashion-mnist"}),
    ("bayes-cifar10-*", "G.1",
     {"model.samples": 2000, "model.prior": 0.2, "loop.initial": 3000, "loop.batch": 5000,
      "loop.rounds": 4, "loop.preset": "cifar10-bayes"}),
    ("bayes-cifar100-*", "G.1",
     {"model.samples": 2000, "model.prior": 0.02, "loop.initial": 10000, "loop.batch": 5000,
      "loop.rounds": 4, "loop.preset": "cifar100"}),
    ("bayes-*-resnet18.ini", "table 1",
     {"loop.strategies": "random,bald,batchbald,acs-fw,sparse-greedy,sparse-iht"}),
    ("bayes-*-fit.ini", "F.1", {"loop.sparse-greedy.terms": "fit", "loop.sparse-iht.terms": "fit"}),
    ("bayes-*-variance.ini", "F.1", {"loop.sparse-greedy.terms": "variance"}),
    ("sparse-*", "G.2, table 5; table 2; section 5: re-initialised",
     {"train.optimizer": "sgd", "train.momentum": 0.9, "train.weight_decay": 5e-4,
      "train.schedule": "constant", "train.augment": "auto", "train.reinit": "yes",
      "loop.initial_how": "random",
      "loop.strategies": "random,entropy,coreset,badge,sparse-greedy,sparse-iht"}),
    ("sparse-mnist-lenet5.ini", "G.2, table 5; section 5: 3 seeds",
     {"model.name": "lenet5", "train.epochs": 150, "train.batch": 32, "train.lr": 0.01,
      "loop.initial": 40, "loop.batch": 40, "loop.rounds": 15, "loop.seeds": "0,1,2",
      "loop.preset": "sparse-mnist"}),
    ("sparse-svhn-vgg16.ini", "G.2, table 5",
     {"model.name": "vgg16", "train.epochs": 150, "train.batch": 128, "train.lr": 0.01,
      "loop.initial": 1000, "loop.batch": 1000, "loop.rounds": 5, "loop.seeds": "0,1,2,3,4",
      "loop.preset": "sparse-svhn"}),
    ("sparse-cifar10-vgg16.ini", "G.2, table 5",
     {"model.name": "vgg16", "train.epochs": 100, "train.batch": 128, "train.lr": 0.001,
      "loop.initial": 3000, "loop.batch": 3000, "loop.rounds": 5, "loop.seeds": "0,1,2,3,4",
      "loop.preset": "sparse-cifar10"}),
    # Active semi-supervised learning via convergence rate control (CRC)
    ("crc-*", "4.1: 3 runs, from scratch", {"train.reinit": "yes", "loop.seeds": "0,1,2"}),
    ("crc-cifar10-*", "4.1, A.1: FixMatch, WRN-28-2 with ReLU, 350 times 1024 steps",
     {"train.method": "fixmatch", "train.darp": "no", "model.name": "wrn-28-2",
      "model.activation": "relu", "train.steps": 350 * 1024}),
    ("crc-cifar10-wrn-50.ini", "4.1, table 3",
     {"loop.initial": 50, "loop.initial_how": "balanced", "loop.batch": 50, "loop.rounds": 5,
      "loop.crc.group": 5, "loop.egl.layers": "all",
      "loop.strategies": "random,entropy,confidence,egl,crc"}),
    ("crc-cifar10-wrn-100.ini", "4.1, table 3",
     {"loop.initial": 100, "loop.initial_how": "balanced", "loop.batch": 100, "loop.rounds": 5,
      "loop.crc.group": 10, "loop.egl.layers": "all",
      "loop.strategies": "random,entropy,confidence,egl,crc"}),
    ("crc-cifar10-balanced.ini", "4.2: 25 labels per class, balanced, without active learning",
     {"loop.initial": 250, "loop.initial_how": "balanced", "loop.rounds": 0}),
    ("crc-cifar10-groups.ini", "table 2",
     {"loop.initial": 100, "loop.initial_how": "balanced", "loop.batch": 100, "loop.rounds": 5}),
    ("crc-cifar10-layers.ini", "table 1, right",
     {"loop.initial": 50, "loop.initial_how": "balanced", "loop.batch": 50, "loop.rounds": 3,
      "loop.crc.group": 5, "loop.crc.layers": "all"}),
    ("crc-cifar10-layers-zero-shot.ini", "table 1, left",
     {"loop.initial_how": "none", "loop.batch": 50, "loop.rounds": 3, "loop.crc.group": 5,
      "loop.crc.layers": "all"}),
    ("crc-*-wrn*", "A.1: the best of several first networks, identical for all runs",
     {"train.initial_keep": "best", "loop.initial_seed": 0}),
    ("crc-cifar10-groups.ini", "A.1: the best of several first networks, identical for all runs",
     {"train.initial_keep": "best", "loop.initial_seed": 0}),
    ("crc-cifar10-layers.ini", "A.1: the best of several first networks, identical for all runs",
     {"train.initial_keep": "best", "loop.initial_seed": 0}),
    ("theory-horizon.ini", "A.1: the best of several first networks, identical for all runs",
     {"train.initial_keep": "best", "loop.initial_seed": 0}),
    ("*crc-*transfer.ini", "figure 2; 4.2: the gradient of all parameters",
     {"loop.initial_how": "none", "loop.egl.layers": "all",
      "loop.strategies": "random,entropy,confidence,egl,crc"}),
    ("crc-cifar10-transfer.ini", "figure 2", {"loop.batch": 50, "loop.crc.group": 5}),
    ("crc-svhn-wrn.ini", "4.1, A.1, table 4; footnote 5: batches of 50 + 50, 7326 for validation",
     {"train.method": "mean-teacher", "model.name": "wrn-28-2", "model.activation": "leaky",
      "train.steps": 512 * 1024, "train.batch": 50, "train.mean_teacher_mu": 1,
      "data.validation": 7326, "loop.initial": 120, "loop.initial_how": "balanced",
      "loop.batch": 20, "loop.rounds": 5, "loop.crc.group": 2, "loop.strategies": "random,crc"}),
    ("crc-cifar100-wrn.ini", "4.1, A.1, table 4",
     {"train.method": "fixmatch", "train.darp": "no", "model.name": "wrn-28-8",
      "model.activation": "relu", "train.steps": 600 * 1024, "loop.initial": 200,
      "loop.initial_how": "balanced", "loop.batch": 50, "loop.rounds": 4, "loop.crc.group": 5,
      "loop.strategies": "random,crc"}),
    ("theory-horizon.ini", "figure 3: batches of 50, trained as for table 3",
     {"train.method": "fixmatch", "train.darp": "no", "model.name": "wrn-28-2",
      "model.activation": "relu", "train.steps": 350 * 1024, "loop.seeds": "0,1,2",
      "loop.initial": 50, "loop.initial_how": "balanced", "loop.batch": 50, "loop.crc.group": 5}),
]
OWN = ["demo.ini", "bss-heavy-onehidden.ini", "small-bss-heavy-onehidden.ini"]  # not of a paper


def equal(shown, wanted):
    try:
        return float(shown) == float(wanted)
    except ValueError:
        return shown.replace("\n", "") == str(wanted)


def expand(name):
    """Expands a-{b,c}.ini to a-b.ini and a-c.ini."""
    parts = [part.split(",") for part in re.split(r"[{}]", name)]
    return ["".join(choice) for choice in itertools.product(*parts)]


class Experiments(Case):
    def test_every_file_prints_as_an_equal_experiment(self):
        self.assertGreater(len(FILES), 20)
        for path in FILES:
            with self.subTest(os.path.basename(path)):
                printed = self.ok("run", path, "--print")
                again = self.path("again.ini")
                with open(again, "w", encoding="utf-8") as file:
                    file.write(printed)
                self.assertEqual(self.ok("run", again, "--print"), printed)
                self.check_values(path, printed)

    def check_values(self, path, printed):
        """Every value of the file is printed."""
        given, shown = (configparser.ConfigParser(inline_comment_prefixes=(";", "#"),
                                                  interpolation=None) for _ in range(2))
        given.read(path, encoding="utf-8")
        shown.read_string(printed)
        for section in given.sections():
            for key, value in given[section].items():
                self.assertIn(key, shown[section])
                got = shown[section][key].replace("\n", "")
                try:
                    self.assertEqual(float(got), float(value), key)
                except ValueError:
                    self.assertEqual(got, value, key)

    def printed(self, path):
        """Settings of a file, defaults included, by "section.key"."""
        config = configparser.ConfigParser(inline_comment_prefixes=(";", "#"), interpolation=None)
        config.read_string(self.ok("run", path, "--print"))
        return {f"{section}.{key}": value for section in config.sections()
                for key, value in config[section].items()}

    def test_settings_are_those_that_the_papers_give(self):
        names = {os.path.basename(path): path for path in FILES}
        wanted = {}
        for pattern, place, settings in PAPERS:
            files = fnmatch.filter(names, pattern)
            self.assertTrue(files, pattern)
            for name in files:
                wanted.setdefault(name, []).extend((place, key, value) for key, value in settings.items())
        full = {name for name in names if not name.startswith("small-")} - set(OWN)
        self.assertEqual(full - set(wanted), set())
        for name, settings in sorted(wanted.items()):
            shown = self.printed(names[name])
            for place, key, value in settings:
                with self.subTest(f"{name}: {key} ({place})"):
                    self.assertTrue(equal(shown.get(key, ""), value),
                                    f"{shown.get(key)}, the paper has {value}")

    def test_trainings_are_neither_warmed_up_nor_repeated_as_in_the_papers(self):
        for path in FILES:
            name, shown = os.path.basename(path), self.printed(path)
            with self.subTest(name):
                own, small = name in OWN, name.startswith("small-")
                self.assertEqual(shown["loop.retry_collapsed"], "yes" if own else "no")
                fragile = small and shown["train.method"] == "fixmatch"
                self.assertEqual(shown["train.warmup"], "auto" if own or fragile else "0")

    def test_the_best_first_network_is_one_of_several(self):
        kept = [shown for shown in map(self.printed, FILES) if shown["train.initial_keep"] == "best"]
        self.assertTrue(kept)
        for shown in kept:
            self.assertGreater(int(shown["train.initial_models"]), 1)

    def test_every_file_is_listed_with_a_smaller_version_for_a_cpu(self):
        listed, small = set(), set()
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
            rows = [line.split("|")[1:-1] for line in file if line.startswith("| `")]
        for row in rows:
            names = [name for cell in re.findall(r"`([^`]+)`", row[0]) for name in expand(cell)]
            smaller = re.findall(r"`([^`]+)`", row[3])
            self.assertTrue(smaller or names == ["demo.ini"], row)
            listed.update(names)
            small.update(smaller)
        self.assertEqual(listed | small, {os.path.basename(path) for path in FILES})
        self.assertTrue(all(name.startswith("small-") for name in small))


if __name__ == "__main__":
    unittest.main()
