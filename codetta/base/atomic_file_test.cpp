#include "codetta/base/atomic_file.h"
#include "codetta/base/error.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

namespace codetta::base {
namespace {

namespace fs = std::filesystem;

class AtomicFile : public testing::Test {
protected:
    void SetUp() override {
        folder_ = fs::temp_directory_path() / ("codetta_atomic_file_" + std::to_string(::getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    size_t files_in(const fs::path& folder) const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
    }
    std::string message_of(auto action) const {
        try {
            action();
        } catch (const UserError& error) {
            return error.what();
        }
        return "no error";
    }

    fs::path folder_;
};

TEST_F(AtomicFile, WhatIsWrittenIsRead) {
    std::string content = "line\n";
    content += '\0';
    content += std::string(1 << 20, 'x');
    const fs::path path = folder_ / "made" / "on the way" / "file";
    write_file_atomically(path, content);
    EXPECT_EQ(read_file(path), content);
    write_file_atomically(path, "");
    EXPECT_EQ(read_file(path), "");
    EXPECT_EQ(files_in(path.parent_path()), 1u);
}

TEST_F(AtomicFile, ReadersSeeOneVersionWhole) {
    const fs::path path = folder_ / "file";
    write_file_atomically(path, std::string(100000, 'a'));
    std::thread writer([&] {
        for (int i = 0; i < 50; i++) write_file_atomically(path, std::string(100000, i % 2 ? 'a' : 'b'));
    });
    for (int i = 0; i < 200; i++) {
        const std::string content = read_file(path);
        ASSERT_EQ(content.size(), 100000u);
        ASSERT_EQ(content.find_first_not_of(content[0]), std::string::npos);
    }
    writer.join();
}

TEST_F(AtomicFile, MissingFileIsNamed) {
    const fs::path path = folder_ / "missing";
    EXPECT_EQ(message_of([&] { read_file(path); }), path.string() + ": cannot read file: No such file or directory; check the path");
}

TEST_F(AtomicFile, FolderAndPipeAreNoFiles) {
    EXPECT_EQ(message_of([&] { read_file(folder_); }), folder_.string() + ": cannot read file: not a regular file; check the path");
    const fs::path pipe = folder_ / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(message_of([&] { read_file(pipe); }), pipe.string() + ": cannot read file: not a regular file; check the path");
}

TEST_F(AtomicFile, TooLargeFileIsRefused) {
    const fs::path path = folder_ / "large";
    write_file_atomically(path, "123456");
    EXPECT_EQ(read_file(path, 6), "123456");
    EXPECT_EQ(message_of([&] { read_file(path, 5); }),
              path.string() + ": cannot read file: larger than the limit of 5 bytes; check the path");
}

TEST_F(AtomicFile, FullDiskNamesThePathAndLeavesNothing) {
    // A limit on the file size fails the write as a full disk does, with its own error number.
    const fs::path path = folder_ / "file";
    write_file_atomically(path, "old");
    std::signal(SIGXFSZ, SIG_IGN);
    struct rlimit before;
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = before;
    small.rlim_cur = 1000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string message = message_of([&] { write_file_atomically(path, std::string(5000, 'x')); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(message, path.string() + ": cannot write file: File too large");
    EXPECT_EQ(read_file(path), "old");
    EXPECT_EQ(files_in(folder_), 1u);
}

TEST_F(AtomicFile, ParentThatIsAFileIsNamed) {
    write_file_atomically(folder_ / "file", "x");
    const fs::path below = folder_ / "file" / "below";
    const std::string message = message_of([&] { write_file_atomically(below, "y"); });
    EXPECT_TRUE(message.starts_with(below.string() + ": cannot write file: ")) << message;
}

} // namespace
} // namespace codetta::base
