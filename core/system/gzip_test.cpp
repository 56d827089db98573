#include "core/system/gzip.h"

#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <zlib.h>

namespace devsan::core {
namespace {

std::string decompressed(const std::string &bytes) {
  z_stream stream = {};
  constexpr int kGzip = 16;
  EXPECT_EQ(inflateInit2(&stream, kGzip + MAX_WBITS), Z_OK);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  int status = Z_OK;
  while (status == Z_OK) {
    char part[4096];
    stream.next_out = reinterpret_cast<Bytef *>(part);
    stream.avail_out = sizeof part;
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(part, sizeof part - stream.avail_out);
  }
  EXPECT_EQ(status, Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0u);
  inflateEnd(&stream);
  return text;
}

TEST(GzipStream, HoldsWhatWasWritten) {
  for (const std::size_t size : {0, 1, 1000, 65535, 65536, 65537, 5'000'000}) {
    std::string text;
    for (std::size_t i = 0; text.size() < size; ++i)
      text += std::to_string(i * 7919 % 100'003);
    text.resize(size);
    std::ostringstream out;
    GzipStream compressed(out);
    compressed << text;
    compressed.finish();
    EXPECT_TRUE(compressed);
    EXPECT_EQ(decompressed(out.str()), text) << size;
  }
}

TEST(GzipStream, FailsWhereItsOutputFails) {
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  GzipStream compressed(out);
  compressed << "text";
  compressed.finish();
  EXPECT_FALSE(compressed);
}

} // namespace
} // namespace devsan::core
