"""A call in a process of its own, for work that is mostly Python: on threads it would wait for other work.

The parent writes the call to the child's standard input. The child answers with pickled messages, several per second:
what it has written to some arrays so far, and at last what the call returned or raised.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from monmdp.errors import MonMDPError

#: Seconds between two messages of a child.
EVERY = 0.2
#: A child uses one core, and leaves an accelerator alone, unless the user's own settings say otherwise.
SETTINGS = {
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


class NotSentError(MonMDPError):
    """A call that a new process cannot make, since it knows a class only by the script or notebook that defines it."""


def called_apart(call: Callable[[], Any], arrays: Sequence[np.ndarray], stop: np.ndarray) -> Any:
    """What a call without arguments returns in a new process, or None if stop [1] was not zero before its end.

    arrays: some that the call contains and changes; they change here too.
    """
    try:
        sent = pickle.dumps(sys.path) + pickle.dumps((call, list(arrays)))
    except Exception as error:  # objects of a user
        raise NotSentError(str(error)) from None
    command = [sys.executable, "-c", f"from {__name__} import serve; serve()"]
    pipe, settings = subprocess.PIPE, {**SETTINGS, **os.environ}
    # in a session of its own, so that Ctrl-C is heard by this process only
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=settings, start_new_session=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(sent)
            child.stdin.close()
            while not stop[0]:
                done, values, result = pickle.load(child.stdout)
                if isinstance(result, Exception):
                    raise result
                for own, theirs in zip(arrays, values, strict=True):
                    own[...] = theirs
                if done:
                    return result
        except (EOFError, BrokenPipeError):
            raise MonMDPError(f"A process ended with code {child.wait()}, perhaps for lack of memory.") from None
        finally:
            child.kill()
    return None


def serve() -> None:
    """Make the call on standard input; what it prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def answer(done: bool, arrays: Sequence[np.ndarray], result: Any) -> None:
        try:
            pickle.dump((done, arrays, result), answers)
            answers.flush()
        except BrokenPipeError:  # the parent has ended
            os._exit(1)

    sys.path[:] = pickle.load(sys.stdin.buffer)
    try:
        call, arrays = pickle.load(sys.stdin.buffer)
    except Exception as error:  # modules of a user can raise anything
        return answer(True, [], NotSentError(str(error)))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(call)
        while not wait([future], EVERY).done:
            answer(False, arrays, None)
    failure = future.exception()
    return answer(True, arrays, future.result() if failure is None else failure)
