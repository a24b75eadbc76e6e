// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tilewright::sim {

/// An object that is kept when its user is done with it, for the next one of any launch: the first
/// touch of fresh pages costs more than a small launch. It comes as the last user has left it.
template <typename T>
class Lent {
public:
  Lent() {
    {
      std::lock_guard lock(store().mutex);
      if (!store().idle.empty()) {
        object = std::move(store().idle.back());
        store().idle.pop_back();
      }
    }
    if (!object)
      object = std::make_unique<T>();
  }
  Lent(Lent &&) = default;
  Lent &operator=(Lent &&) = delete;
  ~Lent() {
    if (!object)
      return;
    std::lock_guard lock(store().mutex);
    if (store().idle.size() < kMaxKept)
      store().idle.push_back(std::move(object));
  }

  T &operator*() const { return *object; }
  T *operator->() const { return object.get(); }

private:
  static constexpr size_t kMaxKept = 128;

  struct Store {
    std::mutex mutex;
    std::vector<std::unique_ptr<T>> idle;
  };

  /// Never destroyed: launches may still run on detached threads at exit.
  static Store &store() {
    static auto *instance = new Store;
    return *instance;
  }

  std::unique_ptr<T> object;
};

} // namespace tilewright::sim
