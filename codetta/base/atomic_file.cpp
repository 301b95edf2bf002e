#include "codetta/base/atomic_file.h"

#include "codetta/base/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace codetta::base {

namespace {

/// A file descriptor that closes itself.
class Descriptor {
public:
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(); }

    int get() const { return value_; }
    bool close() {
        const int old = value_;
        value_ = -1;
        return old < 0 || ::close(old) == 0;
    }

private:
    int value_;
};

std::string remedy_of(int error) {
    switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or choose another folder";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a folder that you may write to";
    case ENOENT: return "check the path";
    default: return {};
    }
}

[[noreturn]] void throw_file_error(std::string_view verb, const std::filesystem::path& path, int error) {
    throw UserError(fmt::format("cannot {} file: {}", verb, std::generic_category().message(error)), path.string(), remedy_of(error));
}

/// The first error number of writing, flushing and closing; 0 when all went well.
int write_all(Descriptor& file, std::string_view content) {
    while (!content.empty()) {
        const ssize_t written = ::write(file.get(), content.data(), content.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            return errno;
        }
        content.remove_prefix(static_cast<size_t>(written));
    }
    if (::fsync(file.get()) != 0 && errno != EINVAL) return errno;
    return file.close() ? 0 : errno;
}

} // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
    static std::atomic<uint64_t> counter = 0; // makes the temporary's name unique between the threads of a process
    const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    std::error_code made;
    std::filesystem::create_directories(parent, made);
    if (made) throw_file_error("write", path, made.value());

    const std::string temporary =
        (parent / fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), counter.fetch_add(1))).string();
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0) throw_file_error("write", path, errno);
    int error = write_all(file, content);
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) {
        ::unlink(temporary.c_str());
        throw_file_error("write", path, error);
    }
    // The rename itself is durable only once the folder is flushed; a file system that cannot do that still has the atomicity.
    Descriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() >= 0) (void)::fsync(folder.get());
}

std::string read_file(const std::filesystem::path& path, size_t cap_bytes) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // O_NONBLOCK: a pipe without a writer must not hang us
    if (file.get() < 0) throw_file_error("read", path, errno);
    struct stat status;
    if (::fstat(file.get(), &status) != 0) throw_file_error("read", path, errno);
    if (!S_ISREG(status.st_mode)) throw UserError("cannot read file: not a regular file", path.string(), "check the path");
    const auto too_large = [&] {
        throw UserError(fmt::format("cannot read file: larger than the limit of {} bytes", cap_bytes), path.string(), "check the path");
    };
    if (static_cast<uint64_t>(status.st_size) > cap_bytes) too_large();

    std::string content;
    content.resize(static_cast<size_t>(status.st_size));
    size_t filled = 0;
    for (;;) { // the file may grow or shrink meanwhile: the bytes read decide, not the size stated
        if (filled == content.size()) content.resize(filled + 4096);
        const ssize_t got = ::read(file.get(), content.data() + filled, content.size() - filled);
        if (got < 0) {
            if (errno == EINTR) continue;
            throw_file_error("read", path, errno);
        }
        if (got == 0) break;
        filled += static_cast<size_t>(got);
        if (filled > cap_bytes) too_large();
    }
    content.resize(filled);
    return content;
}

} // namespace codetta::base
