"""Bounds of the scan room."""

from __future__ import annotations

# 256 KiB reads stay in the second-level cache while they are searched; larger ones were slower.
READ_BYTES = 256 << 10
# A piece of text without a line end is kept up to here; the longest line seen in a real log was 240 KB.
LINE_BYTES = 1 << 20
# First decoded bytes shown to those who choose a format.
HEAD_BYTES = 128 << 10
# A UTF-16 line of a log shows a NUL within its first 32 characters, and ASCII text glued to UTF-16 shows none.
WINDOW_BYTES = 64

# zlib cannot pack tighter than 1032:1 and logs reach 20 to 200:1, so beyond the first part more than this is a bomb.
MAX_RATIO = 1000
RATIO_FREE_BYTES = 256 << 20
# No log of a local run unpacked comes near this.
MAX_EXPANDED_BYTES = 64 << 30
MAX_PACKED_LAYERS = 2
# xz and zstd let the file choose how much memory unpacking takes; levels of the command line tools need up to 128 MiB.
UNPACK_MEMORY_BYTES = 256 << 20
