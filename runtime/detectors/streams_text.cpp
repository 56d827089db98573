#include "runtime/detectors/streams_text.h"
#include "runtime/resolve/names.h"

#include <string_view>

namespace devsan::runtime {
namespace {

// PyTorch's ids: odd ones are of its pools; any other is the handle of a stream made elsewhere, an
// address that is another in each run.
std::string streamName(std::string_view id, DeviceId device) {
  if (id == "0")
    return "the default stream of " + deviceName(device);
  const bool is_handle = !id.empty() && (id.back() - '0') % 2 == 0;
  return (is_handle ? "a stream that the program made on " : "stream " + std::string(id) + " of ") +
         deviceName(device);
}

} // namespace

StreamNames streamNames(const ResolvedEvent &event) {
  const std::string_view ids = event.detail;
  const std::size_t space = ids.find(' ');
  return {streamName(ids.substr(0, space), event.event.from),
          streamName(space == ids.npos ? "" : ids.substr(space + 1), event.event.to)};
}

} // namespace devsan::runtime
