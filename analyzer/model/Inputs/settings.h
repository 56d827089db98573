#ifndef SETTINGS_H
#define SETTINGS_H
enum class Mode { kTrain, kProfile, kExport };
static const Mode kMode = Mode::kTrain;
#ifdef WITH_PROFILE
constexpr bool kProfile = true;
#else
constexpr bool kProfile = false;
#endif
#endif
