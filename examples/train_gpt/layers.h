// What lies between the products of matrices: each forward with its backward, on rows of `width`
// values. Sums are from the first value up, so that results depend on nothing else.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "examples/train_gpt/exponential.h"

namespace rondo::train {

/// Added to the variance in layer norms.
inline constexpr double kNormEpsilon = 1e-5;

/// Statistics of a row that backward needs.
template <class T>
struct RowStatistics {
  T mean{};
  T inverseDeviation{};
};

/// y = gain * (x - mean) / deviation + bias, row by row.
template <class T>
void normForward(const T* x,
                 const T* gain,
                 const T* bias,
                 T* y,
                 RowStatistics<T>* statistics,
                 std::size_t rows,
                 std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, x += width, y += width) {
    T sum{};
    for (std::size_t i = 0; i < width; ++i)
      sum += x[i];
    const T mean = sum / static_cast<T>(width);
    T squares{};
    for (std::size_t i = 0; i < width; ++i)
      squares += (x[i] - mean) * (x[i] - mean);
    const T inverse =
        T{1} / std::sqrt(squares / static_cast<T>(width) + static_cast<T>(kNormEpsilon));
    statistics[row] = {mean, inverse};
    for (std::size_t i = 0; i < width; ++i)
      y[i] = (x[i] - mean) * inverse * gain[i] + bias[i];
  }
}

/// Gradients of a layer norm.
template <class T>
struct NormGradients {
  T* x;     ///< added to
  T* gain;  ///< added to
  T* bias;  ///< added to
};

/// With n = (x - mean) / deviation and g = gain * dy:
/// dx = (g - mean(g) - n * mean(g * n)) / deviation.
template <class T>
void normBackward(const T* x,
                  const T* gain,
                  const RowStatistics<T>* statistics,
                  const T* dy,
                  NormGradients<T> to,
                  std::size_t rows,
                  std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, x += width, dy += width, to.x += width) {
    const auto [mean, inverse] = statistics[row];
    T sum{};
    T product{};
    for (std::size_t i = 0; i < width; ++i) {
      const T normal = (x[i] - mean) * inverse;
      const T gradient = gain[i] * dy[i];
      sum += gradient;
      product += gradient * normal;
      to.gain[i] += dy[i] * normal;
      to.bias[i] += dy[i];
    }
    sum /= static_cast<T>(width);
    product /= static_cast<T>(width);
    for (std::size_t i = 0; i < width; ++i) {
      const T normal = (x[i] - mean) * inverse;
      to.x[i] += (gain[i] * dy[i] - sum - normal * product) * inverse;
    }
  }
}

/// sqrt(2 / pi) and the cubic's factor of the tanh form of GELU.
inline constexpr double kGeluScale = 0.7978845608028654;
inline constexpr double kGeluCubic = 0.044715;

/// y = x / 2 * (1 + tanh(scale * (x + cubic * x^3))); keeps the tanh for backward.
template <class T>
void geluForward(const T* x, T* y, T* tanhs, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const T inner =
        static_cast<T>(kGeluScale) * (x[i] + static_cast<T>(kGeluCubic) * x[i] * x[i] * x[i]);
    const T tanh = hyperbolicTangent(inner);
    tanhs[i] = tanh;
    y[i] = static_cast<T>(0.5) * x[i] * (T{1} + tanh);
  }
}

/// dy becomes dx.
template <class T>
void geluBackward(const T* x, const T* tanhs, T* dy, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const T slope =
        static_cast<T>(kGeluScale) * (T{1} + static_cast<T>(3 * kGeluCubic) * x[i] * x[i]);
    const T half = static_cast<T>(0.5);
    dy[i] *= half * (T{1} + tanhs[i]) + half * x[i] * (T{1} - tanhs[i] * tanhs[i]) * slope;
  }
}

/// Softmax of the first row + 1 values of each row of a square: nobody looks ahead. The rest are 0.
template <class T>
void causalSoftmax(T* square, std::size_t size) {
  for (std::size_t row = 0; row < size; ++row, square += size) {
    T most = square[0];
    for (std::size_t i = 1; i <= row; ++i)
      most = std::fmax(most, square[i]);
    for (std::size_t i = 0; i <= row; ++i)
      square[i] = exponential(square[i] - most);
    T sum{};
    for (std::size_t i = 0; i <= row; ++i)
      sum += square[i];
    for (std::size_t i = 0; i <= row; ++i)
      square[i] /= sum;
    for (std::size_t i = row + 1; i < size; ++i)
      square[i] = T{0};
  }
}

/// The gradient of the softmax's result becomes that of its input.
template <class T>
void causalSoftmaxBackward(const T* result, T* gradient, std::size_t size) {
  for (std::size_t row = 0; row < size; ++row, result += size, gradient += size) {
    T product{};
    for (std::size_t i = 0; i <= row; ++i)
      product += result[i] * gradient[i];
    for (std::size_t i = 0; i < size; ++i)
      gradient[i] = i <= row ? result[i] * (gradient[i] - product) : T{0};
  }
}

/// Adds `bias` to each row.
template <class T>
void addBias(T* y, const T* bias, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, y += width) {
    for (std::size_t i = 0; i < width; ++i)
      y[i] += bias[i];
  }
}

/// Adds each row to `bias`.
template <class T>
void biasGradient(const T* dy, T* bias, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row, dy += width) {
    for (std::size_t i = 0; i < width; ++i)
      bias[i] += dy[i];
  }
}

/// Cross entropies of rows of logits, summed in double. The logits become their gradients, times
/// `scale`.
template <class T>
double crossEntropy(
    T* logits, const std::uint8_t* targets, std::size_t rows, std::size_t width, T scale) {
  double sum = 0;
  for (std::size_t row = 0; row < rows; ++row, logits += width) {
    T most = logits[0];
    for (std::size_t i = 1; i < width; ++i)
      most = std::fmax(most, logits[i]);
    const T wanted = logits[targets[row]] - most;
    for (std::size_t i = 0; i < width; ++i)
      logits[i] = exponential(logits[i] - most);
    T all{};
    for (std::size_t i = 0; i < width; ++i)
      all += logits[i];
    sum += static_cast<double>(std::log(all) - wanted);
    for (std::size_t i = 0; i < width; ++i)
      logits[i] = scale * (logits[i] / all - (i == targets[row] ? T{1} : T{0}));
  }
  return sum;
}

}  // namespace rondo::train
