// What a child process or the cache says of a file: refused, or the same when written again.
#include "analyzer/run/file_result.h"
#include "test/fuzz/check.h"

#include <cstdint>

using namespace devsan::analyzer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto result = parseFileResult({reinterpret_cast<const char *>(data), size});
  if (!result) {
    CHECK(!result.error().message.empty());
    return 0;
  }
  const std::string text = serialize(*result);
  const auto again = parseFileResult(text);
  CHECK(again && serialize(*again) == text);
  CHECK(result->contexts.size() == result->findings.size());
  for (const FileCalls::Call &call : result->calls.calls)
    CHECK(call.caller < result->calls.functions.size() &&
          call.callee < result->calls.functions.size());
  return 0;
}
