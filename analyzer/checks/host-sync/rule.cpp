#include "analyzer/facts/rule.h"
#include "analyzer/facts/operators.h"
#include "analyzer/facts/text.h"

#include <algorithm>
#include <optional>

namespace devsan::analyzer {
namespace {

class HostSync {
public:
  HostSync(const FunctionFacts &facts, Program &program) : facts_(facts), program_(program) {}

  Findings judge() {
    if (program_.hostOnly() || program_.withoutDevices())
      return {};
    for (const Operation &operation : facts_.operations) {
      if (operation.kind == Operation::Kind::kWait && !program_.isBesideClock(operation.expr))
        report({.operation = operation,
                .place = Place::host(),
                .what = "makes the host wait for the device",
                .remedy = waitRemedy(operation.name)});
      if (operation.operands.empty())
        continue;
      if (operation.kind == Operation::Kind::kMove)
        examineMove(operation);
      else if (operation.kind == Operation::Kind::kTensorOp)
        examineOperation(operation);
    }
    earlier_ = {};
    for (const Operation &operation : facts_.operations)
      examineHostValues(operation);
    return std::move(findings_);
  }

private:
  // What makes the host wait.
  struct Wait {
    const Operation &operation;
    Code read = {};                 // the data that the host wants
    Place place;                    // of that
    std::string from = {}, to = {}; // devices, as findings say them
    std::string_view what, remedy = {};
  };

  static constexpr std::string_view kMakeThere =
      "make it once, before the loop, or fill it on the device: `torch::full`";

  // Size their result by what is in the data, unless they are told the size.
  bool readsSize(const Operation &operation) {
    if (operation.name == "one_hot")
      return program_.argument(operation.expr, "num_classes") == Argument::kLeftOut;
    // Repeats given as one number are no data.
    return operation.name == "repeat_interleave" &&
           (operation.operands.size() > 1 ||
            (!operation.receiver &&
             program_.argument(operation.expr, "dim") == Argument::kNoParameter)) &&
           program_.argument(operation.expr, "output_size") == Argument::kLeftOut;
  }

  // Compute a result and then read from the device whether that worked. Each has a twin that leaves
  // the look to the caller.
  static std::string_view uncheckedTwin(std::string_view name) {
    static constexpr std::pair<std::string_view, std::string_view> kTwins[] = {
        {"inverse", "linalg_inv_ex"},
        {"linalg_inv", "linalg_inv_ex"},
        {"cholesky", "linalg_cholesky_ex"},
        {"linalg_cholesky", "linalg_cholesky_ex"},
        {"linalg_solve", "linalg_solve_ex"},
        {"linalg_lu_factor", "linalg_lu_factor_ex"},
        {"linalg_ldl_factor", "linalg_ldl_factor_ex"}};
    for (const auto &[checked, twin] : kTwins)
      if (checked == name)
        return twin;
    return "";
  }

  static bool isMask(const Operation &operation) {
    static const Names kIndexes{"index", "operator[]", "index_put_", "index_put"};
    return kIndexes.contains(operation.name) &&
           std::any_of(operation.operands.begin() + 1, operation.operands.end(),
                       [](const Operand &index) { return index.value.dtype == Dtype::kBool; });
  }

  // What the host reads of an operand.
  void reportRead(const Operation &operation, const Operand &read, std::string_view what,
                  std::string_view remedy = "") {
    report({.operation = operation,
            .read = read.expr,
            .place = read.value.place,
            .from = read.value.place.device(),
            .to = Place::host().device(),
            .what = what,
            .remedy = remedy});
  }

  void examineOperation(const Operation &operation) {
    const Operand &first = operation.operands.front();
    if (const std::string_view twin = uncheckedTwin(operation.name);
        !twin.empty() && !onHost(first.value))
      reportRead(operation, first,
                 "reads on the host whether it succeeded, so the host waits for the device",
                 fill("use `{}`, and look at its info once, if at all", {twin}));
    examineCopy(operation);
    const bool mask = isMask(operation);
    // where(condition) alone is nonzero under another name.
    const bool where = operation.name == "where" &&
                       program_.arguments(operation.expr).size() + bool(operation.receiver) == 1;
    const bool size = readsSize(operation);
    if (!mask && !where && !size && !readsData(operation.name))
      return;
    // For repeat_interleave(x, repeats) the last tensor tells the size.
    const Operand &read = size ? operation.operands.back() : first;
    if (onHost(read.value))
      return;
    // A mask assigned with a number becomes masked_fill, which does not wait.
    if (mask && operation.name.starts_with("index_put") && operation.operands.size() < 3)
      return;
    reportRead(
        operation, read,
        mask   ? "needs the number of true elements of the mask, so the host waits for the device"
        : size ? "needs the size of its result, so the host waits for the device"
        : operation.name == "item" ? "makes the host wait for the device"
                                   : "gives the host a result of the device, so the host waits",
        mask                          ? "keep the shape: `torch::where` or `masked_fill`"
        : operation.name == "one_hot" ? "pass `num_classes`"
        : operation.name == "clip_grad_norm_"
            ? "scale the gradients on the device, by `torch::clamp_max(max_norm / norm, 1)`"
        : size ? "pass `output_size`"
               : "");
  }

  static std::string_view waitRemedy(std::string_view name) {
    return name.ends_with("Memcpy")
               ? "copy asynchronously, to pinned memory, and wait for an event where the data is "
                 "needed"
               : "order the work with streams and events, and wait once after the loop, if at all";
  }

  void examineMove(const Operation &move) {
    const Operand &moved = move.operands.front();
    // The copy goes to pinned memory, and nobody waits.
    if (isNonBlocking(move))
      return;
    if (move.target.place.onHost()) {
      // A round trip is reported as one, where the data goes back.
      if (!onHost(moved.value) && !returnsToDevice(move) &&
          !program_.endsInference(move.expr, facts_.function))
        reportRead(move, moved, kCopies);
    } else if (moved.value.place.onHost() && moved.value.has(Origin::Kind::kHostScalar) &&
               moved.value.zero_dim) {
      reportMade(move, moved.expr, moved.value.place, "copies one host value to the device");
    }
  }

  static constexpr std::string_view kCopies = "copies from the device, so the host waits for it";

  void reportMade(const Operation &operation, Code read, const Place &place,
                  std::string_view what) {
    report({.operation = operation,
            .read = read,
            .place = place,
            .from = Place::host().device(),
            .to = operation.target.place.device(),
            .what = what,
            .remedy = kMakeThere});
  }

  // torch::tensor({v}, x.device()) is a tensor on the host and a copy; one number fills a tensor.
  void examineHostValues(const Operation &made) {
    const Place &target = made.target.place;
    if (made.kind == Operation::Kind::kFactory && made.name == "tensor" && !made.receiver &&
        !made.result.zero_dim && !target.onHost() && !target.is(Place::Kind::kNone) &&
        !program_.hasZeroSize(made.expr))
      reportMade(made, made.expr, made.result.place, "copies a host value to the device");
  }

  // host.copy_(x) for x on the device.
  void examineCopy(const Operation &copy) {
    if (copy.name == "copy_" && copy.operands.size() == 2 && !isNonBlocking(copy) &&
        copy.operands[0].value.place.onHost() && copy.operands[1].value.place.maybeOffHost())
      reportRead(copy, copy.operands[1], kCopies);
  }

  // to(kCPU, /*non_blocking=*/true); a variable may be true.
  bool isNonBlocking(const Operation &copy) {
    const Argument given = program_.argument(copy.expr, "non_blocking");
    return given == Argument::kTrue || given == Argument::kUnknown;
  }

  // Where nothing in the file deals with devices, tensors that come from nowhere in particular are
  // the host's.
  bool onHost(const Value &value) {
    return value.place.onHost() || (!value.place.maybeOffHost() && !program_.knowsDevices());
  }

  bool returnsToDevice(const Operation &copy) {
    return std::ranges::any_of(facts_.operations, [&](const Operation &back) {
      return back.kind == Operation::Kind::kMove && !back.operands.empty() &&
             !back.target.place.onHost() &&
             std::ranges::count(back.operands.front().value.origins,
                                Origin{Origin::Kind::kHostCopy, copy.expr}) > 0;
    });
  }

  void report(Wait wait) {
    const Code call = wait.operation.expr;
    // What an operator got from elsewhere may well be the host's: sizes, offsets.
    if (!wait.place.maybeOffHost() && !wait.place.onHost() &&
        program_.isOperator(facts_.function) && !program_.isStep(facts_.function) &&
        !program_.loopAround(call))
      return;
    std::string when = program_.everyStep(call, facts_.function);
    std::vector<std::string> steps;
    if (when.empty() && wait.place.maybeOffHost()) {
      steps = program_.possibleSteps(call, facts_.function);
      if (!steps.empty())
        when = "in a function that a step of another file runs";
    }
    if (when.empty() || program_.isSyncAllowed(call) ||
        (wait.read &&
         (isReadOncePerLoop(call, wait.read) || !isFirstOfTensor(wait.operation, wait.read))))
      return;
    RuleFinding finding{
        .at = call,
        .message = fill("'{}' {} on every step ({})", {program_.spelling(call), wait.what, when}),
        .op = program_.operatorName(call),
        .from = std::move(wait.from),
        .to = std::move(wait.to),
        .remedy = std::string(wait.remedy),
        .needs = wait.operation.kind == Operation::Kind::kWait
                     ? Needs::kDevice
                     : program_.needsOf(facts_, call, wait.place),
        .is_for_libraries = !isAvoidable(wait),
        .steps = std::move(steps),
        .holder = program_.holder(facts_, call, wait.place)};
    if (readsOnly(wait.operation) && isOfEarlier(finding))
      return;
    if (readsOnly(wait.operation)) {
      earlier_ = findings_.size();
      last_read_ = call;
    }
    findings_.push_back(std::move(finding));
  }

  static bool sameHolder(const RuleFinding &one, const RuleFinding &other) {
    return one.holder ? other.holder && one.holder->key() == other.holder->key() : !other.holder;
  }

  // Others compute something first.
  static bool readsOnly(const Operation &operation) {
    return (operation.kind == Operation::Kind::kMove && operation.target.place.onHost()) ||
           operation.name == "item" || operation.name == "operator<<";
  }

  // `a.item()` after `b.item()`: the first wait was for both, if it is one.
  bool isOfEarlier(const RuleFinding &finding) {
    if (!earlier_)
      return false;
    RuleFinding &first = findings_[*earlier_];
    const bool waits = (first.needs == Needs::kDevice && !first.holder) ||
                       (first.needs == finding.needs && sameHolder(first, finding));
    if (!waits || first.from != finding.from ||
        program_.loopAround(first.at) != program_.loopAround(finding.at) ||
        !(program_.isDrained(last_read_, finding.at) || program_.isDrained(first.at, finding.at)))
      return false;
    last_read_ = finding.at;
    first.is_for_libraries |= finding.is_for_libraries;
    if (first.related.size() < kMaxRelated)
      first.related.push_back(
          {.code = finding.at, .message = "read here as well: one copy would bring both"});
    return true;
  }

  // What the host does with what it waits for, it could do later, or once for several waits. Who
  // has the program knows whether it wants the rest.
  bool isAvoidable(const Wait &wait) {
    const Operation &operation = wait.operation;
    if (operation.kind == Operation::Kind::kWait || isMask(operation))
      return false;
    if (operation.kind == Operation::Kind::kFactory)
      return program_.isConstantData(operation.expr);
    const bool is_move = operation.kind == Operation::Kind::kMove;
    if (is_move && !operation.target.place.onHost())
      return true;
    if (readsSize(operation) || !uncheckedTwin(operation.name).empty() ||
        operation.name == "clip_grad_norm_")
      return true;
    bool is_element = false;
    const std::optional<Path> tensor = program_.whole(facts_, wait.read, is_element);
    if (!is_move && operation.name != "item")
      return false;
    if (readsSeveral(operation))
      return true;
    const bool has_loop = bool(program_.loopAround(operation.expr));
    if (is_element && tensor && program_.hasVariableIndex(wait.read))
      return has_loop ? !isSetInLoop(operation, *tensor) : isOfParameter(*tensor);
    if (is_move && tensor && has_loop && !isSetInLoop(operation, *tensor))
      return true;
    const HostUse use = program_.hostUse(operation.expr, facts_.function);
    return use == HostUse::kGathered || use == HostUse::kSeldom || use == HostUse::kTensors ||
           (use == HostUse::kShown && program_.isBeforeBackward(operation.expr, facts_.function));
  }

  struct Read {
    const Operation *operation;
    Loop loop;
    std::optional<Path> tensor = {}; // of which it is an element, or the whole
    bool is_element = false;
    std::optional<Path> source = {};
  };

  const std::vector<Read> &reads() {
    if (!reads_) {
      reads_.emplace();
      for (const Operation &operation : facts_.operations) {
        if (operation.operands.empty() || operation.name == "operator<<" || !readsOnly(operation))
          continue;
        Read read{.operation = &operation, .loop = program_.loopAround(operation.expr)};
        const Code from = operation.operands.front().expr;
        read.tensor = program_.whole(facts_, from, read.is_element);
        read.source = program_.source(facts_, from);
        reads_->push_back(std::move(read));
      }
    }
    return *reads_;
  }

  // The same turn of the loop reads the tensor again, or other elements, or what else is computed
  // of it: `x.min().item(); x.max().item()`.
  bool readsSeveral(const Operation &operation) {
    const auto own = std::ranges::find(reads(), &operation, &Read::operation);
    if (own == reads().end())
      return false;
    return std::ranges::any_of(reads(), [&](const Read &other) {
      const bool same_tensor = own->tensor && own->tensor == other.tensor && own->is_element &&
                               other.is_element &&
                               program_.type(own->tensor->last()) != Type::kTensors;
      const bool same_source = own->source && own->source == other.source && !own->is_element &&
                               !(own->tensor && own->tensor == other.tensor) &&
                               operation.name == "item" && other.operation->name == "item";
      return other.operation != &operation && other.loop == own->loop &&
             (same_tensor || same_source) && !isSetBetween(operation, *other.operation, *own) &&
             !program_.areExclusive(operation.expr, other.operation->expr);
    });
  }

  bool isSetBetween(const Operation &one, const Operation &other, const Read &read) {
    const Operation *first = std::min(&one, &other), *last = std::max(&one, &other);
    const std::optional<Path> &path = read.tensor ? read.tensor : read.source;
    return std::any_of(first + 1, last, [&](const Operation &between) {
      return between.kind == Operation::Kind::kAssign && between.path && path &&
             path->startsWith(*between.path);
    });
  }

  bool isOfParameter(const Path &tensor) {
    return tensor.root && tensor.fields.empty() && program_.role(tensor.root) == Role::kParameter;
  }

  bool isSetInLoop(const Operation &operation, const Path &tensor) {
    const Loop loop = program_.loopAround(operation.expr);
    return std::ranges::any_of(facts_.operations,
                               [&](const Operation &other) {
                                 return other.path && tensor.startsWith(*other.path) &&
                                        (other.kind == Operation::Kind::kAssign ||
                                         isInPlace(other.name) || other.name == "operator=") &&
                                        program_.isIn(other.expr, loop);
                               }) ||
           program_.mayChange(tensor, operation.expr);
  }

  // `box[i][0].item()`, `box[i][1].item()`, or `loss.item()` twice: one wait would read them all.
  bool isFirstOfTensor(const Operation &operation, Code read) {
    bool is_element = false;
    const std::optional<Path> tensor = program_.whole(facts_, read, is_element);
    if (!tensor || (!is_element && operation.name != "item"))
      return true;
    const std::pair seen{program_.loopAround(operation.expr), *tensor};
    if (std::ranges::count(seen_, seen) > 0)
      return false;
    seen_.push_back(seen);
    return true;
  }

  // The innermost loop holds another one that computes what is read: `for (epoch) { for (batch) …;
  // print(loss.item()); }` reads once for all batches. The outer one may be in a caller.
  bool isReadOncePerLoop(Code call, Code read) {
    const Loop loop = program_.loopAround(call);
    const std::optional<Path> variable = program_.source(facts_, read);
    if (!variable || (!loop && !program_.isLoopBody(facts_.function)))
      return false;
    return std::ranges::any_of(facts_.operations, [&](const Operation &operation) {
      const bool writes = operation.kind == Operation::Kind::kAssign || isInPlace(operation.name) ||
                          operation.name == "operator+=" || operation.name == "operator=";
      if (!writes || operation.path != variable)
        return false;
      const Loop inner = program_.loopAround(operation.expr);
      return inner && inner != loop && program_.isOverBefore(inner, loop, call);
    });
  }

  static constexpr std::size_t kMaxRelated = 3;

  const FunctionFacts &facts_;
  Program &program_;
  std::optional<std::size_t> earlier_;      // the finding of the last wait for data
  Code last_read_ = {};                     // that it stands for
  std::optional<std::vector<Read>> reads_;  // of data, as far as they were asked for
  std::vector<std::pair<Loop, Path>> seen_; // what was reported of each loop's tensors
  Findings findings_;
};

Findings hostSync(const FunctionFacts &facts, Program &program) {
  return HostSync(facts, program).judge();
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(host_sync, hostSync)
