#include "runtime/detectors/remedies.h"
#include "runtime/detectors/groups.h"
#include "runtime/resolve/function_name.h"

#include <algorithm>
#include <string_view>

namespace devsan::runtime {
namespace {

struct Remedy {
  std::string_view called; // the operator, or a function of torch's; `*` at its end is any end
  std::string_view in_python;
  std::string_view in_cpp = {}; // empty: the same words
};

constexpr std::string_view kIndicesInPython =
    "the result holds the indices of the true elements, and the host has to read how many there "
    "are: torch.nonzero_static(x, size=n) where the number is known; where the indices only choose "
    "elements for a sum or a loss, or build a mask again, keep the mask and use torch.where(mask, "
    "x, 0); where they come out the same each time, make them once";
constexpr std::string_view kIndicesInCpp =
    "the result holds the indices of the true elements, and the host has to read how many there "
    "are: torch::nonzero_static(x, n) where the number is known; where the indices only choose "
    "elements for a sum or a loss, or build a mask again, keep the mask and use torch::where(mask, "
    "x, 0); where they come out the same each time, make them once";

constexpr std::string_view kEmptyCache =
    "it gives cached memory back by cudaFree, which waits for the device, and the next step "
    "allocates it anew: leave it out, the cache reuses the memory; or call it once after the loop";

constexpr std::string_view kFactorization =
    "its solver waits for the device, or looks whether it succeeded: the function with `_ex` "
    "(solve_ex, inv_ex, cholesky_ex), where there is one, does not look; one call for a whole "
    "batch of matrices waits once; where a matrix is used again, keep its factorization";
constexpr std::string_view kSparse =
    "how many elements are not zero is a size, which the host reads: convert once, before the "
    "loop, and keep the sparse tensor, or stay dense";
constexpr std::string_view kQuantization =
    "it reads scale and zero point, or what they are made of, on the host: pass them as numbers "
    "where they are known";
constexpr std::string_view kNested =
    "the sizes of a nested tensor are numbers of the host: make it once, before the loop, or of a "
    "list of tensors, whose sizes the host knows";
constexpr std::string_view kMaskedRead =
    "for `x[mask]` the host has to read how many elements are true; torch.where(mask, x, "
    "fallback) keeps the shape; where several tensors are indexed by a mask of one dimension, "
    "indices = mask.nonzero().squeeze(1) once, and then x.index_select(0, indices), which does "
    "not wait (flatten a mask of more dimensions, and x as well); where each row has one true "
    "element, x.gather(1, index[:, None]); where the mask "
    "comes out the same in each step, index once before the loop";
constexpr std::string_view kMaskedReadInCpp =
    "for a mask as an index the host has to read how many elements are true; torch::where(mask, "
    "x, fallback) keeps the shape; where several tensors are indexed by a mask of one dimension, "
    "indices = mask.nonzero().squeeze(1) once, and then x.index_select(0, indices), which does "
    "not wait; where each row has one true element, x.gather(1, index.unsqueeze(1)); where the "
    "mask comes out the same in each step, index once before the loop";
constexpr std::string_view kMaskedFill =
    "the value is a tensor of the device, and the host reads it: torch.where(mask, value, x) takes "
    "it on the device; or pass a number that the host knows";
constexpr std::string_view kMaskedFillInCpp =
    "the value is a tensor of the device, and the host reads it: torch::where(mask, value, x) "
    "takes it on the device; or pass a number that the host knows";

// The first that fits; what is more special stands first.
constexpr Remedy kRemedies[] = {
    {"print", "print after the loop, or every so many steps; print x.cpu(), which waits once",
     "print after the loop, or every so many steps"},
    {"clip_grad_norm_",
     "error_if_nonfinite=False does not look at the norm; keep what it returns on the device",
     "it returns the norm as a number of the host: norm = torch::stack(norms of the gradients)"
     ".norm(), and each gradient.mul_((max_norm / (norm + 1e-6)).clamp_max(1)), stay on the "
     "device"},
    {"Distribution.__init__",
     "the distribution checks its arguments: pass validate_args=False where it is made, or call "
     "torch.distributions.Distribution.set_default_validate_args(False)"},
    {"Distribution._validate_sample",
     "log_prob() checks that its argument lies in the distribution's support: pass "
     "validate_args=False where the distribution is made, or call "
     "torch.distributions.Distribution.set_default_validate_args(False)"},
    {"aten::_linalg_check_errors",
     "it looks on the host whether it succeeded: the function with `_ex` (torch.linalg.inv_ex, "
     "cholesky_ex, solve_ex, lu_factor_ex) does not, and gives `info` on the device",
     "it looks on the host whether it succeeded: the function with `_ex` (torch::linalg_inv_ex, "
     "linalg_cholesky_ex, linalg_solve_ex) does not, and gives `info` on the device"},
    {"aten::is_nonzero",
     "the value decides a branch (`if tensor:`, `while`, `assert`, `min(tensor, 1)`): where it "
     "comes from values that the host had, such as a schedule, keep a copy there and test that; "
     "where both branches can be computed, torch.where(condition, a, b) decides on the "
     "device; torch._assert_async(condition) checks there; a test for the end or a warning can "
     "come one step late: copy the value into pinned memory with non_blocking=True, record a "
     "torch.cuda.Event, and read it once event.query() is true; a value that the host needs before "
     "it goes on, such as whether a factorization succeeded, has to wait: mark it with "
     "devsan.allow_sync()",
     "the value decides a branch: where it comes from values that the host had, such as a "
     "schedule, keep a copy there and test that; where both branches can be computed, "
     "torch::where(condition, a, b) decides on the device; at::_assert_async(condition) checks "
     "there; a test for the end or a warning can "
     "come one step late: copy the value into pinned memory with non_blocking, record an event, "
     "and read it once event.query() is true; a value that the host needs before it goes on, such "
     "as whether a factorization succeeded, has to wait: mark it with devsan::AllowSync"},
    {"aten::nonzero", kIndicesInPython, kIndicesInCpp},
    {"aten::argwhere", kIndicesInPython, kIndicesInCpp},
    {"aten::where",
     "torch.where(condition) alone is condition.nonzero(): the result holds the indices of the "
     "true elements, and the host has to read how many there are: torch.nonzero_static(x, size=n) "
     "where the number is known; where the indices only choose elements for a sum or a loss, or "
     "build a mask again, keep the mask and use torch.where(mask, x, 0); where they come out the "
     "same each time, make them once",
     "torch::where(condition) alone is condition.nonzero(): the result holds the indices of the "
     "true elements, and the host has to read how many there are: torch::nonzero_static(x, n) "
     "where the number is known; where the indices only choose elements for a sum or a loss, or "
     "build a mask again, keep the mask and use torch::where(mask, x, 0); where they come out the "
     "same each time, make them once"},
    {"aten::masked_select",
     "the number of true elements is the size of the result: torch.where(mask, x, 0) keeps the "
     "shape, and "
     "sums leave out what the mask leaves out",
     "the number of true elements is the size of the result: torch::where(mask, x, 0) keeps the "
     "shape, and "
     "sums leave out what the mask leaves out"},
    {"aten::index_put*",
     "`x[mask] = v` counts the mask's true elements on the host: x.masked_fill_(mask, number), or "
     "torch.where(mask, v, x) with a v of x's shape; `x[mask] += v` counts them twice: "
     "torch.where(mask, x + v, x)",
     "a mask as an index counts its true elements on the host: x.masked_fill_(mask, number), or "
     "torch::where(mask, v, x) with a v of x's shape"},
    {"aten::_index_put_impl_",
     "`x[mask] = v` counts the mask's true elements on the host: x.masked_fill_(mask, number), or "
     "torch.where(mask, v, x) with a v of x's shape; `x[mask] += v` counts them twice: "
     "torch.where(mask, x + v, x)",
     "a mask as an index counts its true elements on the host: x.masked_fill_(mask, number), or "
     "torch::where(mask, v, x) with a v of x's shape"},
    {"aten::index", kMaskedRead, kMaskedReadInCpp},
    {"aten::_unsafe_index", kMaskedRead, kMaskedReadInCpp},
    {"aten::unique*",
     "the number of different values is the size of the result: call it where the data is made, "
     "not in each step; sort() keeps the size"},
    {"aten::_unique*",
     "the number of different values is the size of the result: call it where the data is made, "
     "not in each step; sort() keeps the size"},
    {"aten::bincount",
     "the largest value is the size of the result: torch.zeros(n, device=x.device)"
     ".scatter_add_(0, x, weights) with a size that is known",
     "the largest value is the size of the result: torch::zeros({n}, options)"
     ".scatter_add_(0, x, weights) with a size that is known"},
    {"aten::repeat_interleave",
     "the sum of the repeats is the size of the result: pass output_size=n, which the host mostly "
     "knows",
     "the sum of the repeats is the size of the result: pass output_size, which the host mostly "
     "knows"},
    {"aten::one_hot", "the largest value is the size of the result: pass num_classes=n",
     "the largest value is the size of the result: pass num_classes"},
    {"aten::histc", "pass min and max, which it reads from the tensor otherwise"},
    {"aten::equal",
     "it returns a bool of the host: where the answer chooses a value, torch.where((a == b).all(), "
     "x, y), for equal shapes alone; where it chooses a branch, ask first what the host knows (`a "
     "is b`, shapes, dtypes), and compare only where that does not decide; where it is the same in "
     "each step, compare once and pass the answer on",
     "it returns a bool of the host: where the answer chooses a value, torch::where((a == "
     "b).all(), x, y), for equal shapes alone; where it chooses a branch, ask first what the host "
     "knows (a.is_same(b), shapes, dtypes), and compare only where that does not decide; where it "
     "is the same in each step, compare once and pass the answer on"},
    {"aten::allclose",
     "it returns a bool of the host: torch.isclose(a, b).all() stays on the device; where the "
     "answer chooses a branch, ask it every so many steps",
     "it returns a bool of the host: torch::isclose(a, b).all() stays on the device; where the "
     "answer chooses a branch, ask it every so many steps"},
    {"aten::_ctc_loss*", "give the lengths as tensors of the host, where they are known"},
    {"aten::ctc_loss", "give the lengths as tensors of the host, where they are known"},
    {"aten::masked_fill*", kMaskedFill, kMaskedFillInCpp},
    {"aten::fill_",
     "the value is a tensor of the device, and the host reads it: copy_(value) spreads it on the "
     "device; or pass a number that the host knows"},
    {"aten::index_fill*",
     "the value is a tensor of the device, and the host reads it: index_copy_() takes values on "
     "the device; or pass a number that the host knows"},
    {"aten::_grouped_mm",
     "it reads the offsets of the groups on the host, to multiply one by one: in bfloat16 on a GPU "
     "of compute capability 9.0 one kernel does all and does not wait; groups of one size are a "
     "torch.bmm",
     "it reads the offsets of the groups on the host, to multiply one by one: in bfloat16 on a GPU "
     "of compute capability 9.0 one kernel does all and does not wait; groups of one size are a "
     "torch::bmm"},
    {"aten::linalg_matrix_exp",
     "it reads how large the matrices are, to choose how many terms it needs: one call for a whole "
     "batch of matrices waits once"},
    {"aten::linalg_*", kFactorization},
    {"aten::_linalg_*", kFactorization},
    {"aten::cholesky*", kFactorization},
    {"aten::_cholesky*", kFactorization},
    {"aten::_to_sparse*", kSparse},
    {"aten::to_sparse*", kSparse},
    {"aten::_coalesce", kSparse},
    {"aten::coalesce", kSparse},
    {"aten::_sparse_*", kSparse},
    {"aten::sparse_mask", kSparse},
    {"aten::hspmm", kSparse},
    {"aten::quantize_per_*", kQuantization},
    {"aten::fake_quantize_*", kQuantization},
    {"aten::_fake_quantize_*", kQuantization},
    {"aten::_fused_moving_avg_obs_fq_helper", kQuantization},
    {"aten::_nested_*", kNested},
    {"aten::to_padded_tensor", kNested},
    {"aten::_padded_dense_to_jagged*", kNested},
    {"graph.__enter__",
     "a capture waits for the device and gives cached memory back: capture once, before the loop"},
    {"empty_cache", kEmptyCache},
    {"emptyCache", kEmptyCache},
    {"cudaFreeHost", "allocate pinned memory once, before the loop, and free it after the loop"},
    {"cudaFree*", "allocate once, before the loop, and free after it; cudaFreeAsync does not wait"},
    {"cudaMallocHost", "allocate pinned memory once, before the loop"},
    {"cudaHost*", "allocate or register pinned memory once, before the loop"},
    {"cudaDeviceSynchronize",
     "the device runs its queued work in order without this call: leave it out, or wait for an "
     "event of the step before; times are what torch.cuda.Event(enable_timing=True) measures",
     "the device runs its queued work in order without this call: leave it out, or wait for an "
     "event of the step before; times are what events measure"},
    {"cudaStreamSynchronize",
     "a stream waits for another by wait_stream() or an event, without the host; the host waits "
     "for an event of the step before",
     "a stream waits for another by an event (`event.block(stream)`), without the host; the host "
     "waits for an event of the step before"},
    {"cudaEventSynchronize",
     "wait for the event of the step before, which is over by then; streams wait by "
     "stream.wait_event(event), without the host",
     "wait for the event of the step before, which is over by then; streams wait by "
     "event.block(stream), without the host"},
};

// Of a value that is read, by the function of torch's that reads it: it tells what the value is
// for.
constexpr Remedy kReads[] = {
    {"Tensor.__format__",
     "the value is shown: copy it into pinned memory with non_blocking=True and show it one step "
     "later, after its event; or show it every so many steps"},
    {"at::indexing::handleDimInMultiDimIndexing",
     "`x[i]` with a tensor of one value as `i` reads it: x.index_select(0, i) or x[i.view(1)] "
     "looks it up on the device, where x has to be too; or keep such indices on the host"},
    {"torch::autograd::__PySlice_Unpack",
     "a slice needs its bounds on the host: take them from what the host knows, as lengths of a "
     "list or a shape; x.index_select(0, indices) takes indices on the device"},
    {"torch::autograd::THPVariable_index_scalar",
     "`range(tensor)`, `list[tensor]` and sizes are work of the host: take the number from what "
     "the host knows, as an argument, a shape or a length, or work it out before the upload"},
    {"torch::autograd::THPVariable_integral_scalar",
     "where it is a size or a count, pass a number that the host knows (an argument, a shape, a "
     "length), or work it out before the upload; as an index, x.index_select(0, i) takes it on the "
     "device; where it is only logged, read it every so many steps"},
    {"torch::PythonArgs::scalar",
     "the argument is a number of the host: an operator that takes a tensor there does not wait, "
     "as value.expand(size) instead of torch.full(size, value), torch.where instead of "
     "masked_fill; or keep the number on the host"},
    {"torch::PythonArgs::toDouble", "the argument is a number of the host: keep it there"},
    {"torch::PythonArgs::*",
     "the argument is a size or a count of the host: pass one that the host knows (an argument, a "
     "shape, a length), or work it out before the upload"},
    {"",
     "a sum or a mean is added up on the device and read once after the loop; what a list collects "
     "is appended as x.detach(), and torch.stack(list) read once after the loop; a value to log is "
     "copied into pinned memory with non_blocking=True and read one step later, after its event; "
     "what goes back to the device, such as a sampled index, stays a tensor; a condition becomes "
     "torch.where(condition, a, b), or is looked at one step later; a check that only fails is "
     "torch._assert_async(condition); a size or an index comes from what the host knows; elements "
     "that are read one by one come by one x.cpu() before; what the host needs at once has to "
     "wait: mark it with devsan.allow_sync()",
     "a sum or a mean is added up on the device and read once after the loop; what a list collects "
     "is appended as x.detach(), and torch::stack(list) read once after the loop; a value to log "
     "is copied into pinned memory with non_blocking and read one step later, after its event; "
     "what goes back to the device, such as a sampled index, stays a tensor; a condition becomes "
     "torch::where(condition, a, b), or is looked at one step later; a check that only fails is "
     "at::_assert_async(condition); a size or an index comes from what the host knows; elements "
     "that are read one by one come by one x.cpu() before; what the host needs at once has to "
     "wait: mark it with devsan::AllowSync"},
};

constexpr std::uint64_t kOneElement = 8; // bytes, at most

constexpr std::string_view kOneByOne =
    "where a loop takes element after element, one x.cpu() before it copies all at once; ";

constexpr Remedy kDownload = {
    "",
    "what a loop adds up or collects stays on the device (torch.stack) and is copied once after "
    "it; what the host needs later is copied into pinned memory with non_blocking=True, and read "
    "one step later, after its event; where the host needs it at once (an environment on the CPU "
    "needs its action), the wait cannot be avoided: put devsan.allow_sync() around the line, or "
    "name a library's line in a suppression file",
    "what a loop adds up or collects stays on the device (torch::stack) and is copied once after "
    "it; what the host needs later is copied into pinned memory with non_blocking, and read one "
    "step later, after its event; where the host needs it at once (an environment on the CPU needs "
    "its action), the wait cannot be avoided: put devsan::AllowSync around the line"};

// Of operators that give nothing to the host.
constexpr Remedy kWaitsInside = {
    "",
    "the operator waits inside, whatever becomes of its result: call it once, for a whole batch or "
    "before the loop, or where the host waits anyway; where that cannot be, put "
    "devsan.allow_sync() around it",
    "the operator waits inside, whatever becomes of its result: call it once, for a whole batch or "
    "before the loop, or where the host waits anyway; where that cannot be, put "
    "devsan::AllowSync around it"};

constexpr std::string_view kPutIndices =
    "create the indices on the device; a number that is assigned through them is copied, too: "
    "assign x.new_full((), number)";
constexpr std::string_view kPutIndicesInCpp =
    "create the indices on the device; a number that is assigned through them is copied, too: "
    "assign torch::full({}, number, x.options())";

// Of copies that nothing asked for.
constexpr Remedy kTransfers[] = {
    {"aten::index_put*", kPutIndices, kPutIndicesInCpp},
    {"aten::_index_put_impl_", kPutIndices, kPutIndicesInCpp},
    {"torch::autograd::THPVariable_setitem",
     "`x[i] = value` copies the value: x[i].fill_(number) does not copy; a tensor belongs on the "
     "device of x before"},
};
// Where the copied operand is what is assigned.
constexpr Remedy kPutValues = {
    "",
    "`x[i, j] = value` copies a value of the host: for a mask x.masked_fill_(mask, number); for "
    "indices make the value on the device, as x.new_full((), number)",
    "index_put_ copies a value of the host: for a mask x.masked_fill_(mask, number); for indices "
    "make the value on the device, as torch::full({}, number, x.options())"};

constexpr std::string_view kInCompiled =
    " is compiled code: call it once for a whole batch, or where its result is read anyway; in its "
    "source: ";

bool fits(std::string_view pattern, std::string_view name) {
  const bool is_open = pattern.ends_with('*');
  return is_open ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
}

// The functions of torch's that the program called on the way to the operator.
bool passes(const ResolvedStack &stack, std::string_view function) {
  const std::size_t end = stack.innermost_user.value_or(stack.frames.size());
  return std::any_of(stack.frames.begin(), stack.frames.begin() + static_cast<std::ptrdiff_t>(end),
                     [&](const ResolvedFrame &frame) {
                       return frame.kind == FrameKind::kTorch &&
                              (fits(function, frame.function()) ||
                               lastComponent(frame.function()) == function);
                     });
}

// Compiled code of the program that is known by the line of Python that called it; null where there
// is none.
const ResolvedFrame *compiledCaller(const ResolvedStack &stack) {
  const ResolvedFrame *place = stack.place();
  const ResolvedFrame *caller = place ? &stack.frames[*stack.innermost_user] : nullptr;
  return caller != place ? caller : nullptr;
}

std::string textOf(const Remedy &remedy, const ResolvedEvent &event) {
  const ResolvedFrame *compiled = compiledCaller(*event.stack);
  const bool in_python = !compiled && isInPython(event);
  const std::string words(in_python || remedy.in_cpp.empty() ? remedy.in_python : remedy.in_cpp);
  return compiled
             ? std::string(lastComponent(compiled->function())) + std::string(kInCompiled) + words
             : words;
}

} // namespace

std::string remedyFor(const ResolvedEvent &event) {
  const ResolvedStack &stack = *event.stack;
  // The backward of `x[mask]` counts again.
  const std::string forward = !event.has(kInBackward)                        ? ""
                              : event.detail == "IndexBackward0"             ? "aten::index"
                              : event.detail.starts_with("IndexPutBackward") ? "aten::index_put_"
                                                                             : "";
  const std::string &called = forward.empty() ? event.calledOp() : forward;
  const std::string &inner = forward.empty() ? event.op : forward;
  for (const Remedy &remedy : kRemedies)
    if (fits(remedy.called, called) || fits(remedy.called, inner) ||
        (!remedy.called.starts_with("aten::") && passes(stack, remedy.called)))
      return textOf(remedy, event);
  if (called == "aten::item" || called == "aten::_local_scalar_dense")
    for (const Remedy &remedy : kReads)
      if (remedy.called.empty() || passes(stack, remedy.called))
        return textOf(remedy, event);
  const Event &one = event.event;
  if (one.kind == EventKind::kCopy && !one.from.isHost() && one.to.isHost() && !stack.reads_scalar)
    return std::string(one.bytes <= kOneElement ? kOneByOne : "") + textOf(kDownload, event);
  const bool is_operator = called.starts_with("aten::") && !stack.reads_scalar;
  return one.kind == EventKind::kBlock && is_operator ? textOf(kWaitsInside, event) : "";
}

std::string remedyForTransfer(const ResolvedEvent &event) {
  if (event.event.from.isHost() && event.operand == "values" &&
      (fits("aten::index_put*", event.calledOp()) || event.calledOp() == "aten::_index_put_impl_"))
    return textOf(kPutValues, event);
  for (const Remedy &remedy : kTransfers)
    if (event.event.from.isHost() &&
        (fits(remedy.called, event.calledOp()) ||
         (event.calledOp() == "aten::copy_" && passes(*event.stack, remedy.called))))
      return textOf(remedy, event);
  return {};
}

} // namespace devsan::runtime
