"""Shoal Studio: open a table, explore privacy levels on made-up rows, release once, in a browser.

`workshop` is what a studio does, without any page; `access` says who may do it; `pages` shows it.
"""
