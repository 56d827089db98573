#include "analyzer/answers/facts_dump.h"

#include "analyzer/answers/source_program.h"
#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/operator_name.h"
#include "analyzer/ast/unresolved_code.h"
#include "analyzer/model/cuda/given_stream.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Path.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr unsigned kMaxLines = 20'000;

llvm::StringRef wordFor(Operation::Kind kind) {
  switch (kind) {
  case Operation::Kind::kMove:
    return "move";
  case Operation::Kind::kFactory:
    return "factory";
  case Operation::Kind::kTensorOp:
    return "operator";
  case Operation::Kind::kModule:
    return "module";
  case Operation::Kind::kReturn:
    return "return";
  case Operation::Kind::kGather:
    return "gather";
  case Operation::Kind::kCall:
    return "call";
  case Operation::Kind::kAssign:
    return "assignment";
  case Operation::Kind::kLaunch:
    return "launch";
  case Operation::Kind::kWait:
    return "wait";
  }
  llvm_unreachable("all kinds are handled");
}

llvm::StringRef wordFor(Origin::Kind kind) {
  switch (kind) {
  case Origin::Kind::kHostCopy:
    return "copied to the host";
  case Origin::Kind::kFactory:
    return "made without a device";
  case Origin::Kind::kHostScalar:
    return "made of host data";
  case Origin::Kind::kDeviceName:
    return "device named";
  case Origin::Kind::kDeviceIndex:
    return "device numbered";
  case Origin::Kind::kDtypeOf:
    return "dtype taken";
  case Origin::Kind::kGather:
    return "gathered without its graph";
  case Origin::Kind::kNewModule:
    return "module made";
  case Origin::Kind::kLoaded:
    return "loaded without a device";
  case Origin::Kind::kRegistered:
    return "registered";
  }
  llvm_unreachable("all kinds are handled");
}

llvm::StringRef wordFor(Dtype dtype) {
  switch (dtype) {
  case Dtype::kUnknown:
    return "";
  case Dtype::kBool:
    return "bool";
  case Dtype::kIntegral:
    return "integral";
  case Dtype::kFloating:
    return "floating";
  }
  llvm_unreachable("all dtypes are handled");
}

llvm::StringRef wordFor(Launch::Kind kind) {
  switch (kind) {
  case Launch::Kind::kKernel:
    return "kernel";
  case Launch::Kind::kCopy:
    return "copy or handle";
  case Launch::Kind::kStreamArgument:
    return "call with a stream";
  case Launch::Kind::kAlgorithm:
    return "algorithm";
  }
  llvm_unreachable("all kinds are handled");
}

// ", " between what is there.
std::string joined(std::initializer_list<llvm::StringRef> parts) {
  std::string text;
  for (llvm::StringRef part : parts)
    if (!part.empty())
      text += (text.empty() ? "" : ", ") + part.str();
  return text;
}

struct Written final : AstVisitor {
  std::vector<FunctionDecl *> functions;
  std::vector<CXXRecordDecl *> classes;

  bool shouldVisitTemplateInstantiations() const override { return true; }
  bool VisitNamedDecl(NamedDecl *decl) override {
    const auto *method = dyn_cast<CXXMethodDecl>(decl);
    if (decl->isImplicit() || (method && method->getParent()->isLambda()))
      return true;
    if (auto *function = dyn_cast<FunctionDecl>(decl))
      if (function->doesThisDeclarationHaveABody())
        functions.push_back(function);
    if (auto *record = dyn_cast<CXXRecordDecl>(decl))
      if (record->isThisDeclarationADefinition() && DeviceModel::isStateful(record))
        classes.push_back(record);
    return true;
  }
};

class Dump {
public:
  Dump(ASTContext &context, llvm::raw_ostream &out)
      : context_(context), sources_(context.getSourceManager()), out_(out),
        answers_(SourceProgram::of(context)), model_(&answers_->model()),
        program_(CudaProgram::of(context)) {}

  void run() {
    Written written;
    for (Decl *decl : context_.getTraversalScope())
      written.TraverseDecl(decl);
    keepMainFile(written.functions);
    keepMainFile(written.classes);
    line(0, joined({model_->knowsDevices() ? "deals with devices" : "knows no devices",
                    model_->programWithoutDevices() ? "a program of the host" : "",
                    model_->hostOnly() ? "an implementation for the host" : ""}));
    for (const FunctionDecl *function : written.functions)
      dump(*function);
    for (const CXXRecordDecl *record : written.classes)
      dump(*record);
  }

private:
  template <typename Decls> void keepMainFile(Decls &decls) {
    llvm::erase_if(decls, [&](const NamedDecl *decl) {
      return !sources_.isInMainFile(sources_.getExpansionLoc(decl->getLocation()));
    });
  }

  void line(unsigned depth, const std::string &text) {
    if (lines_++ < kMaxLines)
      out_.indent(2 * depth) << text << "\n";
    else if (lines_ == kMaxLines + 1)
      out_ << "cut off here\n";
  }

  // "12:3", with the name of the file where that is another one.
  std::string at(SourceLocation location) const {
    const PresumedLoc place = sources_.getPresumedLoc(sources_.getFileLoc(location), false);
    if (place.isInvalid())
      return "?";
    const std::string text = llvm::formatv("{0}:{1}", place.getLine(), place.getColumn()).str();
    return sources_.isInMainFile(sources_.getFileLoc(location))
               ? text
               : (llvm::sys::path::filename(place.getFilename()) + ":" + text).str();
  }
  // As findings give it: a method's name in a chain of calls.
  std::string at(Code code) const {
    const Expr *expr = exprOf(code);
    const auto *call = dyn_cast<CXXMemberCallExpr>(expr->IgnoreImplicit());
    const auto *member = call ? dyn_cast<MemberExpr>(call->getCallee()->IgnoreParens()) : nullptr;
    return at(member ? member->getMemberLoc() : expr->getBeginLoc());
  }
  std::string quoted(Code code) const { return "'" + answers_->spelling(code) + "'"; }

  std::string placeText(const Place &place) const {
    if (place.is(Place::Kind::kNone))
      return "no place";
    if (place.is(Place::Kind::kElsewhere))
      return "where code of another file left '" + answers_->text(place.of) + "'";
    return answers_->text(place) + (place.is(Place::Kind::kDefaultHost) ? ", by default" : "");
  }

  std::string valueText(const Value &value) const {
    std::string text = joined(
        {placeText(value.place), wordFor(value.dtype), value.zero_dim ? "of no dimension" : "",
         value.own_slice ? "the own slice" : "", value.no_grad ? "without a graph" : "",
         value.off_host ? "checked to be off the host" : ""});
    std::vector<std::string> origins;
    for (const Origin &origin : value.origins)
      origins.push_back((wordFor(origin.kind) + " at " + at(origin.expr)).str());
    llvm::sort(origins);
    for (const std::string &origin : origins)
      text += "; " + origin;
    return text;
  }

  void dump(const FunctionDecl &function) {
    std::string name;
    llvm::raw_string_ostream stream(name);
    function.getNameForDiagnostic(stream, context_.getPrintingPolicy(), /*Qualified=*/true);
    line(0, "");
    line(0, "function " + name + " at " + at(function.getLocation()));
    if (const std::string step = model_->stepOf(&function); !step.empty())
      line(1, "runs on every step: " + step);
    if (const std::string kind = joined({model_->isOperator(&function) ? "an operator" : "",
                                         model_->runsOnHost(&function) ? "for host tensors" : ""});
        !kind.empty())
      line(1, "registered or used as " + kind);
    if (const FunctionFacts *facts = model_->facts(&function))
      dump(*facts);
    else
      line(1, "not followed");
    // That of a template is its instantiations'.
    if (const CudaWork *work = program_->work(&function); work && work->function == &function)
      dump(*work);
  }

  void dump(const FunctionFacts &facts) {
    for (const Operation &operation : facts.operations)
      dump(facts, operation);
    std::vector<std::string> rest;
    for (const ReplacedPart &part : facts.exit.replaced)
      rest.push_back(
          "part '" + answers_->text(part.part) + "' of '" + answers_->text(part.module) +
          "' set at " + at(part.expr) + (part.loaded ? " by loading" : "") +
          (part.moved ? ", after the move at " + at(part.moved) : ", after a move by a caller") +
          (facts.moved_later.contains(part.expr) ? ", moved later on some path" : ""));
    for (const auto &[path, value] : facts.exit.values)
      rest.push_back("at the end '" + answers_->text(path) + "': " + valueText(value));
    for (const auto &[one, other] : facts.exit.same) {
      const std::string a = answers_->text(one),
                        b = answers_->text(other); // the lesser by address comes first
      rest.push_back("'" + std::min(a, b) + "' and '" + std::max(a, b) + "' are on one device");
    }
    llvm::sort(rest);
    for (const std::string &text : rest)
      line(1, text);
  }

  void dump(const FunctionFacts &facts, const Operation &operation) {
    if (answers_->spelling(operation.expr) == ":")
      return; // a step of a range-based loop, which nobody wrote
    const std::string where = at(operation.expr) + " ";
    if (operation.kind == Operation::Kind::kAssign) {
      line(1, where + "'" + (operation.path ? answers_->text(*operation.path) : "?") +
                  "' is set: " + valueText(operation.result));
      return;
    }
    const bool calls = operation.kind != Operation::Kind::kReturn;
    const std::string op = calls ? answers_->operatorName(operation.expr) : "";
    line(1,
         where +
             joined({(wordFor(operation.kind) + " " + quoted(operation.expr)).str(),
                     calls && !names(op, operation.name) ? "by " + std::string(operation.name) : "",
                     op.empty() ? "" : "named " + op,
                     operation.path ? "of '" + answers_->text(*operation.path) + "'" : "",
                     operation.in_lambda ? "in a lambda" : ""}));
    for (const Operand &operand : operation.operands)
      line(2, "operand " + quoted(operand.expr) + ": " + valueText(operand.value));
    for (const Operand &operand : operation.first_turn)
      line(2, "on the first turn " + quoted(operand.expr) + ": " + valueText(operand.value));
    if (operation.target != Value())
      line(2, "target: " + valueText(operation.target));
    if (operation.result != Value())
      line(2, "result: " + valueText(operation.result));
    const std::string step = answers_->everyStep(operation.expr, facts.function);
    const std::string around =
        joined({step.empty() ? "" : "on every step (" + step + ")",
                answers_->isGuarded(operation.expr, facts.function) ? "under a device guard" : "",
                answers_->isWithoutGrad(operation.expr) ? "without autograd" : "",
                answers_->isSyncAllowed(operation.expr) ? "waiting is allowed" : ""});
    if (!around.empty())
      line(2, around);
  }

  static bool names(llvm::StringRef op, llvm::StringRef name) {
    return op.consume_back(name) && (op.empty() || op.ends_with("::"));
  }

  std::string streamText(const Launch &launch, const CudaWork &work) const {
    if (!launch.stream_known)
      return "on a stream that is not seen";
    if (!launch.stream || CudaProgram::isDefaultStream(launch.stream, work))
      return "on the default stream";
    return "on " + quoted(launch.stream);
  }
  template <typename Part> static std::string guardText(const Part &part) {
    return joined(
        {part.guarded ? "device set" : "no guard", part.in_new_thread ? "in a new thread" : ""});
  }

  void dump(const CudaWork &work) {
    std::vector<std::pair<const Expr *, std::string>> parts;
    const auto add = [&](const Expr *expr, const std::string &text) {
      parts.emplace_back(expr, text);
    };
    for (const Launch &launch : work.launches) {
      const std::string op = operatorName(launch.expr);
      add(launch.expr, joined({(wordFor(launch.kind) + " " + quoted(launch.expr)).str(),
                               op.empty() ? "" : "named " + op, streamText(launch, work),
                               launch.own_guard ? "own guard" : guardText(launch)}));
    }
    for (const WorkCall &call : work.calls) {
      const Expr *inner = program_->bareLaunch(call.callee);
      add(call.expr, joined({"call of " + call.callee->getQualifiedNameAsString(), guardText(call),
                             inner ? "launches at " + at(inner) : ""}));
    }
    for (const HandedStream &handed : work.handed_streams)
      add(handed.expr, "hands on a stream " + quoted(handed.expr) + ", " + guardText(handed));
    for (const CurrentStream &stream : work.current_streams)
      add(stream.expr,
          "takes the current stream" +
              (stream.variable ? " as '" + stream.variable->getNameAsString() + "'" : "") +
              (stream.guarded ? ", device set" : ", no guard"));
    for (const DeviceQuery &query : work.queries)
      add(query.expr, "asks the current device " + quoted(query.expr) +
                          (query.guarded ? ", device set" : ", no guard"));
    for (const SetDevice &set : work.sets)
      add(set.expr,
          "sets the device " + quoted(set.expr) + (set.in_new_thread ? ", in a new thread" : ""));
    for (const MadeOnCurrent &made : work.made_on_current)
      add(made.expr, "makes on the current device " + quoted(made.expr));
    llvm::sort(parts, [&](const auto &a, const auto &b) {
      const SourceLocation one = a.first->getBeginLoc(), other = b.first->getBeginLoc();
      return one == other ? a.second < b.second : sources_.isBeforeInTranslationUnit(one, other);
    });
    for (const auto &[expr, text] : parts)
      line(1, at(expr) + " " + text);
    summarize(work);
  }

  void summarize(const CudaWork &work) {
    std::string tensors;
    for (const ValueDecl *tensor : work.tensors)
      tensors += (tensors.empty() ? "" : ", ") + nameOfVariable(tensor);
    const ParmVarDecl *given = givenStream(work);
    const std::string about =
        joined({tensors.empty() ? "" : "has tensors " + tensors,
                program_->servesTensors(work) ? "serves tensors" : "",
                program_->callersGuard(work) ? "all callers set the device" : "",
                program_->isThreadEntry(work) ? "a thread's entry" : "",
                given ? "its caller gives the stream '" + given->getNameAsString() + "'" : ""});
    if (!about.empty())
      line(1, "CUDA: " + about);
  }

  void dump(const CXXRecordDecl &record) {
    line(0, "");
    line(0, std::string(DeviceModel::isMetric(&record) ? "metric " : "module ") +
                record.getQualifiedNameAsString() + " at " + at(record.getLocation()));
    for (const MemberState &member : answers_->members().of(&record)) {
      const std::string text = joined(
          {member.several     ? "modules"
           : member.submodule ? "a module"
                              : "tensors",
           member.registered ? "registered" : "not registered",
           member.initialised
               ? "set at " + at(member.initialised) + " on " + placeText(member.initial)
               : "not set by a constructor",
           member.follows ? "follows its object" : "", member.rebound ? "set again later" : "",
           member.combined ? "meets another tensor at " + at(member.combined) : "",
           member.meets_others ? "meets tensors that may be elsewhere" : "",
           member.read_on_host ? "read on the host" : ""});
      line(1, "member " + answers_->name(member.field) + " at " +
                  at(declOf(member.field)->getLocation()) + ": " + text);
    }
  }

  ASTContext &context_;
  const SourceManager &sources_;
  llvm::raw_ostream &out_;
  std::shared_ptr<SourceProgram> answers_;
  DeviceModel *model_;
  std::shared_ptr<CudaProgram> program_;
  unsigned lines_ = 0;
};

} // namespace

void dumpFacts(ASTContext &context, llvm::raw_ostream &out) {
  Dump(context, out).run();
}

} // namespace devsan::analyzer
