// Ranks of MPI: rank 0 makes the unique id, MPI_Bcast carries it, Rondo does the rest. A program
// that needs MPI for nothing else can do without: see environment.cc.
#include <mpi.h>
#include <rondo/rondo.h>
#include <stdio.h>

static int fail(rondoComm_t comm, int rank) {
  fprintf(stderr, "rank %d: %s\n", rank, rondoGetLastError(comm));
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  rondoUniqueId_t id;
  if (rank == 0 && rondoGetUniqueId(&id) != rondoSuccess) return fail(NULL, rank);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  rondoComm_t comm = NULL;
  if (rondoCommInitRank(&comm, ranks, id, rank, NULL) != rondoSuccess) return fail(NULL, rank);

  double values[4] = {rank, 1, 1, 1};
  rondoResult_t result = rondoAllReduce(values, values, 4, rondoFloat64, rondoSum, comm, NULL);
  if (result != rondoSuccess) return fail(comm, rank);
  // MPI works beside it; both must agree.
  double wanted = rank;
  MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("Rondo %g, MPI %g, ranks %g\n", values[0], wanted, values[1]);

  rondoCommDestroy(comm);
  MPI_Finalize();
  return values[0] == wanted ? 0 : 1;
}
