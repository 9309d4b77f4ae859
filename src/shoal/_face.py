"""Whether estimators have scikit-learn's face: asked for, or not, before they are loaded."""

wanted = True
"""Set by the command line, for `shoal fit`, in a process of its own; nobody else has a reason to."""
