#include "c_api.h"

#include "devices.h"
#include "generators.h"

int devsan_sim_device_count() { return devsan::sim::deviceCount(); }

void devsan_sim_offer_default_generator(int index) {
  devsan::sim::offerDefaultGenerator(static_cast<c10::DeviceIndex>(index));
}
