// The parameters of a model as the trainer layer sees them: tensors in units, and what a model asks
// for while it computes.
#ifndef RONDO_TRAIN_PARAMETERS_H_
#define RONDO_TRAIN_PARAMETERS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace rondo::train {

/// A tensor that is trained.
struct ParameterSpec {
  std::string name;       ///< the same on all ranks, and no two alike
  std::size_t count = 0;  ///< elements; 0 is legal
  /// Tensors of a unit (a layer) are used together, and gathered and freed together where they are
  /// sharded. Units are numbered from 0, without gaps; tensors are listed by ascending unit.
  std::size_t unit = 0;
  int uses = 1;       ///< times that a backward pass adds to its gradient; more than 1 if tied
  bool decay = true;  ///< whether weight decay applies; not for biases and gains
  /// For those who read exported parameters; empty: flat.
  std::vector<std::size_t> shape{};
};

/// Where each tensor lies in its unit: one after another, in the order of the list.
/// @threads any, as nothing changes
class ParameterLayout {
 public:
  /// @errors InvalidArgument: units with gaps or out of order, two tensors of one name.
  explicit ParameterLayout(std::vector<ParameterSpec> parameters);

  std::size_t size() const { return parameters_.size(); }

  std::size_t units() const { return unitElems_.size(); }

  const ParameterSpec& operator[](std::size_t parameter) const { return parameters_[parameter]; }

  /// Elements before the tensor in its unit.
  std::size_t offset(std::size_t parameter) const { return offsets_[parameter]; }

  /// Elements of a unit.
  std::size_t unitElems(std::size_t unit) const { return unitElems_[unit]; }

  /// First tensor of a unit; that of the one after the last is size().
  std::size_t firstOf(std::size_t unit) const { return firsts_[unit]; }

  /// Elements of all.
  std::size_t elems() const { return elems_; }

  /// A line for each tensor, which is the same if and only if the layouts are.
  std::vector<std::string> describe() const;

 private:
  std::vector<ParameterSpec> parameters_;
  std::vector<std::size_t> offsets_;
  std::vector<std::size_t> unitElems_;
  std::vector<std::size_t> firsts_;
  std::size_t elems_ = 0;
};

/// What a model asks for while it computes. Who holds the parameters, and how many ranks share
/// them, is behind it.
/// @tparam T float; double for checks
template <class T>
class ParameterAccess {
 public:
  ParameterAccess() = default;
  ParameterAccess(const ParameterAccess&) = delete;
  ParameterAccess& operator=(const ParameterAccess&) = delete;
  virtual ~ParameterAccess() = default;

  /// The parameters of a unit, in the order of the layout. May wait for other ranks, which must
  /// acquire the same units in the same order. Valid until as many releases; may be nested.
  virtual const T* acquire(std::size_t unit) = 0;
  virtual void release(std::size_t unit) = 0;

  /// The gradient of a tensor, to be added to.
  virtual T* gradient(std::size_t parameter) = 0;

  /// One use of the tensor has added to its gradient; see GradientBuckets::markReady.
  virtual void ready(std::size_t parameter) = 0;
};

}  // namespace rondo::train

#endif  // RONDO_TRAIN_PARAMETERS_H_
