// In place of the verbs transport where the headers of libibverbs were not there to build it.
#include "transports/verbs/make_transport.h"

namespace rondo::verbs {

namespace {

Status absent() {
  return Status::notSupported("this build has no verbs: it was made without libibverbs-dev");
}

class AbsentTransport final : public Transport {
 public:
  std::string_view name() const override { return "verbs"; }

  bool sharesMemory() const override { return false; }

  Result<std::string> offer() override { return absent(); }

  bool canReach(int /*peer*/, std::string_view /*offer*/) const override { return false; }

  Status open(const std::vector<std::string>& /*offers*/, Deadline /*deadline*/) override {
    return absent();
  }

  Result<ConnectionMemory> connect(int /*from*/, int /*to*/, int /*channel*/) override {
    return absent();
  }

  std::size_t memoryBytes() const override { return 0; }
};

}  // namespace

std::shared_ptr<Transport> makeTransport(TransportParts /*parts*/) {
  return std::make_shared<AbsentTransport>();
}

Result<AdapterSurvey> surveyAdapters(const Settings& /*settings*/) {
  return absent();
}

}  // namespace rondo::verbs
