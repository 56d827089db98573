// What operators do to data, by the names that ATen gives them in every language.
#pragma once

#include <string_view>
#include <unordered_set>

namespace devsan::analyzer {

using Names = std::unordered_set<std::string_view>;

bool isInPlace(std::string_view name);          // writes to its receiver: add_, copy_ …
bool dropsGrad(std::string_view name);          // the result carries no autograd graph
bool givesBool(std::string_view name);          // the result is a mask
bool acceptsHostOperand(std::string_view name); // may be given a host tensor beside a device tensor
bool movesTensor(std::string_view name);        // gives its receiver on a device, or with a dtype
bool readsData(std::string_view name);          // tells the host something of its receiver's data
bool givesView(std::string_view name);          // the result shares its receiver's memory
bool givesMemory(std::string_view name);        // a pointer to, or a view of, its receiver's memory

} // namespace devsan::analyzer
