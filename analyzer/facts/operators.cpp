#include "analyzer/facts/operators.h"

namespace devsan::analyzer {

bool isInPlace(std::string_view name) {
  return name.size() > 1 && name.ends_with('_') && !name.ends_with("__");
}

bool dropsGrad(std::string_view name) {
  static const Names kNames{"detach",     "detach_",     "data",      "variable_data", "grad",
                            "argmax",     "argmin",      "argsort",   "sign",          "nonzero",
                            "bincount",   "zeros_like",  "ones_like", "empty_like",    "full_like",
                            "new_zeros",  "new_ones",    "new_empty", "new_full",      "rand_like",
                            "randn_like", "randint_like"};
  return kNames.contains(name) || givesBool(name);
}

bool givesBool(std::string_view name) {
  static const Names kNames{"eq",          "ne",         "lt",          "le",         "gt",
                            "ge",          "equal_to",   "logical_and", "logical_or", "logical_not",
                            "logical_xor", "isnan",      "isinf",       "isfinite",   "isin",
                            "isclose",     "isneginf",   "isposinf",    "any",        "all",
                            "operator==",  "operator!=", "operator<",   "operator<=", "operator>",
                            "operator>="};
  return kNames.contains(name);
}

bool acceptsHostOperand(std::string_view name) {
  // copy_ and assignment through an index move the data; indices are moved by ATen; lengths have to
  // be on the host; of some only the shape is taken.
  static const Names kNames{"copy_",
                            "index",
                            "index_put_",
                            "index_put",
                            "_index_put_impl_",
                            "set_data",
                            "tensor_split",
                            "ctc_loss",
                            "_ctc_loss",
                            "pack_padded_sequence",
                            "_pack_padded_sequence",
                            "expand_as",
                            "view_as",
                            "reshape_as",
                            "resize_as_",
                            "same_storage",
                            "is_same",
                            "is_alias_of",
                            "operator=",
                            "operator[]",
                            "expect",
                            "backward",
                            "set_",
                            "swap",
                            "save",
                            "load"};
  return kNames.contains(name);
}

bool movesTensor(std::string_view name) {
  static const std::set<std::string_view> kNames{
      "to", "cuda", "cpu", "hip", "ve", "vulkan", "metal", "xpu", "mps", "_to_copy", "type_as"};
  return kNames.contains(name);
}

// Of the device it makes the host wait for a number, a truth, or how many elements a result has.
bool readsData(std::string_view name) {
  static const Names kNames{"item",
                            "nonzero",
                            "nonzero_numpy",
                            "argwhere",
                            "masked_select",
                            "is_nonzero",
                            "equal",
                            "allclose",
                            "unique",
                            "_unique",
                            "_unique2",
                            "unique_dim",
                            "unique_consecutive",
                            "unique_dim_consecutive",
                            "bincount",
                            "tolist",
                            "clip_grad_norm_",
                            "local_scalar_dense",
                            "_local_scalar_dense",
                            "operator<<"};
  return kNames.contains(name);
}

bool givesMemory(std::string_view name) {
  return name.ends_with("data_ptr") || name.find("packed_accessor") != std::string_view::npos;
}

bool givesView(std::string_view name) {
  // `Tensor(a)` in native_functions.yaml; an index that is a tensor copies.
  static const Names kNames{
      "alias",     "as_strided",    "chunk",      "data",    "detach",    "diagonal",
      "expand",    "expand_as",     "flatten",    "imag",    "mH",        "mT",
      "movedim",   "narrow",        "operator[]", "permute", "real",      "reshape",
      "select",    "slice",         "split",      "squeeze", "swapaxes",  "swapdims",
      "t",         "tensor_data",   "transpose",  "unbind",  "unflatten", "unfold",
      "unsqueeze", "variable_data", "view",       "view_as"};
  return kNames.contains(name);
}

} // namespace devsan::analyzer
