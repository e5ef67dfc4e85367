"""Detection rules of Sigma (sigmahq.io), read by pySigma, which the extra `sigma` installs."""

from tamis.dialects.sigma.converting import convert, needed
from tamis.dialects.sigma.reading import documents

__all__ = ["convert", "documents", "needed"]
