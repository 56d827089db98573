"""Made-up data in the formats that programs of script/abroad-cpp read."""

import random
import struct
import zlib


def mnist(folder, train=60000, test=10000):
    """The files of MNIST, with its sizes, which LibTorch's reader insists on: bands whose place is the label, below noise."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    bands = [bytes(200 if row // 3 == label else 0 for row in range(28) for _ in range(28)) for label in range(10)]
    for part, count in (("train", train), ("t10k", test)):
        labels = bytes(draw.randrange(10) for _ in range(count))
        with open(folder / f"{part}-images-idx3-ubyte", "wb") as file:
            file.write(struct.pack(">IIII", 2051, count, 28, 28))
            for label in labels:
                noise = draw.randbytes(28)
                file.write(b"".join(bytes(noise) if row == noise[0] % 28 else bands[label][28 * row:28 * row + 28] for row in range(28)))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels)


def cifar10(folder, count=1000):
    """The binary files of CIFAR-10, each with COUNT images."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    for name in (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"):
        (folder / name).write_bytes(b"".join(bytes([label := draw.randrange(10)]) + bytes([25 * label]) * 1024 + draw.randbytes(2048) for _ in range(count)))


def image(draw, size, hue):
    """A PNG: a disc of one hue, at some place, below noise."""
    x, y, radius = (draw.randrange(size // 4, size // 2) for _ in range(3))
    rows = []
    for row in range(size):
        noise = draw.randbytes(3)
        rows.append(b"\0" + b"".join(hue if (row - y) ** 2 + (column - x) ** 2 < radius * radius else noise for column in range(size)))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")


def images(folder, count=16, size=64, classes=0):
    """COUNT images, or as many for each of CLASSES, in a folder of its own, class0 and on."""
    draw = random.Random(0)
    for label in range(max(classes, 1)):
        place = folder / f"class{label}" if classes else folder
        place.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            (place / f"{number:03}.png").write_bytes(image(draw, size, bytes(draw.randrange(256) for _ in range(3)) if not classes else bytes([20 * label + 40] * 3)))


def text(path, lines=200):
    """Sentences of few words, which a small model of language can learn."""
    draw = random.Random(0)
    nouns, verbs = ["the cat", "a dog", "one bird", "the child", "an old man"], ["sees", "follows", "likes", "does not find"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f" {draw.choice(nouns)} {draw.choice(verbs)} {draw.choice(nouns)} \n" for _ in range(lines)))


def tokens(path, count=20000, vocabulary=65):
    """Numbers of tokens, 16 bits each: a walk through the vocabulary."""
    draw = random.Random(0)
    path.parent.mkdir(parents=True, exist_ok=True)
    token, walk = 0, []
    for _ in range(count):
        token = (token + draw.choice((1, 1, 2))) % vocabulary
        walk.append(token)
    path.write_bytes(struct.pack(f"<{count}H", *walk))


def make(wanted, folder):
    """Each of WANTED is a list: a function of this file, the path in FOLDER, its further arguments."""
    for kind, path, *further in wanted:
        {"mnist": mnist, "cifar10": cifar10, "images": images, "text": text, "tokens": tokens}[kind](folder / path, *further)
