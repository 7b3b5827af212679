"""The systems we compare with, one module each.

Each has `VERSION` and `cases(threads)`: a dictionary from the name of a case (or `case@way`) to a
function that prepares it. The function returns the statement to time, as source text, and the names
it uses; as text, the loop around it costs no extra Python call.
"""
