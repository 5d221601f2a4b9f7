"""Grammar engine: ``grammars/*.lark`` are the only description of line shapes.

A *line rule* is a Lark rule with ``// sample:`` comments directly above it. Inside a line rule every sub-rule whose
name does not start with ``_`` is a *field*: its text is captured. Its type follows from its terminal (``INT`` int,
``INT_COMMA`` int with thousands separators, ``FLOAT`` float incl. inf/nan, ``DECIMAL`` float with comma or dot,
``NUMBER`` both, anything else str). Rules that start with ``_`` only group. ``%ignore`` of blanks is assumed: blanks
may stand before every token.

Comments above a rule::

    // since: b195          free text, shown by ``formats``
    // until: b528
    // sample: <a whole line>   at least one; each must be taken by this rule and by no other of any grammar
    // literal: <text>      overrides the derived pre-selection literal (repeatable; one of them must be in every line);
                            five bytes or more, rare in other text, for large logs are searched for those fastest
    // anywhere             the rule starts with a string (or several to choose from) and may start in mid-line

``loganalyze.grammar.build`` derives one regular expression, the field types and the pre-selection literals of every
line rule with Lark and writes ``loganalyze/grammar/derived/<name>.py``, which is shipped. Nothing at run time imports
Lark; ``loganalyze.grammar.reference`` parses with Lark itself and tests prove that both give the same fields.
"""

from loganalyze.grammar.match import Match, Matcher, Rule

__all__ = ["Match", "Matcher", "Rule"]
