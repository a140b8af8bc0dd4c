"""The worker's part of `live`, `fanout` and `flood`, as a program: see `bench/emitted.py`.

`python -m bench.emitter AGENTS STEPS_PER_SECOND`: makes the team, prints `{"team": slug}`, then for each line `SECONDS` on
standard input emits for so long and prints `{"last": {agent: number}}`.
"""

import sys
from importlib import import_module

import django

if __name__ == "__main__":
    django.setup()
    import_module("bench.emitted").run(int(sys.argv[1]), float(sys.argv[2]))  # it reads models, which there are only now
