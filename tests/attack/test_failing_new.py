# SPDX-License-Identifier: Apache-2.0
"""As test_failing_calls.py, for `scant new`: a project that could not be created leaves nothing behind, so
that the command can be repeated."""
import unittest

import test_failing_calls
from attack import COMMANDS


class FailingNew(test_failing_calls.FailingCalls):
    commands = [command for command in COMMANDS if command.args[0] == "new"]


if __name__ == "__main__":
    unittest.main()
