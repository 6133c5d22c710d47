/* LD_PRELOAD library: sees every change that a process makes to the files below one folder.
 *
 *   FAULTSHIM_ROOT  the folder; nothing outside it is touched
 *
 * Called through ctypes by the process itself (see shim.py):
 *   faultshim_log(path)                     writes every change, in order, to a log
 *   faultshim_note(number)                  writes a note of the caller between them
 *   faultshim_arm(kinds, nth, error, later)  the nth call from now on of one of these kinds fails with
 *                                           this errno, and then every call of the kinds in later;
 *                                           error -9 kills the process instead, just before the call
 *   faultshim_disarm()                      ends that
 *   faultshim_calls()                       calls counted since it was armed
 *
 * Kinds, also the first byte of a record: W write, S sync, T truncate, R rename, U unlink, O open,
 * D sync of a folder, M mkdir, N note. A record is kind(1) file(4) offset(8) length(4) data(length),
 * numbers in the machine's own order. Not seen: memory maps (SQLite maps only its -shm to write, which
 * it makes anew) and C stdio.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FD 4096

struct watched { char *path; uint32_t file; int folder; };

static struct watched files[MAX_FD];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static uint32_t next_file = 1;
static int log_fd = -1;

static char armed[16], armed_later[16];
static long fail_at, calls;
static int fail_error, failed_once;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
  const char *given = getenv("FAULTSHIM_ROOT");
  if (given && realpath(given, root)) root_length = strlen(root);
}

static void record(char kind, uint32_t file, uint64_t offset, uint32_t length, const void *data) {
  char head[17];
  struct iovec parts[2] = {{head, sizeof head}, {(void *)data, length}};
  if (log_fd < 0) return;
  head[0] = kind;
  memcpy(head + 1, &file, 4);
  memcpy(head + 5, &offset, 8);
  memcpy(head + 13, &length, 4);
  syscall(SYS_writev, log_fd, parts, length ? 2 : 1);
}

/* Whether this call is to fail. Sets errno. */
static int fails(char kind) {
  int hit = 0;
  pthread_mutex_lock(&lock);
  if (failed_once) {
    hit = strchr(armed_later, kind) != NULL;
  } else if (strchr(armed, kind)) {
    hit = failed_once = ++calls == fail_at;
  }
  pthread_mutex_unlock(&lock);
  if (hit && fail_error == -9) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  if (hit) errno = fail_error;
  return hit;
}

static int below_root(const char *path) {
  return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The absolute path of a name whose folder exists; the name itself need not. */
static void resolve(int folder, const char *name, char *out) {
  char joined[2 * PATH_MAX], parent[PATH_MAX];
  const char *base = NULL;
  size_t length;
  joined[0] = 0;
  if (name[0] != '/') {
    if (folder == AT_FDCWD) { if (!getcwd(joined, PATH_MAX)) joined[0] = 0; }
    else if (folder >= 0 && folder < MAX_FD && files[folder].path) strcpy(joined, files[folder].path);
    strcat(joined, "/");
  }
  strncat(joined, name, PATH_MAX - 1);
  base = strrchr(joined, '/');
  length = base ? (size_t)(base - joined) : 0;
  memcpy(parent, joined, length);
  parent[length] = 0;
  if (!realpath(length ? parent : "/", out)) strcpy(out, parent);
  strncat(out, base ? base : "/", PATH_MAX - strlen(out) - 1);
}

static void watch(int fd, int folder, const char *name, int flags) {
  char path[PATH_MAX];
  struct stat found;
  if (fd < 0 || fd >= MAX_FD || !root_length) return;
  resolve(folder, name, path);
  pthread_mutex_lock(&lock);
  free(files[fd].path);
  files[fd].path = NULL;
  if (below_root(path) && !fstat(fd, &found)) {
    files[fd].path = strdup(path);
    files[fd].file = next_file++;
    files[fd].folder = S_ISDIR(found.st_mode);
    record('O', files[fd].file, files[fd].folder, strlen(path) - root_length, path + root_length);
    if (flags & O_TRUNC) record('T', files[fd].file, 0, 0, NULL);
  }
  pthread_mutex_unlock(&lock);
}

static int is_watched(int fd) { return fd >= 0 && fd < MAX_FD && files[fd].path; }

/* Opening for writing may have to make a name: it can fail as a write does. */
static int open_fails(int folder, const char *name, int flags) {
  char path[PATH_MAX];
  if (!root_length || !(flags & O_CREAT)) return 0;
  resolve(folder, name, path);
  return below_root(path) && access(path, F_OK) && fails('O');
}

#define OPEN(folder, call)                                                       \
  int mode = 0, fd;                                                              \
  if (flags & (O_CREAT | O_TMPFILE)) {                                           \
    va_list rest;                                                                \
    va_start(rest, flags);                                                       \
    mode = va_arg(rest, int);                                                    \
    va_end(rest);                                                                \
  }                                                                              \
  if (open_fails(folder, name, flags)) return -1;                                \
  fd = call;                                                                     \
  watch(fd, folder, name, flags);                                                \
  return fd;

int open(const char *name, int flags, ...) { OPEN(AT_FDCWD, REAL(open)(name, flags, mode)) }
int open64(const char *name, int flags, ...) { OPEN(AT_FDCWD, REAL(open64)(name, flags, mode)) }
int openat(int at, const char *name, int flags, ...) { OPEN(at, REAL(openat)(at, name, flags, mode)) }
int openat64(int at, const char *name, int flags, ...) { OPEN(at, REAL(openat64)(at, name, flags, mode)) }

int close(int fd) {
  if (fd == log_fd && fd >= 0) { errno = EBADF; return -1; }
  if (is_watched(fd)) {
    pthread_mutex_lock(&lock);
    free(files[fd].path);
    files[fd].path = NULL;
    pthread_mutex_unlock(&lock);
  }
  return REAL(close)(fd);
}

ssize_t write(int fd, const void *data, size_t length) {
  ssize_t done;
  struct stat found;
  off_t at = 0;
  if (!is_watched(fd)) return REAL(write)(fd, data, length);
  if (fails('W')) return -1;
  pthread_mutex_lock(&lock);
  at = fcntl(fd, F_GETFL) & O_APPEND ? (fstat(fd, &found), found.st_size) : lseek(fd, 0, SEEK_CUR);
  done = REAL(write)(fd, data, length);
  if (done > 0) record('W', files[fd].file, at, done, data);
  pthread_mutex_unlock(&lock);
  return done;
}

#define PWRITE(name)                                                             \
  ssize_t done;                                                                  \
  if (!is_watched(fd)) return REAL(name)(fd, data, length, at);                  \
  if (fails('W')) return -1;                                                     \
  pthread_mutex_lock(&lock);                                                     \
  done = REAL(name)(fd, data, length, at);                                       \
  if (done > 0) record('W', files[fd].file, at, done, data);                     \
  pthread_mutex_unlock(&lock);                                                   \
  return done;

ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { PWRITE(pwrite) }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) { PWRITE(pwrite64) }

#define SYNC(name)                                                               \
  int failed;                                                                    \
  if (!is_watched(fd)) return REAL(name)(fd);                                    \
  if (fails('S')) return -1;                                                     \
  pthread_mutex_lock(&lock);                                                     \
  failed = REAL(name)(fd);                                                       \
  if (!failed && files[fd].folder)                                               \
    record('D', files[fd].file, 0, strlen(files[fd].path) - root_length, files[fd].path + root_length); \
  else if (!failed)                                                              \
    record('S', files[fd].file, 0, 0, NULL);                                     \
  pthread_mutex_unlock(&lock);                                                   \
  return failed;

int fsync(int fd) { SYNC(fsync) }
int fdatasync(int fd) { SYNC(fdatasync) }

#define TRUNCATE(name)                                                           \
  int failed;                                                                    \
  if (!is_watched(fd)) return REAL(name)(fd, length);                            \
  if (fails('T')) return -1;                                                     \
  pthread_mutex_lock(&lock);                                                     \
  failed = REAL(name)(fd, length);                                               \
  if (!failed) record('T', files[fd].file, length, 0, NULL);                     \
  pthread_mutex_unlock(&lock);                                                   \
  return failed;

int ftruncate(int fd, off_t length) { TRUNCATE(ftruncate) }
int ftruncate64(int fd, off64_t length) { TRUNCATE(ftruncate64) }

/* Space taken without writing: no content changes, but a full disk refuses it as it does a write. */
#define ALLOCATE(name)                                                           \
  if (is_watched(fd) && fails('W')) return errno;                                \
  return REAL(name)(fd, at, length);

int posix_fallocate(int fd, off_t at, off_t length) { ALLOCATE(posix_fallocate) }
int posix_fallocate64(int fd, off64_t at, off64_t length) { ALLOCATE(posix_fallocate64) }

static void record_names(char kind, const char *first, const char *second) {
  char both[2 * PATH_MAX];
  size_t length = strlen(first) - root_length;
  memcpy(both, first + root_length, length);
  if (second) {
    both[length++] = 0;
    strcpy(both + length, second + root_length);
    length += strlen(second) - root_length;
  }
  pthread_mutex_lock(&lock);
  record(kind, 0, 0, length, both);
  pthread_mutex_unlock(&lock);
}

#define RENAME(from_folder, to_folder, call)                                     \
  char first[PATH_MAX], second[PATH_MAX];                                        \
  int failed;                                                                    \
  if (!root_length) return call;                                                 \
  resolve(from_folder, from, first);                                             \
  resolve(to_folder, to, second);                                                \
  if (below_root(first) && fails('R')) return -1;                                \
  failed = call;                                                                 \
  if (!failed && below_root(first) && below_root(second)) record_names('R', first, second); \
  return failed;

int rename(const char *from, const char *to) { RENAME(AT_FDCWD, AT_FDCWD, REAL(rename)(from, to)) }
int renameat(int at, const char *from, int there, const char *to) {
  RENAME(at, there, REAL(renameat)(at, from, there, to))
}

#define UNLINK(folder, call)                                                     \
  char path[PATH_MAX];                                                           \
  int failed;                                                                    \
  if (!root_length) return call;                                                 \
  resolve(folder, name, path);                                                   \
  if (below_root(path) && fails('U')) return -1;                                 \
  failed = call;                                                                 \
  if (!failed && below_root(path)) record_names('U', path, NULL);                \
  return failed;

int unlink(const char *name) { UNLINK(AT_FDCWD, REAL(unlink)(name)) }
int unlinkat(int at, const char *name, int flags) { UNLINK(at, REAL(unlinkat)(at, name, flags)) }

int mkdir(const char *name, mode_t mode) {
  char path[PATH_MAX];
  int failed;
  if (!root_length) return REAL(mkdir)(name, mode);
  resolve(AT_FDCWD, name, path);
  if (below_root(path) && fails('M')) return -1;
  failed = REAL(mkdir)(name, mode);
  if (!failed && below_root(path)) record_names('M', path, NULL);
  return failed;
}

void faultshim_log(const char *path) {
  int fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  log_fd = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 900);
  syscall(SYS_close, fd);
}

void faultshim_note(uint64_t number) {
  pthread_mutex_lock(&lock);
  record('N', 0, number, 0, NULL);
  pthread_mutex_unlock(&lock);
}

void faultshim_arm(const char *kinds, long nth, int error, const char *later) {
  pthread_mutex_lock(&lock);
  strncpy(armed, kinds, sizeof armed - 1);
  strncpy(armed_later, later, sizeof armed_later - 1);
  fail_at = nth;
  fail_error = error;
  failed_once = 0;
  calls = 0;
  pthread_mutex_unlock(&lock);
}

void faultshim_disarm(void) { faultshim_arm("", 0, 0, ""); }

long faultshim_calls(void) { return calls; }
