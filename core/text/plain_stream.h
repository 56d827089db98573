// Documents that stand in a terminal or a log of CI as often as in a file: what in them would
// control either is escaped in the document's own notation, so that it means the same to a reader.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace devsan::core {

enum class Notation { kJson, kXml }; // \u202e and &#x202e;

// Passes on what is written to it. Escaped are controls beyond ASCII's, delete, marks that turn the
// direction of writing, the first sign of `##[` and its kin, and of `::` where a line begins.
// ASCII's own controls are the writer's to escape, as both notations demand.
class PlainBuffer : public std::streambuf {
public:
  PlainBuffer(std::ostream &out, Notation notation) : out_(out), notation_(notation) {}
  PlainBuffer(const PlainBuffer &) = delete;
  PlainBuffer &operator=(const PlainBuffer &) = delete;
  ~PlainBuffer() override { out_ << held_; }

protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char *text, std::streamsize size) override;

private:
  void put(char c);
  void pass(std::string_view text);

  std::ostream &out_;
  Notation notation_;
  std::string held_; // may become something to escape
  bool begins_line_ = true;
};

class PlainStream : public std::ostream {
public:
  PlainStream(std::ostream &out, Notation notation)
      : std::ostream(nullptr), buffer_(out, notation) {
    rdbuf(&buffer_);
  }

private:
  PlainBuffer buffer_;
};

} // namespace devsan::core
