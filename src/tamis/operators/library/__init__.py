"""Library of operators that come with Tamis: spatial, images, reasoning, text.

None is imported before it is asked for: by its module, or by its name as an installed package's would be
(`tamis.operators.installed("loc_in")`, or `operators=["loc_in"]` where an index is compiled). Their data (regions,
detectors, ontologies) is loaded at the first call, once a process.
"""
