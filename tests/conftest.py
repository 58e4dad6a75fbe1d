"""The order of test files, so that with several workers one compiles what the others load from the disk cache.

The first file compiles the kernels of all agents. Networks, which share no code with them, follow on the next worker,
files that use the same programs one after the other.
Pages of the docs come last, and find everything compiled.
"""

FIRST = ("learning/test_twins.py", "test_deep_training.py", "tests/deep/")
LAST = ("test_deep_inside.py", "test_tutorials.py", "test_docs.py")


def pytest_collection_modifyitems(items):
    """Sort by file; those that are not named here keep their order in between."""
    items.sort(key=lambda item: ([part not in item.nodeid for part in FIRST], [part in item.nodeid for part in LAST]))
