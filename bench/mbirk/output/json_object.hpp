// Objects in objects of JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace mbirk::program {

/// The object that is a member of another object; it is made if it is not there. Where memory runs out, operator[] of a
/// value that is null leaves it damaged (nlohmann-json 3.11.2), so parent[key][member] is for objects that are there.
inline nlohmann::json& object_in(nlohmann::json& parent, std::string const& key) {
  return parent.emplace(key, nlohmann::json::object()).first.value();
}

}  // namespace mbirk::program
