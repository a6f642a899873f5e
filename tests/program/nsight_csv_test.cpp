// Exports of Nsight merged into a profile. The CSV texts are written by hand after the documented formats of nsys stats
// and ncu, not by these tools.
#include "input/nsight_csv.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "io/scratch_folder.hpp"
#include "mbirk/core/error.hpp"

namespace {

using namespace mbirk;
using nlohmann::json;
using program::merge_nsight;

/// Several reports in one file of `nsys stats`: a table of another report, ranges of other domains, quotes around
/// commas.
constexpr char const* nsys_text = R"csv(Generating SQLite file report1.sqlite from report1.nsys-rep
Processing [report1.sqlite] with [/opt/nvidia/nsight-systems/host-linux-x64/reports/cuda_api_sum.py]...
Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
90.0,5000,2,2500.0,2500.0,2000,3000,707.1,cudaLaunchKernel

Processing [report1.sqlite] with [/opt/nvidia/nsight-systems/host-linux-x64/reports/nvtx_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Style,Range
60.0,6000000,3,2000000.0,1900000.0,1800000,2300000,264575.1,PushPop,mbirk:parallel_back_project_v64
30.0,3000000,3,1000000.0,1000000.0,900000,1100000,100000.0,PushPop,mbirk:project
5.0,500000,1,500000.0,500000.0,500000,500000,0.0,PushPop,mbirk:cone_back_project
5.0,500000,1,500000.0,500000.0,500000,500000,0.0,PushPop,CCCL:cub::DeviceReduce::Sum

Processing [report1.sqlite] with [/opt/nvidia/nsight-systems/host-linux-x64/reports/nvtx_kern_sum.py]...
NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Kernel Name
mbirk:parallel_back_project_v64,PushPop,7,7,3,6,1500000,250000.0,250000.0,240000,260000,8000.0,"void run_block<mbirk::kernel::on_warps<mbirk::kernel::parallel_back<W>, mbirk::kernel::no_scratch>>(T1, int)"
mbirk:project,PushPop,7,7,3,6,1500000,250000.0,250000.0,240000,260000,8000.0,"void run_block<mbirk::kernel::on_warps<mbirk::kernel::parallel_back<W>, mbirk::kernel::no_scratch>>(T1, int)"

Processing [report1.sqlite] with [/opt/nvidia/nsight-systems/host-linux-x64/reports/cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
99.0,1500000,6,250000.0,250000.0,240000,260000,8000.0,"void run_block<mbirk::kernel::on_warps<mbirk::kernel::cone_back<W>, mbirk::kernel::no_scratch>>(T1, int)"
1.0,10000,1,10000.0,10000.0,10000,10000,0.0,"void other(float *, int)"
)csv";

/// Output of `ncu --csv --page raw --nvtx`: lines of the tool, names, units, a line for each launch; large numbers with
/// commas between thousands.
constexpr char const* ncu_text = R"csv(==PROF== Connected to process 7 (mbirk)
"ID","Process ID","Process Name","Host Name","thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","dram__bytes_read.sum","dram__bytes_write.sum","gpu__time_duration.sum","l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum","l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum","smsp__sass_thread_inst_executed_op_fadd_pred_on.sum","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum","smsp__sass_thread_inst_executed_op_fmul_pred_on.sum","sm__warps_active.avg.pct_of_peak_sustained_active"
"","","","","","","","","","","","","Mbyte","byte","us","request","sector","inst","inst","inst","%"
"0","7","mbirk","host","7  ""mbirk:parallel_back_project_v64:none:none:none:none:none:none""  ""mbirk:parallel_back_project:none:none:none:none:none:none"" ","void run_block<k>(T1, int)","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","1.50","500,000","100.00","1,000","4,000","1,000,000","2,000,000","1,000,000","62.50"
"1","7","mbirk","host","7  ""mbirk:parallel_back_project_v64:none:none:none:none:none:none""  ""mbirk:parallel_back_project:none:none:none:none:none:none"" ","void run_block<k>(T1, int)","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","2.50","1,500,000","300.00","1,000","4,000","1,000,000","2,000,000","1,000,000","n/a"
"2","7","mbirk","host","","void other(float *, int)","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0","1.00","0","10.00","0","0","0","0","0","10.00"
)csv";

/// Sizes that no integer holds, and names that only look like sizes.
constexpr char const* odd_sizes = R"csv(Time (%),Total Time (ns),Instances,Style,Range
60.0,6000000,3,PushPop,mbirk:parallel_back_project_v1e300
60.0,6000000,3,PushPop,mbirk:parallel_back_project_vnan
60.0,6000000,3,PushPop,mbirk:parallel_back_project_v6.4
60.0,6000000,3,PushPop,mbirk:parallel_back_project_v99999999999999999999
)csv";

struct Nsight : ::testing::Test {
  test::scratch_folder folder;
  json profile{{"measurements",
                {{{"operation", "parallel_back_project"}, {"volume_size", 64}},
                 {{"operation", "cone_back_project"}, {"volume_size", 64}}}},
               {"cost_analysis", {{"64", {{"parallel_back_project", json::object()}}}}}};

  std::string file(std::string const& name, std::string const& text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  std::string error_of(std::vector<std::string> const& nsys, std::vector<std::string> const& ncu) {
    auto const before = profile;
    try {
      merge_nsight(profile, nsys, ncu);
    } catch (io_error const& e) {
      EXPECT_EQ(profile, before);
      return e.what();
    }
    return "no error";
  }
  static json const& with(json const& list, std::string const& field, std::string const& part) {
    for (auto const& one : list)
      if (one.at(field).is_string() && one[field].get<std::string>().find(part) != std::string::npos) return one;
    static json const none = json::object();
    ADD_FAILURE() << "no " << field << " with " << part << " in " << list.dump(1);
    return none;
  }
};

TEST_F(Nsight, RangesOfOperationsAndTheirKernels) {
  merge_nsight(profile, {file("all.csv", nsys_text)}, {});
  auto const& ranges = profile["nsight"]["ranges"];
  ASSERT_EQ(ranges.size(), 3u) << "those of the domain mbirk";
  auto const& back = with(ranges, "range", "parallel_back_project_v64");
  EXPECT_EQ(back["operation"], "parallel_back_project");
  EXPECT_EQ(back["volume_size"], 64);
  EXPECT_EQ(back["count"], 3);
  EXPECT_DOUBLE_EQ(back["total_time"], 6e-3);
  EXPECT_DOUBLE_EQ(back["median_time"], 1.9e-3);
  EXPECT_EQ(ranges[1]["range"], "project");
  EXPECT_TRUE(ranges[1]["operation"].is_null()) << "a stage";
  EXPECT_EQ(with(ranges, "range", "cone_back_project")["volume_size"], 64) << "the only size";

  auto const& kernels = profile["nsight"]["kernels"];
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(kernels[1]["range"], "project");
  EXPECT_TRUE(kernels[1]["operation"].is_null()) << "the same kernels once more, for the stage";
  auto const& parallel = with(kernels, "kernel", "kernel::parallel_back<W>, mbirk::kernel::no_scratch");
  EXPECT_EQ(parallel["operation"], "parallel_back_project");
  EXPECT_EQ(parallel["launches"], 6);
  EXPECT_DOUBLE_EQ(parallel["total_time"], 1.5e-3);
  EXPECT_EQ(with(kernels, "kernel", "cone_back")["operation"], "cone_back_project") << "by the name of the kernel";
  EXPECT_TRUE(with(kernels, "kernel", "other")["operation"].is_null());
}

TEST_F(Nsight, SizesThatAreNoneBelongToNoOperation) {
  merge_nsight(profile, {file("odd.csv", odd_sizes)}, {});
  ASSERT_EQ(profile["nsight"]["ranges"].size(), 4u);
  for (auto const& range : profile["nsight"]["ranges"]) EXPECT_TRUE(range["volume_size"].is_null()) << range;
}

TEST_F(Nsight, MetricsAreMeansOfLaunchesInPlainUnits) {
  merge_nsight(profile, {}, {file("ncu.csv", ncu_text)});
  auto const& kernels = profile["nsight"]["kernels"];
  ASSERT_EQ(kernels.size(), 2u);
  auto const& k = with(kernels, "kernel", "run_block");
  EXPECT_EQ(k["operation"], "parallel_back_project");
  EXPECT_EQ(k["volume_size"], 64);
  EXPECT_EQ(k["launches"], 2);
  auto const& m = k["metrics"];
  EXPECT_EQ(m["dram__bytes_read.sum"], (json{{"value", 2e6}, {"unit", "byte"}}));
  EXPECT_EQ(m["dram__bytes_write.sum"], (json{{"value", 1e6}, {"unit", "byte"}}));
  EXPECT_DOUBLE_EQ(m["gpu__time_duration.sum"]["value"], 200e-6);
  EXPECT_EQ(m["gpu__time_duration.sum"]["unit"], "second");
  EXPECT_EQ(m["sm__warps_active.avg.pct_of_peak_sustained_active"]["value"], 62.5) << "of the launch that has it";
  EXPECT_FALSE(m.contains("Block Size"));
  // 1e6 adds, 1e6 products and 2e6 of both in 200 us, and 3e6 bytes
  EXPECT_DOUBLE_EQ(k["derived"]["flops per second"], 6e6 / 200e-6);
  EXPECT_DOUBLE_EQ(k["derived"]["dram bytes per second"], 3e6 / 200e-6);
  EXPECT_DOUBLE_EQ(k["derived"]["arithmetic intensity dram"], 2.0);
  EXPECT_DOUBLE_EQ(k["derived"]["sectors per request ld"], 4.0);
  EXPECT_FALSE(k["derived"].contains("sectors per request st")) << "not measured";
  EXPECT_TRUE(with(kernels, "kernel", "other")["operation"].is_null());
}

TEST_F(Nsight, AProfileOfOneOperationHasAllKernelsOfOurs) {
  profile["measurements"].erase(1);
  merge_nsight(profile, {file("all.csv", nsys_text)}, {});
  EXPECT_EQ(with(profile["nsight"]["kernels"], "kernel", "cone_back")["operation"], "parallel_back_project");
}

TEST_F(Nsight, FilesOfBothToolsTogether) {
  merge_nsight(profile, {file("all.csv", nsys_text)}, {file("ncu.csv", ncu_text)});
  EXPECT_EQ(profile["nsight"]["files"].size(), 2u);
  EXPECT_EQ(profile["nsight"]["kernels"].size(), 6u);
}

TEST_F(Nsight, WrongFilesAreSaidInOneLine) {
  auto const expect = [&](std::string const& what, std::string const& part) {
    EXPECT_NE(what.find(part), std::string::npos) << what << "\nexpected: " << part;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  };
  auto const nsys = file("all.csv", nsys_text), ncu = file("ncu.csv", ncu_text);
  expect(error_of({ncu}, {}), "ncu.csv: has no table that is known");
  expect(error_of({}, {nsys}), "all.csv: has no table of kernels");
  expect(error_of({(folder / "none.csv").string()}, {}), "none.csv");
  expect(error_of({file("empty.csv", "")}, {}), "empty.csv: has no table that is known");
  expect(error_of({file("us.csv", "Time (%),Total Time (us),Instances,Name\n1,2,3,k\n")}, {}),
         "us.csv line 1: has no column 'Total Time (ns)'");
  expect(error_of({file("word.csv", "Time (%),Total Time (ns),Instances,Name\n1,many,3,k\n")}, {}),
         "word.csv line 2: column 'Total Time (ns)' is 'many'");
  expect(
      error_of({}, {file("details.csv", "\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n")}),
      "details.csv line 1: is the details page");
  expect(error_of({}, {file("short.csv", "\"ID\",\"Kernel Name\",\"a\"\n\"\",\"\",\"%\"\n\"0\",\"k\"\n")}),
         "short.csv line 3: has 2 columns, expected 3");
  expect(error_of({}, {file("units.csv", "\"ID\",\"Kernel Name\",\"a\"\n\"0\",\"k\",\"1\"\n")}),
         "units.csv line 2: has a kernel before the line of units");
  expect(error_of({}, {file("name.csv", "\"ID\",\"a\"\n\"\",\"%\"\n")}),
         "name.csv line 1: has no column 'Kernel Name'");
}

}  // namespace
