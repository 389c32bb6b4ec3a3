# SPDX-License-Identifier: Apache-2.0
"""`make install`: the installed files work with pkg-config, from C and from C++."""
import glob
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("SCANT_BUILD", os.path.join(os.path.dirname(__file__), "..", "..", "build"))

C_PROGRAM = """
#include <scant/scant.h>
#include <stdio.h>
int main(void) {
    scant_ctx *ctx;
    if (scant_ctx_create(NULL, &ctx) != SCANT_OK) return 1;
    float x[4] = {0, 0, 3, 4};
    size_t shape[2] = {2, 2};
    scant_array *features;
    if (scant_array_wrap(ctx, "x", x, SCANT_F32, 2, shape, &features) != SCANT_OK) return 1;
    scant_evidence evidence = {.features = features};
    scant_picks *picks;
    if (scant_select(ctx, "random", &evidence, 2, NULL, &picks) != SCANT_OK) return 1;
    printf("%s %zu\\n", scant_version(), picks->count);
    scant_picks_free(ctx, picks);
    scant_array_free(features);
    scant_ctx_free(ctx);
}
"""

CXX_PROGRAM = """
#include <scant/scant.h>
#include <cstdio>
int main() {
    scant_ctx *ctx = nullptr;
    if (scant_ctx_create(nullptr, &ctx) != SCANT_OK) return 1;
    std::printf("%s %s\\n", scant_version(), scant_status_name(SCANT_EINPUT));
    scant_ctx_free(ctx);
}
"""


def run(*command, **more):
    """Runs a command, which must succeed; returns stdout."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        raise AssertionError(f"{shlex.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="scant-test-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.prefix = os.path.join(cls.folder.name, "usr")
        env = {key: value for key, value in os.environ.items() if key != "DESTDIR"}
        run("cmake", "--install", BUILD, "--prefix", cls.prefix, env=env)
        cls.libdir = os.path.dirname(glob.glob(cls.prefix + "/lib*/**/libscant.a", recursive=True)[0])
        cls.env = dict(os.environ, PKG_CONFIG_PATH=cls.libdir + "/pkgconfig", LD_LIBRARY_PATH=cls.libdir)

    def build_and_run(self, compiler, ending, text, pkg_flags, *more):
        source = os.path.join(self.folder.name, "program." + ending)
        program = os.path.join(self.folder.name, "program")
        with open(source, "w", encoding="utf-8") as out:
            out.write(text)
        flags = run("pkg-config", "--cflags", "--libs", *pkg_flags, "scant", env=self.env).split()
        run(compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", program, *flags, *more)
        return run(program, env=self.env), run("readelf", "-d", program)

    def test_a_c_program_links_with_the_shared_library(self):
        out, dynamic = self.build_and_run("gcc", "c", C_PROGRAM, [])
        self.assertEqual(out, run("pkg-config", "--modversion", "scant", env=self.env).strip() + " 2\n")
        self.assertIn("[libscant.so.0]", dynamic)
        self.assertNotIn("openblas", dynamic)

    def test_a_c_program_links_with_the_static_library(self):
        os.makedirs(self.folder.name + "/static", exist_ok=True)
        shutil.copy(self.libdir + "/libscant.a", self.folder.name + "/static")
        flags = ["--static", "--define-variable=libdir=" + self.folder.name + "/static"]
        out, dynamic = self.build_and_run("gcc", "c", C_PROGRAM, flags)
        self.assertTrue(out.endswith(" 2\n"), out)
        self.assertNotIn("libscant", dynamic)

    @unittest.skipUnless(shutil.which("g++"), "no C++ compiler")
    def test_a_cxx_program_links(self):
        out, _ = self.build_and_run("g++", "cpp", CXX_PROGRAM, [])
        self.assertTrue(out.endswith(" EINPUT\n"), out)

    def test_only_the_public_names_are_exported(self):
        table = run("nm", "-D", "--defined-only", self.libdir + "/libscant.so")
        names = [line.split()[-1] for line in table.splitlines()]
        self.assertIn("scant_select", names)
        self.assertEqual([n for n in names if not n.startswith("scant_") or n.startswith("scant__")], [])

    def test_the_program_its_man_page_and_its_completion_work(self):
        program = self.prefix + "/bin/scant"
        self.assertIn("select", run(program, "--help"))
        with open(self.prefix + "/share/man/man1/scant.1", encoding="utf-8") as page:
            self.assertIn(".TH", page.read().replace(".Dt", ".TH"))
        if shutil.which("mandoc"):
            run("mandoc", "-T", "lint", "-W", "warning", self.prefix + "/share/man/man1/scant.1")
        completion = self.prefix + "/share/bash-completion/completions/scant"
        words = run("bash", "-c", f"source {shlex.quote(completion)} && complete -p scant")
        self.assertIn("scant", words)

    def test_destdir_does_not_appear_in_the_files(self):
        stage = os.path.join(self.folder.name, "stage")
        run("cmake", "--install", BUILD, "--prefix", "/opt/scant", env=dict(os.environ, DESTDIR=stage))
        self.assertTrue(os.path.exists(stage + "/opt/scant/include/scant/scant.h"))
        found = glob.glob(stage + "/opt/scant/lib*/**/scant.pc", recursive=True)
        with open(found[0], encoding="utf-8") as text:
            self.assertIn("prefix=/opt/scant\n", text.read())


if __name__ == "__main__":
    unittest.main()
