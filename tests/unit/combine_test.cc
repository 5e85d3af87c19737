// The combine loops of every usable instruction set against naive_arithmetic.h, bit for bit.
#include "kernels/host/combine.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/naive_arithmetic.h"

namespace rondo::testing {

namespace {

using host::CombineArgs;
using host::Form;
using host::Operand;
using host::SimdTarget;
using host::Target;

constexpr std::size_t kMostElems = 4097;
/// Enough for a whole iteration of the widest loop and a tail; for the shapes that are many.
constexpr std::size_t kManyElems = 261;
constexpr std::size_t kCounts[] = {0,  1,  5,  15,  16,  17,         31,
                                   32, 33, 63, 100, 129, kManyElems, kMostElems};
constexpr unsigned char kGuard = 0xa5;

constexpr ReduceOp kAllOps[] = {
#define RONDO_VALUE(name, text) ReduceOp::k##name,
    RONDO_FOR_EACH_REDUCE_OP(RONDO_VALUE)
#undef RONDO_VALUE
};
constexpr DataType kAllTypes[] = {
#define RONDO_VALUE(name, type, bytes, text) DataType::k##name,
    RONDO_FOR_EACH_DATA_TYPE(RONDO_VALUE)
#undef RONDO_VALUE
};

/// `count` elements at a chosen distance from a 64-byte boundary, between guard bytes.
class Buffer {
 public:
  Buffer(std::size_t count, std::size_t elementSize, std::size_t shiftElems)
      : bytes_(count * elementSize),
        start_(kMargin + shiftElems * elementSize),
        memory_(kMargin + start_ + bytes_ + kMargin, kGuard) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    start_ += (64 - address % 64) % 64;
  }

  unsigned char* data() { return memory_.data() + start_; }

  bool guardsIntact() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const bool isInside = i >= start_ && i < start_ + bytes_;
      if (!isInside && memory_[i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kMargin = 64;

  std::size_t bytes_;
  std::size_t start_;
  std::vector<unsigned char> memory_;
};

/// One page between two that cannot be touched.
class GuardedPage {
 public:
  GuardedPage() : pageBytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* memory = mmap(nullptr, 3 * pageBytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    base_ = static_cast<unsigned char*>(memory);
    if (mprotect(base_ + pageBytes_, pageBytes_, PROT_READ | PROT_WRITE) != 0) std::abort();
  }

  ~GuardedPage() { munmap(base_, 3 * pageBytes_); }

  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;

  /// `bytes` bytes that end, or begin, at an untouchable page.
  unsigned char* place(std::size_t bytes, bool atEnd) const {
    return base_ + pageBytes_ + (atEnd ? pageBytes_ - bytes : 0);
  }

 private:
  std::size_t pageBytes_;
  unsigned char* base_ = nullptr;
};

Word loadWord(const unsigned char* from, std::size_t bytes) {
  Word word = 0;
  std::memcpy(&word, from, bytes);
  return word;
}

/// The bits of an fp32 that is neither large nor small, sometimes a zero or an integer.
std::uint32_t moderateFloat(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return static_cast<std::uint32_t>(random() % 2) << 31;
    case 1:
      return std::bit_cast<std::uint32_t>(static_cast<float>(random() % 512) - 256.0f);
    default:
      return static_cast<std::uint32_t>((random() & 0x80ffffffu) + 0x3f000000u);
  }
}

/// Element bits: half of them moderate numbers, half any pattern (denormals, infinities, NaN, ...).
Word randomWord(DataType type, std::size_t bytes, std::mt19937_64& random) {
  const bool isAny = random() % 2 == 0;
  const Word any = bytes == 8 ? random() : random() & ((Word{1} << (8 * bytes)) - 1);
  if (!isFloat(type)) return type == DataType::kBool && isAny ? 0 : any;
  if (isAny) return any;
  const std::uint32_t word = moderateFloat(random);
  if (bytes == 8) return std::bit_cast<Word>(double{std::bit_cast<float>(word)});
  if (bytes == 4) return word;
  return encodeNaive(naiveFormatOf(type), static_cast<long double>(std::bit_cast<float>(word)));
}

/// A case of the matrix: forms of the sources and targets, and what is done after the fold.
struct Shape {
  std::vector<Form> sources;
  std::vector<Form> targets;
  std::uint64_t divisor = 0;
};

std::string describe(DataType type, ReduceOp op, const Shape& shape) {
  std::ostringstream text;
  text << dataTypeName(type) << " " << reduceOpName(op) << " sources";
  for (const Form form : shape.sources)
    text << " " << static_cast<int>(form);
  text << " targets";
  for (const Form form : shape.targets)
    text << " " << static_cast<int>(form);
  text << " divisor " << shape.divisor;
  return text.str();
}

/// Shapes for `count` sources that make sense for `op`.
std::vector<Shape> shapesFor(ReduceOp op, std::size_t count) {
  const std::vector<Form> native(count, Form::kNative);
  std::vector<Form> mixed = native;
  mixed[0] = Form::kAccumulator;
  if (count > 2) mixed[2] = Form::kAccumulator;
  std::vector<Shape> shapes = {{native, {Form::kNative}, 0},
                               {native, {Form::kNative, Form::kAccumulator}, 0},
                               {mixed, {Form::kAccumulator, Form::kNative, Form::kNative}, 0}};
  if (op == ReduceOp::kAvg) {
    shapes.push_back({native, {Form::kNative}, count});
    shapes.push_back({native, {Form::kNative, Form::kAccumulator}, 1});
    shapes.push_back({mixed, {Form::kNative}, 7});
  }
  if (op == ReduceOp::kPreMulSum) {
    const std::vector<Form> scaled(count, Form::kScaled);
    std::vector<Form> partlyScaled = mixed;
    partlyScaled[count - 1] = Form::kScaled;
    shapes.push_back({scaled, {Form::kNative}, 0});
    shapes.push_back({partlyScaled, {Form::kAccumulator, Form::kNative}, 0});
  }
  return shapes;
}

/// Random sources for a shape and, from naive_arithmetic.h, the results in both forms.
struct Problem {
  std::vector<std::vector<Word>> sources;
  alignas(8) std::array<unsigned char, 8> scale{};
  std::vector<Word> nativeResult;
  std::vector<Word> accumulatorResult;
};

Problem makeProblem(DataType type, ReduceOp op, const Shape& shape, std::size_t elems) {
  std::mt19937_64 random(elems + 31 * static_cast<std::size_t>(op) + shape.sources.size());
  Problem problem;
  const std::size_t scaleBytes = accumulatorBytes(type, ReduceOp::kPreMulSum);
  Word scaleBits = randomWord(DataType::kInt64, scaleBytes, random);
  if (isFloat(type)) {
    const float scale = 0.3f;
    scaleBits = scaleBytes == 8 ? std::bit_cast<Word>(double{scale})
                                : Word{std::bit_cast<std::uint32_t>(scale)};
  }
  std::memcpy(problem.scale.data(), &scaleBits, sizeof(scaleBits));
  for (const Form form : shape.sources) {
    auto& source = problem.sources.emplace_back();
    for (std::size_t i = 0; i < elems; ++i) {
      source.push_back(randomWord(type, formBytes(type, op, form), random));
    }
  }
  std::vector<Contribution> contributions(shape.sources.size());
  for (std::size_t i = 0; i < elems; ++i) {
    for (std::size_t s = 0; s < contributions.size(); ++s) {
      contributions[s] = {problem.sources[s][i], shape.sources[s]};
    }
    problem.nativeResult.push_back(
        naiveCombine(type, op, contributions, shape.divisor, scaleBits, Form::kNative));
    problem.accumulatorResult.push_back(
        naiveCombine(type, op, contributions, shape.divisor, scaleBits, Form::kAccumulator));
  }
  return problem;
}

/// The first element that differs, as text; empty if none does.
std::string firstDifference(DataType type,
                            ReduceOp op,
                            Form form,
                            const unsigned char* got,
                            std::span<const Word> expected) {
  const std::size_t bytes = formBytes(type, op, form);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Word word = loadWord(got + i * bytes, bytes);
    if (word == expected[i]) continue;
    if (isNaiveNan(type, op, form, word) && isNaiveNan(type, op, form, expected[i])) continue;
    std::ostringstream text;
    text << std::hex << "element " << i << " is 0x" << word << " and not 0x" << expected[i];
    return text.str();
  }
  return {};
}

std::span<const Word> resultOf(const Problem& problem, Form form, std::size_t elems) {
  const auto& all = form == Form::kNative ? problem.nativeResult : problem.accumulatorResult;
  return std::span(all).first(elems);
}

class CombineTest : public ::testing::TestWithParam<std::tuple<SimdTarget, DataType>> {
 protected:
  void SetUp() override {
    if (!host::simdTargetUsable(target())) {
      GTEST_SKIP() << "this processor or its kernel does not run "
                   << host::simdTargetName(target());
    }
  }

  static SimdTarget target() { return std::get<0>(GetParam()); }

  static DataType type() { return std::get<1>(GetParam()); }

  /// Runs `elems` elements of a problem in buffers `shiftElems` elements off a 64-byte boundary.
  static void check(ReduceOp op,
                    const Shape& shape,
                    const Problem& problem,
                    std::size_t elems,
                    std::size_t shiftElems) {
    std::vector<Buffer> buffers;
    std::vector<Operand> operands;
    std::vector<Target> targets;
    buffers.reserve(shape.sources.size() + shape.targets.size());
    for (std::size_t s = 0; s < shape.sources.size(); ++s) {
      const std::size_t bytes = formBytes(type(), op, shape.sources[s]);
      // Each buffer has a shift of its own, so that no two pointers are aligned alike.
      Buffer& buffer = buffers.emplace_back(elems, bytes, shiftElems * (s + 1));
      for (std::size_t i = 0; i < elems; ++i) {
        std::memcpy(buffer.data() + i * bytes, &problem.sources[s][i], bytes);
      }
      operands.push_back({buffer.data(), shape.sources[s]});
    }
    for (const Form form : shape.targets) {
      Buffer& buffer = buffers.emplace_back(elems, formBytes(type(), op, form), 2 * shiftElems + 1);
      targets.push_back({buffer.data(), form});
    }
    const CombineArgs args{operands, targets, elems, shape.divisor, problem.scale.data()};
    host::combineFunction(type(), op, target())(args);
    for (std::size_t t = 0; t < targets.size(); ++t) {
      EXPECT_EQ(firstDifference(type(), op, shape.targets[t],
                                static_cast<unsigned char*>(targets[t].data),
                                resultOf(problem, shape.targets[t], elems)),
                "")
          << describe(type(), op, shape) << " target " << t << " elems " << elems << " shift "
          << shiftElems;
    }
    for (const Buffer& buffer : buffers) {
      EXPECT_TRUE(buffer.guardsIntact()) << describe(type(), op, shape) << " elems " << elems;
    }
  }
};

std::string testName(const ::testing::TestParamInfo<std::tuple<SimdTarget, DataType>>& info) {
  return std::string(host::simdTargetName(std::get<0>(info.param))) + "_" +
         std::string(dataTypeName(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(All,
                         CombineTest,
                         ::testing::Combine(::testing::ValuesIn(host::kAllSimdTargets),
                                            ::testing::ValuesIn(kAllTypes)),
                         testName);

TEST_P(CombineTest, MatchesTheNaiveArithmetic) {
  for (const ReduceOp op : kAllOps) {
    if (!isReducible(type(), op)) continue;
    for (const std::size_t sourceCount : {1, 2, 3, 8}) {
      std::size_t most = sourceCount == 2 ? kMostElems : kManyElems;
      for (const Shape& shape : shapesFor(op, sourceCount)) {
        const Problem problem = makeProblem(type(), op, shape, most);
        for (const std::size_t elems : kCounts) {
          if (elems <= most) check(op, shape, problem, elems, elems % 4);
        }
        if (HasFailure()) return;
        most = kManyElems;
      }
    }
  }
}

TEST_P(CombineTest, StaysInsideItsBuffers) {
  const GuardedPage pages[4];
  for (const ReduceOp op : kAllOps) {
    if (!isReducible(type(), op)) continue;
    const Shape shape{{Form::kNative, Form::kAccumulator}, {Form::kNative, Form::kAccumulator}, 0};
    const Problem problem = makeProblem(type(), op, shape, 33);
    const std::size_t elementSize = elementBytes(type());
    const std::size_t sumSize = accumulatorBytes(type(), op);
    for (std::size_t elems = 1; elems <= 33; ++elems) {
      for (const bool atEnd : {false, true}) {
        unsigned char* elements = pages[0].place(elems * elementSize, atEnd);
        unsigned char* sums = pages[1].place(elems * sumSize, atEnd);
        for (std::size_t i = 0; i < elems; ++i) {
          std::memcpy(elements + i * elementSize, &problem.sources[0][i], elementSize);
          std::memcpy(sums + i * sumSize, &problem.sources[1][i], sumSize);
        }
        const Operand sources[] = {{elements}, {sums, Form::kAccumulator}};
        const Target targets[] = {{pages[2].place(elems * elementSize, atEnd)},
                                  {pages[3].place(elems * sumSize, atEnd), Form::kAccumulator}};
        host::combineFunction(type(), op, target())({sources, targets, elems});
        for (const Target& to : targets) {
          EXPECT_EQ(firstDifference(type(), op, to.form, static_cast<unsigned char*>(to.data),
                                    resultOf(problem, to.form, elems)),
                    "")
              << reduceOpName(op) << " elems " << elems << " at end " << atEnd;
        }
      }
    }
  }
}

TEST_P(CombineTest, WritesOverAnySource) {
  constexpr std::size_t kElems = 301;
  const std::size_t bytes = elementBytes(type());
  for (const ReduceOp op : kAllOps) {
    if (!isReducible(type(), op)) continue;
    const Shape shape{std::vector<Form>(3, Form::kNative), {Form::kNative}, 0};
    const Problem problem = makeProblem(type(), op, shape, kElems);
    for (std::size_t overwritten = 0; overwritten < 3; ++overwritten) {
      std::vector<Buffer> buffers;
      std::vector<Operand> sources;
      for (const auto& source : problem.sources) {
        Buffer& buffer = buffers.emplace_back(kElems, bytes, 1);
        for (std::size_t i = 0; i < kElems; ++i) {
          std::memcpy(buffer.data() + i * bytes, &source[i], bytes);
        }
        sources.push_back({buffer.data()});
      }
      const Target targets[] = {{buffers[overwritten].data()}};
      host::combineFunction(type(), op, target())({sources, targets, kElems});
      EXPECT_EQ(firstDifference(type(), op, Form::kNative, buffers[overwritten].data(),
                                resultOf(problem, Form::kNative, kElems)),
                "")
          << reduceOpName(op) << " over source " << overwritten;
    }
  }
}

/// One source is a conversion: every code that is not NaN comes back as it was.
TEST_P(CombineTest, KeepsEveryBitOfASingleSource) {
  const std::size_t bytes = elementBytes(type());
  const std::size_t elems = bytes == 1 ? 256 : 65536;
  Buffer from(elems, bytes, 1);
  Buffer to(elems, bytes, 0);
  std::vector<Word> expected;
  for (std::size_t i = 0; i < elems; ++i) {
    // Wider types: the codes in the upper bits, where sign, exponent and infinities are.
    const Word code = bytes > 2 ? Word{i} << (8 * (bytes - 2)) : Word{i};
    std::memcpy(from.data() + i * bytes, &code, bytes);
    expected.push_back(type() == DataType::kBool ? Word{code != 0} : code);
  }
  const Operand sources[] = {{from.data()}};
  const Target targets[] = {{to.data()}};
  for (const ReduceOp op : kAllOps) {
    if (!isReducible(type(), op)) continue;
    for (const std::uint64_t divisor : {0, 1}) {
      if (divisor > 0 && op != ReduceOp::kAvg) continue;
      host::combineFunction(type(), op, target())({sources, targets, elems, divisor});
      EXPECT_EQ(firstDifference(type(), op, Form::kNative, to.data(), expected), "")
          << reduceOpName(op) << " divisor " << divisor;
    }
  }
}

/// Every pair of special values, on either side and in every lane.
TEST_P(CombineTest, FollowsTheRulesOfNanAndZero) {
  if (!isFloat(type())) return;
  const std::size_t bytes = elementBytes(type());
  const int topBits = static_cast<int>(bytes) * 8 - 1;
  std::vector<Word> specials;
  for (const float value : {0.0f, 1.0f, 2.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    Word word = std::bit_cast<std::uint32_t>(value);
    if (bytes == 8) word = std::bit_cast<Word>(double{value});
    if (bytes < 4) word = encodeNaive(naiveFormatOf(type()), static_cast<long double>(value));
    specials.push_back(word);
    specials.push_back(word ^ (Word{1} << topBits));
  }
  constexpr std::size_t kLanes = 64;
  for (const ReduceOp op : kAllOps) {
    const Shape shape{{Form::kNative, Form::kNative}, {Form::kNative}, 0};
    Problem problem;
    problem.sources.resize(2);
    for (const Word left : specials) {
      for (const Word right : specials) {
        const Contribution pair[] = {{left}, {right}};
        const Word expected = naiveCombine(type(), op, pair, 0, 0, Form::kNative);
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          problem.sources[0].push_back(left);
          problem.sources[1].push_back(right);
          problem.nativeResult.push_back(expected);
        }
      }
    }
    check(op, shape, problem, problem.nativeResult.size(), 1);
  }
}

/// NaN whose rounding could carry into the sign, or whose upper bits alone are an infinity.
TEST_P(CombineTest, KeepsNanOfAnyPayload) {
  if (!isNarrowFloat(type())) return;
  const std::vector<Word> sums = {0x7f800001, 0xff800001, 0x7f80ffff, 0x7fffffff,
                                  0xffffffff, 0x7fff8000, 0xffff8000, 0x3f800000};
  for (const std::size_t sourceCount : {1, 2}) {
    const Shape shape{std::vector<Form>(sourceCount, Form::kAccumulator), {Form::kNative}, 0};
    Problem problem;
    problem.sources.resize(sourceCount);
    for (std::size_t i = 0; i < 100; ++i) {
      std::vector<Contribution> contributions;
      for (std::size_t s = 0; s < sourceCount; ++s) {
        const Word bits = sums[(i + s * i / 8) % sums.size()];
        problem.sources[s].push_back(bits);
        contributions.push_back({bits, Form::kAccumulator});
      }
      problem.nativeResult.push_back(
          naiveCombine(type(), ReduceOp::kSum, contributions, 0, 0, Form::kNative));
    }
    check(ReduceOp::kSum, shape, problem, problem.nativeResult.size(), 1);
  }
}

// ---- Values worked out by hand ------------------------------------------------------------------

class CombineByHandTest : public ::testing::TestWithParam<SimdTarget> {
 protected:
  void SetUp() override {
    if (!host::simdTargetUsable(GetParam())) {
      GTEST_SKIP() << "this processor or its kernel does not run "
                   << host::simdTargetName(GetParam());
    }
  }

  /// Combines one row per source; `T` is the storage of an element.
  template <class T>
  static std::vector<T> combine(DataType type,
                                ReduceOp op,
                                const std::vector<std::vector<T>>& rows,
                                std::uint64_t divisor = 0) {
    std::vector<Operand> sources;
    for (const auto& row : rows)
      sources.push_back({row.data()});
    std::vector<T> result(rows[0].size());
    const Target targets[] = {{result.data()}};
    host::combineFunction(type, op, GetParam())({sources, targets, result.size(), divisor});
    return result;
  }
};

std::string targetName(const ::testing::TestParamInfo<SimdTarget>& info) {
  return std::string(host::simdTargetName(info.param));
}

INSTANTIATE_TEST_SUITE_P(All,
                         CombineByHandTest,
                         ::testing::ValuesIn(host::kAllSimdTargets),
                         targetName);

TEST_P(CombineByHandTest, IntegersWrap) {
  const std::vector<std::vector<std::int8_t>> rows = {{120, -128, 127}, {100, -1, 1}};
  EXPECT_EQ(combine(DataType::kInt8, ReduceOp::kSum, rows),
            (std::vector<std::int8_t>{-36, 127, -128}));
  const std::vector<std::vector<std::int16_t>> factors = {{-32768, 32767}, {-32768, 32767}};
  EXPECT_EQ(combine(DataType::kInt16, ReduceOp::kProd, factors), (std::vector<std::int16_t>{0, 1}));
}

TEST_P(CombineByHandTest, IntegerAveragesTruncateTowardZero) {
  const std::vector<std::vector<std::int32_t>> rows = {
      {1, -1, 1}, {2, -2, 1}, {3, -3, 0}, {4, -4, 0}};
  EXPECT_EQ(combine(DataType::kInt32, ReduceOp::kAvg, rows, 4),
            (std::vector<std::int32_t>{2, -2, 0}));
  const std::vector<std::vector<std::int32_t>> three = {{1}, {1}, {0}};
  EXPECT_EQ(combine(DataType::kInt32, ReduceOp::kAvg, three, 3), (std::vector<std::int32_t>{0}));
  const std::vector<std::vector<std::uint8_t>> large(200, {255});
  EXPECT_EQ(combine(DataType::kUint8, ReduceOp::kAvg, large, 200),
            (std::vector<std::uint8_t>{255}));
}

TEST_P(CombineByHandTest, HalfAveragesNeitherOverflowNorVanish) {
  const std::vector<std::vector<std::uint16_t>> large(8, {0x7000});  // 8192; the sum is infinite
  EXPECT_EQ(combine(DataType::kFloat16, ReduceOp::kAvg, large, 8)[0], 0x7000);
  const std::vector<std::vector<std::uint16_t>> small(8, {0x0001});  // 2^-24, the least denormal
  EXPECT_EQ(combine(DataType::kFloat16, ReduceOp::kAvg, small, 8)[0], 0x0001);
}

TEST_P(CombineByHandTest, NarrowSumsRoundOnceInAnyRotation) {
  for (std::size_t rotation = 0; rotation < 8; ++rotation) {
    std::vector<std::vector<std::uint16_t>> half(8, {0x3c00});   // 1
    std::vector<std::vector<std::uint16_t>> brain(8, {0x3f80});  // 1
    half[rotation] = {0x6800};                                   // 2048
    brain[rotation] = {0x4380};                                  // 256
    // 2055 and 263 lie between two numbers of their types: ties, to even.
    EXPECT_EQ(combine(DataType::kFloat16, ReduceOp::kSum, half)[0], 0x6804) << rotation;    // 2056
    EXPECT_EQ(combine(DataType::kBfloat16, ReduceOp::kSum, brain)[0], 0x4384) << rotation;  // 264
  }
}

TEST_P(CombineByHandTest, Float8OverflowIsNeverANumber) {
  const std::vector<std::vector<std::uint8_t>> largest = {{0x7e, 0xfe},
                                                          {0x7e, 0xfe}};  // +-448 twice
  EXPECT_EQ(combine(DataType::kFloat8E4m3, ReduceOp::kSum, largest),
            (std::vector<std::uint8_t>{0x7f, 0xff}));
  const std::vector<std::vector<std::uint8_t>> e5m2 = {{0x7b, 0xfb},
                                                       {0x7b, 0xfb}};  // +-57344 twice
  EXPECT_EQ(combine(DataType::kFloat8E5m2, ReduceOp::kSum, e5m2),
            (std::vector<std::uint8_t>{0x7c, 0xfc}));
}

TEST_P(CombineByHandTest, AnyNonzeroByteIsTrue) {
  const std::vector<std::vector<std::uint8_t>> rows = {{0, 2, 0, 128}, {0, 4, 1, 1}};
  const std::vector<std::uint8_t> both = {0, 1, 0, 1};
  const std::vector<std::uint8_t> either = {0, 1, 1, 1};
  EXPECT_EQ(combine(DataType::kBool, ReduceOp::kSum, rows), either);
  EXPECT_EQ(combine(DataType::kBool, ReduceOp::kMax, rows), either);
  EXPECT_EQ(combine(DataType::kBool, ReduceOp::kProd, rows), both);
  EXPECT_EQ(combine(DataType::kBool, ReduceOp::kMin, rows), both);
}

// ---- Choice of the loop, copies -----------------------------------------------------------------

TEST(CombineFunction, IsNullOnlyForPairsWithoutMeaning) {
  for (const SimdTarget target : host::kAllSimdTargets) {
    for (const DataType type : kAllTypes) {
      for (const ReduceOp op : kAllOps) {
        EXPECT_EQ(host::combineFunction(type, op, target) != nullptr, isReducible(type, op));
      }
    }
  }
  EXPECT_TRUE(host::simdTargetUsable(SimdTarget::kScalar));
  EXPECT_TRUE(host::simdTargetUsable(host::bestSimdTarget()));
}

TEST(CopyToAll, FillsEveryTarget) {
  for (const std::size_t bytes : {0, 1, 63, 8192, 8193, 20000}) {
    std::vector<unsigned char> source(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      source[i] = static_cast<unsigned char>(i * 7);
    const std::vector<unsigned char> expected = source;
    Buffer first(bytes, 1, 1);
    Buffer second(bytes, 1, 0);
    void* const targets[] = {first.data(), source.data(), second.data()};
    host::copyToAll(source.data(), targets, bytes);
    host::copyToAll(source.data(), std::span(targets).first(1), bytes);
    for (void* target : targets) {
      EXPECT_TRUE(bytes == 0 || std::memcmp(target, expected.data(), bytes) == 0) << bytes;
    }
    EXPECT_TRUE(first.guardsIntact() && second.guardsIntact());
  }
}

}  // namespace

}  // namespace rondo::testing
