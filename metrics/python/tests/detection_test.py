"""Boxes against pycocotools' numbers, segments and masks against TorchMetrics."""

import contextlib
import importlib.util
import io
import itertools

import pytest
import torch
import torchmetrics.detection
import torchmetrics.functional.segmentation
import torchmetrics.segmentation

import devsan.metrics as ours
import devsan.metrics.functional as functional
from common import Operators, assert_same

# What pycocotools 2.0.11 makes of images(); by_pycocotools() makes them again where it is installed.
EXPECTED = {
    (25, 3): {"map": 0.23612776526012247, "map_50": 0.42924430691164306, "map_75": 0.2074972031737918, "map_small": 0.2937500041771896,
              "map_medium": 0.14846944859321096, "map_large": 0.3893941537010844, "mar_1": 0.29649969078540506, "mar_10": 0.3833951762523191,
              "mar_100": 0.3833951762523191, "mar_small": 0.40591269841269834, "mar_medium": 0.27810457516339865, "mar_large": 0.46285714285714286},
    (60, 4): {"map": 0.20102031193762368, "map_50": 0.43422163224744265, "map_75": 0.18342246496726902, "map_small": 0.2134108757416641,
              "map_medium": 0.21832739671126386, "map_large": 0.308138359699052, "mar_1": 0.25499138737714133, "mar_10": 0.36818952041893765,
              "mar_100": 0.36818952041893765, "mar_small": 0.37574471894020767, "mar_medium": 0.38201680672268906, "mar_large": 0.38962695199537306},
}  # fmt: skip
STATS = ("map", "map_50", "map_75", "map_small", "map_medium", "map_large", "mar_1", "mar_10", "mar_100", "mar_small", "mar_medium", "mar_large")


def numbers(seed):
    """Fractions in [0, 1), the same on every machine and with every release."""
    state = seed
    while True:
        state = (1103515245 * state + 12345) % 2**31
        yield (state >> 8) / 2**23


def images(n, seed, classes=7):
    """Boxes as xywh with some that are found well, badly, twice or not, of all sizes; and crowds."""
    draw = numbers(seed)
    preds, target = [], []
    for _ in range(n):
        boxes, labels, crowd, area = [], [], [], []
        found, scores, found_labels = [], [], []
        for _ in range(int(next(draw) * 12)):
            size = 4 * 2 ** (6 * next(draw))
            box = [next(draw) * 500, next(draw) * 400, size * (0.5 + next(draw)), size * (0.5 + next(draw))]
            boxes.append(box)
            labels.append(int(next(draw) ** 2 * classes))
            crowd.append(int(next(draw) < 0.08))
            area.append(box[2] * box[3] * (0.4 + 0.6 * next(draw)) if next(draw) < 0.7 else 0.0)
            for _ in range(int(next(draw) * 3)):
                off = [(next(draw) - 0.5) * 0.5 * size * next(draw) for _ in range(4)]
                found.append([side + move for side, move in zip(box, off)])
                scores.append(round(next(draw), 2))  # with ties
                found_labels.append(labels[-1] if next(draw) < 0.9 else int(next(draw) * classes))
        for _ in range(int(next(draw) * 4)):
            found.append([next(draw) * 500, next(draw) * 400, 100 * next(draw), 100 * next(draw)])
            scores.append(round(next(draw), 2))
            found_labels.append(int(next(draw) * classes))
        preds.append({"boxes": torch.tensor(found).reshape(-1, 4), "scores": torch.tensor(scores), "labels": torch.tensor(found_labels, dtype=torch.int64)})
        target.append({"boxes": torch.tensor(boxes).reshape(-1, 4), "labels": torch.tensor(labels, dtype=torch.int64),
                       "iscrowd": torch.tensor(crowd, dtype=torch.int64), "area": torch.tensor(area)})  # fmt: skip
    return preds, target


def by_pycocotools(preds, target, max_detections=(1, 10, 100), one_class=False):
    """{name: number}, and of each class by its label (map, mar_100)."""
    import pycocotools.coco
    import pycocotools.cocoeval

    def dataset(images, scored):
        annotations = []
        for image, entries in enumerate(images):
            for i, box in enumerate(entries["boxes"].tolist()):
                area = 0 if scored else entries["area"][i].item()
                annotation = {"id": len(annotations) + 1, "image_id": image, "bbox": box, "area": area or box[2] * box[3]}
                annotation |= {"category_id": 0 if one_class else entries["labels"][i].item(), "iscrowd": 0 if scored else entries["iscrowd"][i].item()}
                annotations.append(annotation | ({"score": entries["scores"][i].item()} if scored else {}))
        coco = pycocotools.coco.COCO()
        coco.dataset = {"images": [{"id": i} for i in range(len(images))], "annotations": annotations,
                        "categories": [{"id": label} for label in labels]}  # fmt: skip
        coco.createIndex()
        return coco

    labels = torch.cat([entries["labels"] for entries in (*preds, *target)]).unique().tolist()
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation = pycocotools.cocoeval.COCOeval(dataset(target, False), dataset(preds, True), "bbox")
        evaluation.params.maxDets = list(max_detections)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    precision, recall = evaluation.eval["precision"][:, :, :, 0, -1], evaluation.eval["recall"][:, :, 0, -1]

    def mean(values):
        return values[values > -1].mean() if (values > -1).any() else -1.0

    classes = [(mean(precision[:, :, k]), mean(recall[:, k])) for k in range(precision.shape[2])]
    return dict(zip(STATS, map(float, evaluation.stats))), classes


def moved(images, box_format):
    """The same boxes in another format, in float64, so that none is rounded."""

    def boxes(given):
        x, y, width, height = given.double().unbind(1)
        corners = {"xywh": (x, y, width, height), "xyxy": (x, y, x + width, y + height)}
        return torch.stack(corners.get(box_format, (x + width / 2, y + height / 2, width, height)), 1)

    return [image | {"boxes": boxes(image["boxes"])} for image in images]


def of_ours(preds, target, **options):
    return ours.MeanAveragePrecision(box_format="xywh", dtype=torch.float64, **options)(preds, target)


def test_boxes_as_in_pycocotools_kept():
    for (n, seed), expected in EXPECTED.items():
        found = of_ours(*images(n, seed))
        for name in STATS:
            assert found[name].item() == pytest.approx(expected[name], abs=1e-9), name


needs_pycocotools = pytest.mark.skipif(not importlib.util.find_spec("pycocotools"), reason="pip install pycocotools to compare with it")


@needs_pycocotools
def test_kept_numbers_are_those_of_pycocotools():
    for (n, seed), expected in EXPECTED.items():
        assert by_pycocotools(*images(n, seed))[0] == pytest.approx(expected, abs=1e-12)


@needs_pycocotools
@pytest.mark.parametrize("seed", range(6))
def test_boxes_as_in_pycocotools(seed):
    preds, target = images(40, 100 + seed)
    expected, classes = by_pycocotools(preds, target)
    found = of_ours(preds, target, class_metrics=True)
    assert {name: found[name].item() for name in STATS} == pytest.approx(expected, abs=1e-9)
    assert found["map_per_class"].tolist() == pytest.approx([values[0] for values in classes], abs=1e-9)
    assert found["mar_100_per_class"].tolist() == pytest.approx([values[1] for values in classes], abs=1e-9)
    few = by_pycocotools(preds, target, (1, 2, 100))[0]
    found = of_ours(preds, target, max_detection_thresholds=[100, 2, 1])
    assert found["mar_2"].item() == pytest.approx(few["mar_10"], abs=1e-9)
    micro = by_pycocotools(preds, target, one_class=True)[0]
    found = of_ours(preds, target, average="micro")
    assert {name: found[name].item() for name in STATS} == pytest.approx(micro, abs=1e-9)


def test_boxes_of_every_format_and_in_any_parts():
    preds, target = images(30, 1)
    expected = of_ours(preds, target)
    for box_format in ("xyxy", "xywh", "cxcywh"):
        metric = ours.MeanAveragePrecision(box_format=box_format, dtype=torch.float64)
        other = metric.clone()
        metric.update(moved(preds[:11], box_format), moved(target[:11], box_format))
        other.update(moved(preds[11:], box_format), moved(target[11:], box_format))
        metric.merge_state(other)
        found = metric.compute()
        assert {name: value.item() for name, value in found.items() if name in STATS} == pytest.approx(
            {name: expected[name].item() for name in STATS}, abs=1e-3
        )
    collection = ours.MetricCollection({"boxes": ours.MeanAveragePrecision(box_format="xywh")})
    collection.update(preds, target)
    assert collection.compute()["map"].item() == pytest.approx(expected["map"].item())


def test_boxes_are_refused_in_torchmetrics_words():
    good = {"boxes": torch.rand(1, 4), "scores": torch.rand(1), "labels": torch.zeros(1, dtype=torch.int64)}
    metric = ours.MeanAveragePrecision()
    for preds, target, text in (
        (good, [good], "Expected argument `preds` to be of type Sequence"),
        ([good], [], "Expected argument `preds` and `target` to have the same length, but got 1 and 0"),
        ([{"boxes": good["boxes"]}], [good], "Expected all dicts in `preds` to contain the `scores` key"),
        ([good | {"boxes": [1, 2, 3, 4]}], [good], "Expected all boxes in `preds` to be of type Tensor"),
        ([good], [good | {"labels": torch.zeros(2, dtype=torch.int64)}], "Input 'boxes' and labels of sample 0 in targets have a different length"),
    ):
        with pytest.raises(ValueError, match=text.replace("(", r"\(")):
            metric.update(preds, target)
    assert metric.update_count == 0


def test_segments_as_in_torchmetrics():  # whose ratios are float32
    generator = torch.Generator().manual_seed(1)
    for unknown, seed in itertools.product((False, True), range(3)):
        table = torch.tensor([3, 11, 6, 40, 99 if unknown else 3])
        blocks = [torch.stack([table[torch.randint(5, (4, 3, 3), generator=generator)], torch.randint(3, (4, 3, 3), generator=generator)], -1) for _ in range(2)]
        target, other = (block.repeat_interleave(4, 1).repeat_interleave(5, 2) for block in blocks)
        preds = torch.where(torch.rand(4, 12, 15, 1, generator=generator) < 0.25, other, target)
        given = {"things": {3, 11}, "stuffs": {6, 40}, "allow_unknown_preds_category": unknown}
        for more in ({}, {"return_sq_and_rq": True}, {"return_per_class": True}, {"return_sq_and_rq": True, "return_per_class": True}):
            expected = torchmetrics.detection.PanopticQuality(**given, **more)(preds, target)
            metric = ours.PanopticQuality(**given, **more)
            metric.update(preds[:1], target[:1])
            metric.update(preds[1:], target[1:])
            assert metric.compute().dtype == expected.dtype and metric.compute().shape == expected.shape
            assert_same(metric.compute(), expected)
            assert_same(functional.panoptic_quality(preds, target, **given, **more), expected)
        assert_same(ours.ModifiedPanopticQuality(**given)(preds, target), torchmetrics.detection.ModifiedPanopticQuality(**given)(preds, target))


@pytest.mark.parametrize("sizes", [(9,), (3, 4), (1, 9), (2, 3, 4), (2, 3, 4, 5)])
def test_indices_of_one_image_or_several_as_in_torchmetrics(sizes):
    generator = torch.Generator().manual_seed(3)
    preds, target = (torch.randint(3, sizes, generator=generator) for _ in range(2))
    given = {"num_classes": 4, "input_format": "index"}
    for each in (False, True):
        expected = torchmetrics.functional.segmentation.mean_iou(preds, target, **given, per_class=each)
        assert_same(functional.mean_iou(preds, target, **given, per_class=each), expected)
        mine, other = ours.MeanIoU(**given, per_class=each), torchmetrics.segmentation.MeanIoU(**given, per_class=each)
        for metric in (mine, other):
            metric.update(preds, target)
            metric.update(target, target)
        assert_same(mine.compute(), other.compute())


def test_masks_as_in_torchmetrics():
    generator = torch.Generator().manual_seed(2)
    scores, indices = torch.rand(4, 5, 6, 7, generator=generator), torch.randint(4, (4, 6, 7), generator=generator)
    mask = torch.rand(4, 5, 6, 7, generator=generator) < 0.3
    for (preds, target, input_format), background, each in itertools.product(
        ((scores, mask.long(), "one-hot"), (mask.long(), mask.roll(1, 2).long(), "one-hot"), (scores.argmax(1), indices, "index"), (scores, indices, "mixed")),
        (True, False), (True, False),
    ):  # fmt: skip
        given = {"num_classes": 5, "include_background": background, "per_class": each, "input_format": input_format}
        assert_same(functional.mean_iou(preds, target, **given), torchmetrics.functional.segmentation.mean_iou(preds, target, **given))
        assert_same(ours.MeanIoU(**given)(preds, target), torchmetrics.segmentation.MeanIoU(**given)(preds, target))


def test_what_some_images_leave_out():
    """Crowds and areas that are not given are none, and cost no operator of their image."""
    preds, target = images(12, 5)
    for i, image in enumerate(target):
        if i % 3:
            image["iscrowd"].zero_()
        if i % 2:
            image["area"].zero_()
    partial = [
        {key: value for key, value in image.items() if not (key == "iscrowd" and i % 3 or key == "area" and i % 2)}
        for i, image in enumerate(target)
    ]
    partial[0]["iscrowd"] = partial[0]["iscrowd"].bool()
    assert_same(of_ours(preds, partial), of_ours(preds, target), 0, 0)

    def work(images):
        metric = ours.MeanAveragePrecision()
        with Operators() as operators:
            metric.update([image | {} for image in images], [{"boxes": image["boxes"], "labels": image["labels"]} for image in images])
        return len(operators.work())

    one = {"boxes": torch.rand(3, 4), "scores": torch.rand(3), "labels": torch.ones(3, dtype=torch.int64)}
    on_meta = {key: value.to("meta") for key, value in one.items()}
    assert work([on_meta]) == work([on_meta] * 50)
