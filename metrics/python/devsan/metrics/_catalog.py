"""Makes the classes and functions of devsan.metrics from what the metrics in C++ say about themselves.

Their arguments are the options in C++, with TorchMetrics' names, order and defaults. Two things are added: `validate_args`, and the
arguments of every metric.
"""

import functools
import sys
import sysconfig
import textwrap
from collections import namedtuple
from inspect import Parameter, Signature
from pathlib import Path

import torch  # before the module that is linked to it

_BUILDS = Path(__file__).with_name("_for")  # of each PyTorch a folder


def _refuse(why):
    built = sorted((path.name for path in _BUILDS.glob("*")), key=lambda name: [int(part) for part in name.split(".")]) or ["none"]
    return ImportError(
        f"devsan.metrics is built for PyTorch {', '.join(built)}, and not for Python {sys.version.split()[0]} with PyTorch {torch.__version__}: "
        f"{why}; install that PyTorch (pip install torch=={built[-1]}), or build a wheel for this one from a checkout of DevSan: "
        "pip install --no-build-isolation ."
    )


# Before the module is loaded, which another PyTorch can make crash, and a Python whose objects have another layout.
_release = torch.__version__.partition("+")[0]
if not (_BUILDS / _release).is_dir():
    raise _refuse("its classes in C++ are laid out otherwise")
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise _refuse("a Python without the GIL lays out its objects otherwise")
sys.modules[__package__].__path__.insert(0, str(_BUILDS / _release))
try:
    from devsan.metrics import _metrics
except ImportError as error:
    raise _refuse(error) from error
from devsan.metrics._metrics import MetricError
from devsan.metrics.metric import Metric

DOMAINS = ("aggregation", "classification", "detection", "image", "regression", "retrieval", "segmentation", "text")
TASKS = ("Binary", "Multiclass", "Multilabel")

# TorchMetrics' orders: of the classes, of the functional forms of a task, and of those that take the task as an argument.
# Where `average` is None by default, as of curves, it stands elsewhere.
_CLASS_ORDER = (
    "beta num_classes num_labels min_precision min_specificity max_fpr top_k threshold average thresholds curve_average "
    "multidim_average n_bins norm squared multiclass_mode ignore_index normalize weights validate_args zero_division "
    "power log_prob reduction adjusted multioutput variant t_test alternative window nan_strategy num_outputs"
).split()
_FUNCTION_ORDER = (
    "beta num_classes num_labels min_precision min_specificity max_fpr threshold normalize weights average top_k thresholds "
    "curve_average multidim_average n_bins norm squared multiclass_mode ignore_index validate_args zero_division "
    "power log_prob reduction adjusted multioutput variant t_test alternative num_outputs"
).split()
_TASK_ORDER = (
    "task beta min_precision min_specificity n_bins norm thresholds threshold num_classes num_labels squared multiclass_mode "
    "weights normalize average curve_average max_fpr multidim_average top_k ignore_index validate_args zero_division"
).split()
# Of metrics, or modules, whose arguments have an order of their own; of rankings the functional forms have the first ones only.
_SIMILARITY = "reduction data_range k1 k2 return_full_image return_contrast_sensitivity betas normalize"
_PANOPTIC = "things stuffs allow_unknown_preds_category return_sq_and_rq return_per_class"
_CLASS_ORDERS = {
    "MeanAveragePrecision": "box_format iou_type iou_thresholds rec_thresholds max_detection_thresholds class_metrics extended_summary "
    "average backend",
    "MeanIoU": "num_classes include_background per_class input_format",
    "ModifiedPanopticQuality": _PANOPTIC,
    "MultiScaleStructuralSimilarityIndexMeasure": f"gaussian_kernel kernel_size sigma {_SIMILARITY}",
    "PanopticQuality": _PANOPTIC,
    "PeakSignalNoiseRatio": "data_range base reduction dim",
    "image": f"gaussian_kernel sigma kernel_size {_SIMILARITY} num_features",
    "retrieval": "empty_target_action ignore_index top_k adaptive_k aggregation",
}
_FUNCTION_ORDERS = _CLASS_ORDERS | {
    "MultiScaleStructuralSimilarityIndexMeasure": _CLASS_ORDERS["image"],
    "retrieval": "top_k adaptive_k",
}

# Metrics that TorchMetrics has not, of logarithms and squares that probabilities of logits have lost.
_LOGITS_ARE_SAID = ("BrierScore", "LogLoss")

# Metrics that in TorchMetrics have no argument for the number of outputs: the classes, and the functional forms.
_OUTPUTS_OF_CLASSES = ("ExplainedVariance", "R2Score")
_OUTPUTS_OF_FUNCTIONS = _OUTPUTS_OF_CLASSES + (
    "ConcordanceCorrCoef", "KendallRankCorrCoef", "LogCoshError", "PearsonCorrCoef", "SpearmanCorrCoef",
)  # fmt: skip

# Of an argument that means something else in one module, "module.argument".
ARGUMENTS = {
    "task": "'binary', 'multiclass' or 'multilabel'.",
    "beta": "recall weighs as much as `beta` times precision; greater than 0.",
    "num_classes": "number of classes, at least 2.",
    "num_labels": "number of labels, at least 2.",
    "min_precision": "in [0, 1].",
    "min_specificity": "in [0, 1].",
    "max_fpr": "the area up to this false positive rate, in (0, 1], standardised to be 0.5 of chance and 1 at most.",
    "top_k": "a sample counts as right if its target is among the `top_k` highest scores; any other counts for its highest.",
    "retrieval.top_k": "only the documents with the `top_k` highest scores of a query count as found; None: all.",
    "threshold": "probability above which a score means class 1.",
    "average": "over all samples ('micro'), the mean of the classes' scores ('macro'), weighted by their targets "
    "('weighted'), or each class for itself ('none' or None).",
    "thresholds": "a number of thresholds, evenly spaced from 0 to 1, or their values, ascending; None: every score is one. All "
    "inputs are then kept as they are, without a copy, and must not be written to, which `compute()` notices; curves wait for the "
    "device in `compute()`.",
    "multidim_average": "'global': dimensions after the class are samples like the first one; 'samplewise': a score of each sample "
    "of the first dimension, [N, ...]. The counts of each are kept.",
    "curve_average": "of curves one of all samples ('micro'), at all points of the classes' curves the mean of these ('macro'), or each "
    "class for itself (None).",
    "ignore_index": "samples (of several labels: labels) with this target are left out; need not be a class.",
    "normalize": "by the targets ('true'), the predictions ('pred'), all samples ('all'), or not.",
    "weights": "of a confusion of classes i and j: |i - j| ('linear'), (i - j)^2 ('quadratic'), or 1.",
    "zero_division": "the score where it is 0 / 0, in [0, 1].",
    "validate_args": "False: values out of range are never looked at in `update()`; the same as validate='deferred'.",
    "from_logits": "floating scores are logits (True) or probabilities (False). None: those of a batch are logits if one that is not "
    "ignored lies outside [0, 1], as in TorchMetrics; whether it is so is not waited for.",
    "validate": "when values that the metric is not defined for are noticed. 'eager': in `update()`, which throws and leaves the "
    "states as they were, and waits for a device. 'deferred': they are left out and counted; `compute()` throws on the CPU, is NaN "
    "(counts: -1) elsewhere, and `check_valid()` tells. 'auto': eager on the CPU, deferred elsewhere.",
    "weighted": "counts are sums of the samples' weights, the third input of `update()`: real numbers instead of integers, so that "
    "updates on the CPU are slower.",
    "n_bins": "number of bins, of equal width.",
    "norm": "mean difference of the bins ('l1'), root of the mean square ('l2'), or the largest ('max').",
    "squared": "True: the square of the loss.",
    "regression.squared": "False: the root of the mean.",
    "multiclass_mode": "the margin between the target's score and the highest other one ('crammer-singer'), or of each class on its "
    "own ('one-vs-all').",
    "scale_by_half": "half of the sum, which is then in [0, 1].",
    "empty_target_action": "a query without a relevant document (of fall-out: without another one) is 0 ('neg'), 1 ('pos'), left out "
    "('skip'), or an error of `compute()` ('error').",
    "adaptive_k": "where a query has fewer than `top_k` documents, divide by their number.",
    "aggregation": "how the values of the queries become one: by name, or a function that is called with these and dim=0, for which "
    "`compute()` waits for the device.",
    "power": "of the variance as a function of the mean: 0 normal, 1 Poisson, 2 gamma, 3 inverse Gaussian distribution.",
    "log_prob": "inputs are logarithms of probabilities.",
    "reduction": "over the samples. TorchMetrics' 'none' is not offered.",
    "data_range": "how far values can be apart: a number, or the ends of a range that inputs are clamped to.",
    "base": "of the logarithm.",
    "dim": "the dimensions that one ratio is of; None: one ratio of everything seen.",
    "gaussian_kernel": "the window is a Gaussian, otherwise uniform.",
    "sigma": "of the Gaussian: one for all dimensions of an image, or one for each.",
    "kernel_size": "of the uniform window, odd: one for all dimensions of an image, or one for each.",
    "k1": "of the means.",
    "k2": "of the variances.",
    "return_full_image": "keep the similarity at each pixel.",
    "return_contrast_sensitivity": "keep the contrast's part of each image's similarity.",
    "betas": "the exponents of the scales, from the images' own size on.",
    "image.normalize": "what becomes of negative values: 0 ('relu'), (1 + x) / 2 ('simple'), or nothing.",
    "image.reduction": "over the images; 'none' or None: all of them, in the order of the updates.",
    "num_features": "number of features of an image.",
    "adjusted": "the number of regressors that the score is corrected for; 0 for the plain score.",
    "multioutput": "how the scores of several outputs become the result.",
    "variant": "what the surplus of concordant over discordant pairs is related to.",
    "t_test": "the p-value is wanted, too.",
    "alternative": "of the p-value.",
    "window": "of how many updates the value is.",
    "nan_strategy": "NaN is left out with an error, with a warning or silently ('error', 'warn', 'ignore'), is a value like "
    "others ('disable'), or is replaced by a number.",
    "num_outputs": "columns of the inputs, each judged on its own; None: as many as the first batch has.",
    "unbiased": "variances and covariance are divided by N - 1, as in TorchMetrics, or by N, as in the original paper.",
    "dtype": "of the result; float64 needs a device that has it. None: that of torch.get_default_dtype(), if it is one of both.",
    "detection.average": "over the classes ('macro'), or all labels are one class ('micro').",
    "box_format": "what the four numbers of a box are: two opposite corners ('xyxy'), a corner, width and height ('xywh'), or the "
    "centre, width and height ('cxcywh').",
    "iou_type": "masks are not offered.",
    "iou_thresholds": "the overlaps at which a detection is right; None: 0.5, 0.55, ..., 0.95.",
    "rec_thresholds": "the recalls at which the precision is taken; None: 0, 0.01, ..., 1.",
    "max_detection_thresholds": "three numbers of detections of an image and a class, of which those of the best scores are looked at; "
    "None: 1, 10 and 100. Precisions are those of the largest.",
    "class_metrics": "the values of each class are wanted.",
    "extended_summary": "the curves are wanted: precision and scores [T, R, K, A, M], recall [T, K, A, M] (overlap, recall, class, area, "
    "number of detections).",
    "backend": "the protocol is here in C++; pycocotools is not needed.",
    "things": "the categories of things, which can be counted.",
    "stuffs": "the categories of stuff, which cannot; none is in both.",
    "allow_unknown_preds_category": "predictions of other categories are void, as targets of these are; else they are out of range.",
    "return_sq_and_rq": "the segmentation and the recognition quality are wanted, too.",
    "return_per_class": "the result is of each category instead of their mean.",
    "MeanIoU.num_classes": "number of classes; needed for input_format='index' and, of the class, for per_class=True.",
    "include_background": "class 0 counts.",
    "per_class": "the result is of each class instead of all.",
    "input_format": "[N, C, ...], whether a point is of a class, or floating scores ('one-hot'); [N, H, ...], its class, where up to two dimensions are one image's ('index'); or one of "
    "each ('mixed').",
    "accumulation": "format of the states: 'double', 'float_pair', or by default what suits the device.",
}

_LABELS = {
    "Binary": """preds: [N, ...] floating, probabilities of class 1 or, with from_logits, logits; or integer or bool labels.
target: [N, ...] integer or bool, of 0 and 1.""",
    "Multiclass": """preds: [N, num_classes, ...] floating, logits or probabilities, of which only the order counts; or [N, ...] integer labels.
target: [N, ...] integer, of 0 to num_classes - 1.""",
    "Multilabel": """preds: [N, num_labels, ...] floating, probabilities or, with from_logits, logits; or integer or bool labels.
target: [N, num_labels, ...] integer or bool, of 0 and 1.""",
}
_SCORES = {
    "Binary": """preds: [N, ...] floating, probabilities of class 1 or, with from_logits, logits.
target: [N, ...] integer or bool, of 0 and 1.""",
    "Multiclass": """preds: [N, num_classes, ...] floating, probabilities of each class or, with from_logits, logits.
target: [N, ...] integer, of 0 to num_classes - 1.""",
    "Multilabel": """preds: [N, num_labels, ...] floating, probabilities or, with from_logits, logits.
target: [N, num_labels, ...] integer or bool, of 0 and 1.""",
}
_PAIRS = "{}, {}: real tensors of one shape; [N], or [N, num_outputs], where the metric says nothing else. Half and bfloat16 are widened."
_DOCUMENTS = """preds: floating, any shape.
target: as preds, 1 for relevant documents and 0 for others, or graded where the metric says so.
indexes: int64, as preds: which query each document belongs to. A query may be spread over updates. The tensors are kept as they are, without
a copy, and must not be written to, which compute() notices."""
_IMAGES = """preds, target: real tensors of one shape, [N, C, H, W] or [N, C, D, H, W] where the metric is of images, any else."""
_FEATURES = """features: [N, num_features] floating, or [num_features] of one image.
real: bool, which of the two sets they belong to."""
_BOXES = """preds: of each image a dictionary of boxes, real [D, 4], scores, floating [D], and labels, integer [D].
target: of each image a dictionary of boxes, real [G, 4], labels, integer [G], and optionally iscrowd [G], of boxes around many objects, in which
detections count neither as right nor as wrong, and area [G], of the objects; 0 is that of the box. All lie on one device."""
_SEGMENTS = """preds, target: integer [N, ..., 2], of each point its category and its instance, at which is not looked for stuff. Points of other
categories are void."""
_POINTS = """preds, target: see input_format; integers, bool, or floating scores."""
_TOKENS = """preds: [N, T, C] floating, logits.
target: [N, T] integer."""
_COUNT_WEIGHT = (
    "\nweight: with weighted=True, of each sample, real, of the shape of target (of several labels without their dimension; [N] "
    "where samples are right as a whole); None: 1 each."
)
_SAMPLE_WEIGHT = "\nweight: of each sample, real, of the shape of target, or [N] where samples are rows; None: 1 each."
_VALUES = "value: a real tensor of any shape, or a number."
_WEIGHTS = "\nweight: the same, of a shape that broadcasts to that of `value`."
_SHARED = """`update()` and `compute()` never wait for a device, if validate is not 'eager' and nothing else is said; inputs must lie on one
device. `compute()` gives {}, on the device of the states."""

# Of every metric; of some TorchMetrics' default is the only value.
_EVERY = {
    "device_policy": ("follow", "Literal['follow', 'per_device', 'move']"),
    "process_group": (None, "torch.distributed.ProcessGroup | None"),
    "sync_on_compute": (True, "bool"),
    "dist_sync_on_step": (False, "bool"),
    "compute_with_cache": (True, "bool"),
    "distributed_available_fn": (None, "Callable[[], bool] | None"),
}
_EVERY_FIXED = {"compute_on_cpu": (False, "bool"), "dist_sync_fn": (None, "None")}
_FIXED = {"MeanAveragePrecision": {"iou_type": ("bbox", "Literal['bbox']"), "backend": ("pycocotools", "Literal['pycocotools']")}}


def _task(name):
    return next((task for task in TASKS if name.startswith(task)), None)


def _base(name):
    return name[len(_task(name) or "") :]


def _ordered(parameters, order):
    """Those in `order` first, the others by keyword only."""

    def place(item):
        key = f"curve_{item.name}" if item.name == "average" and item.default is None else item.name
        return order.index(key) if key in order else len(order)

    parameters = sorted(parameters, key=place)
    return [item if place(item) < len(order) else item.replace(kind=Parameter.KEYWORD_ONLY) for item in parameters]


def _order(kind, orders, otherwise):
    own = orders.get(kind.name) or orders.get(kind.domain)
    return own.split() if own else otherwise


def _parameter(name, default, annotation):
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def _option_parameters(kind, of_function=False):
    parameters = []
    for argument in kind.arguments:
        default = Parameter.empty if argument.required else argument.default
        if argument.name == "validate" or (argument.name == "from_logits" and _base(kind.name) not in _LOGITS_ARE_SAID):
            default = None
        if argument.name == "num_outputs" and kind.name in (_OUTPUTS_OF_FUNCTIONS if of_function else _OUTPUTS_OF_CLASSES):
            default = None
        if argument.name == "dtype":
            default = None
        annotation = argument.annotation + (" | None" if argument.name in ("validate", "num_outputs", "dtype") else "")
        parameters.append(_parameter(argument.name, default, annotation))
    if kind.domain == "classification":
        parameters.append(_parameter("validate_args", True, "bool"))
    return parameters + [_parameter(name, *fixed) for name, fixed in _FIXED.get(kind.name, {}).items()]


def _every_parameters():
    return [
        _parameter(name, default, annotation).replace(kind=Parameter.KEYWORD_ONLY)
        for name, (default, annotation) in (_EVERY | _EVERY_FIXED).items()
    ]


def _bound(name, signature, args, kwargs):
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise MetricError(f"{name}: {error}") from None
    bound.apply_defaults()
    return bound.arguments


def _options(kind, arguments):
    """What is for C++, out of all arguments."""
    for name, (value, _) in (_EVERY_FIXED | _FIXED.get(kind.name, {})).items():
        if name in arguments and arguments[name] not in (value, (value,)):
            raise MetricError(f"{kind.name}: Expected argument `{name}` to be {value!r}, the only one offered, but got {arguments[name]!r}")
    options = {argument.name: arguments[argument.name] for argument in kind.arguments}
    if kind.domain == "retrieval" and callable(options["aggregation"]):  # for Python, see Metric.compute()
        options["aggregation"] = "mean"
    if hasattr(options.get("thresholds"), "tolist"):
        options["thresholds"] = options["thresholds"].tolist()
    if "dtype" in options and options["dtype"] is None:
        options["dtype"] = torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32
    if "validate" in options and options["validate"] is None:
        options["validate"] = "auto" if arguments.get("validate_args", True) else "deferred"
    return options


def _indented(lines):
    """Each wrapped, its continuation further in."""
    wrap = textwrap.TextWrapper(120, initial_indent="    ", subsequent_indent="        ", break_long_words=False)
    return "\n".join(wrap.fill(line) for line in lines)


def _inputs(kind):
    weighted = "weight" in kind.inputs
    if kind.domain == "aggregation":
        return _VALUES + (_WEIGHTS if weighted else "")
    if kind.domain == "retrieval":
        return _DOCUMENTS
    if kind.domain == "detection":
        return _BOXES if kind.by_name else _SEGMENTS
    if kind.domain == "segmentation":
        return _POINTS
    if kind.domain == "image":
        return _FEATURES if "features" in kind.inputs else _IMAGES
    if kind.domain == "text":
        pair = _TOKENS
    elif kind.domain == "classification":
        scores = kind.of_scores or any(argument.name == "thresholds" for argument in kind.arguments)
        pair = (_SCORES if scores else _LABELS)[_task(kind.name)]
    else:
        pair = _PAIRS.format(*kind.inputs)
    counts = any(argument.name == "weighted" for argument in kind.arguments)
    return pair + (_COUNT_WEIGHT if counts else _SAMPLE_WEIGHT if weighted else "")


def _documentation(kind, parameters):
    arguments = []
    for item in parameters:
        name = "curve_average" if item.name == "average" and item.default is None else item.name
        known = (ARGUMENTS.get(place) for place in (f"{kind.name}.{name}", f"{kind.domain}.{name}", name))
        arguments.append(f"{item.name}: {next(filter(None, known))}")
    shared = "" if "compute():" in kind.summary else "\n\n" + _SHARED.format(
        "the option's dtype" if any(item.name == "dtype" for item in parameters) else "float32"
    )
    inputs = _inputs(kind).split("\n")
    return f"{kind.summary}{shared}\n\nArgs:\n{_indented(arguments)}\n\nInputs of update():\n{_indented(inputs)}\n"


def _input_parameters(kind):
    if kind.domain == "aggregation":
        defaults = {"weight": 1.0}
        return [_parameter(name, defaults.get(name, Parameter.empty), "Tensor | float") for name in kind.inputs]
    known = {"weight": (None, "Tensor | None"), "real": (Parameter.empty, "bool")}
    if kind.by_name:
        known |= dict.fromkeys(kind.inputs, (Parameter.empty, "Sequence[dict[str, Tensor]]"))
    return [_parameter(name, *known.get(name, (Parameter.empty, "Tensor"))) for name in kind.inputs]


_SELF = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)


def _results(kind):
    """A tuple as TorchMetrics', with names."""
    name = _base(kind.name) + "Result"
    return namedtuple(name, kind.results, module=f"devsan.metrics.{kind.domain}")


def _metric_class(kind, results):
    parameters = _ordered(_option_parameters(kind), _order(kind, _CLASS_ORDERS, _CLASS_ORDER))
    positional = Signature([*parameters, *_every_parameters()])

    def __init__(self, *args, **kwargs):
        arguments = _bound(kind.name, positional, args, kwargs)
        Metric.__init__(self, kind, _options(kind, arguments), **{name: arguments[name] for name in _EVERY})
        if callable(arguments.get("aggregation")):
            self.aggregation = arguments["aggregation"]

    __init__.__signature__ = Signature([_SELF, *positional.parameters.values()])

    def update(self, *args, **kwargs):
        self._core.updater(*args, **kwargs)

    update.__signature__ = Signature([_SELF, *_input_parameters(kind)])
    update.__doc__ = "Folds in a batch.\n\n" + _inputs(kind)

    module = f"devsan.metrics.{kind.domain}"
    also = {"beta": 1.0} if _base(kind.name) == "F1Score" else {}
    for function in (__init__, update):
        function.__module__ = module
        function.__qualname__ = f"{kind.name}.{function.__name__}"
    return type(
        kind.name,
        (Metric,),
        {
            "__module__": module,
            "__doc__": _documentation(kind, parameters),
            "__init__": __init__,
            "update": update,
            "higher_is_better": kind.higher_is_better,
            "plot_lower_bound": kind.lower,
            "plot_upper_bound": kind.upper,
            "plot_legend_name": {"Multiclass": "Class", "Multilabel": "Label"}.get(_task(kind.name)),
            "_kind": kind,
            "_option_defaults": {item.name: item.default for item in _option_parameters(kind)} | {"validate": "auto", "dtype": torch.float32},
            "_results": results,
            "_update_in_core": update,
        }
        | also,
    )


def _named(function, name, signature, doc, module="devsan.metrics.functional"):
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__signature__ = signature
    function.__doc__ = doc
    return function


def _functional(kind, metric_class):
    retrieval = kind.domain == "retrieval"
    parameters = _ordered(_option_parameters(kind, of_function=True), _order(kind, _FUNCTION_ORDERS, _FUNCTION_ORDER))
    inputs = [item for item in _input_parameters(kind) if item.name not in ("weight", "indexes")]
    weights = [
        item.replace(kind=Parameter.KEYWORD_ONLY) for item in _input_parameters(kind) if item.name == "weight"
    ]
    signature = Signature([*inputs, *parameters, *weights])

    def function(*args, **kwargs):
        arguments = _bound(kind.function, signature, args, kwargs)
        if retrieval:  # of one query
            if any(torch.is_tensor(arguments[name]) and not arguments[name].numel() for name in ("preds", "target")):
                raise MetricError(f"{kind.function}: `preds` and `target` must be non-empty and non-scalar tensors")
            arguments["indexes"] = torch.zeros_like(arguments["target"], dtype=torch.int64)
        if arguments.get("weighted") is False:
            arguments["weighted"] = arguments["weight"] is not None
        core = kind.make(_options(kind, arguments))
        if kind.of_images:
            return core.of_images(*(arguments[name] for name in kind.inputs))
        core.updater(*(arguments[name] for name in kind.inputs))
        values = core.compute()
        return values[0] if len(values) == 1 else metric_class._results(*values)

    doc = f"{_documentation(kind, parameters)}\nThe functional form of {kind.name}."
    return _named(function, kind.function, signature, doc)


def _task_parameters(kinds, without=()):
    """Of a function that takes the task as an argument: what any of the tasks takes."""
    of_all = {}
    for kind in kinds:
        for item in _option_parameters(kind):
            if item.name in without:
                continue
            if item.name in ("num_classes", "num_labels"):
                item = item.replace(default=None, annotation="int | None")
            if item.name == "beta":
                item = item.replace(default=1.0)
            # TorchMetrics' default differs from that of the classes.
            if item.name == "average" and any(other.name == "multidim_average" for other in _option_parameters(kind)):
                item = item.replace(default="micro")
            of_all.setdefault(item.name, item)
    tasks = ", ".join(repr(_task(kind.name).lower()) for kind in kinds)
    of_all["task"] = _parameter("task", Parameter.empty, f"Literal[{tasks}]")
    return _ordered(of_all.values(), _TASK_ORDER)


def _for_task(name, kinds, task):
    by_task = {_task(kind.name).lower(): kind for kind in kinds}
    if task not in by_task:
        raise MetricError(f"{name}: Invalid Classification: expected one of {', '.join(map(repr, by_task))}, but got {task!r}")
    return by_task[task]


def _chosen(name, kind, parameters, arguments, given):
    """The arguments that `kind` has; the others must be of other tasks, and not by keyword only."""
    known = {item.name for item in _option_parameters(kind)}
    for item in parameters:
        if item.kind is Parameter.KEYWORD_ONLY and item.name in given and item.name not in known:
            raise MetricError(f"{name}: {kind.name} has no argument {item.name!r}")
    task = _task(kind.name).lower()
    for number in ("num_classes", "num_labels"):
        if number in known and not isinstance(arguments[number], int):
            raise MetricError(f"{name}: Optional arg `{number}` must be type `int` when task is {task}. Got {type(arguments[number])}")
    # Of a task without it TorchMetrics' functions take None, too.
    chosen = {item: value for item, value in arguments.items() if item in known}
    return {item: value for item, value in chosen.items() if value is not None or item not in ("top_k", "threshold")}


def _task_class(base, kinds, classes):
    # The one argument that TorchMetrics' functions have and these classes have not.
    parameters = _task_parameters(kinds, without={"average"} if base in ("PrecisionRecallCurve", "ROC") else ())
    signature = Signature([*parameters, *_every_parameters()])
    names = ", ".join(kind.name for kind in kinds)

    def __new__(cls, *args, **kwargs):
        arguments = _bound(base, signature, args, kwargs)
        kind = _for_task(base, kinds, arguments["task"])
        chosen = _chosen(base, kind, parameters, arguments, kwargs)
        every = {name: arguments[name] for name in _EVERY | _EVERY_FIXED}
        return classes[kind.name](**chosen, **every)

    def of_no_task(call):
        def refuse(self, *args, **kwargs):
            raise NotImplementedError(f"{base} metric does not have a global `{call}` method. Use the task specific metric.")

        return _named(refuse, call, Signature([_SELF]), f"Of the metrics of the tasks: {names}.", "devsan.metrics.classification")

    __new__.__signature__ = Signature([Parameter("cls", Parameter.POSITIONAL_OR_KEYWORD), *signature.parameters.values()])
    doc = f"A metric for a task: one of {names}, which see. Arguments of other tasks are ignored, as in TorchMetrics."
    members = {"__module__": "devsan.metrics.classification", "__doc__": doc, "__new__": __new__, "__signature__": signature}
    members |= {call: of_no_task(call) for call in ("update", "compute")}
    return type(base, (Metric,), members)


def _task_function(base, kinds, functions):
    parameters = _task_parameters(kinds)
    inputs = [item for item in _input_parameters(kinds[0]) if item.name != "weight"]
    signature = Signature([*inputs, *parameters])
    name = kinds[-1].function.partition("_")[2]

    def function(preds, target, *args, **kwargs):
        arguments = _bound(name, Signature(parameters), args, kwargs)
        kind = _for_task(name, kinds, arguments["task"])
        return functions[kind.function](preds, target, **_chosen(name, kind, parameters, arguments, kwargs))

    names = ", ".join(kind.function for kind in kinds)
    return _named(function, name, signature, f"One of {names}, by the task. Arguments of other tasks are ignored.")


@functools.cache
def catalog():
    """Of each module of devsan.metrics, what stands in it by name."""
    modules = {name: {} for name in (*DOMAINS, "functional")}
    by_base = {}
    for kind in _metrics.kinds:
        module = modules[kind.domain]
        results = None
        if kind.results:
            results = module.setdefault(_base(kind.name) + "Result", _results(kind))
        module[kind.name] = _metric_class(kind, results)
        if kind.function:
            modules["functional"][kind.function] = _functional(kind, module[kind.name])
        if _task(kind.name):
            by_base.setdefault(_base(kind.name), []).append(kind)
    for base, kinds in by_base.items():
        module = modules["classification"]
        module[base] = _task_class(base, kinds, module)
        function = _task_function(base, kinds, modules["functional"])
        modules["functional"][function.__name__] = function
    return modules
