// The C interface: four ranks as POSIX threads add up their vectors.
#include <pthread.h>
#include <rondo/rondo.h>
#include <stdio.h>

enum { kRanks = 4, kCount = 1000 };

static void* runRank(void* argument) {
  rondoComm_t comm = argument;
  int rank = 0;
  rondoCommRank(comm, &rank);
  float values[kCount];
  for (int i = 0; i < kCount; ++i)
    values[i] = (float)(rank + i);
  rondoResult_t result = rondoAllReduce(values, values, kCount, rondoFloat32, rondoSum, comm, NULL);
  if (result != rondoSuccess) {
    fprintf(stderr, "rank %d: %s\n", rank, rondoGetLastError(comm));
  } else if (rank == 0) {
    printf("element 10 is %g\n", values[10]);  // (0 + 1 + 2 + 3) + 4 * 10 = 46
  }
  rondoCommDestroy(comm);
  return NULL;
}

int main(void) {
  rondoComm_t comms[kRanks];
  if (rondoCommInitAll(comms, kRanks, NULL) != rondoSuccess) {
    fprintf(stderr, "%s\n", rondoGetLastError(NULL));
    return 1;
  }
  pthread_t threads[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    if (pthread_create(&threads[rank], NULL, runRank, comms[rank]) != 0) return 1;
  }
  for (int rank = 0; rank < kRanks; ++rank)
    pthread_join(threads[rank], NULL);
  return 0;
}
