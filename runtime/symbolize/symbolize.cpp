// devsan-symbolize: names for code addresses. Reads lines "module path<TAB>offset" (offset decimal,
// or hexadecimal with 0x) and answers each with one line of JSON:
//
//   {"frames":[{"function":"ns::f(int)","file":"/src/f.cpp","line":3,"column":7}, …]}   innermost
//   first
//   {"error":"…"}
//
// `devsan` runs it once after the program under test has ended, or, for one that asks while it
// runs, beside it: each answer is written at once.

#include "llvm/DebugInfo/Symbolize/Symbolize.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/prctl.h>

namespace {

using llvm::DILineInfo;
using llvm::symbolize::LLVMSymbolizer;

llvm::json::Object describe(const DILineInfo &info) {
  llvm::json::Object frame;
  auto add = [&frame](const char *key, llvm::StringRef text) {
    if (text != DILineInfo::BadString)
      frame[key] = llvm::json::fixUTF8(text);
  };
  add("function", info.FunctionName);
  // Without a line, the file is a guess from the symbol table.
  if (info.Line)
    add("file", info.FileName);
  frame["line"] = info.Line;
  frame["column"] = info.Column;
  return frame;
}

llvm::json::Object failed(llvm::StringRef message) {
  return llvm::json::Object{{"error", llvm::json::fixUTF8(message)}};
}

llvm::json::Object answer(LLVMSymbolizer &symbolizer, llvm::StringRef question) {
  auto [module, offset_text] = question.rsplit('\t');
  std::uint64_t offset = 0;
  if (module.empty() || offset_text.getAsInteger(0, offset))
    return failed("a question is: module path, tab, offset");
  // The path comes from a log: a pipe would be waited for, a device read without end.
  if (!llvm::sys::fs::is_regular_file(module))
    return failed("no such file");
  llvm::Expected<llvm::DIInliningInfo> info = symbolizer.symbolizeInlinedCode(
      module, {offset, llvm::object::SectionedAddress::UndefSection});
  if (!info)
    return failed(llvm::toString(info.takeError()));
  llvm::json::Array frames;
  for (std::uint32_t i = 0; i < info->getNumberOfFrames(); ++i) {
    llvm::json::Object frame = describe(info->getFrame(i));
    if (frame.find("function") != frame.end())
      frames.push_back(std::move(frame));
  }
  return llvm::json::Object{{"frames", std::move(frames)}};
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 1) {
    std::fprintf(
        stderr,
        "devsan-symbolize reads lines \"module path<TAB>offset\" and answers each with JSON\n");
    return std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL); // who asks may die while a file is read
  LLVMSymbolizer::Options options;
  options.SkipLineZero = true; // a line of the same function says more than none
  LLVMSymbolizer symbolizer(options);
  char *line = nullptr;
  std::size_t capacity = 0;
  for (ssize_t length; (length = getline(&line, &capacity, stdin)) >= 0;) {
    llvm::StringRef question(line, static_cast<std::size_t>(length));
    question.consume_back("\n");
    llvm::outs() << llvm::json::Value(answer(symbolizer, question)) << '\n';
    llvm::outs().flush();
  }
  std::free(line);
  return 0;
}
