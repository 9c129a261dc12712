/* A library for LD_PRELOAD that makes files of a data folder fail while a named file exists.
 *
 * FAILING_FOLDER is the folder whose files are meant. While FAILING_SYNC exists, the next fsync or fdatasync of one
 * of them fails with EIO; the file is then removed, and all later syncs succeed. While FAILING_SPACE exists, writes
 * fail with ENOSPC. Each sync of a file in the folder appends a line to FAILING_LOG.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_meant(int file, char *path) {
    char link[64];
    const char *folder = getenv("FAILING_FOLDER");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (folder == NULL || size < 0) return 0;
    path[size] = 0;
    return strncmp(path, folder, strlen(folder)) == 0 && path[strlen(folder)] == '/';
}

static int is_asked(const char *variable) {
    const char *path = getenv(variable);
    return path != NULL && access(path, F_OK) == 0;
}

static void report(const char *what, const char *path) {
    const char *log = getenv("FAILING_LOG");
    if (log == NULL) return;
    int file = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0) return;
    dprintf(file, "%s %s\n", what, path);
    close(file);
}

static int synced(int file, const char *name) {
    char path[PATH_MAX];
    int (*real)(int) = dlsym(RTLD_NEXT, name);
    if (!is_meant(file, path)) return real(file);
    if (is_asked("FAILING_SYNC") && unlink(getenv("FAILING_SYNC")) == 0) {
        report("failed", path);
        errno = EIO;
        return -1;
    }
    report("synced", path);
    return real(file);
}

int fsync(int file) { return synced(file, "fsync"); }
int fdatasync(int file) { return synced(file, "fdatasync"); }

static int is_full(int file) {
    char path[PATH_MAX];
    if (!is_asked("FAILING_SPACE") || !is_meant(file, path)) return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t write(int file, const void *data, size_t size) {
    ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
    return is_full(file) ? -1 : real(file, data, size);
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t offset) {
    ssize_t (*real)(int, const void *, size_t, off64_t) = dlsym(RTLD_NEXT, "pwrite64");
    return is_full(file) ? -1 : real(file, data, size, offset);
}

ssize_t pwrite(int file, const void *data, size_t size, off_t offset) {
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");
    return is_full(file) ? -1 : real(file, data, size, offset);
}
