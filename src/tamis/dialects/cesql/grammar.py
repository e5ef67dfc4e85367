"""The grammar of CESQL 1.0 (§2), with the precedence of §3.6 in the order of its rules: what binds loosest comes first.

Words of the language are words whatever case they are in, and names where they are part of a longer one.
"""

from typing import Final

GRAMMAR: Final = r"""
?start: logic

?logic: comparison (_logic_operator comparison)*                -> logic
_logic_operator: AND | OR | XOR

?comparison: sum | comparison COMPARED sum                      -> comparison
?sum: product | sum (PLUS | MINUS) product                      -> arithmetic
?product: tested | product (TIMES | DIVIDED | REMAINDER) tested -> arithmetic

?tested: signed
       | tested [NOT] LIKE STRING                               -> like
       | tested [NOT] IN "(" logic ("," logic)* ")"             -> within

?signed: operated
       | DIGITS                                                 -> integer

?operated: primary
         | NOT signed                                           -> negation
         | MINUS operated                                       -> minus
         | (MINUS | PLUS) DIGITS                                -> signed_integer

?primary: STRING                                                -> string
        | (TRUE | FALSE)                                        -> boolean
        | NAME                                                  -> attribute
        | EXISTS (NAME | DIGITS)                                -> exists
        | NAME "(" [logic ("," logic)*] CLOSING                 -> call
        | "(" logic ")"

CLOSING: ")"
COMPARED: "=" | "!=" | "<>" | "<=" | ">=" | "<" | ">"
PLUS: "+"
MINUS: "-"
TIMES: "*"
DIVIDED: "/"
REMAINDER: "%"

AND.2: /and(?!\w)/i
OR.2: /or(?!\w)/i
XOR.2: /xor(?!\w)/i
NOT.2: /not(?!\w)/i
LIKE.2: /like(?!\w)/i
IN.2: /in(?!\w)/i
EXISTS.2: /exists(?!\w)/i
TRUE.2: /true(?!\w)/i
FALSE.2: /false(?!\w)/i
DIGITS.2: /[0-9]+(?!\w)/
NAME: /[A-Za-z0-9_]+/

STRING: /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/s

%ignore /[ \t\r\n]+/
"""
