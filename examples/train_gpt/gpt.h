// A GPT: embeddings, blocks of attention and MLP that normalize their input, a head tied to the
// embedding, cross entropy. Forward and backward are written by hand, once for float and double.
//
//   tokens -> embedding + position -> [ x += attention(norm(x)); x += mlp(norm(x)) ] x layers
//          -> norm -> x times the embedding, transposed -> softmax
//
// After Radford et al., "Language models are unsupervised multitask learners" (2019): causal
// attention, four times the width in the MLP, GELU in its tanh form (Hendrycks and Gimpel, 2016).
//
// Units of its parameters: 0 the embeddings, 1 .. layers the blocks, layers + 1 the last norm. The
// embedding is used at both ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "examples/train_gpt/blas.h"
#include "rondo/train/parameters.h"

namespace rondo::train {

struct GptShape {
  int layers = 2;
  int width = 64;  ///< a multiple of heads
  int heads = 4;
  int context = 64;  ///< most tokens of a sequence
  int vocabulary = 256;
};

/// The model's parameters; weights are in x out, row by row.
std::vector<ParameterSpec> gptParameters(const GptShape& shape);

/// Fills the parameters of one tensor with their first values: normal with deviation 0.02 (that of
/// projections back into the residual divided by sqrt(2 layers)), gains 1, biases 0. Depends on the
/// seed and the tensor alone.
void initializeGptParameter(const GptShape& shape,
                            const ParameterSpec& parameter,
                            std::uint64_t seed,
                            std::span<float> values);

/// Sequences of `length` tokens each, one after another, and for each token the one that follows.
struct TokenBatch {
  int length = 0;
  std::vector<std::uint8_t> tokens{};
  std::vector<std::uint8_t> targets{};

  int sequences() const { return length == 0 ? 0 : static_cast<int>(tokens.size()) / length; }
};

/// @tparam T float or double
/// @threads one at a time; it holds activations
template <class T>
class Gpt {
 public:
  /// @param recompute keep only the blocks' inputs, and compute the rest again in backward
  Gpt(const GptShape& shape, Blas blas, bool recompute);
  ~Gpt();
  Gpt(const Gpt&) = delete;
  Gpt& operator=(const Gpt&) = delete;

  /// The mean cross entropy over the batch's tokens, in nats.
  double loss(const TokenBatch& batch, ParameterAccess<T>& parameters);

  /// The same; adds to the gradients `scale` times the derivatives, and marks each tensor ready.
  double lossAndGradient(const TokenBatch& batch, ParameterAccess<T>& parameters, T scale);

  /// Logits of what follows the last token of each sequence: vocabulary of each.
  std::vector<T> nextLogits(const TokenBatch& batch, ParameterAccess<T>& parameters);

  /// Bytes of activations held now.
  std::size_t activationBytes() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class Gpt<float>;
extern template class Gpt<double>;

}  // namespace rondo::train
