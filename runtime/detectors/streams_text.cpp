#include "runtime/detectors/streams_text.h"
#include "runtime/offline/names.h"

#include <string_view>

namespace devsan::runtime {
namespace {

std::string streamName(std::string_view id, DeviceId device) {
  return (id == "0" ? "the default stream" : "stream " + std::string(id)) + " of " +
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
