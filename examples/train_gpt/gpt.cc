#include "examples/train_gpt/gpt.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "examples/train_gpt/layers.h"
#include "examples/train_gpt/random_numbers.h"

namespace rondo::train {

namespace {

/// Deviation of weights at first; GPT-2's.
constexpr double kFirstDeviation = 0.02;

/// Tensors of unit 0.
enum Embedding : std::size_t { kTokens, kPositions };

/// Tensors of a block, in their order.
enum BlockTensor : std::size_t {
  kNorm1Gain,
  kNorm1Bias,
  kQkvWeight,
  kQkvBias,
  kOutWeight,
  kOutBias,
  kNorm2Gain,
  kNorm2Bias,
  kUpWeight,
  kUpBias,
  kDownWeight,
  kDownBias
};

/// Tensors of the last unit.
enum FinalNorm : std::size_t { kFinalGain, kFinalBias };

std::size_t elems(int value) {
  return static_cast<std::size_t>(value);
}

/// What backward needs of a block's forward.
template <class T>
struct BlockActivations {
  std::vector<T> input;    // rows x width
  std::vector<T> normed1;  // rows x width
  std::vector<RowStatistics<T>> statistics1;
  std::vector<T> qkv;            // rows x 3 width
  std::vector<T> probabilities;  // sequences x heads x length x length
  std::vector<T> mixed;          // rows x width
  std::vector<T> middle;         // rows x width
  std::vector<T> normed2;        // rows x width
  std::vector<RowStatistics<T>> statistics2;
  std::vector<T> up;         // rows x 4 width
  std::vector<T> tanhs;      // rows x 4 width
  std::vector<T> activated;  // rows x 4 width

  std::size_t bytes() const {
    return sizeof(T) *
               (input.size() + normed1.size() + qkv.size() + probabilities.size() + mixed.size() +
                middle.size() + normed2.size() + up.size() + tanhs.size() + activated.size()) +
           sizeof(RowStatistics<T>) * (statistics1.size() + statistics2.size());
  }
};

/// A unit's parameters while it lives.
template <class T>
class HeldUnit {
 public:
  HeldUnit(const ParameterLayout& layout, ParameterAccess<T>& access, std::size_t unit)
      : layout_(layout), access_(access), unit_(unit), values_(access.acquire(unit)) {}

  ~HeldUnit() { access_.release(unit_); }

  HeldUnit(const HeldUnit&) = delete;
  HeldUnit& operator=(const HeldUnit&) = delete;

  /// Parameters of the unit's tensor of that place.
  const T* operator[](std::size_t tensor) const { return values_ + layout_.offset(index(tensor)); }

  T* gradient(std::size_t tensor) const { return access_.gradient(index(tensor)); }

  void ready(std::size_t tensor) const { access_.ready(index(tensor)); }

 private:
  std::size_t index(std::size_t tensor) const { return layout_.firstOf(unit_) + tensor; }

  const ParameterLayout& layout_;
  ParameterAccess<T>& access_;
  std::size_t unit_;
  const T* values_;
};

}  // namespace

std::vector<ParameterSpec> gptParameters(const GptShape& shape) {
  const std::size_t width = elems(shape.width);
  const std::size_t vocabulary = elems(shape.vocabulary);
  const std::size_t context = elems(shape.context);
  std::vector<ParameterSpec> all{
      {"embedding.tokens", vocabulary * width, 0, 2, true, {vocabulary, width}},
      {"embedding.positions", context * width, 0, 1, true, {context, width}}};
  for (int layer = 0; layer < shape.layers; ++layer) {
    const std::string name = "block" + std::to_string(layer) + ".";
    const std::size_t unit = elems(layer) + 1;
    const auto addWeight = [&](const char* tensor, std::size_t in, std::size_t out) {
      all.push_back({name + tensor, in * out, unit, 1, true, {in, out}});
    };
    const auto addVector = [&](const char* tensor, std::size_t count) {
      all.push_back({name + tensor, count, unit, 1, false, {}});
    };
    addVector("norm1.gain", width);
    addVector("norm1.bias", width);
    addWeight("qkv.weight", width, 3 * width);
    addVector("qkv.bias", 3 * width);
    addWeight("out.weight", width, width);
    addVector("out.bias", width);
    addVector("norm2.gain", width);
    addVector("norm2.bias", width);
    addWeight("up.weight", width, 4 * width);
    addVector("up.bias", 4 * width);
    addWeight("down.weight", 4 * width, width);
    addVector("down.bias", width);
  }
  const std::size_t last = elems(shape.layers) + 1;
  all.push_back({"norm.gain", width, last, 1, false, {}});
  all.push_back({"norm.bias", width, last, 1, false, {}});
  return all;
}

void initializeGptParameter(const GptShape& shape,
                            const ParameterSpec& parameter,
                            std::uint64_t seed,
                            std::span<float> values) {
  if (!parameter.decay) {
    std::ranges::fill(values, parameter.name.ends_with("gain") ? 1.0F : 0.0F);
    return;
  }
  const bool intoResidual =
      parameter.name.ends_with("out.weight") || parameter.name.ends_with("down.weight");
  const double deviation =
      intoResidual ? kFirstDeviation / std::sqrt(2.0 * shape.layers) : kFirstDeviation;
  RandomNumbers random(seed, parameter.name);
  for (float& value : values)
    value = static_cast<float>(deviation * random.normal());
}

template <class T>
class Gpt<T>::Impl {
 public:
  Impl(const GptShape& shape, Blas blas, bool recompute)
      : shape_(shape),
        blas_(std::move(blas)),
        recompute_(recompute),
        width_(elems(shape.width)),
        layout_(gptParameters(shape)),
        blocks_(recompute ? 1 : elems(shape.layers)),
        inputs_(elems(shape.layers) + 1) {}

  double loss(const TokenBatch& batch, ParameterAccess<T>& access) {
    forward(batch, access);
    const HeldUnit<T> embedding(layout_, access, 0);
    logitsOf(inputs_.back().data(), rows_, embedding, HeldUnit<T>(layout_, access, lastUnit()));
    const double sum =
        crossEntropy(logits_.data(), batch.targets.data(), rows_, vocabulary(), T{1});
    return sum / static_cast<double>(rows_);
  }

  double lossAndGradient(const TokenBatch& batch, ParameterAccess<T>& access, T scale) {
    forward(batch, access);
    const double loss = headBackward(batch, access, scale / static_cast<T>(rows_));
    for (std::size_t layer = elems(shape_.layers); layer-- > 0;) {
      const HeldUnit<T> unit(layout_, access, layer + 1);
      if (recompute_) {
        blocks_[0].input = inputs_[layer];
        blockForward(blocks_[0], unit, nullptr);
      }
      blockBackward(blocks_[recompute_ ? 0 : layer], unit);
    }
    embeddingBackward(batch, access);
    return loss;
  }

  std::vector<T> nextLogits(const TokenBatch& batch, ParameterAccess<T>& access) {
    forward(batch, access);
    const HeldUnit<T> embedding(layout_, access, 0);
    logitsOf(inputs_.back().data(), rows_, embedding, HeldUnit<T>(layout_, access, lastUnit()));
    std::vector<T> last;
    for (std::size_t sequence = 1; sequence <= sequences_; ++sequence) {
      const auto from =
          logits_.begin() + static_cast<std::ptrdiff_t>((sequence * length_ - 1) * vocabulary());
      last.insert(last.end(), from, from + shape_.vocabulary);
    }
    return last;
  }

  std::size_t activationBytes() const {
    std::size_t bytes = sizeof(T) * (logits_.size() + final_.size() + gradient_.size() +
                                     wide_.size() + narrow_.size() + square_.size());
    for (const BlockActivations<T>& block : blocks_)
      bytes += block.bytes();
    for (const std::vector<T>& input : inputs_)
      bytes += sizeof(T) * input.size();
    return bytes;
  }

 private:
  std::size_t lastUnit() const { return elems(shape_.layers) + 1; }

  std::size_t vocabulary() const { return elems(shape_.vocabulary); }

  /// C (m x n) = A (m x k) B (k x n), all dense; added to C with `add`.
  struct Product {
    std::size_t m, n, k;
    Form a = Form::kPlain;
    Form b = Form::kPlain;
    bool add = false;
  };

  void multiply(const Product& product, const T* a, const T* b, T* c) const {
    const auto m = static_cast<int>(product.m);
    const auto n = static_cast<int>(product.n);
    const auto k = static_cast<int>(product.k);
    blas_.gemm({product.a, product.b, m, n, k, product.a == Form::kPlain ? k : m,
                product.b == Form::kPlain ? n : k, n},
               T{1}, a, b, product.add ? T{1} : T{0}, c);
  }

  /// y = x W + b for the whole batch.
  void linear(
      const T* x, const T* weight, const T* bias, std::size_t in, std::size_t out, T* y) const {
    multiply({rows_, out, in}, x, weight, y);
    addBias(y, bias, rows_, out);
  }

  /// The gradients of a linear layer: of its weights and bias, which then are ready, and of x.
  void linearBackward(const HeldUnit<T>& unit,
                      std::size_t weight,
                      const T* x,
                      const T* dy,
                      std::size_t in,
                      std::size_t out,
                      T* dx) const {
    const std::size_t bias = weight + 1;
    multiply({in, out, rows_, Form::kTransposed, Form::kPlain, true}, x, dy, unit.gradient(weight));
    unit.ready(weight);
    biasGradient(dy, unit.gradient(bias), rows_, out);
    unit.ready(bias);
    multiply({rows_, in, out, Form::kPlain, Form::kTransposed}, dy, unit[weight], dx);
  }

  void forward(const TokenBatch& batch, ParameterAccess<T>& access) {
    length_ = elems(batch.length);
    rows_ = batch.tokens.size();
    sequences_ = elems(batch.sequences());
    for (std::vector<T>& input : inputs_)
      input.resize(recompute_ || &input == &inputs_.back() ? rows_ * width_ : 0);
    {
      const HeldUnit<T> embedding(layout_, access, 0);
      std::vector<T>& x = recompute_ || shape_.layers == 0 ? inputs_[0] : blocks_[0].input;
      x.resize(rows_ * width_);
      for (std::size_t row = 0; row < rows_; ++row) {
        const T* token = embedding[kTokens] + batch.tokens[row] * width_;
        const T* position = embedding[kPositions] + row % length_ * width_;
        for (std::size_t i = 0; i < width_; ++i)
          x[row * width_ + i] = token[i] + position[i];
      }
    }
    for (std::size_t layer = 0; layer < elems(shape_.layers); ++layer) {
      const HeldUnit<T> unit(layout_, access, layer + 1);
      BlockActivations<T>& block = blocks_[recompute_ ? 0 : layer];
      if (recompute_) block.input = inputs_[layer];
      const bool last = layer + 1 == elems(shape_.layers);
      std::vector<T>& output = recompute_ || last ? inputs_[layer + 1] : blocks_[layer + 1].input;
      output.resize(rows_ * width_);
      blockForward(block, unit, output.data());
    }
  }

  void resize(BlockActivations<T>& block) const {
    for (std::vector<T>* values : {&block.normed1, &block.mixed, &block.middle, &block.normed2})
      values->resize(rows_ * width_);
    block.statistics1.resize(rows_);
    block.statistics2.resize(rows_);
    block.qkv.resize(rows_ * 3 * width_);
    block.probabilities.resize(rows_ * elems(shape_.heads) * length_);
    for (std::vector<T>* values : {&block.up, &block.tanhs, &block.activated})
      values->resize(rows_ * 4 * width_);
  }

  /// @param output of the block; null if only backward's needs are wanted
  void blockForward(BlockActivations<T>& block, const HeldUnit<T>& unit, T* output) const {
    resize(block);
    normForward(block.input.data(), unit[kNorm1Gain], unit[kNorm1Bias], block.normed1.data(),
                block.statistics1.data(), rows_, width_);
    linear(block.normed1.data(), unit[kQkvWeight], unit[kQkvBias], width_, 3 * width_,
           block.qkv.data());
    attentionForward(block);
    linear(block.mixed.data(), unit[kOutWeight], unit[kOutBias], width_, width_,
           block.middle.data());
    for (std::size_t i = 0; i < block.middle.size(); ++i)
      block.middle[i] += block.input[i];
    normForward(block.middle.data(), unit[kNorm2Gain], unit[kNorm2Bias], block.normed2.data(),
                block.statistics2.data(), rows_, width_);
    linear(block.normed2.data(), unit[kUpWeight], unit[kUpBias], width_, 4 * width_,
           block.up.data());
    geluForward(block.up.data(), block.activated.data(), block.tanhs.data(), block.up.size());
    if (output == nullptr) return;
    linear(block.activated.data(), unit[kDownWeight], unit[kDownBias], 4 * width_, width_, output);
    for (std::size_t i = 0; i < block.middle.size(); ++i)
      output[i] += block.middle[i];
  }

  /// gradient_, that of the block's output, becomes that of its input.
  void blockBackward(BlockActivations<T>& block, const HeldUnit<T>& unit) {
    wide_.resize(rows_ * 4 * width_);
    narrow_.resize(rows_ * width_);
    linearBackward(unit, kDownWeight, block.activated.data(), gradient_.data(), 4 * width_, width_,
                   wide_.data());
    geluBackward(block.up.data(), block.tanhs.data(), wide_.data(), wide_.size());
    linearBackward(unit, kUpWeight, block.normed2.data(), wide_.data(), width_, 4 * width_,
                   narrow_.data());
    normBackward(block.middle.data(), unit[kNorm2Gain], block.statistics2.data(), narrow_.data(),
                 {gradient_.data(), unit.gradient(kNorm2Gain), unit.gradient(kNorm2Bias)}, rows_,
                 width_);
    unit.ready(kNorm2Bias);
    unit.ready(kNorm2Gain);
    linearBackward(unit, kOutWeight, block.mixed.data(), gradient_.data(), width_, width_,
                   narrow_.data());
    attentionBackward(block);
    linearBackward(unit, kQkvWeight, block.normed1.data(), wide_.data(), width_, 3 * width_,
                   narrow_.data());
    normBackward(block.input.data(), unit[kNorm1Gain], block.statistics1.data(), narrow_.data(),
                 {gradient_.data(), unit.gradient(kNorm1Gain), unit.gradient(kNorm1Bias)}, rows_,
                 width_);
    unit.ready(kNorm1Bias);
    unit.ready(kNorm1Gain);
  }

  /// Calls body(offset of the head's q in qkv, offset of its output, square) for each head.
  template <class Body>
  void forEachHead(const Body& body) const {
    const std::size_t headWidth = width_ / elems(shape_.heads);
    for (std::size_t sequence = 0; sequence < sequences_; ++sequence) {
      for (std::size_t head = 0; head < elems(shape_.heads); ++head) {
        const std::size_t row = sequence * length_;
        const std::size_t square = (sequence * elems(shape_.heads) + head) * length_ * length_;
        body(row * 3 * width_ + head * headWidth, row * width_ + head * headWidth, square);
      }
    }
  }

  T attentionScale() const {
    return T{1} / std::sqrt(static_cast<T>(width_ / elems(shape_.heads)));
  }

  void attentionForward(BlockActivations<T>& block) const {
    const auto length = static_cast<int>(length_);
    const int headWidth = shape_.width / shape_.heads;
    const int step = 3 * shape_.width;
    forEachHead([&](std::size_t q, std::size_t out, std::size_t square) {
      const T* query = block.qkv.data() + q;
      T* p = block.probabilities.data() + square;
      blas_.gemm({Form::kPlain, Form::kTransposed, length, length, headWidth, step, step, length},
                 attentionScale(), query, query + width_, T{0}, p);
      causalSoftmax(p, length_);
      blas_.gemm(
          {Form::kPlain, Form::kPlain, length, headWidth, length, length, step, shape_.width}, T{1},
          p, query + 2 * width_, T{0}, block.mixed.data() + out);
    });
  }

  /// From the gradient of `mixed` in narrow_ to that of q, k and v in wide_.
  void attentionBackward(const BlockActivations<T>& block) {
    const auto length = static_cast<int>(length_);
    const int headWidth = shape_.width / shape_.heads;
    const int width = shape_.width;
    const int step = 3 * width;
    square_.resize(length_ * length_);
    T* s = square_.data();
    forEachHead([&](std::size_t q, std::size_t out, std::size_t square) {
      const T* query = block.qkv.data() + q;
      const T* p = block.probabilities.data() + square;
      const T* dOut = narrow_.data() + out;
      T* dQuery = wide_.data() + q;
      blas_.gemm({Form::kPlain, Form::kTransposed, length, length, headWidth, width, step, length},
                 T{1}, dOut, query + 2 * width_, T{0}, s);
      blas_.gemm({Form::kTransposed, Form::kPlain, length, headWidth, length, length, width, step},
                 T{1}, p, dOut, T{0}, dQuery + 2 * width_);
      causalSoftmaxBackward(p, s, length_);
      blas_.gemm({Form::kPlain, Form::kPlain, length, headWidth, length, length, step, step},
                 attentionScale(), s, query + width_, T{0}, dQuery);
      blas_.gemm({Form::kTransposed, Form::kPlain, length, headWidth, length, length, step, step},
                 attentionScale(), s, query, T{0}, dQuery + width_);
    });
  }

  void logitsOf(const T* x,
                std::size_t rows,
                const HeldUnit<T>& embedding,
                const HeldUnit<T>& norm) {
    final_.resize(rows * width_);
    finalStatistics_.resize(rows);
    logits_.resize(rows * vocabulary());
    normForward(x, norm[kFinalGain], norm[kFinalBias], final_.data(), finalStatistics_.data(), rows,
                width_);
    multiply({rows, vocabulary(), width_, Form::kPlain, Form::kTransposed}, final_.data(),
             embedding[kTokens], logits_.data());
  }

  /// Leaves the gradient of the last block's output in gradient_.
  double headBackward(const TokenBatch& batch, ParameterAccess<T>& access, T scale) {
    const HeldUnit<T> embedding(layout_, access, 0);
    const HeldUnit<T> norm(layout_, access, lastUnit());
    const T* x = inputs_.back().data();
    logitsOf(x, rows_, embedding, norm);
    const double sum =
        crossEntropy(logits_.data(), batch.targets.data(), rows_, vocabulary(), scale);
    multiply({vocabulary(), width_, rows_, Form::kTransposed, Form::kPlain, true}, logits_.data(),
             final_.data(), embedding.gradient(kTokens));
    embedding.ready(kTokens);
    narrow_.resize(rows_ * width_);
    multiply({rows_, width_, vocabulary()}, logits_.data(), embedding[kTokens], narrow_.data());
    gradient_.assign(rows_ * width_, T{0});
    normBackward(x, norm[kFinalGain], finalStatistics_.data(), narrow_.data(),
                 {gradient_.data(), norm.gradient(kFinalGain), norm.gradient(kFinalBias)}, rows_,
                 width_);
    norm.ready(kFinalBias);
    norm.ready(kFinalGain);
    return sum / static_cast<double>(rows_);
  }

  void embeddingBackward(const TokenBatch& batch, ParameterAccess<T>& access) const {
    const std::size_t first = layout_.firstOf(0);
    T* tokens = access.gradient(first + kTokens);
    T* positions = access.gradient(first + kPositions);
    for (std::size_t row = 0; row < rows_; ++row) {
      const T* from = gradient_.data() + row * width_;
      T* token = tokens + batch.tokens[row] * width_;
      T* position = positions + row % length_ * width_;
      for (std::size_t i = 0; i < width_; ++i) {
        token[i] += from[i];
        position[i] += from[i];
      }
    }
    access.ready(first + kPositions);
    access.ready(first + kTokens);
  }

  const GptShape shape_;
  const Blas blas_;
  const bool recompute_;
  const std::size_t width_;
  const ParameterLayout layout_;
  std::size_t length_ = 0;     // tokens of a sequence, of the last batch
  std::size_t sequences_ = 0;  // of the last batch
  std::size_t rows_ = 0;       // tokens of the last batch
  std::vector<BlockActivations<T>> blocks_;
  // Inputs of the blocks where they are computed again, and in the end what the last block gave.
  std::vector<std::vector<T>> inputs_;
  std::vector<T> final_;
  std::vector<RowStatistics<T>> finalStatistics_;
  std::vector<T> logits_;
  // Backward's own: gradients of the residual, of rows of width, of 3 or 4 widths, of a head.
  std::vector<T> gradient_;
  std::vector<T> narrow_;
  std::vector<T> wide_;
  std::vector<T> square_;
};

template <class T>
Gpt<T>::Gpt(const GptShape& shape, Blas blas, bool recompute)
    : impl_(std::make_unique<Impl>(shape, std::move(blas), recompute)) {}

template <class T>
Gpt<T>::~Gpt() = default;

template <class T>
double Gpt<T>::loss(const TokenBatch& batch, ParameterAccess<T>& parameters) {
  return impl_->loss(batch, parameters);
}

template <class T>
double Gpt<T>::lossAndGradient(const TokenBatch& batch, ParameterAccess<T>& parameters, T scale) {
  return impl_->lossAndGradient(batch, parameters, scale);
}

template <class T>
std::vector<T> Gpt<T>::nextLogits(const TokenBatch& batch, ParameterAccess<T>& parameters) {
  return impl_->nextLogits(batch, parameters);
}

template <class T>
std::size_t Gpt<T>::activationBytes() const {
  return impl_->activationBytes();
}

template class Gpt<float>;
template class Gpt<double>;

}  // namespace rondo::train
