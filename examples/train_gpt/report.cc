#include "examples/train_gpt/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <vector>

namespace rondo::train {

namespace {

constexpr std::array kStageNames{"data parallel", "ZeRO stage 1", "ZeRO stage 2", "ZeRO stage 3"};
/// Share of the time from which communication is worth a word.
constexpr double kMuchCommunication = 0.4;
/// Size of a curve's picture, in pixels.
constexpr double kWidth = 640;
constexpr double kHeight = 240;
constexpr double kMargin = 48;

[[gnu::format(printf, 1, 2)]] std::string format(const char* form, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, form);
  std::vsnprintf(text, sizeof text, form, arguments);
  va_end(arguments);
  return text;
}

std::string megabytes(double bytes) {
  return format("%.2f MB", bytes / 1e6);
}

double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

/// The rank whose exposed communication takes most.
const RankSummary& slowest(const TrainingOutcome& outcome) {
  return *std::ranges::max_element(outcome.ranks, {}, &RankSummary::exposed);
}

std::string timeText(const TrainingOutcome& outcome) {
  const RankSummary& rank = slowest(outcome);
  std::string text = format(
      "time of %zu steps: %.1f s; computing %.0f %%, communication exposed %.0f %%, loading %.1f "
      "%%; "
      "communication hidden behind computing: %.1f s of %.1f s\n",
      outcome.steps.size(), rank.seconds, percent(rank.computing(), rank.seconds),
      percent(rank.exposed, rank.seconds), percent(rank.loading, rank.seconds), rank.hidden(),
      rank.communicating);
  if (rank.exposed > kMuchCommunication * rank.seconds) {
    text +=
        "communication takes more than 40 % of the time: raise --batch or --micro-batches, or "
        "run fewer ranks than processors; ranks that wait for a slower one count here, too\n";
  }
  return text;
}

std::string memoryText(const TrainingOutcome& outcome) {
  std::string text =
      "memory of tensors   parameters   gradients   optimizer       total   by theory   at most"
      "   activations\n";
  for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
    const RankSummary& own = outcome.ranks[rank];
    const auto expected = static_cast<double>(outcome.expected[rank].total());
    text += format("  rank %-3zu %19s %11s %11s %11s %11s %9s %13s\n", rank,
                   megabytes(own.parameters).c_str(), megabytes(own.gradients).c_str(),
                   megabytes(own.optimizer).c_str(),
                   megabytes(own.parameters + own.gradients + own.optimizer).c_str(),
                   megabytes(expected).c_str(), megabytes(own.peak).c_str(),
                   megabytes(own.activations).c_str());
  }
  return text;
}

struct Curve {
  std::string name;
  std::string color;
  std::vector<double> values;
};

/// An SVG picture of curves over steps, with the scale at its corners.
std::string picture(const std::string& title,
                    std::uint64_t firstStep,
                    const std::vector<Curve>& curves) {
  double least = INFINITY;
  double most = -INFINITY;
  std::size_t steps = 2;
  for (const Curve& curve : curves) {
    steps = std::max(steps, curve.values.size());
    for (const double value : curve.values) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  const double range = most > least ? most - least : 1;
  std::string svg = format(
      "<h2>%s</h2>\n<svg viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\">\n"
      "<rect x=\"%g\" y=\"10\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"#999\"/>\n",
      title.c_str(), kWidth, kHeight, kWidth, kHeight, kMargin, kWidth - kMargin - 10,
      kHeight - kMargin);
  svg += format(
      "<text x=\"%g\" y=\"20\" text-anchor=\"end\">%.3g</text>"
      "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%.3g</text>\n",
      kMargin - 4, most, kMargin - 4, kHeight - kMargin + 10, least);
  svg += format(
      "<text x=\"%g\" y=\"%g\">step %llu</text>"
      "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%llu</text>\n",
      kMargin, kHeight - 20, static_cast<unsigned long long>(firstStep + 1), kWidth - 10,
      kHeight - 20, static_cast<unsigned long long>(firstStep + steps));
  double legend = kMargin + 120;
  for (const Curve& curve : curves) {
    svg += format("<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
                  curve.color.c_str());
    for (std::size_t i = 0; i < curve.values.size(); ++i) {
      if (!std::isfinite(curve.values[i])) continue;
      const double x = kMargin + (kWidth - kMargin - 10) * static_cast<double>(i) /
                                     static_cast<double>(steps - 1);
      const double y = 10 + (kHeight - kMargin) * (most - curve.values[i]) / range;
      svg += format("%.1f,%.1f ", x, y);
    }
    svg += format("\"/>\n<text x=\"%g\" y=\"%g\" fill=\"%s\">%s</text>\n", legend, kHeight - 20,
                  curve.color.c_str(), curve.name.c_str());
    legend += 160;
  }
  return svg + "</svg>\n";
}

template <class Member>
std::vector<double> valuesOf(const TrainingOutcome& outcome, Member member) {
  std::vector<double> values;
  for (const StepRecord& step : outcome.steps)
    values.push_back(step.*member);
  return values;
}

/// Text between tags. Bytes beyond ASCII are whatever a model has come up with: shown as dots.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += letter == '\n' || (letter >= ' ' && letter <= '~') ? letter : '.';
    }
  }
  return out;
}

}  // namespace

std::string summaryText(const TrainCommand& command, const TrainingOutcome& outcome) {
  std::string text = "\n";
  text +=
      format("%s over %zu ranks\n", kStageNames[static_cast<std::size_t>(command.training.stage)],
             outcome.ranks.size());
  if (outcome.steps.empty()) return text + "nothing left to do\n";
  text += timeText(outcome) + memoryText(outcome);
  text +=
      format("tensors given to operations: %s a step and rank\n",
             megabytes(slowest(outcome).bytes / static_cast<double>(outcome.steps.size())).c_str());
  const RankSummary& own = outcome.ranks.front();
  if (own.codedBytes > 0) {
    text += format("gradients sent as %s: %s of %s a step, by rank 0\n", command.codec.c_str(),
                   megabytes(own.codedBytes / static_cast<double>(outcome.steps.size())).c_str(),
                   megabytes(own.uncodedBytes / static_cast<double>(outcome.steps.size())).c_str());
  }
  if (outcome.skipped > 0) {
    text += format("skipped steps: %llu (gradients that were infinite or NaN)\n",
                   static_cast<unsigned long long>(outcome.skipped));
  }
  return text;
}

double largestLossDifference(const TrainingOutcome& one, const TrainingOutcome& other) {
  double largest = 0;
  for (std::size_t step = 0; step < std::min(one.steps.size(), other.steps.size()); ++step) {
    largest = std::max(largest, std::abs(one.steps[step].loss - other.steps[step].loss) /
                                    std::abs(other.steps[step].loss));
  }
  return largest;
}

std::string reportPage(const TrainCommand& command,
                       const TrainingOutcome& outcome,
                       const TrainingOutcome* compared) {
  std::vector<Curve> losses{{"loss", "#06c", valuesOf(outcome, &StepRecord::loss)}};
  if (compared != nullptr)
    losses.push_back({"one rank", "#c60", valuesOf(*compared, &StepRecord::loss)});
  std::string page =
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>rondo-train</title>\n"
      "<style>body{font:16px sans-serif;margin:2em;max-width:60em}svg text{font-size:12px}"
      "pre{background:#f4f4f4;padding:1em;overflow-x:auto}</style>\n<h1>rondo-train</h1>\n";
  page += "<pre>" + escaped(summaryText(command, outcome)) + "</pre>\n";
  if (compared != nullptr) {
    page += format("<p>Largest difference to one rank's losses: %.2g of the loss.</p>\n",
                   largestLossDifference(outcome, *compared));
  }
  page += picture("Loss (nats per byte)", outcome.firstStep, losses);
  page += picture("Length of the gradient", outcome.firstStep,
                  {{"gradient", "#393", valuesOf(outcome, &StepRecord::norm)}});
  page += picture("Tokens per second", outcome.firstStep,
                  {{"tokens/s", "#939", valuesOf(outcome, &StepRecord::tokensPerSecond)}});
  page += "<h2>A sample</h2>\n<pre>" + escaped(outcome.sample) + "</pre>\n</html>\n";
  return page;
}

}  // namespace rondo::train
