// Which of many key ranges hold a key? A treap ordered by begin, each node knowing the greatest end below
// it, so that the k ranges that hold a key among n are found in O(log n + k).

#ifndef KVIST_WATCH_INTERVAL_TREE_H_
#define KVIST_WATCH_INTERVAL_TREE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace kvist::watch {

// Maps ranges [begin, end), or [begin, infinity), to values. Equal ranges share a node. Used by one thread
// at a time.
template <typename Value>
class IntervalTree {
 public:
  // Where a range ends: before `key`, or nowhere.
  struct End {
    std::string key;
    bool open = false;  // `key` is then empty

    std::strong_ordering operator<=>(const End& other) const {
      if (open || other.open) return open <=> other.open;
      return key.compare(other.key) <=> 0;
    }
    bool operator==(const End& other) const = default;
    [[nodiscard]] bool IsAfter(std::string_view k) const { return open || k < key; }
  };

  // A range in the tree. Stays where it is until erased.
  class Node {
   public:
    Node(std::string_view begin, const End& end, std::uint64_t priority)
        : begin_(begin), end_(end), priority_(priority) {}

    Value value{};

   private:
    friend class IntervalTree;

    const std::string begin_;
    const End end_;
    const std::uint64_t priority_;     // a heap by this: no child has a greater one
    const End* greatest_end_ = &end_;  // in the subtree of this node
    std::unique_ptr<Node> left_;       // ranges before this one by (begin, end)
    std::unique_ptr<Node> right_;      // ranges after it
  };

  [[nodiscard]] bool empty() const { return root_ == nullptr; }

  // Returns the node of the range, made with a default value if there is none.
  Node* FindOrInsert(std::string_view begin, const End& end) { return Insert(begin, end, &root_); }

  // Takes a range out. `node` is in this tree, and gone after.
  void Erase(Node* node) { const Link erased = Erase(*node, &root_); }

  // Calls `visit(const Value&)` for each range that holds `key`. The tree must not be changed meanwhile.
  template <typename Visit>
  void VisitContaining(std::string_view key, Visit&& visit) const {
    VisitContaining(root_.get(), key, visit);
  }

 private:
  using Link = std::unique_ptr<Node>;

  static std::strong_ordering Order(std::string_view begin, const End& end, const Node& node) {
    const std::strong_ordering by_begin = begin.compare(node.begin_) <=> 0;
    return by_begin != 0 ? by_begin : end <=> node.end_;
  }

  static void Update(Node* node) {
    node->greatest_end_ = &node->end_;
    for (const Link* child : {&node->left_, &node->right_}) {
      if (*child != nullptr && *(*child)->greatest_end_ > *node->greatest_end_) {
        node->greatest_end_ = (*child)->greatest_end_;
      }
    }
  }

  // Turns the edge from `*link` to its child on side `up`, which takes its place; `down` is the other side.
  static void Rotate(Link* link, Link Node::*up, Link Node::*down) {
    Link child = std::move((**link).*up);
    (**link).*up = std::move((*child).*down);
    Update(link->get());
    (*child).*down = std::move(*link);
    *link = std::move(child);
  }

  Node* Insert(std::string_view begin, const End& end, Link* link) {
    if (*link == nullptr) {
      *link = std::make_unique<Node>(begin, end, NextPriority());
      return link->get();
    }
    const std::strong_ordering order = Order(begin, end, **link);
    if (order == 0) return link->get();
    const auto side = order < 0 ? &Node::left_ : &Node::right_;
    const auto other = order < 0 ? &Node::right_ : &Node::left_;
    Node* const result = Insert(begin, end, &((**link).*side));
    if (((**link).*side)->priority_ > (*link)->priority_) {
      Rotate(link, side, other);
      Update(link->get());
    } else if (result->end_ > *(*link)->greatest_end_) {
      (*link)->greatest_end_ = &result->end_;
    }
    return result;
  }

  // Returns what it took out: it must live until the nodes above know that it is gone.
  static Link Erase(const Node& node, Link* link) {
    Link erased;
    if (link->get() == &node) {
      erased = std::move(*link);
      *link = Merge(std::move(erased->left_), std::move(erased->right_));
      return erased;
    }
    const bool before = Order(node.begin_, node.end_, **link) < 0;
    erased = Erase(node, before ? &(*link)->left_ : &(*link)->right_);
    if ((*link)->greatest_end_ == &node.end_) Update(link->get());
    return erased;
  }

  // One tree of two, of which all of `left` comes before all of `right`.
  static Link Merge(Link left, Link right) {
    if (left == nullptr) return right;
    if (right == nullptr) return left;
    if (left->priority_ > right->priority_) {
      left->right_ = Merge(std::move(left->right_), std::move(right));
      Update(left.get());
      return left;
    }
    right->left_ = Merge(std::move(left), std::move(right->left_));
    Update(right.get());
    return right;
  }

  template <typename Visit>
  static void VisitContaining(const Node* node, std::string_view key, Visit& visit) {
    while (node != nullptr && node->greatest_end_->IsAfter(key)) {
      if (key < node->begin_) {
        node = node->left_.get();
        continue;
      }
      VisitContaining(node->left_.get(), key, visit);
      if (node->end_.IsAfter(key)) visit(node->value);
      node = node->right_.get();
    }
  }

  // Xorshift: the balance needs variety, not secrecy.
  std::uint64_t NextPriority() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return random_;
  }

  Link root_;
  std::uint64_t random_ = 0x9e3779b97f4a7c15;
};

}  // namespace kvist::watch

#endif  // KVIST_WATCH_INTERVAL_TREE_H_
