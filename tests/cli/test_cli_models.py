# SPDX-License-Identifier: Apache-2.0
"""`scant models`: the list of networks."""
import json
import unittest

from scantcli import Case


class Models(Case):
    def test_parameter_counts_follow_from_the_layers(self):
        every = {one["name"]: one for one in json.loads(self.ok("models", "--format", "json"))}
        self.assertEqual(every["linear"]["parameters"], 784 * 10 + 10)
        self.assertEqual(every["mlp"]["parameters"], 784 * 256 + 256 + 256 * 10 + 10)
        lenet = (25 * 6 + 6) + (25 * 6 * 16 + 16) + (400 * 120 + 120) + (120 * 84 + 84) + 850
        self.assertEqual(every["lenet5"]["parameters"], lenet)
        self.assertEqual(every["resnet18"]["parameters"], 11173962)  # as published for CIFAR
        self.assertEqual(every["mobilenetv2"]["parameters"], 3504872)  # as torchvision has it
        self.assertEqual(every["mobilenetv2"]["shape"], [3, 224, 224])
        self.assertEqual(every["mlp"]["options"], ["width", "depth"])
        self.assertEqual(every["lenet5"]["options"], [])

    def test_the_table_has_the_models_of_the_json(self):
        every = json.loads(self.ok("models", "--format", "json"))
        lines = [line.split() for line in self.ok("models").splitlines()[1:]
                 if not line.startswith(" ")]
        self.assertEqual([line[0] for line in lines], [one["name"] for one in every])
        for line, one in zip(lines, every):
            self.assertEqual(int(line[1].replace(",", "")), one["parameters"])
            self.assertEqual(line[2], "x".join(map(str, one["shape"])))
        self.assertLessEqual(max(map(len, self.ok("models").splitlines())), 80)

    def test_one_model_can_be_listed(self):
        one = json.loads(self.ok("models", "vgg16", "--format=json"))
        self.assertEqual((one["name"], one["classes"]), ("vgg16", 10))
        self.assertEqual(len(self.ok("models", "linear").splitlines()), 2)

    def test_an_unknown_model_gets_the_nearest_name(self):
        self.fails(2, "models", "resnet19", says="did you mean 'resnet18'?")
        self.fails(2, "models", "perceiver", says=["known: linear, mlp", "mobilenetv2"])


if __name__ == "__main__":
    unittest.main()
