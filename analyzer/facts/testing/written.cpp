#include "analyzer/facts/testing/written.h"

namespace devsan::analyzer::testing {

namespace {

const Piece &pieceOf(Code code) {
  return *code.as<Piece>();
}
const Named &nameOf(Variable variable) {
  return *variable.as<Named>();
}
const WrittenFunction &written(Function function) {
  return *function.as<WrittenFunction>();
}

} // namespace

Value on(const Place &place) {
  return {.place = place};
}

Value onDeviceOf(Variable tensor) {
  return on(Place::deviceOf({tensor, {}}));
}

Variable WrittenFunction::variable(std::string name, Type type, Role role) {
  return &names_.emplace_back(Named{std::move(name), role, type});
}

Variable WrittenFunction::parameter(std::string name, Type type) {
  return parameters.emplace_back(variable(std::move(name), type, Role::kParameter));
}

Code WrittenFunction::code(Piece piece) {
  if (piece.line == 0)
    piece.line = line;
  const Code code = &pieces_.emplace_back(std::move(piece));
  indices_[code] = pieces_.size() - 1;
  return code;
}

Operand WrittenFunction::use(const Path &path, std::string text) {
  const Code code =
      this->code({.text = std::move(text), .whole = path, .source = path, .is_name = true});
  const auto known = variables_.find(path);
  paths_[code] = path;
  values_[code] = known == variables_.end() ? on(Place::deviceOf(path)) : known->second;
  return {code, values_[code]};
}

Operand WrittenFunction::use(Variable variable) {
  return use({variable, {}}, named(variable).text);
}

Operand WrittenFunction::record(Operation operation, const Value &result) {
  operation.result = result;
  values_[operation.expr] = result;
  operations.push_back(std::move(operation));
  return {operations.back().expr, result};
}

Operand WrittenFunction::move(std::string text, const Operand &data, const Value &target) {
  const Code code = this->code({.text = std::move(text), .op = "aten::to", .temporary = true});
  return record({.kind = Operation::Kind::kMove,
                 .expr = code,
                 .name = "to",
                 .receiver = data.expr,
                 .target = target,
                 .operands = {data},
                 .path = path(data.expr)},
                moved(data.value, target.place, code));
}

Operand WrittenFunction::make(std::string text, std::string_view name, const Value &target) {
  const Code code = this->code({.text = std::move(text), .temporary = true});
  Value made{.place = target.place, .dtype = target.dtype, .no_grad = true};
  if (target.place.is(Place::Kind::kNone)) {
    made.place = Place::defaultHost();
    made.add(Origin::Kind::kFactory, code);
  }
  return record({.kind = Operation::Kind::kFactory, .expr = code, .name = name, .target = target},
                made);
}

Operand WrittenFunction::apply(std::string text, std::string_view name,
                               std::vector<Operand> operands, Dtype dtype) {
  const Code code = this->code({.text = std::move(text),
                                .op = "aten::" + std::string(name),
                                .receiver = operands.front().expr,
                                .temporary = true});
  Value result = combine(valuesOf(operands));
  result.dtype = dtype;
  return record({.kind = Operation::Kind::kTensorOp,
                 .expr = code,
                 .name = name,
                 .receiver = operands.front().expr,
                 .operands = operands},
                result);
}

Operand WrittenFunction::call(Operation::Kind kind, std::string text, std::string_view name,
                              Operand receiver, std::vector<Operand> operands) {
  const Code code = this->code({.text = std::move(text), .op = std::string(name)});
  return record({.kind = kind,
                 .expr = code,
                 .name = name,
                 .receiver = receiver.expr,
                 .operands = std::move(operands)},
                Value::unknown());
}

void WrittenFunction::gather(std::string text, std::string_view name, Variable outputs,
                             const Operand &input) {
  const Code code = this->code({.text = std::move(text), .op = std::string(name)});
  record({.kind = Operation::Kind::kGather,
          .expr = code,
          .name = name,
          .operands = {use(outputs), input}},
         {});
  Value filled = input.value;
  variables_[{outputs, {}}] = filled.add(Origin::Kind::kGather, code);
}

void WrittenFunction::assign(const Path &path, const Operand &value) {
  record({.kind = Operation::Kind::kAssign,
          .expr = value.expr,
          .name = "operator=",
          .operands = {value},
          .path = path},
         value.value);
  variables_[path] = exit.values[path] = value.value;
}

void WrittenFunction::returns(std::string text, std::vector<Operand> operands) {
  Operation operation{.kind = Operation::Kind::kReturn,
                      .expr = code({.text = std::move(text)}),
                      .name = "return",
                      .operands = operands};
  for (const Operand &operand : operands)
    operation.result = join(operation.result, operand.value);
  operations.push_back(std::move(operation));
}

void WrittenFunction::moveModule(std::string text, const Path &module, const Value &target) {
  const Code code = this->code({.text = std::move(text)});
  record({.kind = Operation::Kind::kMove,
          .expr = code,
          .name = "to",
          .target = target,
          .path = module},
         target);
  exit.moved[module] = code;
}

void WrittenFunction::replacePart(const Path &module, const Path &part, std::string text) {
  exit.replaced.insert({.expr = code({.text = std::move(text)}),
                        .moved = exit.moved.at(module),
                        .module = module,
                        .part = part});
}

Value WrittenFunction::value(Code expr) const {
  const auto known = values_.find(expr);
  return known == values_.end() ? Value() : known->second;
}

std::optional<Path> WrittenFunction::path(Code expr) const {
  const auto known = paths_.find(expr);
  return known == paths_.end() ? std::nullopt : std::optional(known->second);
}

std::string WrittenProgram::name(Variable variable) {
  return nameOf(variable).text;
}
std::string WrittenProgram::spelling(Code code) {
  return pieceOf(code).text;
}
std::string WrittenProgram::calleeSpelling(Code call) {
  return pieceOf(call).text.substr(0, pieceOf(call).text.find('('));
}
std::string WrittenProgram::operatorName(Code call) {
  return pieceOf(call).op;
}
unsigned WrittenProgram::line(Code code) {
  return pieceOf(code).line;
}
bool WrittenProgram::isStep(Function function) {
  return written(function).is_step;
}
bool WrittenProgram::isOperator(Function function) {
  return written(function).is_operator;
}
bool WrittenProgram::isOfModule(Function function) {
  return written(function).is_of_module;
}
bool WrittenProgram::isMain(Function function) {
  return written(function).is_main;
}
std::string WrittenProgram::stepOf(Function function) {
  return written(function).step;
}
std::vector<HostRead> WrittenProgram::hostReads(Function function) {
  return written(function).host_reads;
}
unsigned WrittenProgram::mentions(Function, Variable variable) {
  return nameOf(variable).mentions;
}
std::vector<Variable> WrittenProgram::parameters(Function function) {
  return written(function).parameters;
}
Role WrittenProgram::role(Variable variable) {
  return variable ? nameOf(variable).role : Role::kOther;
}
Type WrittenProgram::type(Variable variable) {
  return variable ? nameOf(variable).type : Type::kOther;
}
Code WrittenProgram::initialiser(Variable variable) {
  return variable ? nameOf(variable).initialiser : Code();
}
std::string WrittenProgram::everyStep(Code code, Function function) {
  return pieceOf(code).step.empty() ? written(function).step : pieceOf(code).step;
}
Loop WrittenProgram::loopAround(Code code) {
  return pieceOf(code).loop;
}
bool WrittenProgram::isOnEveryTurn(Code code) {
  return pieceOf(code).on_every_turn;
}
bool WrittenProgram::isUnconditional(Code code) {
  return pieceOf(code).unconditional;
}
bool WrittenProgram::isInBranch(Code code) {
  return pieceOf(code).in_branch;
}
bool WrittenProgram::isWithoutGrad(Code code) {
  return pieceOf(code).without_grad;
}
bool WrittenProgram::isSyncAllowed(Code code) {
  return pieceOf(code).sync_allowed;
}
bool WrittenProgram::isBesideClock(Code code) {
  return pieceOf(code).beside_clock;
}
bool WrittenProgram::isDiscarded(Code code) {
  return pieceOf(code).discarded;
}
bool WrittenProgram::isGuarded(Code code, Function) {
  return pieceOf(code).guarded;
}
Type WrittenProgram::type(Code code) {
  return pieceOf(code).type;
}
bool WrittenProgram::isPointer(Code code) {
  return pieceOf(code).pointer;
}
bool WrittenProgram::isTemporary(Code code) {
  return pieceOf(code).temporary;
}
bool WrittenProgram::isName(Code code) {
  return pieceOf(code).is_name;
}
Variable WrittenProgram::variable(Code code) {
  const std::optional<Path> &whole = pieceOf(code).whole;
  return whole && whole->fields.empty() && !pieceOf(code).is_element ? whole->root : nullptr;
}
bool WrittenProgram::isKernel(Code launch) {
  return pieceOf(launch).kernel;
}
Code WrittenProgram::receiver(Code call) {
  return pieceOf(call).receiver;
}
std::vector<Code> WrittenProgram::arguments(Code call) {
  return pieceOf(call).arguments;
}
Argument WrittenProgram::argument(Code call, std::string_view parameter) {
  const auto given = pieceOf(call).given.find(parameter);
  return given == pieceOf(call).given.end() ? Argument::kNoParameter : given->second;
}
bool WrittenProgram::givesDevice(Code call) {
  return pieceOf(call).gives_device;
}
DeviceParameter WrittenProgram::deviceParameter(Code call) {
  return pieceOf(call).device_parameter;
}
std::vector<Variable> WrittenProgram::devicesIn(Code call) {
  return pieceOf(call).devices;
}
bool WrittenProgram::hasZeroSize(Code factory) {
  return pieceOf(factory).zero_size;
}
bool WrittenProgram::isLibraryModule(Code module) {
  return pieceOf(module).library_module;
}
bool WrittenProgram::isOverOrdinaryMemory(Code factory) {
  return pieceOf(factory).ordinary_memory;
}
std::optional<Path> WrittenProgram::source(const FunctionFacts &, Code code) {
  return pieceOf(code).source;
}
std::optional<Path> WrittenProgram::whole(const FunctionFacts &, Code code, bool &is_element) {
  is_element = pieceOf(code).is_element;
  return pieceOf(code).whole;
}

} // namespace devsan::analyzer::testing
