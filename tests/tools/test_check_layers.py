# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers reports violations and nothing else."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "check_layers")


class CheckLayers(unittest.TestCase):
    def check(self, path, text, others=()):
        """Exit status and output for a tree with src/path, which has this text, and others: pairs of
        path and text."""
        with tempfile.TemporaryDirectory(prefix="scant-test-") as root:
            for name, words in ((path, text), *others):
                full = os.path.join(root, name if name.startswith("include") else "src/" + name)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as out:
                    out.write(words)
            done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout

    def caught(self, path, text, line, *words, others=()):
        status, out = self.check(path, text, others)
        self.assertEqual(status, 1, f"{path}: {text!r} was not reported")
        self.assertIn(f"{path}:{line}: ", out)
        for word in words:
            self.assertIn(word, out)

    def fine(self, path, text, others=()):
        status, out = self.check(path, text, others)
        self.assertEqual((status, out.count(": ")), (0, 1), f"{path}: {text!r}: {out}")

    def test_the_project_itself_is_clean(self):
        done = subprocess.run([sys.executable, TOOL, ROOT], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_includes_go_down_only(self):
        self.fine("select/a.c", '#include "core/mem.h"\n#include "linalg/k.h"\n#include "data/array.h"\n')
        self.fine("select/a.c", '#include "select/b.h"\n#include "c.h"\n#include "scant/scant.h"\n#include <math.h>\n')
        self.fine("linalg/kernels/a.c", '#include "linalg/k.h"\n#include "core/ctx.h"\n')
        self.caught("core/a.c", '\n#include "data/array.h"\n', 2, "core", "below data")
        self.caught("linalg/kernels/a.c", '#include "select/b.h"\n', 1, "below select")
        self.caught("store/a.c", '#include "loop/b.h"\n', 1)
        for row in (("report", "study"), ("report", "loop"), ("study", "loop")):
            self.fine(f"{row[1]}/a.c", f'#include "{row[0]}/b.h"\n')
            self.caught(f"{row[0]}/a.c", f'#include "{row[1]}/b.h"\n', 1, f"below {row[1]}")

    def test_calls_go_down_only_independent_of_the_header(self):
        run = ("loop/run.c", '#include "scant/scant.h"\nint scant_run(void) { return 1; }\n'
               "int loop_step(int a,\n              int b) {\n    return a + b;\n}\n"
               "static int helper(void) { return 2; }\n")
        public = ("include/scant/scant.h", "int scant_run(void); /* scant_run() is public */\n")
        tree = (run, public)
        self.fine("cli/a.c", "int f(void) { return scant_run(); }\n", tree)
        self.fine("loop/a.c", "int f(void) { return scant_run(); }\n", tree)
        self.caught("report/a.c", '#include "scant/scant.h"\nint f(void) {\n    return scant_run();\n}\n', 3,
                    "scant_run", "report stands below loop", others=tree)
        self.caught("report/a.c", "int (*f)(void) = scant_run;\n", 1, "scant_run", others=tree)
        self.caught("store/a.h", "static int f(void) { return loop_step(1, 2); }\n", 1, "loop_step", others=tree)
        self.caught("select/a.c", "int f(void) { return scant_net(); }\n", 1, "select stands beside nn",
                    others=[("nn/net.c", "int scant_net(void) { return 1; }\n")])

    def test_code_that_only_looks_like_a_call_upwards_is_fine(self):
        tree = [("loop/run.c", "int loop_step(void) { return 1; }\nint scant_run(void) { return 1; }\n"
                 "static int helper(void) { return 2; }\n")]
        self.fine("report/a.c", "/* scant_run() */ const char *s = \"scant_run()\";\n", tree)
        self.fine("report/a.c", "int f(int loop_step) { return loop_step; }\n", tree)
        self.fine("report/a.c", "int f(void) { return x->loop_step() + x.scant_run(); }\n", tree)
        self.fine("report/a.c", "static int loop_step(void) { return 1; }\nint f(void) { return loop_step(); }\n", tree)
        self.fine("report/a.c", "static int helper(int x) { return x; }\nint f(void) { return helper(1); }\n", tree)
        self.fine("report/a.c", "int f(void) { return loop_step(); }\n",
                  [*tree, ("core/step.c", "int loop_step(void) { return 1; }\n")])

    def test_siblings_do_not_include_each_other(self):
        for one, other in (("linalg", "data"), ("select", "nn"), ("dist", "data")):
            self.caught(f"{one}/a.c", f'#include "{other}/b.h"\n', 1, "side by side")

    def test_cli_and_serve_use_public_headers_and_core_only(self):
        self.fine("cli/a.c", '#include "scant/scant.h"\n#include "cli/ui.h"\n#include "ui.h"\n')
        self.fine("cli/a.c", '#include "core/text.h"\n')
        self.caught("cli/a.c", '#include "loop/loop.h"\n', 1, "public headers")
        self.caught("serve/a.c", '#include "cli/ui.h"\n', 1)

    def test_few_internal_headers_are_open_to_the_ways_in(self):
        self.fine("cli/a.c", '#include "serve/serve.h"\n#include "loop/project_json.h"\n')
        self.fine("serve/a.c", '#include "loop/project_json.h"\n')
        self.caught("cli/a.c", '#include "serve/routes.h"\n', 1, "public headers")
        self.caught("store/a.c", '#include "loop/project_json.h"\n', 1, "below loop")
        self.caught("loop/a.c", '#include "serve/serve.h"\n', 1, "below serve")

    def test_pthread_is_for_two_layers(self):
        self.fine("serve/a.c", "#include <pthread.h>\n")
        self.fine("core/a.c", "#include <pthread.h>\n")
        self.caught("cli/a.c", "#include <pthread.h>\n", 1, "core and serve")

    def test_libraries_are_used_in_their_layer_only(self):
        for header, home, other in (("cblas.h", "linalg", "select"), ("lapacke.h", "linalg", "select"),
                                    ("dnnl.h", "nn", "ssl"), ("sqlite3.h", "store", "loop"),
                                    ("mpi.h", "dist", "loop"), ("microhttpd.h", "serve", "cli"),
                                    ("omp.h", "core", "linalg"), ("pthread.h", "core", "data")):
            self.fine(f"{home}/a.c", f"#include <{header}>\n")
            self.caught(f"{other}/a.c", f"# include <{header}>\n", 1, header, home)

    def test_banned_calls_are_reported(self):
        for call in ("printf(x)", "puts(x)", "exit(1)", "abort()", "getenv(x)", "malloc(1)", "calloc(1, 2)",
                     "free (x)", "strcpy(a, b)", "strcat(a, b)", "sprintf(a, b)", "gets(a)", "atoi(a)",
                     "alloca(3)", "rand()", "fprintf(stderr, x)", "fputs(x, stdout)"):
            self.caught("select/a.c", f"int f(void) {{\n    {call};\n}}\n", 2)
        for call in ("strcpy(a, b)", "atoi(a)", "sprintf(a, b)", "rand()"):
            self.caught("cli/a.c", f"int f(void) {{ {call}; }}\n", 1)

    def test_code_that_only_looks_like_a_banned_call_is_fine(self):
        self.fine("select/a.c", "/* free(x),\n * printf(x) */\nint x; // exit(1)\n")
        self.fine("select/a.c", 'const char *s = "printf(x) \\" exit(1)";\n')
        self.fine("select/a.c", "x->free(y); x.free(y); scant__free(c, y); snprintf(a, 3, b); is_free(x);\n")
        self.fine("cli/a.c", "printf(x); exit(1); getenv(x); free(malloc(3)); fputs(x, stderr);\n")
        self.fine("core/mem.c", "free(malloc(3));\n")

    def test_threads_start_in_one_place(self):
        self.fine("core/parfor.c", "#pragma omp parallel num_threads(2)\n")
        self.fine("linalg/a.c", "#pragma omp simd\n")
        self.caught("linalg/a.c", "#pragma omp parallel for\n", 1)

    def test_an_unknown_layer_is_reported(self):
        self.caught("utils/a.c", "int x;\n", 1, "no layer")
        self.caught("cli/a.c", '#include "utils/a.h"\n', 1, "no layer")

    def test_a_public_header_includes_no_internal_one(self):
        self.fine("include/scant/scant.h", "#include <stddef.h>\n")
        self.caught("include/scant/scant.h", '#include "core/ctx.h"\n', 1)


if __name__ == "__main__":
    unittest.main()
