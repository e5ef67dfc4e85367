"""Detection rules of Sigma (sigmahq.io), read by pySigma, which the extra `sigma` installs."""

from tamis.dialects.sigma.rule import convert, documents, needed

__all__ = ["convert", "documents", "needed"]
