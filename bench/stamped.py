"""Importing this makes the process note its stages (`bench.stamps`); for workers."""

from bench import stamps

stamps.watch()
