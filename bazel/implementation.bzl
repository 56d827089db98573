"""What devsan.bzl and workspace.bzl make the aspect and the rule of: they differ in where CcInfo comes from."""

_Setting = provider(fields = ["value"])
DevSanInfo = provider(doc = "What `devsan check --summary` wrote of a target and its dependencies.", fields = ["summaries", "sources"])

def _string_setting_impl(ctx):
    return [_Setting(value = ctx.build_setting_value)]

string_setting = rule(implementation = _string_setting_impl, build_setting = config.string(flag = True))

_EXTENSIONS = ["cpp", "cc", "cxx", "cu"]
_OPTIONS = ["--root=.", "--torch=none", "--no-cache", "-j1"]
_CHECK = attr.label(default = Label("@devsan_tools//:check"), cfg = "exec", allow_files = True)

def _tool(attribute):
    files = attribute.files.to_list()
    return [file for file in files if file.basename == "devsan-check"][0]

def _is_external(path):
    return path.startswith("external/") or path.startswith("../") or "/external/" in path

def _flags(ctx, context):
    """Those that change the meaning of the sources, with paths as they are in the action."""
    flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts
    for name in ["copts", "cxxopts"]:
        flags += [flag for flag in getattr(ctx.rule.attr, name, []) if "$(" not in flag]
    flags += ["-D" + define for define in context.defines.to_list() + context.local_defines.to_list()]
    for folder in context.quote_includes.to_list():
        flags += ["-iquote", folder]
    for folder in context.includes.to_list():
        flags += ["-I", folder]

    # The build's own headers are looked at, however their folder is spelled.
    for folder in context.system_includes.to_list():
        flags += ["-isystem" if _is_external(folder) else "-I", folder]
    return flags

def _collected(ctx):
    found = []
    for name in ["deps", "implementation_deps", "srcs", "actual"]:
        attribute = getattr(ctx.rule.attr, name, None)
        for dep in attribute if type(attribute) == "list" else [attribute]:
            if type(dep) == "Target" and DevSanInfo in dep:
                found.append(dep[DevSanInfo])
    return found

def summarize(target, ctx, cc_info):
    below = _collected(ctx)
    own, read = [], []
    context = target[cc_info].compilation_context if cc_info in target else None
    sources = []
    if context and not target.label.workspace_name:
        for source in getattr(ctx.rule.attr, "srcs", []):
            sources += [file for file in source.files.to_list() if file.extension in _EXTENSIONS]
    if sources:
        headers = [file for source in ctx.rule.attr.srcs for file in source.files.to_list() if file not in sources]
        out = ctx.actions.declare_file(ctx.label.name + ".devsan-summary")
        arguments = ctx.actions.args()
        arguments.add_all(_OPTIONS)
        arguments.add("--summary=" + out.path)
        arguments.add("--checks=" + ctx.attr._checks[_Setting].value)
        arguments.add_all(sources)
        arguments.add("--")
        arguments.add_all(_flags(ctx, context))
        ctx.actions.run(
            executable = _tool(ctx.attr._check),
            tools = depset(transitive = [ctx.attr._check.files, ctx.attr._check.default_runfiles.files]),
            inputs = depset(sources + headers, transitive = [context.headers]),
            outputs = [out],
            arguments = [arguments],
            mnemonic = "DevSanSummary",
            progress_message = "Analysing %s" % target.label,
        )
        own = [out]
        read = [depset(sources + headers), context.headers]
    info = DevSanInfo(
        summaries = depset(own, transitive = [one.summaries for one in below]),
        sources = depset(transitive = read + [one.sources for one in below]),
    )
    return [info, OutputGroupInfo(devsan_summaries = info.summaries)]

# Of the aspect that calls summarize(): one action for each C++ or CUDA target of the main repository.
ASPECT = dict(
    attr_aspects = ["deps", "implementation_deps", "srcs", "actual"],
    attrs = {
        "_check": _CHECK,
        "_checks": attr.label(default = Label("//:checks")),
    },
    fragments = ["cpp"],
)

# A verdict that fails is told on stderr: Bazel keeps no output of an action that fails.
def _report(ctx, inputs, summaries, name, fail_on, output_format):
    out = ctx.actions.declare_file(name)
    arguments = ctx.actions.args()
    arguments.add(_tool(ctx.attr._check))
    arguments.add(out)
    arguments.add_all(_OPTIONS)
    arguments.add("--from-summaries")
    arguments.add("--fail-on=" + fail_on)
    arguments.add("--format=" + output_format)
    arguments.add("-o", out)
    if ctx.file.baseline:
        arguments.add("--baseline", ctx.file.baseline)
    arguments.add_all(summaries)
    ctx.actions.run_shell(
        command = 'check=$1; report=$2; shift 2; text=$("$check" "$@" 2>&1) || { status=$?; cat "$report"; echo "$text"; exit $status; }',
        tools = depset(transitive = [ctx.attr._check.files, ctx.attr._check.default_runfiles.files]),
        inputs = inputs,
        outputs = [out],
        arguments = [arguments],
        mnemonic = "DevSanReport",
        progress_message = "Judging what devsan found for %s" % ctx.label,
    )
    return out

def judge(ctx):
    infos = [target[DevSanInfo] for target in ctx.attr.targets]
    summaries = depset(transitive = [info.summaries for info in infos])
    inputs = depset(ctx.files.config + ctx.files.baseline, transitive = [summaries] + [info.sources for info in infos])
    outputs = []

    for output_format in ctx.attr.formats:
        outputs.append(_report(ctx, inputs, summaries, ctx.label.name + "." + output_format, "none", output_format))
    verdict = []
    fail_on = ctx.attr._fail_on[_Setting].value
    if fail_on != "none":
        verdict = [_report(ctx, inputs, summaries, ctx.label.name + ".verdict", fail_on, "text")]
    return [
        DefaultInfo(files = depset(outputs + verdict)),
        OutputGroupInfo(devsan_report = depset(outputs), devsan_summaries = summaries),
    ]

# Of the rule whose implementation is judge(), beside its targets.
RULE_ATTRS = {
    "formats": attr.string_list(default = ["text", "json"]),
    "baseline": attr.label(allow_single_file = True),
    "config": attr.label(allow_single_file = True, doc = ".devsan.toml"),
    "_check": _CHECK,
    "_fail_on": attr.label(default = Label("//:fail_on")),
}
