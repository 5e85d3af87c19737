/* rondo.h as a C99 program sees it, over the shared library: it compiles without a warning, and
   what needs no second rank works. */
#include <rondo/rondo.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "not true: %s\n", what);
  ++failures;
}

static void testVersion(void) {
  int version = 0;
  expect(rondoGetVersion(&version) == rondoSuccess, "the version can be asked for");
  expect(version == RONDO_VERSION, "library and header are of one version");
  expect(rondoGetVersion(NULL) == rondoInvalidArgument, "NULL is refused");
  expect(strstr(rondoGetLastError(NULL), "version is NULL") != NULL, "the message says what");
}

static void testErrorStrings(void) {
  expect(strcmp(rondoGetErrorString(rondoSuccess), "success") == 0, "success has a name");
  expect(strcmp(rondoGetErrorString(rondoTimeout), "timeout") == 0, "timeout has a name");
  expect(strcmp(rondoGetErrorString((rondoResult_t)999), "unknown result") == 0, "others too");
}

static void testEnvironment(void) {
  expect(rondoCommInitFromEnvironment(NULL, NULL) == rondoInvalidArgument, "NULL is refused");
  expect(strstr(rondoGetLastError(NULL), "comm is NULL") != NULL, "the message says what");
}

static void testOneRank(void) {
  rondoConfig_t config = RONDO_CONFIG_INITIALIZER;
  rondoComm_t comm = NULL;
  rondoRedOp_t twice = rondoSum;
  const float factor = 2.0f;
  rondoCompression_t compression = RONDO_COMPRESSION_INITIALIZER;
  rondoCompressionReport_t report;
  const float input[3] = {1.0f, 2.0f, 3.0f};
  float output[3] = {0.0f, 0.0f, 0.0f};
  int value = -1;
  const char* name = NULL;
  config.name = "alone";
  expect(rondoCommInitAll(&comm, 1, &config) == rondoSuccess, "one rank can be made");
  expect(rondoCommCount(comm, &value) == rondoSuccess && value == 1, "it has one rank");
  expect(rondoCommRank(comm, &value) == rondoSuccess && value == 0, "which is rank 0");
  expect(rondoCommGetTransport(comm, 0, &name) == rondoSuccess && strcmp(name, "self") == 0,
         "nothing leads to it but itself");
  expect(rondoRedOpCreatePreMulSum(&twice, &factor, rondoFloat32, rondoScalarHostImmediate, comm) ==
             rondoSuccess,
         "premulsum can be made");
  expect(rondoAllReduce(input, output, 3, rondoFloat32, twice, comm, NULL) == rondoSuccess,
         "premulsum runs");
  expect(output[0] == 2.0f && output[1] == 4.0f && output[2] == 6.0f, "and multiplies");
  expect(rondoRedOpDestroy(twice, comm) == rondoSuccess, "premulsum can be destroyed");
  compression.report = &report;
  expect(rondoAllReduceCompressed(input, output, 3, rondoFloat32, rondoAvg, &compression, comm,
                                  NULL) == rondoSuccess,
         "compressed all-reduce runs");
  expect(output[2] == 3.0f && report.nonFinite == 0 && report.wireBytes == 0, "and reports");
  expect(rondoBarrier(comm, NULL) == rondoSuccess, "the barrier runs");
  expect(rondoCommDestroy(comm) == rondoSuccess, "the communicator can be destroyed");
  expect(rondoCommDestroy(comm) == rondoInvalidUsage, "but once only");
}

int main(void) {
  testVersion();
  testErrorStrings();
  testEnvironment();
  testOneRank();
  return failures == 0 ? 0 : 1;
}
