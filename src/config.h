// The library's settings: what they are, and how they are found. A Config is made once per
// communicator creation and is const from then on. Only config.cc reads the environment.
//
// Order of strength: default, then the program's rondoConfig_t, then the environment: whoever runs
// a program can overrule it without compiling. docs/configuration.md is the page for users.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collectives/registry.h"
#include "kernels/cuda/protocol.h"
#include "kernels/host/store_choice.h"
#include "rondo/rondo.h"
#include "src/log.h"
#include "src/net/deadline.h"
#include "src/plan_rule.h"
#include "src/status.h"
#include "src/tuning_table.h"
#include "transports/mailbox.h"
#include "transports/verbs/settings.h"

namespace rondo {

/// A setting that was not left at its default.
struct ChosenSetting {
  std::string_view variable;  ///< its name in the environment; static text
  std::string value;
  bool fromEnvironment = false;
  /// What the program had chosen and the environment overruled.
  std::optional<std::string> overruled;
};

/// The transports between processes, in the order in which they are tried.
/// cuda_ipc is for ranks on devices only, and no class behind transports/transport.h.
inline constexpr std::array<std::string_view, 4> kTransports = {"cuda_ipc", "shm", "verbs", "tcp"};

/// Most threads that carry out an operation of one rank: each has a channel at least.
inline constexpr int kMostWorkers = 32;

/// Where and how the ranks that are processes meet.
struct MeetingSettings {
  std::string interfaces{};  ///< InterfaceRule::pattern
  int portFirst = 0;         ///< 0: any free port
  int portLast = 0;
  std::string advertise{};  ///< RendezvousSettings::advertisedAddress
  std::string hostId{};     ///< replaces the identity of this host; empty: found out
  std::optional<int> rank{};
  std::optional<int> ranks{};
  std::string root{};        ///< "host:port", "host:first-last" or "host"; see launcher.h
  std::string secret{};      ///< never logged, never in an error
  std::string secretFile{};  ///< path
  bool privateOnly = false;  ///< no setting: follows from having no secret
};

/// All settings of one communicator. Milliseconds of zero mean "never".
struct Config {
  std::string name = "world";
  std::vector<PlanRule> algorithms{};           ///< where none fits, the planner chooses
  std::shared_ptr<const TuningTable> tuning{};  ///< null: none
  bool reproducible = false;
  int channels = 0;            ///< 1 to 32; 0: the planner's choice
  int workers = 0;             ///< threads of a rank, 1 to 32; 0: by the cores that it has
  std::size_t chunkBytes = 0;  ///< multiple of 64 up to 64 MiB; 0: the planner's choice
  int slotsPerConnection = 0;  ///< 2 to 64; 0: the planner's choice
  /// For all communicators of this process together (transports/slot_account.h); 0: no limit.
  std::size_t slotMemoryBytes = std::size_t{32} << 20;
  /// How data is stored into slots that ranks share, and into large results.
  host::StorePolicy stores = host::StorePolicy::kMeasured;
  /// Most bytes of a message that goes through mailboxes; 0: none does.
  std::size_t mailboxBytes = kMailboxBytes;
  /// Fewest bytes of a payload that is not copied into a slot where its receiver can read it in the
  /// sender's buffer; 0: all are copied.
  std::size_t zeroCopyBytes = 4096;
  std::chrono::milliseconds operationTimeout = std::chrono::minutes{30};
  std::chrono::milliseconds warningAfter = std::chrono::seconds{30};
  std::chrono::milliseconds initTimeout = std::chrono::minutes{5};
  std::chrono::milliseconds connectTimeout = std::chrono::minutes{1};
  /// Those that may be used between processes, best first.
  std::vector<std::string_view> transports{kTransports.begin(), kTransports.end()};
  /// The CUDA device of ranks that are processes, as the driver counts; none: host memory.
  std::optional<int> device{};
  bool deviceIsLocalRank = false;  ///< the device is the one of the launcher's local rank
  bool blocking = true;            ///< calls wait for what they carry out
  /// No setting: the most workers without being asked for, as ranks that were split off others
  /// share the host's cores with them.
  int mostWorkers = kMostWorkers;
  /// No setting: raised when a communicator that is being made is not wanted any more; null: never.
  std::shared_ptr<std::uint32_t> givenUp{};
  /// Of kernels, for all operations that can use it; empty: the one that seems faster.
  std::optional<device::Protocol> cudaProtocol{};
  LogSettings log;
  MeetingSettings meeting;
  verbs::Settings verbs;

  bool allowsTransport(std::string_view transport) const;

  /// Until when ranks may take to join, from now.
  Deadline initDeadline() const;

  /// How it came about; for logConfig().
  std::vector<ChosenSetting> chosen;
  std::vector<std::string> unknownVariables;
};

/// How the names of all settings begin.
inline constexpr std::string_view kSettingPrefix = "RONDO_";

/// Variables by name.
using Environment = std::map<std::string, std::string, std::less<>>;

/// Those of this process whose names begin with RONDO_.
/// @threads  no other thread may be changing the environment.
Environment processEnvironment();

/// Has variables count as if the environment held them, for processEnvironment(), unless it holds
/// them itself: for a layer that speaks for the variables of another library.
/// @threads  any.
void supplementEnvironment(const Environment& variables);

/// All of this process, for what launchers tell their ranks.
/// @threads  no other thread may be changing the environment.
Environment wholeEnvironment();

/// Settles all settings. Pure, but for the tuning file, which is read.
/// @param requested the program's wishes; null: none.
/// @errors   InvalidArgument, naming the variable or field and what it accepts.
Result<Config> loadConfig(const rondoConfig_t* requested, const Environment& environment);

/// Says at level info where each setting that is not a default came from (once per process what the
/// environment says), and warns, once per
/// process, of variables that no setting has, with the name that may have been meant.
void logConfig(const Config& config);

/// The name of the setting that `variable` may be a misspelling of: at most two letters are wrong,
/// missing or too many. Empty: none.
std::string_view closestSetting(std::string_view variable);

/// Whether a value was taken; if not, perhaps what is wrong with it besides Setting::accepted.
struct Verdict {
  bool accepted = true;
  std::string detail;
};

/// One row of the table of settings: how it is named, what it takes and where it goes.
struct Setting {
  /// Where the program's value lies; monostate: the setting is in the environment only.
  using Member =
      std::variant<std::monostate, std::int64_t rondoConfig_t::*, const char * rondoConfig_t::*>;

  std::string_view variable;     ///< "RONDO_CHANNELS"
  std::string_view field;        ///< "channels"; empty: none
  Member member;                 ///< of `field`
  std::string_view defaultText;  ///< as a user would write it; empty: none
  std::string_view accepted;     ///< "0 or 1"
  std::string_view meaning;      ///< one line: "parallel lanes of an operation"
  /// Stores a value in `config`, if it is accepted.
  Verdict (*apply)(Config& config, std::string_view value);
  bool secret = false;  ///< its value goes nowhere but into Config
};

/// All settings, and the only place where they are named. docs/configuration.md has one row for
/// each, and `rondo explain --settings` prints them.
std::span<const Setting> allSettings();

}  // namespace rondo
