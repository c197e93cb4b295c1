// The zoo of products: GEMMs with one known fault each, and the law that must catch it (fp8 7). Entries Q...
// are of that catalogue; entries M... are ours, so that every judged law has a fault. Next: product_laws.h.
#pragma once

#include <span>
#include <string_view>

#include "properties/product_law/product_case.h"
#include "properties/product_law/product_machine.h"

namespace shardcheck {

struct ProductFault {
  std::string_view id;               ///< "Q49"
  std::string_view title;            ///< what goes wrong, one sentence
  ProductLaw law;                    ///< that must catch it
  void (*show)(ProductQuestion& q);  ///< makes a plain FP8 product one that shows it
  Product product;
  Narrow narrow = narrow_by_law;
};

std::span<const ProductFault> product_zoo();

/// Null when there is none of that id.
const ProductFault* find_product_fault(std::string_view id);

/// The case that shows the fault, with the fault in it.
ProductQuestion case_of(const ProductFault& fault);

}  // namespace shardcheck
