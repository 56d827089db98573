#include "analyzer/system/progress.h"

#include "core/text/terminal_text.h"

#include <llvm/Support/Format.h>
#include <llvm/Support/raw_ostream.h>

#include <cmath>
#include <csignal>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace devsan::analyzer {
namespace {

constexpr std::size_t kBarWidth = 24;
constexpr std::size_t kDefaultColumns = 80;
constexpr char kClearLine[] = "\r\x1b[K";

void clearLineAndReraise(int signal) {
  if (write(STDERR_FILENO, kClearLine, sizeof kClearLine - 1) < 0) {
    // nothing to be done about it
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

std::size_t columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
                                                                     : kDefaultColumns;
}

std::string duration(double seconds) {
  const auto whole = std::lround(seconds);
  return whole < 100 ? std::to_string(whole) + " s" : std::to_string((whole + 30) / 60) + " min";
}

} // namespace

Progress::Progress(std::size_t total)
    : total_(total), shown_(total > 1 && isatty(STDERR_FILENO)),
      start_(std::chrono::steady_clock::now()) {
  if (!shown_)
    return;
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, clearLineAndReraise);
}

Progress::~Progress() {
  if (!shown_)
    return;
  llvm::errs() << kClearLine;
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, SIG_DFL);
}

void Progress::say(llvm::StringRef text) {
  llvm::errs() << (shown_ ? kClearLine : "") << "devsan check: " << core::printable(text.str())
               << "\n";
}

void Progress::step(llvm::StringRef file) {
  ++count_;
  if (!shown_)
    return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::string line;
  llvm::raw_string_ostream out(line);
  const std::size_t full = kBarWidth * count_ / total_;
  out << '[' << std::string(full, '#') << std::string(kBarWidth - full, ' ') << "] " << count_
      << '/' << total_;
  if (seconds > 0.5) // before, it says nothing
    out << llvm::format(", %.1f files/s, ", static_cast<double>(count_) / seconds)
        << duration(seconds / static_cast<double>(count_) * static_cast<double>(total_ - count_))
        << " left";
  out << ' ';
  const std::size_t width = columns();
  if (line.size() + 1 < width)
    out << llvm::StringRef(core::printable(file)).take_back(width - line.size() - 1);
  llvm::errs() << kClearLine << llvm::StringRef(line).take_front(width - 1);
}

} // namespace devsan::analyzer
