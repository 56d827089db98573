"""The repository @devsan_tools: devsan-check and what it reads, as they are installed."""

def _devsan_tools_impl(ctx):
    prefix = ctx.path(ctx.attr.prefix) if ctx.attr.prefix else ctx.path(Label("//:repositories.bzl")).realpath.dirname.dirname.dirname.dirname
    for name in ["libexec/devsan-check", "share/devsan/cuda_stubs", "lib/clang"]:
        path = ctx.path("%s/%s" % (prefix, name))
        if path.exists:
            ctx.symlink(path, name)
        elif name.startswith("libexec"):
            fail("devsan_tools: no %s: set prefix to the folder that DevSan is installed in" % path)
    ctx.file("BUILD.bazel", """
filegroup(
    name = "data",
    srcs = glob(["share/**", "lib/**"], allow_empty = True),
)

filegroup(
    name = "check",
    srcs = ["libexec/devsan-check"],
    data = [":data"],
    visibility = ["//visibility:public"],
)
""")

devsan_tools = repository_rule(
    implementation = _devsan_tools_impl,
    attrs = {"prefix": attr.string(doc = "The folder that DevSan is installed in; default: the one that this file is installed in.")},
    local = True,
)
