"""References to resources: full URLs, partial paths and bare names are the same thing to Google."""

import re


def last_part(reference: str) -> str:
    """The resource's own name: what follows the last slash."""
    return reference.rstrip("/").rpartition("/")[2]


def relative(reference: str, project: str, collection: str) -> str:
    """`projects/P/<collection>/NAME` from a URL, a path from `projects/` on, a shorter path, or a name."""
    found = re.search(r"projects/.+$", reference)
    if found:
        return found.group(0)
    if "/" in reference:
        return f"projects/{project}/{reference.lstrip('/')}"
    return f"projects/{project}/{collection}/{reference}"


def same_resource(one: object, other: object) -> bool:
    """Whether two references mean one resource: equal from `projects/` on, or one is just the other's name."""
    if not isinstance(one, str) or not isinstance(other, str):
        return one == other
    if "/" in one and "/" in other:
        return _from_projects(one) == _from_projects(other)
    return last_part(one) == last_part(other)


def stable(link: str) -> str:
    """A self link with the stable version of the API, as the plugin keeps it in its state."""
    return re.sub(r"/compute/(beta|alpha|v1)/", "/compute/v1/", link)


def _from_projects(reference: str) -> str:
    found = re.search(r"(projects|organizations|folders)/.+$", reference)
    return found.group(0) if found else reference
