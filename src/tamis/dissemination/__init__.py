"""How messages travel to those they are for: content-driven networks (Chandramouli & Yang 2008, §2.1, §5).

payloads/   bulky contents that a link carries once: directory and repository of a CN* node
"""
