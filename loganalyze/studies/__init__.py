"""Studies over several runs: baseline, single-variable sweep, before/after, engine against engine.

Each study is a pure function from runs to a result record that says what was decided, why, and what to do next;
``loganalyze.reports.study_text`` and friends print it.
"""
