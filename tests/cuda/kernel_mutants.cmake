# Kernels with a bug on purpose: copies of headers of kernels/cuda/ with one place changed, found
# before the originals when mutant_kernels.cc is compiled. The tests of kernels run on them, and the
# one that is named must fail.

# rondo_add_kernel_mutant(<name> FILE <header of kernels/cuda/> FROM <text> TO <text>
#                         TEST <suite.test> [SAYS <regular expression>] [MESSAGES | CODED])
# MESSAGES, CODED: the kernel of messages, or of compressed collectives, and its tests are meant. FROM must occur exactly once. SAYS: what the output must contain; by default that the test failed.
function(rondo_add_kernel_mutant name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MESSAGES;CODED" "FILE;FROM;TO;TEST;SAYS" "")
  set(original ${PROJECT_SOURCE_DIR}/kernels/cuda/${arg_FILE})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
  file(READ ${original} text)
  string(FIND "${text}" "${arg_FROM}" first)
  string(FIND "${text}" "${arg_FROM}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR
      "mutant ${name}: this must be in kernels/cuda/${arg_FILE} once, and is not:\n${arg_FROM}")
  endif()
  string(REPLACE "${arg_FROM}" "${arg_TO}" text "${text}")
  set(include ${PROJECT_BINARY_DIR}/kernel_mutants/${name})
  set(copy ${include}/kernels/cuda/${arg_FILE})
  # Of another file that this mutant was made of before.
  file(GLOB stale ${include}/kernels/cuda/*)
  list(REMOVE_ITEM stale ${copy})
  if(stale)
    file(REMOVE ${stale})
  endif()
  set(before "")
  if(EXISTS ${copy})
    file(READ ${copy} before)
  endif()
  if(NOT "${before}" STREQUAL "${text}")
    file(WRITE ${copy} "${text}")
  endif()

  set(kernels mutant_kernels.cc)
  set(tests rondo_kernel_tests)
  if(arg_MESSAGES)
    set(kernels message_kernel.cc)
    set(tests rondo_message_kernel_tests)
  elseif(arg_CODED)
    set(kernels coded_kernel.cc)
    set(tests rondo_coded_kernel_tests)
  endif()
  add_executable(kernel_mutant_${name}
    ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${kernels} $<TARGET_OBJECTS:${tests}>)
  target_include_directories(kernel_mutant_${name} BEFORE PRIVATE ${include})
  target_compile_options(kernel_mutant_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_link_libraries(kernel_mutant_${name} PRIVATE
    rondo_emulated_ranks GTest::gtest_main rondo_build_flags)
  rondo_add_command_test(kernel_mutant_${name} LABELS cuda_emulated
    COMMAND kernel_mutant_${name} --gtest_filter=${arg_TEST})
  if(NOT arg_SAYS)
    string(REPLACE "." "\\." test "${arg_TEST}")
    set(arg_SAYS "FAILED  \\] ${test}")
  endif()
  set_tests_properties(kernel_mutant_${name} PROPERTIES PASS_REGULAR_EXPRESSION "${arg_SAYS}")
endfunction()

set(queue KernelQueue.MixedOperationsFollowEachOtherUnderRandomSchedules)
set(data_race "WARNING: ThreadSanitizer: data race")

# The mutants' two types and their smaller tests, without a bug.
add_executable(kernel_mutant_none
  ${CMAKE_CURRENT_LIST_DIR}/mutant_kernels.cc
  $<TARGET_OBJECTS:rondo_kernel_tests>)
target_link_libraries(kernel_mutant_none PRIVATE
  rondo_emulated_ranks GTest::gtest_main rondo_build_flags)
rondo_add_command_test(kernel_mutant_none LABELS cuda_emulated
  COMMAND kernel_mutant_none --gtest_filter=KernelQueue.*:KernelFailure.*)

# The sanitizers find some of these first, in other words, and take long to say so.
if(NOT RONDO_SANITIZE)
  # Slots are filled before they were given back.
  rondo_add_kernel_mutant(no_credit_wait FILE executor.h TEST ${queue}
    FROM [[if (end.position >= end.slotCount &&]]
    TO [[if (end.position == ~std::uint64_t{0} &&]])
  # One slot more than there are.
  rondo_add_kernel_mutant(credit_one_early FILE executor.h TEST ${queue}
    FROM [[end.position - end.slotCount + 1, wait_]]
    TO [[end.position - end.slotCount, wait_]])
  # The counter may be seen before what other threads of the block store.
  rondo_add_kernel_mutant(no_barrier_before_post FILE executor.h TEST ${queue}
    FROM "    syncBlock();\n    passSlots(step);"
    TO "    passSlots(step);")
  # The slot may be overwritten while it is read.
  rondo_add_kernel_mutant(credit_before_reads FILE executor.h TEST ${queue}
    FROM "    if (step.elems > 0) {\n"
    TO "    for (int i = firstOf(step.recv); i < step.recv.count; i += threads()) {
      End& end = *lane_.recv[step.recv.first + i];
      postCounter(*end.head, end.position + 1);
    }
    if (step.elems > 0) {\n")
  # A contribution is added in another place than the algorithm's file promises.
  rondo_add_kernel_mutant(own_first FILE executor.h TEST ${queue}
    FROM [[work.ownPosition = step.ownPosition < step.recv.count ? step.ownPosition : step.recv.count;]]
    TO [[work.ownPosition = 0;]])
  # In lines, rows start where the last one's pack has not ended.
  rondo_add_kernel_mutant(rows_share_a_pack FILE slot_layout.h TEST ${queue}
    FROM [[return ceilDiv(natives, sizeof(Pack)) * widening * sizeof(Pack) / kLineData * sizeof(Pack);]]
    TO [[return natives * widening / kLineData * sizeof(Pack);]])
  # Slots of another call are taken.
  rondo_add_kernel_mutant(any_call FILE executor.h TEST KernelFailure.AnotherCallOfThePeerIsNamed
    FROM [[entry.call == work_.call && entry.bytes == bytes]]
    TO [[entry.bytes == bytes]])
  rondo_add_kernel_mutant(any_size FILE executor.h
    TEST KernelFailure.AnotherSizeOfTheSameCallIsAMismatch
    FROM [[entry.call == work_.call && entry.bytes == bytes]]
    TO [[entry.call == work_.call && entry.bytes + 1 != 0 && bytes + 1 != 0]])
  # A line that is there by half.
  rondo_add_kernel_mutant(one_mark_read FILE lines.h TEST ${queue}
    FROM [[seen.half[0] >> 32 == mark && seen.half[1] >> 32 == mark]]
    TO [[seen.half[0] >> 32 == mark]])
  # Lines of an older filling with the same mark.
  rondo_add_kernel_mutant(no_rewrite FILE lines.h
    TEST KernelQueue.LinesOfAnEqualMarkAreGoneWhenItComesAgain
    FROM [[return filling >= kPeriod && filling % kPeriod < slotCount;]]
    TO [[return filling % kPeriod >= kPeriod + slotCount;]])
  rondo_add_kernel_mutant(one_slot_rewritten FILE lines.h
    TEST KernelQueue.LinesOfAnEqualMarkAreGoneWhenItComesAgain
    FROM [[return filling >= kPeriod && filling % kPeriod < slotCount;]]
    TO [[return filling % kPeriod < 1 && slotCount != 0;]])
  # Zero, what new memory holds, and a mark that comes twice in a row.
  rondo_add_kernel_mutant(mark_of_zero FILE lines.h
    TEST KernelQueue.RunsAcrossThePeriodsOfMarksAndRewrites
    FROM [[return static_cast<std::uint32_t>(filling % kMarks) + 1;]]
    TO [[return static_cast<std::uint32_t>(filling) + (kMarks == 0);]])
  # A wide line is read pack by pack, by threads that come when they like.
  rondo_add_kernel_mutant(wide_line_read_apart FILE wide_lines.h TEST ${queue}
    FROM [[data[i] = peekLine128(there, from + i * kWideLinePacks);]]
    TO [[data[i] = there ? peekPack(from[i * kWideLinePacks]) : Pack{};]])
  # It is written pack by pack.
  rondo_add_kernel_mutant(wide_line_written_apart FILE wide_lines.h TEST ${queue}
    FROM [[placeLine128(there, to, data);]]
    TO [[if (there) placePack(*to, data);]])
  # Each thread goes on when it has its own part, which says nothing where the mark is not.
  rondo_add_kernel_mutant(wide_line_without_a_vote FILE wide_lines.h TEST ${queue}
    SAYS "of its block or warp wait"
    FROM [[if (!anyInWarp(missing) || !wait.goOnAsWarp()) return;]]
    TO [[if (!missing || !wait.goOn()) return;]])
  # Only some threads of a warp give up.
  rondo_add_kernel_mutant(wide_line_given_up_alone FILE waiting.h
    TEST KernelFailure.AbortEndsEveryWait
    FROM [[givenUp_ = anyInWarp(givenUp_);]]
    TO [[givenUp_ = givenUp_ && threadIndex() % 2 == 0;]])
  # The mark stands where data belong.
  rondo_add_kernel_mutant(wide_mark_first FILE wide_lines.h TEST ${queue}
    FROM [[return threadIndex() % kWideLinePacks == kWideLinePacks - 1;]]
    TO [[return threadIndex() % kWideLinePacks == 0;]])
  # A line that was never written, and the last one of the same slot.
  rondo_add_kernel_mutant(wide_mark_of_zero FILE wide_lines.h TEST ${queue}
    FROM [[return std::uint64_t{mark} << 32;]]
    TO [[return std::uint64_t{mark} << 32 & 0;]])
  # Of the last line only what there are elements for is waited for.
  rondo_add_kernel_mutant(wide_line_with_holes FILE portion.h TEST ${queue}
    SAYS "are not whole lines"
    FROM [[portion.inLine = line * kLineElems < elems;]]
    TO [[portion.inLine = portion.count != 0;]])
  # Rows share a line.
  rondo_add_kernel_mutant(rows_share_a_wide_line FILE slot_layout.h TEST ${queue}
    FROM [[return ceilDiv(natives, kWideLineData) * widening * kWideLineBytes;]]
    TO [[return natives / kWideLineData * widening * kWideLineBytes;]])
  # Wide lines of an older filling with the same mark; data of theirs taken for marks of lines.
  rondo_add_kernel_mutant(no_rewrite_of_wide FILE lines.h
    TEST KernelQueue.WideLinesOfAnEqualMarkAreGoneWhenItComesAgain
    FROM [[return filling >= kPeriod && filling % kPeriod < slotCount;]]
    TO [[return filling % kPeriod >= kPeriod + slotCount;]])
  rondo_add_kernel_mutant(lines_follow_wide_uncounted FILE executor.h
    TEST KernelQueue.LinesAreNotTakenFromWideLinesBeforeThem
    FROM [[return !inLines() || follows(end);]]
    TO [[return !inLines() && end.slotCount != 0;]])
  rondo_add_kernel_mutant(lines_follow_wide_unwiped FILE executor.h
    TEST KernelQueue.NothingOfWideLinesIsLeftBehindLines
    FROM [[if (rewritesSlot(end.position, end.slotCount) || follows(end)) rewrite(end);]]
    TO [[if (rewritesSlot(end.position, end.slotCount)) rewrite(end);]])
  # The last pack of an output is stored whole.
  rondo_add_kernel_mutant(whole_last_pack FILE place.h TEST ${queue}
    FROM [[if (aligned && count >= (u + 1) * kPerUnit) {]]
    TO [[if (aligned && count > u * kPerUnit) {]])
  # Nobody hears of the abort, or of a long wait.
  rondo_add_kernel_mutant(deaf FILE waiting.h TEST KernelFailure.AbortEndsEveryWait
    FROM [[if (peekFlag(*work_.abortFlag) != 0) givenUp_ = true;]]
    TO [[if (peekFlag(*work_.abortFlag) == 2) givenUp_ = true;]])
  rondo_add_kernel_mutant(silent FILE waiting.h TEST KernelFailure.ALongWaitNamesThePeer
    FROM [[if (polls_ == kPollsPerLook * kPatientLooks)]]
    TO [[if (polls_ == 0)]])

  # The same and others of messages.
  set(groups MessageKernel.RandomGroupsFollowEachOtherUnderRandomSchedules)
  rondo_add_kernel_mutant(message_without_credit MESSAGES FILE message_executor.h TEST ${groups}
    FROM [[if (end.position >= end.slotCount)]]
    TO [[if (end.position == ~std::uint64_t{0})]])
  rondo_add_kernel_mutant(message_posted_early MESSAGES FILE message_executor.h TEST ${groups}
    FROM "    copyBytes(slotOf(end), message.source + step.offset, step.elems);\n    syncBlock();"
    TO "    copyBytes(slotOf(end), message.source + step.offset, step.elems);")
  rondo_add_kernel_mutant(message_credited_early MESSAGES FILE message_executor.h TEST ${groups}
    FROM "    copyBytes(message.target + step.offset, slotOf(end), step.elems);\n    syncBlock();"
    TO "    copyBytes(message.target + step.offset, slotOf(end), step.elems);")
  rondo_add_kernel_mutant(message_of_any_label MESSAGES FILE message_executor.h
    TEST MessageKernel.AMessageThatDiffersIsNamed
    FROM [[entry.call == message.label && entry.bytes == step.elems]]
    TO [[entry.bytes == step.elems && message.source != nullptr]])
  rondo_add_kernel_mutant(message_waited_for_ever MESSAGES FILE message_executor.h
    TEST MessageKernel.ALongWaitIsToldUntilItIsOver
    FROM [[if (polls >= kPollsPerLook * kPatientLooks) tellHost]]
    TO [[if (polls == ~0U) tellHost]])

  # And of codes.
  set(sums CodedKernel.SumsFollowEachOtherUnderRandomSchedules)
  rondo_add_kernel_mutant(code_without_credit CODED FILE coded_executor.h TEST ${sums}
    FROM [[if (end.position < end.slotCount) continue;]]
    TO [[if (end.position != ~std::uint64_t{0}) continue;]])
  rondo_add_kernel_mutant(code_posted_early CODED FILE coded_executor.h TEST ${sums}
    FROM "    syncBlock();\n    pass(step.send, step.recv, bytes);"
    TO "    pass(step.send, step.recv, bytes);")
  rondo_add_kernel_mutant(peak_read_early CODED FILE coded_executor.h TEST ${sums}
    FROM "    block_.peaks[threadIndex()] = peak;\n    syncBlock();"
    TO "    block_.peaks[threadIndex()] = peak;")
  rondo_add_kernel_mutant(own_code_first CODED FILE coded_executor.h TEST ${sums}
    FROM [[if (i == step.ownPosition) sum]]
    TO [[if (i == step.recv.count) sum]])
  rondo_add_kernel_mutant(code_of_any_call CODED FILE coded_executor.h
    TEST CodedKernel.AnotherCallOfThePeerIsNamed
    FROM [[entry.call == work_.call && entry.bytes == bytes]]
    TO [[entry.bytes == bytes]])
endif()

# Data that threads taking turns see in order anyway.
if(RONDO_SANITIZE MATCHES "thread")
  rondo_add_kernel_mutant(relaxed_post FILE executor.h TEST ${queue} SAYS ${data_race}
    FROM [[if (counts) postCounter(*end.tail, end.position);]]
    TO [[if (counts) creditLines(*end.tail, end.position);]])
  rondo_add_kernel_mutant(relaxed_credit FILE executor.h TEST ${queue} SAYS ${data_race}
    FROM [[inLines() ? creditLines(*end.head, end.position) : postCounter(*end.head, end.position);]]
    TO [[creditLines(*end.head, end.position);]])
  rondo_add_kernel_mutant(no_barrier_before_post FILE executor.h TEST ${queue} SAYS ${data_race}
    FROM "    syncBlock();\n    passSlots(step);"
    TO "    passSlots(step);")
endif()
