#include "runtime/record/forward_calls.h"

#include "runtime/log/hash.h"
#include "runtime/record/autograd_state.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <array>
#include <cctype>
#include <mutex>
#include <string>
#include <torch/csrc/autograd/function.h>

namespace devsan::runtime {
namespace {

struct ForwardCall {
  std::uint64_t thread = 0;
  std::uint64_t node = 0; // its number on the thread
  const char *op = nullptr;
  StackId stack = 0;
};

constexpr std::size_t kMaxCalls = 4096;
std::array<ForwardCall, kMaxCalls> calls;
// Only tried: a call that cannot be noted is not known later, as in a child that was forked while
// another thread noted one.
std::mutex calls_mutex;

ForwardCall &slotOf(std::uint64_t thread, std::uint64_t node) {
  return calls[mix(thread, node) % kMaxCalls];
}

std::string lettersOf(std::string_view text) {
  std::string letters;
  for (const char c : text)
    if (c != '_')
      letters += char(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

// "IndexBackward0" is of "aten::index".
bool isBackwardOf(std::string_view node, std::string_view op) {
  return lettersOf(node).starts_with(lettersOf(op.substr(op.rfind(':') + 1)) + "backward");
}

} // namespace

void noteForwardCall(const char *op, StackId stack) {
  if (!at::GradMode::is_enabled())
    return;
  // The operator's node, where it needs one, is the last that this thread made.
  const std::uint64_t node = at::sequence_number::peek() - 1;
  const std::uint64_t thread = at::RecordFunction::currentThreadId();
  if (const std::unique_lock lock(calls_mutex, std::try_to_lock); lock)
    slotOf(thread, node) = {thread, node, op, stack};
}

StackId forwardCall() {
  const auto node = torch::autograd::get_current_node();
  if (!node)
    return 0;
  const std::unique_lock lock(calls_mutex, std::try_to_lock);
  if (!lock)
    return 0;
  const ForwardCall &call = slotOf(node->thread_id(), node->sequence_nr());
  return call.op && call.thread == node->thread_id() && call.node == node->sequence_nr() &&
                 isBackwardOf(currentNodeName(), call.op)
             ? call.stack
             : 0;
}

} // namespace devsan::runtime
