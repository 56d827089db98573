// A stream that compresses what is written to it (gzip, RFC 1952).
#pragma once

#include <memory>
#include <ostream>

namespace devsan::core {

class GzipStream : public std::ostream {
public:
  // Writes to `out`, which must outlive it.
  explicit GzipStream(std::ostream &out);
  ~GzipStream() override;

  // Writes what is left. The stream has failed afterwards where anything could not be written.
  void finish();

private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

} // namespace devsan::core
