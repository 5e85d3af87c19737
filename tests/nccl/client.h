/* What the parts of the client share: a check that ends the program, and one rank's tests. */
#ifndef RONDO_TESTS_NCCL_CLIENT_H_
#define RONDO_TESTS_NCCL_CLIENT_H_

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the process, with status 1, unless `condition` holds. */
#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition, \
              ncclGetLastError(NULL));                                                 \
      exit(1);                                                                         \
    }                                                                                  \
  } while (0)

#define CHECK_OK(call) CHECK((call) == ncclSuccess)

/* Every operation, by all ranks of `comm`, each in a process or thread of its own. */
void runOperations(ncclComm_t comm, int rank, int ranks);

/* Splits `comm`, and uses and ends the parts in their ways. */
void runLifecycle(ncclComm_t comm, int rank, int ranks);

#endif
