"""What of TorchMetrics' tests does not pass with devsan.metrics in its place, each with its reason."""

# Names that both have and that are not exchanged.
NOT_SWAPPED = {
    "Metric": "theirs is the base of metrics that a program writes by add_state(); ours is that of metrics in C++",
    "FrechetInceptionDistance": "ours takes the features of images, theirs the images themselves",
}

# Regular expressions of tests' names, FILE::CLASS::TEST[PARAMETERS].
REASONS = {}
