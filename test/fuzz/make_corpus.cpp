// Writes the seeds of the fuzzers, a folder for each below the one that is named: well-formed
// examples of every form, from which the search starts.
#include "core/project/baseline.h"
#include "core/report/reports.h"
#include "runtime/read/testing/log_builder.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace devsan;

namespace {

namespace fs = std::filesystem;

fs::path corpus;

void write(const std::string &fuzzer, const std::string &name, std::string_view text) {
  fs::create_directories(corpus / fuzzer);
  std::ofstream(corpus / fuzzer / name, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

void write(const std::string &name, const std::vector<std::byte> &log) {
  write("log_reader", name, {reinterpret_cast<const char *>(log.data()), log.size()});
}

// An event of every kind, twice, with stacks of both languages.
runtime::testing::LogBuilder wholeLog() {
  using namespace runtime;
  using namespace runtime::testing;
  LogBuilder log;
  for (int kind = 1; kind < 48; ++kind) {
    Event event;
    event.kind = static_cast<EventKind>(kind);
    event.op = log.string("aten::copy_");
    event.operand = log.string("weight: float32 [10, 4]");
    event.detail = log.string("0 35");
    event.stack = log.stack({op("copy_"), torch("torch::optim::Adam::step"), user("main", 7)});
    event.related = log.stack({python("train", 9), python("<module>", 20)});
    event.from = kHost;
    event.to = cuda(kind % 3);
    event.origin = cuda(1);
    event.bytes = 4;
    event.step = static_cast<std::uint32_t>(kind % 4);
    event.flags = (1u << (kind % 24)) | kBlocks;
    log.add(event, 2);
  }
  log.traces = true;
  std::vector<std::byte> clocks(sizeof(ClockRecord), std::byte{1});
  log.record(RecordKind::kClock, clocks);
  Event copy;
  copy.from = cuda(1);
  copy.time_ns = 1000;
  copy.call_ns = 100;
  log.add(copy, 70);
  return log;
}

void writeLogs() {
  const std::vector<std::byte> bytes = wholeLog().bytes();
  write("whole", bytes);
  write("killed",
        {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2 + 3)});
  write("header", runtime::testing::LogBuilder().bytes());
  runtime::testing::LogBuilder odd;
  odd.record(runtime::RecordKind::kDropped, std::vector<std::byte>(8, std::byte{1}));
  odd.record(runtime::RecordKind::kEnd, {});
  odd.record(runtime::RecordKind::kModule, std::vector<std::byte>(40));
  odd.record(runtime::RecordKind::kStack, std::vector<std::byte>(64), false);
  write("odd", odd.bytes());
}

core::Finding finding() {
  core::Finding result;
  result.rule = "device-host-sync";
  result.origin = core::Origin::kRuntime;
  result.message = "the host waited";
  result.fingerprint = "0123456789abcdef";
  result.count = 3;
  result.bytes = 12;
  result.blocked_ns = 4000;
  result.from = "cuda:1";
  result.to = "cpu";
  result.op = "aten::item";
  result.rank = 1;
  result.ranks = {{1, false, 1, 2, 8, 3000}, {std::nullopt, true, 2, 1, 4, 1000}};
  result.locations = {{"train.cpp", 7, 3, "step"}};
  result.stack = {{{"", 0, 0, "at::_ops::item::call"}, "libtorch_cpu.so", false},
                  {{"train.cpp", 7, 3, "step"}, "train", true}};
  result.steps = {.total = 9, .seen = 2, .first = 1, .last = 5, .most = 2};
  result.related = {{{"model.cpp", 2, 1, "build"}, "made here"}};
  result.fix = {{"train.cpp", 100, 5, ".cpu()"}};
  return result;
}

void writeReports() {
  core::Summary summary{.tool = "devsan run", .subject = "./train"};
  summary.notes = {"a note"};
  summary.ranks = {0, 1};
  write("json_report", "empty", core::jsonReport({}, {}));
  write("json_report", "one", core::jsonReport(std::vector{finding()}, summary));
  core::Finding other = finding();
  other.severity = core::Severity::kError;
  other.origin = core::Origin::kStatic;
  write("json_report", "two", core::jsonReport(std::vector{finding(), other}, summary));
  core::Baseline baseline;
  write("baseline", "empty", baseline.text());
  baseline.update(std::vector{finding()}, core::Origin::kRuntime);
  baseline.update(std::vector{other}, core::Origin::kStatic);
  write("baseline", "two", baseline.text());
}

void writeSettings() {
  const char *suppressions = "device-host-sync = [\"src/log.cpp\", \"function:*::log\"]\n"
                             "device-mismatch = 'lib/*'\n";
  write("suppressions", "top", suppressions);
  write("suppressions", "table", std::string("[suppressions]\n") + suppressions);
  const std::string project = "[run]\nfail-on = [\"warning\", \"device-mismatch\"]\n"
                              "baseline = \"b.json\"\nreport = [\"a.json\", \"b.txt\"]\nsim = 2\n"
                              "sim-memory = \"2GiB\"\nsim-protect = \"off\"\n"
                              "sync = \"log\"\ntransfer = [\"allow\"]\nwarmup = 3\n"
                              "[budgets]\ndevice-host-sync = 3\ndevice-mismatch = \"1/step\"\n";
  write("project_file", "whole", project + "[suppressions]\n" + suppressions);
  write("suppressions", "project", project + "[suppressions]\n" + suppressions);
  write("run_options", "whole",
        "s2\nm2GiB\npoff\nfwarning,device-mismatch\nra.json\nbdevice-host-sync=3\n"
        "thost-to-device:log,disallow\nylog-explicit\nw3\n"
        "eorigins=all:python_stacks=off:provenance=on:help=0\n");
  write(
      "run_facts", "whole",
      R"({"schema": "devsan-run/1", "host": "h", "command": "./train", "working_directory": "/p", )"
      R"("wall_ns": 7, "ended_early": true, "missing": ["a process was not observed"]})");
  write("run_facts", "wrong", R"({"schema": "devsan-run/1", "command": 3})");
  write("run_options", "environment", "eraise=1:warmup=3:host_wait=log:device_to_host=disallow\n");
  write("run_options", "wrong", "s65\nfnone,error\nbdevice-host-sync=1/step\n");
}

// As in analyzer/summary/summary.h, behind the head.
void writeSummaries() {
  std::string text;
  const auto number = [&](std::size_t value) {
    for (; value >= 0x80; value >>= 7)
      text += static_cast<char>(value | 0x80);
    text += static_cast<char>(value);
  };
  const std::vector<std::string> texts{
      "",        "device-*", "\1a.cpp", core::jsonReport(std::vector{finding()}, {}),
      "c:@F@f#", "f",        "g.h"};
  number(texts.size());
  for (const std::string &one : texts) {
    number(one.size());
    text += one;
  }
  const auto numbers = [&](std::initializer_list<unsigned> values) {
    for (const unsigned value : values)
      number(value);
  };
  numbers({1, 0, 0, 0, 1, 2});    // checks, LibTorch's version, two flags, shard 1/2
  numbers({1, 2, 0, 1, 2});       // inputs, list, headers
  numbers({1, 0, 2, 1, 2, 0, 0}); // a unit: place, file, headers it is read for, two flags
  numbers({1, 3});                // its result: findings
  numbers({1, 3, 9, 4, 1, 2, 4, 1, 4, 1, 5, 1, 4, 1, 5, 0,
           2}); // their contexts, the last with a holder
  numbers({2, 4, 5, 2, 3, 6, 0, 1, 0, 0, 0, 1, 4, 5, 0, 0, 0, 1, 0, 2, 5, 3, 0}); // functions
  numbers({1, 0, 1, 1, 0});                                                       // calls
  numbers({2, 4, 0, 5, 0, 2, 4, 1, 5, 0, 2, 2, 0, 0, 0, 1, 1, 0}); // holders, sources
  numbers({1, 6, 1, 2, 1, 2, 4, 2}); // missing headers, refused, files read, the first error
  numbers({1, 0, 2, 9, 8, 1, 1, 0}); // counts, flags
  numbers({0, 0, 0, 0});             // what became of the analysis
  write("summary", "one", text);
  numbers({1});
  write("summary", "longer", text);
}

void writeProjects() {
  write("setup_script", "torch", R"py(import os, glob
from torch.utils.cpp_extension import CppExtension, CUDAExtension
here = os.path.dirname(os.path.abspath(__file__))
sources = glob.glob(os.path.join(here, 'csrc', '*.cu')) + ['a.cpp']
macros = [('WITH_CUDA', None), ('N', '3')]
if os.getenv('X', '0') == '1':
    macros += [('X', '')]
def extensions():
    flags = {'cxx': ['-O3', '-DA=1'], 'nvcc': ['-DB']}
    return [CUDAExtension(name=f'p.{here}', sources=sources,
                          include_dirs=[here + '/include'], define_macros=macros,
                          extra_compile_args=flags)]
setup(ext_modules=extensions())
)py");
  write("setup_script", "odd", R"py(x = ['''a\
''', r"\", *y, {**z}
Extension("a", [x for x in y]
)py");
  write("cmake_script", "whole", R"cmake(# comment
set(A src;include CACHE STRING "a")
set(ENV{B} [==[ c ]] ]==])
if(A AND NOT "${B}")
  include_directories(SYSTEM ${A} ${CMAKE_CURRENT_SOURCE_DIR}/x)
endif()
add_definitions(-DA=\"b\" -DC)
#[[ bracket ]]
target_include_directories(t PUBLIC $<BUILD_INTERFACE:inc> ../y)
target_compile_definitions(t PRIVATE N=${A} -DM)
list(APPEND A z)
add_compile_definitions(Q)
)cmake");
  write("launch_spelling", "spaced", R"cuda(void f() {
  k << <1, 2>> >(a, b);
  k<T><< < dim3(1, g<2>()), 2, 0, s > >> (a);
  x << y; // << <
  const char *t = "<< <1>> >("; auto r = R"(<< <)";
}
)cuda");
  write("launch_spelling", "many",
        "k << <1, 2>> >(a); k< <<(1), 2> >> (b); 1'000 << <'(', 2 >> > (c);");
  constexpr std::string_view kGitSettings = R"ini([core]
	repositoryformatversion = 1
	fsmonitor = touch ran ; a command
	eol
	hooksPath = "h\\n\"\\"
[include]
	path = more
[diff "x"] textconv = touch ran
[branch "a\"]\n[core]\tb"] merge = "r\
[alias] x = !touch ran"
[remote "]\n[core] sshCommand=y #"]
	fetch = +refs/heads/*:refs/remotes/o/*
)ini";
  write("git_folder", "settings", std::string(kGitSettings) + '\0' + "ref: refs/heads/main\n");
  write("git_folder", "worktree",
        std::string(kGitSettings) + '\0' + "0123456789012345678901234567890123456789\n" + '\0' +
            "../other\n");
  write("arguments", "nvcc", R"(-Xcompiler
-fPIC,-Wall
-gencode
arch=compute_80,code=sm_80
--expt-relaxed-constexpr
--std
c++17
-Xcompiler=-DA
--compiler-options
'-DB -DC'
-isystem=/x
-ccbin
g++
-o
a.o
-c
a.cu
)");
  write("arguments", "file", "a.cu\n-optf\nnot/there\n");
  write("diff", "git", R"(diff --git a/scan.cpp b/scan.cpp
index 1..2 100644
--- a/scan.cpp
+++ b/scan.cpp
@@ -1,2 +1,4 @@ int f()
+x
@@ -9 +11,0 @@
-y
diff --git "a/t\303\244b.cu" "b/t\303\244b.cu"
--- /dev/null
+++ "b/t\303\244b.cu"
@@ -0,0 +1 @@
+z
Binary files a/x and b/x differ
)");
  write("file_result", "empty", R"({"report":"","errors":0})");
  constexpr const char *contexts = R"([[3, 9, "c:@F@f#", "c:@F@g#*f#"]])";
  constexpr const char *calls = R"({
    "functions": [["c:@F@f#", "f", ["/p/a.cpp", 3, 6], true, true, ["", 0, 0]],
                  ["c:@F@g#*f#", "g", ["/p/g.cu", 4, 6], false, false, ["/p/g.cu", 5, 3]]],
    "calls": [[0, 1, false, true], [1, 2, true, false]]})";
  const nlohmann::json result = {{"report", core::jsonReport(std::vector{finding()}, {})},
                                 {"contexts", nlohmann::json::parse(contexts)},
                                 {"calls", nlohmann::json::parse(calls)},
                                 {"missing_headers", {"a.h"}},
                                 {"files_read", {"/p/a.cpp"}},
                                 {"first_error", "a.cpp:3: x"},
                                 {"errors", 1},
                                 {"errors_elsewhere", 1},
                                 {"suppressed", 2}};
  write("file_result", "one", result.dump());
  writeSummaries();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  corpus = argv[1];
  writeLogs();
  writeReports();
  writeSettings();
  writeProjects();
  std::error_code error;
  return fs::exists(corpus / "file_result" / "one", error) ? 0 : 1;
}
