"""Draws a picture of strokes and texts, which standard input holds as JSON, into the PNG that is named.

Run by a Python that has Pillow: Paddle brings it. Python 3.8, nothing of this package is imported.
"""

from __future__ import annotations

import json
import sys

from PIL import Image, ImageDraw, ImageFont  # type: ignore[import-not-found]

PIXELS = 2  # for each point of the picture: sharp on today's screens
FINER = 3  # drawn so much larger and made smaller again, no line has steps


def main() -> None:
    """Draw it."""
    picture = json.load(sys.stdin)
    k = PIXELS * FINER
    image = Image.new("RGB", (picture["width"] * k, picture["height"] * k), "white")
    pen = ImageDraw.Draw(image)
    for stroke in picture["strokes"]:
        points = [(x * k, y * k) for x, y in stroke["points"]]
        if len(points) > 1:
            pen.line(points, fill=stroke["color"], width=round(stroke["width"] * k), joint="curve")
        else:
            (x, y), r = points[0], stroke["width"] * k / 2
            pen.ellipse((x - r, y - r, x + r, y + r), fill=stroke["color"])
    for text in picture["texts"]:
        x, y = text["at"]
        font = ImageFont.load_default(text["size"] * k)
        pen.text((x * k, y * k), text["words"], fill=text["color"], font=font, anchor=text["anchor"] + "m")
    size = (picture["width"] * PIXELS, picture["height"] * PIXELS)
    image.resize(size, Image.LANCZOS).save(sys.argv[1])


if __name__ == "__main__":
    main()
