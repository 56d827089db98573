"""What of TorchMetrics' tests does not pass with devsan.metrics in its place, each with its reason.

docs/metrics-differences.md says more of those that a user may meet.
"""

# Names that both have and that are not exchanged.
NOT_SWAPPED = {
    "Metric": "theirs is the base of metrics that a program writes by add_state(); ours is that of metrics in C++",
    "FrechetInceptionDistance": "ours takes the features of images, theirs the images themselves",
}

SCRIPT = "metrics are in C++; torch.jit.script has no Python to compile"
GROUPS = "which metrics share states follows from classes and options as they are added, and one of these cannot be changed alone"
PRIVATE = "the test reads attributes of TorchMetrics' that are private, or its states by their names"
EMPTY = "a batch of no documents is one like others; TorchMetrics refuses it"
SIGN = "a score has no sign that matters; TorchMetrics counts documents with scores of 0 and less as not found"
TOO_FEW = "of fewer than two samples the score is NaN; TorchMetrics raises an error where the value is asked for"
ONE_SIZE = "one size of a window stands for all dimensions"
INTEGERS = "integers are numbers, too"
ANY_WINDOW = "the states of any metric can be merged, so that any can have a window"
EXACT = "the variance is exact, so that a small one is no reason for a warning, or for another value"
FLOATS = "sums are exact in float64 and rounded once, where the test expects those of TorchMetrics' order"
MEMORY = "compute_on_cpu, which would move kept inputs to the CPU and wait for that, is not offered"
GATHER = "ranks are synchronised in one exchange in C++, which no function replaces"
FORGETS = "TorchMetrics' MinMaxMetric has only the last batch after it was called; ours has all"
OPERATORS = "metrics are compared as objects; in TorchMetrics == makes a metric, which is true whatever it compares"
ARGUMENT_NAME = "the error names the argument that is wrong; TorchMetrics' names another one"
CLASSES_KNOWN = "num_classes is given; in TorchMetrics it may be None of labels with the micro average"
LABELS_AS_SCORES = "floating predictions of the targets' shape, which TorchMetrics takes for labels, are refused"
CLASSWISE = "a tracker has one direction for each metric; TorchMetrics' has one for each class of a ClasswiseWrapper"

# Regular expressions of tests' names, FILE::CLASS::TEST[PARAMETERS], and of the text of the failure.
REASONS = [
    (r"::test_metric_collection_jit_script", "", SCRIPT),
    (r"bases/test_collections.py::TestComputeGroups", "assert .* == |shares its states|no attribute", GROUPS),
    (r"bases/test_collections.py", "_groups_checked|_state_is_copy|_modules|shares its states", PRIVATE),
    (r"test_merge_state_feature", "the dictionary holds|incoming_state", PRIVATE),
    (r"test_pearson_update_shape", "", PRIVATE),
    (r"test_saving_loading", "KeyError", PRIVATE),
    (r"retrieval/.*must be non-empty and non-scalar tensors", "DID NOT RAISE", EMPTY),
    (r"retrieval/.*all_zero_predictions_returns_zero", "assert", SIGN),
    (r"test_error_on_too_few_samples", "DID NOT RAISE", TOO_FEW),
    (r"test_running.py::test_errors_on_wrong_input", "DID NOT RAISE", ANY_WINDOW),
    (r"test_ssim_invalid_inputs", "DID NOT RAISE", ONE_SIZE),
    (r"test_spearman.py::test_error_on_different_shape", "DID NOT RAISE", INTEGERS),
    (r"test_pearsons_warning_on_small_input", "DID NOT WARN", EXACT),
    (r"test_r2.py::test_constant_target", "assert", EXACT),
    (r"test_aggregation.py::test_with_default_dtype", "assert tensor", FLOATS),
    (r"", "Expected argument `compute_on_cpu`", MEMORY),
    (r"", "Expected argument `dist_sync_fn`", GATHER),
    (r"test_minmax.py::test_basic_example", "assert", FORGETS),
    (r"test_multitask.py::test_key_value_items_method", "assert", OPERATORS),
    (r"test_multitask.py::test_clone_edge_cases", "Regex pattern", ARGUMENT_NAME),
    (r"test_corner_cases", "Expected argument `num_classes` to be an integer, but got None", CLASSES_KNOWN),
    (r"test_double_use_of_prefix_with_metriccollection", "scores have shape", LABELS_AS_SCORES),
    (r"test_tracker_higher_is_better_integration", "assert", CLASSWISE),
]
