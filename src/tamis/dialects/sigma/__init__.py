"""Detection rules of Sigma (sigmahq.io), read by pySigma, which the extra `sigma` installs."""

from tamis.dialects.sigma.converting import convert
from tamis.dialects.sigma.documents import documents
from tamis.dialects.sigma.needs import needed

__all__ = ["convert", "documents", "needed"]
