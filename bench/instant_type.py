"""The task type of the benchmarks: no Claude process, the runner only waits and reports."""

PREFIX = "b"
RUNNER = "instant"
LABEL = "Benchmark"
