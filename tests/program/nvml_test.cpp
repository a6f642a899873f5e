// Devices reported by the driver's library: a library that is built for the test, one that fails to initialise, and
// none.
#include "machine/nvml.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace {

using mbirk::program::nvml;

struct Nvml : testing::Test {
  static void set(char const* name, char const* value) { ASSERT_EQ(::setenv(name, value, 1), 0); }
  void TearDown() override {
    for (auto const* name : {"FAKE_NVML_STATUS", "FAKE_NVML_PROCESS", "FAKE_NVML_ENERGY"}) ::unsetenv(name);
  }
};

TEST_F(Nvml, WhatTheDriverTells) {
  set("FAKE_NVML_PROCESS", "1234");
  nvml const library(MBIRK_FAKE_NVML);
  EXPECT_EQ(library.problem(), "");
  ASSERT_EQ(library.count(), 2u);
  auto const devices = library.devices(1234);
  ASSERT_EQ(devices.size(), 2u);
  auto const& d = devices[0];
  EXPECT_EQ(d.name, "Fake 9000");
  EXPECT_EQ(d.memory_total, 80ll << 30);
  EXPECT_EQ(d.memory_used, 3ll << 30);
  EXPECT_EQ(d.memory_of_process, 10ll << 20) << "both contexts";
  EXPECT_EQ(d.utilisation, 42);
  EXPECT_EQ(d.memory_utilisation, 17);
  EXPECT_EQ(d.clock, 1410);
  EXPECT_EQ(d.memory_clock, 2619);
  EXPECT_EQ(d.power, 312.5);
  EXPECT_EQ(d.temperature, 55);
  EXPECT_FALSE(library.devices(1).at(0).memory_of_process) << "a process that is not listed";

  auto const& silent = devices[1];
  EXPECT_EQ(silent.name, "Silent 1");
  EXPECT_FALSE(silent.memory_total || silent.memory_used || silent.memory_of_process || silent.utilisation ||
               silent.memory_utilisation || silent.clock || silent.memory_clock || silent.power || silent.temperature);
}

TEST_F(Nvml, EnergyOfTheDeviceWithAName) {
  set("FAKE_NVML_ENERGY", "2500");
  nvml const library(MBIRK_FAKE_NVML);
  EXPECT_EQ(library.joules("Fake 9000"), 2.5);
  EXPECT_FALSE(library.joules("Silent 1")) << "it does not count";
  EXPECT_FALSE(library.joules("Fake")) << "there is none of this name";
  EXPECT_FALSE(nvml("libthis-is-nowhere.so.1").joules("Fake 9000"));
}

TEST_F(Nvml, ALibraryThatWillNotStart) {
  set("FAKE_NVML_STATUS", "9");
  nvml const library(MBIRK_FAKE_NVML);
  EXPECT_EQ(library.problem(), "the NVIDIA driver library says: Driver Not Loaded");
  EXPECT_EQ(library.count(), 0u);
  EXPECT_TRUE(library.devices(1).empty());
}

TEST_F(Nvml, NoLibrary) {
  nvml const library("libthis-is-nowhere.so.1");
  EXPECT_EQ(library.problem(), "no NVIDIA driver library");
  EXPECT_TRUE(library.devices(1).empty());
}

TEST_F(Nvml, AnotherLibrary) {
  nvml const library("libm.so.6");
  EXPECT_NE(library.problem().find("lacks functions"), std::string::npos) << library.problem();
  EXPECT_EQ(library.count(), 0u);
}

}  // namespace
