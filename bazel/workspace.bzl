"""For Bazel 4 to 8, where CcInfo is known without a load."""

load("//:implementation.bzl", "ASPECT", "RULE_ATTRS", "judge", "summarize")

def _summarize(target, ctx):
    return summarize(target, ctx, CcInfo)

devsan_aspect = aspect(implementation = _summarize, **ASPECT)
devsan_check = rule(
    implementation = judge,
    attrs = dict(RULE_ATTRS, targets = attr.label_list(aspects = [devsan_aspect], mandatory = True)),
)
