#include "tools/shardcheck/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardcheck {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr std::string_view kEraseLine = "\r\x1b[K";

/// `width` columns, the share of them full, in eighths of a column.
std::string bar(double share, int width) {
  constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * width * 8);
  std::string text;
  for (int i = 0; i < filled / 8; ++i) text += "█";
  text += eighths[filled % 8];
  const int used = filled / 8 + (filled % 8 == 0 ? 0 : 1);
  return text + std::string(static_cast<std::size_t>(width - used), ' ');
}

}  // namespace

void Progress::show(const State& state) {
  if (!terminal_.is_terminal) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - *drawn_ < kInterval) return;
  drawn_ = now;
  visible_ = true;
  constexpr int kFixed = 12;  // blanks, the two ends of the bar, the percentage
  const int words = static_cast<int>(state.label.size() + state.remark.size()) + kFixed;
  const int width = std::clamp(terminal_.width - words, 0, 30);
  std::string line = fmt::format("{}  {}│ {:3.0f} %  {}", state.label, bar(state.share, width),
                                 100 * std::clamp(state.share, 0.0, 1.0), state.remark);
  if (words > terminal_.width) line = state.label.substr(0, static_cast<std::size_t>(terminal_.width) - 1);
  stream_ << kEraseLine << paint(terminal_, Tone::faint, line) << std::flush;
}

void Progress::clear() {
  if (visible_) stream_ << kEraseLine << std::flush;
  visible_ = false;
}

}  // namespace shardcheck
