"""Is a disk made from the image that a program asks for? Programs name families; a disk has one image of a family."""

import re


def same_image(found: object, wanted: object) -> bool:
    """Whether the image of a disk is the wanted one, or one of the wanted family as far as names tell.

    Args:
        found: the API's link to an image, `.../projects/P/global/images/NAME`.
        wanted: what a program may say: a link, `projects/P/global/images/[family/]X`, `P/X`, or just `X`.
    """
    if not isinstance(found, str) or not isinstance(wanted, str):
        return found == wanted
    image = re.search(r"projects/([^/]+)/global/images/([^/]+)$", found)
    if image is None:
        return found == wanted
    asked = re.fullmatch(
        r"(?:.*projects/)?(?:(?P<project>[^/]+)/)?(?:global/images/)?(?P<f>family/)?(?P<name>[^/]+)", wanted
    )
    if asked is None or asked["project"] not in (None, image[1], "global", "images"):
        return False
    return (image[2] == asked["name"] and not asked["f"]) or _is_of_family(image[2], asked["name"])


def _is_of_family(image: str, family: str) -> bool:
    """`debian-12-bookworm-v20261014` is of `debian-12`; an ARM image is only of a family that says so."""
    for suffix in ("-arm64", "-amd64"):
        bare = family.removesuffix(suffix)
        if bare != family:
            return bare in image and suffix in image
    return family in image and not re.search("-(arm64|amd64)", image)
