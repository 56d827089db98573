#include "core/system/gzip.h"

#include <array>
#include <streambuf>
#include <zlib.h>

namespace devsan::core {

class GzipStream::Buffer : public std::streambuf {
public:
  explicit Buffer(std::ostream &out) : out_(out) {
    constexpr int kGzip = 16, kLargestWindow = 15, kDefaultMemory = 8;
    // What is compressed repeats itself: the fastest level takes nearly all there is to gain.
    good_ = deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kGzip + kLargestWindow, kDefaultMemory,
                         Z_DEFAULT_STRATEGY) == Z_OK;
    setp(input_.data(), input_.data() + input_.size());
  }
  ~Buffer() override { deflateEnd(&stream_); }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  bool finish() { return compress(Z_FINISH); }

protected:
  int_type overflow(int_type c) override {
    if (!compress(Z_NO_FLUSH))
      return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof()))
      sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
  }

private:
  bool compress(int flush) {
    stream_.next_in = reinterpret_cast<Bytef *>(pbase());
    stream_.avail_in = static_cast<uInt>(pptr() - pbase());
    while (good_) {
      stream_.next_out = reinterpret_cast<Bytef *>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      deflate(&stream_, flush); // fails only where there is no room, and there is
      good_ = static_cast<bool>(
          out_.write(output_.data(), static_cast<std::streamsize>(output_.size()) -
                                         static_cast<std::streamsize>(stream_.avail_out)));
      if (stream_.avail_out)
        break;
    }
    setp(input_.data(), input_.data() + input_.size());
    return good_;
  }

  std::ostream &out_;
  z_stream stream_ = {};
  bool good_ = false;
  std::array<char, 1 << 16> input_;
  std::array<char, 1 << 16> output_;
};

GzipStream::GzipStream(std::ostream &out)
    : std::ostream(nullptr), buffer_(std::make_unique<Buffer>(out)) {
  rdbuf(buffer_.get());
}
GzipStream::~GzipStream() = default;

void GzipStream::finish() {
  if (!buffer_->finish())
    setstate(badbit);
}

} // namespace devsan::core
