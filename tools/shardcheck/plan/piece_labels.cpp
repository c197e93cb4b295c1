#include "tools/shardcheck/plan/piece_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tools/shardcheck/layout/kinds.h"
#include "tools/shardcheck/wording.h"

namespace shardcheck {
namespace {

using cost::Piece;

const layout::Parameter& tensor(const Question& question, const Piece& piece, std::size_t i) {
  return question.parameters[static_cast<std::size_t>(piece.tensors[i].value)];
}

std::string signature_of(const Question& question, const Piece& piece) {
  std::string text = fmt::format("{} {} {}|", piece.whole, piece.own, piece.expert);
  for (std::size_t i = 0; i < piece.tensors.size(); ++i) {
    text += pattern_of(tensor(question, piece, i).name);
    text += ' ';
  }
  return text;
}

std::string label_of(const Question& question, const std::vector<const Piece*>& alike) {
  FoldedName first, last;
  std::set<std::int32_t> layers;
  bool is_layer = alike.front()->tensors.size() > 1;
  for (const Piece* piece : alike) {
    first.add(tensor(question, *piece, 0).name);
    last.add(tensor(question, *piece, piece->tensors.size() - 1).name);
    const auto unit = tensor(question, *piece, 0).unit;
    for (std::size_t i = 0; i < piece->tensors.size(); ++i)
      is_layer = is_layer && unit && tensor(question, *piece, i).unit == unit;
    if (unit) layers.insert(*unit);
  }
  const std::string suffix = alike.front()->expert && question.mesh.expert > 1 ? ", experts" : "";
  if (is_layer) return fmt::format("layer{} {}{}", layers.size() > 1 ? "s" : "", ranges_text(layers), suffix);
  std::string text(short_name(first.text()));
  const std::size_t tensors = alike.front()->tensors.size();
  if (tensors > 1) text += (tensors == 2 ? ", " : " .. ") + std::string(short_name(last.text()));
  return text + suffix;
}

}  // namespace

PieceLabels label_pieces(const Question& question, std::span<const Piece> pieces, std::size_t most) {
  PieceLabels labels;
  std::map<std::string, std::int32_t> known;
  std::vector<std::vector<const Piece*>> kinds;
  const auto add = [&](const std::string& signature, const Piece& piece) {
    const auto [found, is_new] = known.try_emplace(signature, static_cast<std::int32_t>(kinds.size()));
    if (is_new) kinds.emplace_back();
    kinds[static_cast<std::size_t>(found->second)].push_back(&piece);
    labels.kind_of.push_back(found->second);
  };
  for (const Piece& piece : pieces) add(signature_of(question, piece), piece);
  if (kinds.size() <= most) {
    for (const auto& alike : kinds) labels.names.push_back(label_of(question, alike));
    return labels;
  }
  known.clear();
  kinds.clear();
  labels.kind_of.clear();
  for (const Piece& piece : pieces) add(piece.expert && question.mesh.expert > 1 ? "experts" : "", piece);
  for (const auto& [signature, kind] : known) {
    const std::string count = counted(std::ssize(kinds[static_cast<std::size_t>(kind)]), "bucket");
    labels.names.resize(kinds.size());
    labels.names[static_cast<std::size_t>(kind)] = count + (signature.empty() ? "" : " of experts");
  }
  return labels;
}

}  // namespace shardcheck
