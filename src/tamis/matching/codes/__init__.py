"""Common ground of all matchers over integer codes: encoding of values, lowering of filters to intervals and tests,
levels and their files.

The constant of rank r has the code 2r + 1, a value between two constants the even code between theirs.
"""
