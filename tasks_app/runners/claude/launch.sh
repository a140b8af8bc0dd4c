#!/bin/sh
# The SDK takes one path to "the CLI": this is it. All the work is done by start_process.py, in the worker's own Python
# (isolated, without site-packages: 15 ms), because only it can drop variables whatever their names and values are.
exec "$CREWDESK_PYTHON" -I -S "$CREWDESK_STARTER" "$@"
