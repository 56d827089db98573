// What one function does to devices, in the order of its code: its moves, factories, operators,
// calls and returns, each with its operands' values. Data only: the model takes it from clang's
// tree, and a test can write it down by hand.
#pragma once

#include "analyzer/facts/value.h"

#include <map>
#include <set>

namespace devsan::analyzer {

struct Operand {
  Code expr;
  Value value;
};

std::vector<Value> valuesOf(std::span<const Operand> operands);

struct Operation {
  enum class Kind {
    kMove,     // x.to(device), x.cuda(), x.cpu(); of a module without operands
    kFactory,  // zeros(…, options); `target` is what the options name
    kTensorOp, // any other operator or method of tensors, with its tensor operands (the receiver
               // first)
    kModule,   // a module called with tensors
    kReturn,   // operands: what is returned, element by element
    kGather,   // a collective filling operands[0] from operands[1]
    kCall,     // a function of the program, or one that is not declared, called with tensors
    kAssign,   // a variable or member set; operands[0] is the new value
    kLaunch,   // of a kernel, or of a function with a stream that does: operands are the arguments
               // that lie somewhere, as pointers do
    kWait,     // cudaDeviceSynchronize() and kin: the host waits, whatever the data
  };
  Kind kind;
  Code expr;             // kReturn: the returned expression
  std::string_view name; // of the function or method
  Code receiver = {};
  Value target = {}; // kMove, kFactory: the device asked for
  std::vector<Operand> operands = {};
  Value result = {};
  // kAssign: what was set; others: the receiver, where it is a variable
  std::optional<Path> path = {};
  bool in_lambda = false; // kReturn: of a lambda in the function
  // kTensorOp, kModule in a loop: the operands as they are on its first turn, where that differs.
  std::vector<Operand> first_turn = {};
};

// A part put into a module after the module had been moved to a device.
struct ReplacedPart {
  Code expr;  // the replacement
  Code moved; // the earlier .to(); null where a caller moved it
  Path module;
  Path part;
  std::optional<Path> source = {}; // the variable the part came from
  bool loaded = false;             // parameters read from a file rather than a new part
  Code inner = {};                 // for a call: the replacement inside the callee

  bool operator<(const ReplacedPart &other) const { return expr < other.expr; }
  bool operator==(const ReplacedPart &other) const {
    return expr == other.expr && part == other.part;
  }
};

struct State {
  std::map<Path, Value> values;
  std::map<Path, Code> moved; // modules, and the .to() that moved them
  std::set<ReplacedPart> replaced;
  std::set<std::pair<Path, Path>> same; // variables found to be on one device, the lesser first
  bool reached = false;

  bool operator==(const State &) const = default;
};

class FunctionFacts {
public:
  virtual ~FunctionFacts() = default;

  Function function;
  std::vector<Operation> operations;
  State exit;                 // joined over all returns
  std::set<Code> moved_later; // replacements that some path moves afterwards
  std::set<Code> moved_loads; // loads into modules that some path moves afterwards

  // What `expr` evaluates to; a default Value where nothing is known.
  virtual Value value(Code /*expr*/) const { return {}; }
  // The variable or member that `expr` names, through references, holders and smart pointers.
  virtual std::optional<Path> path(Code /*expr*/) const { return std::nullopt; }
  // Null where that code does nothing of the kind.
  const Operation *find(Operation::Kind kind, Code expr) const;
};

} // namespace devsan::analyzer
