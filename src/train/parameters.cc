#include "rondo/train/parameters.h"

#include <set>
#include <utility>

#include "rondo/rondo.hpp"

namespace rondo::train {

ParameterLayout::ParameterLayout(std::vector<ParameterSpec> parameters)
    : parameters_(std::move(parameters)) {
  std::set<std::string> names;
  for (const ParameterSpec& parameter : parameters_) {
    if (!names.insert(parameter.name).second) {
      throw Error(rondoInvalidArgument, "parameters: two tensors are called " + parameter.name +
                                            "; list a tied one once, with its uses");
    }
    if (parameter.unit == unitElems_.size()) {
      unitElems_.push_back(0);
      firsts_.push_back(offsets_.size());
    }
    if (parameter.unit + 1 != unitElems_.size()) {
      throw Error(rondoInvalidArgument, "parameters: " + parameter.name + " is in unit " +
                                            std::to_string(parameter.unit) +
                                            "; list tensors by ascending unit, without gaps");
    }
    offsets_.push_back(unitElems_.back());
    unitElems_.back() += parameter.count;
    elems_ += parameter.count;
  }
  firsts_.push_back(offsets_.size());
}

std::vector<std::string> ParameterLayout::describe() const {
  std::vector<std::string> lines;
  for (const ParameterSpec& parameter : parameters_) {
    lines.push_back(parameter.name + " (" + std::to_string(parameter.count) + " elements, unit " +
                    std::to_string(parameter.unit) + ", " + std::to_string(parameter.uses) +
                    " uses, " + (parameter.decay ? "decays)" : "does not decay)"));
  }
  return lines;
}

}  // namespace rondo::train
