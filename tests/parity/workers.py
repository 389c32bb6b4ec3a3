# SPDX-License-Identifier: Apache-2.0
"""Worker processes that share the caller's memory and end cleanly with Ctrl-C."""
import contextlib
import multiprocessing
import signal


@contextlib.contextmanager
def workers(processes):
    """A pool of forked processes, which inherit the caller's data. Only the caller gets Ctrl-C, as
    KeyboardInterrupt; the processes are ended on leaving, and a second Ctrl-C does not disturb
    that."""
    pool = multiprocessing.get_context("fork").Pool(processes, signal.signal,
                                                    (signal.SIGINT, signal.SIG_IGN))
    try:
        yield pool
    finally:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        pool.terminate()
        pool.join()
        signal.signal(signal.SIGINT, before)
