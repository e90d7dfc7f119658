"""What an answer may be off by where sites keep something back: bounds, shares, remainders.

Numbers and numpy columns only. Open ``error_bound`` first: what is asked. Then ``withholding``,
what keeping a key back costs, and ``remainder``, how that adds up; the proof is there.
``share_table`` has how an absolute bound is dealt out.
"""
