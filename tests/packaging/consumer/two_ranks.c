// Two ranks, one thread each, add their vectors.
#include <pthread.h>
#include <rondo/rondo.h>
#include <stdio.h>

enum { kRanks = 2, kElems = 1000 };

static rondoComm_t comms[kRanks];

static void* runRank(void* argument) {
  const int rank = *(const int*)argument;
  static float vectors[kRanks][kElems];
  float* const vector = vectors[rank];
  for (int i = 0; i < kElems; ++i)
    vector[i] = (float)(i + rank);

  const rondoResult_t result =
      rondoAllReduce(vector, vector, kElems, rondoFloat32, rondoSum, comms[rank], NULL);
  if (result != rondoSuccess) {
    fprintf(stderr, "rank %d: %s\n", rank, rondoGetLastError(comms[rank]));
    return "failed";
  }
  for (int i = 0; i < kElems; ++i) {
    if (vector[i] != (float)(2 * i + 1)) return "wrong sum";
  }
  return NULL;
}

int main(void) {
  if (rondoCommInitAll(comms, kRanks, NULL) != rondoSuccess) {
    fprintf(stderr, "init: %s\n", rondoGetLastError(NULL));
    return 1;
  }
  pthread_t threads[kRanks];
  int ranks[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks[rank] = rank;
    if (pthread_create(&threads[rank], NULL, runRank, &ranks[rank]) != 0) return 1;
  }
  int status = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    void* failure = NULL;
    pthread_join(threads[rank], &failure);
    if (failure != NULL) {
      fprintf(stderr, "rank %d: %s\n", rank, (const char*)failure);
      status = 1;
    }
    rondoCommDestroy(comms[rank]);
  }
  return status;
}
