# SPDX-License-Identifier: Apache-2.0
"""docs/store.md describes the database of a project: all tables and columns, and SQL statements that work."""
import os
import re
import shutil
import sqlite3
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROJECT = os.path.join(ROOT, "tests", "fuzz", "corpus", "store_database", "small.db")


class Store(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(ROOT, "docs", "store.md"), encoding="utf-8") as file:
            self.page = file.read()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        copy = shutil.copy(PROJECT, folder.name)
        self.database = sqlite3.connect(copy)
        self.addCleanup(self.database.close)

    def test_every_table_and_column_is_described(self):
        told = {name: set(re.findall(r"`(\w+)`", columns)) for name, columns in
                re.findall(r"(?m)^\| `(\w+)` \|[^|]*\|([^|]*)\|$", self.page)}
        tables = {name for name, in self.database.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")}
        self.assertEqual(set(told), tables)
        for table in tables:
            columns = {row[1] for row in self.database.execute(f"PRAGMA table_info({table})")}
            with self.subTest(table):
                self.assertEqual({c for c in columns if not c.startswith("over_random_")} - told[table],
                                 set())

    def test_statements_return_rows(self):
        statements = re.findall(r"```sql\n(.*?)```", self.page, re.S)
        self.assertGreater(len(statements), 4)
        for sql in statements:
            with self.subTest(sql):
                self.assertTrue(self.database.execute(sql).fetchall())


if __name__ == "__main__":
    unittest.main()
