/* A program for NCCL, compiled against the header that is found as <nccl.h> and linked with Rondo's
 * libnccl.so.2, on memory of the host. Ends with status 0 if all is as NCCL promises.
 *
 *   client MODE RANKS
 *
 * processes  a process per rank, which meet by a unique id
 * threads    a thread per rank, whose communicators ncclCommInitAll makes
 * group      one thread for all ranks, which makes and uses their communicators in groups
 * abort      a thread is in an operation for which no other comes, and another aborts it
 * nonblocking  one thread for all ranks, whose communicators' calls do not block */
#include "client.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMostRanks = 8, kDeadlineSeconds = 60 };

struct RankThread {
  pthread_t thread;
  ncclComm_t comm;
  int rank;
  int ranks;
};

static void runRank(ncclComm_t comm, int rank, int ranks) {
  runOperations(comm, rank, ranks);
  runLifecycle(comm, rank, ranks);
  CHECK_OK(ncclCommFinalize(comm));
  CHECK_OK(ncclCommDestroy(comm));
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Rank 0 makes the id and writes it into the pipe once for every other rank. */
static ncclUniqueId carryId(int rank, int ranks, const int* ends) {
  ncclUniqueId id;
  if (rank > 0) {
    CHECK(read(ends[0], &id, sizeof id) == (ssize_t)sizeof id);
    return id;
  }
  CHECK_OK(ncclGetUniqueId(&id));
  for (int other = 1; other < ranks; ++other)
    CHECK(write(ends[1], &id, sizeof id) == (ssize_t)sizeof id);
  return id;
}

static void runProcess(int rank, int ranks, const int* ends) {
  alarm(kDeadlineSeconds);
  ncclComm_t comm = NULL;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  const ncclUniqueId id = carryId(rank, ranks, ends);
  /* As programs of an older NCCL have it, whose struct ends here. */
  config.size = offsetof(ncclConfig_t, nvlsCTAs);
  config.commName = "processes";
  config.blocking = 1;
  CHECK_OK(ncclCommInitRankConfig(&comm, ranks, id, rank, &config));
  runRank(comm, rank, ranks);
  exit(0);
}

static void runProcesses(int ranks) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  pid_t processes[kMostRanks];
  for (int rank = 0; rank < ranks; ++rank) {
    processes[rank] = fork();
    CHECK(processes[rank] >= 0);
    if (processes[rank] == 0) runProcess(rank, ranks, ends);
  }
  int failed = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    CHECK(waitpid(processes[rank], &status, 0) == processes[rank]);
    if (status == 0) continue;
    fprintf(stderr, "rank %d ended with wait status %d\n", rank, status);
    failed = 1;
  }
  CHECK(!failed);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void* runThread(void* argument) {
  const struct RankThread* self = argument;
  runRank(self->comm, self->rank, self->ranks);
  return NULL;
}

static void runThreads(int ranks) {
  struct RankThread threads[kMostRanks];
  ncclComm_t comms[kMostRanks];
  CHECK_OK(ncclCommInitAll(comms, ranks, NULL));
  for (int rank = 0; rank < ranks; ++rank) {
    threads[rank].comm = comms[rank];
    threads[rank].rank = rank;
    threads[rank].ranks = ranks;
    CHECK(pthread_create(&threads[rank].thread, NULL, runThread, &threads[rank]) == 0);
  }
  for (int rank = 0; rank < ranks; ++rank)
    CHECK(pthread_join(threads[rank].thread, NULL) == 0);
}

/* ---- one thread for all ranks ---------------------------------------------------------------- */

static void makeInGroup(ncclComm_t* comms, int ranks) {
  ncclUniqueId id;
  CHECK_OK(ncclGetUniqueId(&id));
  CHECK_OK(ncclGroupStart());
  for (int rank = 0; rank < ranks; ++rank)
    CHECK_OK(ncclCommInitRank(&comms[rank], ranks, id, rank));
  CHECK_OK(ncclGroupEnd());
}

static void checkSums(ncclComm_t* comms, int ranks) {
  int32_t sums[kMostRanks];
  CHECK_OK(ncclGroupStart());
  CHECK_OK(ncclGroupStart());
  for (int rank = 0; rank < ranks; ++rank) {
    sums[rank] = rank + 1;
    CHECK_OK(ncclAllReduce(&sums[rank], &sums[rank], 1, ncclInt, ncclSum, comms[rank], NULL));
  }
  CHECK_OK(ncclGroupEnd());
  CHECK_OK(ncclGroupEnd());
  for (int rank = 0; rank < ranks; ++rank)
    CHECK(sums[rank] == ranks * (ranks + 1) / 2);
}

static void runGroups(int ranks) {
  ncclComm_t comms[kMostRanks];
  ncclComm_t parts[kMostRanks];
  makeInGroup(comms, ranks);
  checkSums(comms, ranks);
  CHECK_OK(ncclGroupStart());
  for (int rank = 0; rank < ranks; ++rank)
    CHECK_OK(ncclCommSplit(comms[rank], 0, rank, &parts[rank], NULL));
  CHECK_OK(ncclGroupEnd());
  checkSums(parts, ranks);

  /* What cannot be made fails the group, with the reason; nothing of it is carried out. */
  ncclUniqueId id;
  memset(&id, 0, sizeof id);
  CHECK_OK(ncclGroupStart());
  CHECK_OK(ncclCommInitRank(&parts[0], ranks, id, ranks));
  CHECK(ncclGroupEnd() == ncclInvalidArgument);
  CHECK(strstr(ncclGetLastError(NULL), "rank") != NULL);
  checkSums(comms, ranks);

  for (int rank = 0; rank < ranks; ++rank) {
    CHECK_OK(ncclCommDestroy(parts[rank]));
    CHECK_OK(ncclCommDestroy(comms[rank]));
  }
}

/* ---- abort ----------------------------------------------------------------------------------- */

static void* waitForOthers(void* argument) {
  const struct RankThread* self = argument;
  int32_t element = 1;
  const ncclResult_t result =
      ncclAllReduce(&element, &element, 1, ncclInt, ncclSum, self->comm, NULL);
  /* Before the abort it waits; if it comes after it, the handle is refused. */
  CHECK(result == ncclRemoteError || result == ncclInvalidUsage);
  return NULL;
}

static void runAbort(int ranks) {
  ncclComm_t comms[kMostRanks];
  struct RankThread waiting = {0, NULL, 0, ranks};
  CHECK_OK(ncclCommInitAll(comms, ranks, NULL));
  waiting.comm = comms[0];
  CHECK(pthread_create(&waiting.thread, NULL, waitForOthers, &waiting) == 0);
  usleep(100 * 1000);
  CHECK_OK(ncclCommAbort(comms[0]));
  CHECK(pthread_join(waiting.thread, NULL) == 0);
  for (int rank = 1; rank < ranks; ++rank) {
    ncclResult_t failure = ncclSuccess;
    CHECK_OK(ncclCommGetAsyncError(comms[rank], &failure));
    CHECK(failure == ncclRemoteError);
    CHECK_OK(ncclCommAbort(comms[rank]));
  }
  CHECK_OK(ncclCommAbort(NULL));
}

/* ---- calls that do not block ----------------------------------------------------------------- */

/* As programs do, until the alarm ends them. */
static void awaitSuccess(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    CHECK_OK(ncclCommGetAsyncError(comm, &state));
    usleep(100);
  }
  CHECK(state == ncclSuccess);
}

static void awaitAll(ncclComm_t* comms, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    awaitSuccess(comms[rank]);
}

static void makeWithoutBlocking(ncclComm_t* comms, int ranks) {
  ncclUniqueId id;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  CHECK_OK(ncclGetUniqueId(&id));
  CHECK_OK(ncclGroupStart());
  for (int rank = 0; rank < ranks; ++rank)
    CHECK_OK(ncclCommInitRankConfig(&comms[rank], ranks, id, rank, &config));
  CHECK(ncclGroupEnd() == ncclInProgress);
  awaitAll(comms, ranks);
}

static void sumWithoutBlocking(ncclComm_t* comms, int ranks) {
  int32_t sums[kMostRanks];
  CHECK_OK(ncclGroupStart());
  for (int rank = 0; rank < ranks; ++rank) {
    sums[rank] = rank + 1;
    CHECK_OK(ncclAllReduce(&sums[rank], &sums[rank], 1, ncclInt, ncclSum, comms[rank], NULL));
  }
  CHECK(ncclGroupEnd() == ncclInProgress);
  awaitAll(comms, ranks);
  for (int rank = 0; rank < ranks; ++rank)
    CHECK(sums[rank] == ranks * (ranks + 1) / 2);
}

static void runWithoutBlocking(int ranks) {
  ncclComm_t comms[kMostRanks];
  ncclComm_t parts[kMostRanks];
  int32_t sums[kMostRanks];
  makeWithoutBlocking(comms, ranks);
  sumWithoutBlocking(comms, ranks);
  /* Without a group, too, one rank after another. */
  for (int rank = 0; rank < ranks; ++rank) {
    sums[rank] = 1;
    CHECK(ncclAllReduce(&sums[rank], &sums[rank], 1, ncclInt, ncclSum, comms[rank], NULL) ==
          ncclInProgress);
  }
  awaitAll(comms, ranks);
  for (int rank = 0; rank < ranks; ++rank)
    CHECK(sums[rank] == ranks);
  /* Parts are as what they come from. */
  for (int rank = 0; rank < ranks; ++rank)
    CHECK(ncclCommSplit(comms[rank], 0, rank, &parts[rank], NULL) == ncclInProgress);
  awaitAll(parts, ranks);
  sumWithoutBlocking(parts, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK(ncclCommFinalize(parts[rank]) == ncclInProgress);
    CHECK(ncclCommFinalize(comms[rank]) == ncclInProgress);
  }
  awaitAll(parts, ranks);
  awaitAll(comms, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK_OK(ncclCommDestroy(parts[rank]));
    CHECK_OK(ncclCommDestroy(comms[rank]));
  }
  /* One for which no other rank comes is given up. */
  ncclUniqueId id;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  int number = 0;
  config.blocking = 0;
  CHECK_OK(ncclGetUniqueId(&id));
  CHECK(ncclCommInitRankConfig(&comms[0], 2, id, 0, &config) == ncclInProgress);
  CHECK(ncclCommCount(comms[0], &number) == ncclInvalidUsage);
  CHECK_OK(ncclCommAbort(comms[0]));
  CHECK(ncclCommCount(comms[0], &number) == ncclInvalidUsage);
}

int main(int argc, char** argv) {
  const int ranks = argc == 3 ? atoi(argv[2]) : 0;
  if (ranks < 1 || ranks > kMostRanks) {
    fprintf(stderr, "usage: %s processes|threads|group|abort|nonblocking RANKS\n", argv[0]);
    return 2;
  }
  if (strcmp(argv[1], "processes") == 0) {
    runProcesses(ranks);
    return 0;
  }
  alarm(kDeadlineSeconds);
  if (strcmp(argv[1], "threads") == 0) {
    runThreads(ranks);
  } else if (strcmp(argv[1], "group") == 0) {
    runGroups(ranks);
  } else if (strcmp(argv[1], "abort") == 0) {
    runAbort(ranks);
  } else if (strcmp(argv[1], "nonblocking") == 0) {
    runWithoutBlocking(ranks);
  } else {
    fprintf(stderr, "no mode \"%s\"\n", argv[1]);
    return 2;
  }
  return 0;
}
