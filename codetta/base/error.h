// The three errors of Codetta and the two macros that throw them.
//
// UserError:     the caller gave something wrong; says what, where and what to do.
// IndexError:    a UserError found while a kernel ran: an index lay outside its dimension.
// InternalError: a bug in Codetta; says the check that failed and where it stands.
// DeviceError:   a driver or operating system call failed.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace codetta::base {

/// The base of every exception that Codetta throws on purpose.
/// @post what() == place + ": " + message + "; " + remedy, empty parts left out together with their separator
class Error : public std::runtime_error {
public:
    explicit Error(std::string message, std::string place = {}, std::string remedy = {});

    const std::string& message() const { return message_; }
    const std::string& place() const { return place_; }
    const std::string& remedy() const { return remedy_; }

private:
    std::string message_;
    std::string place_;
    std::string remedy_;
};

class UserError : public Error {
public:
    using Error::Error;
};

class IndexError : public UserError {
public:
    using UserError::UserError;
};

class InternalError : public Error {
public:
    using Error::Error;
};

class DeviceError : public Error {
public:
    using Error::Error;
};

/// Throws an InternalError that names the check and its place; use CODETTA_CHECK.
[[noreturn]] void throw_failed_check(const char* file, int line, const char* condition, const std::string& message);

} // namespace codetta::base

/// CODETTA_CHECK(condition, format, arguments...): an invariant of our own code; throws InternalError when it does not hold.
#define CODETTA_CHECK(condition, ...)                                                                                                      \
    do {                                                                                                                                   \
        if (!(condition)) [[unlikely]]                                                                                                     \
            ::codetta::base::throw_failed_check(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__));                               \
    } while (false)

/// CODETTA_USER_CHECK(condition, format, arguments...): a demand on the caller's input; throws UserError when it does not hold.
#define CODETTA_USER_CHECK(condition, ...)                                                                                                 \
    do {                                                                                                                                   \
        if (!(condition)) [[unlikely]]                                                                                                     \
            throw ::codetta::base::UserError(::fmt::format(__VA_ARGS__));                                                                  \
    } while (false)
