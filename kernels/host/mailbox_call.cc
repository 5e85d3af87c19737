#include "kernels/host/mailbox_call.h"

#include <cstring>

namespace rondo::host {

MailboxRole mailboxRole(Collective collective, int rank, int ranks, int root, std::size_t count) {
  MailboxRole role{.posted = count, .sources = ranks, .elems = count};
  role.folds = isReduction(collective);
  const bool atRoot = rank == root;
  switch (collective) {
    case Collective::kAllReduce:
    case Collective::kAllGather:
    case Collective::kBarrier:
      break;
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      role.posted = count * static_cast<std::size_t>(ranks);
      role.offset = count * static_cast<std::size_t>(rank);
      break;
    case Collective::kBroadcast:
      role.posts = atRoot;
      role.firstSource = root;
      role.sources = 1;
      break;
    case Collective::kReduce:
    case Collective::kGather:
      role.posts = !atRoot;
      if (!atRoot) role.sources = 0;
      break;
    case Collective::kScatter:
      role.posts = atRoot;
      role.posted = count * static_cast<std::size_t>(ranks);
      role.offset = count * static_cast<std::size_t>(rank);
      role.firstSource = root;
      role.sources = 1;
      break;
  }
  return role;
}

MailboxCall::MailboxCall(MailboxEnds& ends, const MailboxRole& role) : ends_(&ends), role_(role) {
  operands_.reserve(static_cast<std::size_t>(role.sources));
}

StepResult MailboxCall::tryStep(const Work& work) {
  if (!posted_ && !tryPost(work)) return StepResult::kNotReady;
  if (missingSource(work) >= 0) return StepResult::kNotReady;
  if (role_.elems > 0 && role_.sources > 0) {
    if (role_.folds) {
      fold(work);
    } else {
      collect(work);
    }
  }
  ends_->finish();
  return StepResult::kFinished;
}

bool MailboxCall::tryPost(const Work& work) {
  if (role_.posts) {
    if (!ends_->boxFree()) return false;
    fillBox(work);
    ends_->post(work.call);
  }
  posted_ = true;
  return true;
}

void MailboxCall::fillBox(const Work& work) {
  if (role_.posted == 0) return;
  const Arithmetic& arithmetic = work.arithmetic;
  if (arithmetic.scale == nullptr) {
    std::memcpy(ends_->box(), work.buffers.input, role_.posted * arithmetic.rules.elemBytes);
    return;
  }
  const Operand input{work.buffers.input, Form::kScaled};
  const Target box{ends_->box(), Form::kNative};
  CombineArgs args;
  args.sources = std::span(&input, 1);
  args.targets = std::span(&box, 1);
  args.elems = role_.posted;
  args.scale = arithmetic.scale;
  arithmetic.combine(args);
}

int MailboxCall::missingSource(const Work& work) const {
  for (int rank = role_.firstSource; rank < role_.firstSource + role_.sources; ++rank) {
    if (rank != ends_->own() && !ends_->boxFull(rank, work.call)) return rank;
  }
  return -1;
}

const std::byte* MailboxCall::contribution(int rank, const Work& work) const {
  const std::byte* all = rank == ends_->own() ? work.buffers.input : ends_->payload(rank);
  return all + role_.offset * work.arithmetic.rules.elemBytes;
}

void MailboxCall::fold(const Work& work) {
  const Arithmetic& arithmetic = work.arithmetic;
  operands_.clear();
  for (int rank = 0; rank < role_.sources; ++rank) {
    const bool scaled = rank == ends_->own() && arithmetic.scale != nullptr;
    operands_.push_back({contribution(rank, work), scaled ? Form::kScaled : Form::kNative});
  }
  const Target output{work.buffers.output, Form::kNative};
  CombineArgs args;
  args.sources = operands_;
  args.targets = std::span(&output, 1);
  args.elems = role_.elems;
  args.divisor = arithmetic.rules.divisor;
  args.scale = arithmetic.scale;
  arithmetic.combine(args);
}

void MailboxCall::collect(const Work& work) {
  const std::size_t bytes = role_.elems * work.arithmetic.rules.elemBytes;
  std::byte* output = work.buffers.output;
  for (int i = 0; i < role_.sources; ++i, output += bytes) {
    const std::byte* source = contribution(role_.firstSource + i, work);
    if (source != output) std::memcpy(output, source, bytes);
  }
}

Blocked MailboxCall::blockedOn(const Work& work) const {
  if (!posted_) return {ends_->slowest(), false};
  const int missing = missingSource(work);
  return missing < 0 ? Blocked{} : Blocked{missing, true};
}

}  // namespace rondo::host
