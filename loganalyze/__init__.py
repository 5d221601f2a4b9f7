"""Says why a local LLM run is slow: slow reading, slow writing, or swapping."""

__version__ = "0.1.0"
