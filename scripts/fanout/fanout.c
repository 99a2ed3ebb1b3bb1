// The ends of a fan-out measurement: readers that count and throw away, and a sender to compare with.
//
//   fanout drain PORT COUNT SECONDS PID packets|http|raw|rtmp   (rtmp: application live, name s)
//   fanout serve PORT BYTES RATE
//
// `drain` connects COUNT times to 127.0.0.1:PORT, waits for all to get something, then counts for
// SECONDS what comes (MSG_TRUNC: never copied) and the CPU time that process PID takes meanwhile.
// Prints: bytes, CPU seconds, and the PID's resident kB. `serve` is the least a sender can do: epoll,
// and send() of one shared buffer, BYTES long, RATE times a second.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, RTMP_HANDSHAKE = 1536 };

static void fail(const char *what) {
  fprintf(stderr, "fanout: %s: %s\n", what, strerror(errno));
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static struct sockaddr_in loopback(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static double cpu_seconds(int pid) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  FILE *file = fopen(path, "r");
  if (!file || !fgets(text, sizeof text, file)) fail(path);
  fclose(file);
  unsigned long user, system;
  // Behind the name in brackets: state, then ten numbers, then the two times.
  if (sscanf(strrchr(text, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
             &system) != 2)
    fail(path);
  return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

static long resident_kb(int pid) {
  char path[64], line[256];
  long kb = 0;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &kb);
  if (file) fclose(file);
  return kb;
}

// --- what a reader says ---

static uint8_t *put(uint8_t *at, const void *bytes, size_t count) {
  memcpy(at, bytes, count);
  return at + count;
}

static uint8_t *put_string(uint8_t *at, const char *text) {  // AMF0, with its type
  uint8_t head[3] = {2, 0, (uint8_t)strlen(text)};
  return put(put(at, head, 3), text, strlen(text));
}

static uint8_t *put_number(uint8_t *at, double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  *at++ = 0;
  for (int shift = 56; shift >= 0; shift -= 8) *at++ = bits >> shift;
  return at;
}

// One RTMP command in one chunk of type 0: channel 3, message type 20.
static uint8_t *put_command(uint8_t *at, uint8_t stream, const uint8_t *amf, size_t count) {
  uint8_t head[12] = {3, 0, 0, 0, 0, 0, (uint8_t)count, 20, stream, 0, 0, 0};
  return put(put(at, head, 12), amf, count);
}

static size_t rtmp_commands(uint8_t *out) {
  uint8_t amf[128], *end = put_number(put_string(amf, "connect"), 1);
  end = put_string(put(end, "\3\0\3app", 6), "live");
  end = put_string(put(end, "\0\5tcUrl", 7), "rtmp://127.0.0.1/live");
  end = put(end, "\0\0\11", 3);
  uint8_t *at = put_command(out, 0, amf, end - amf);
  end = put(put_number(put_string(amf, "createStream"), 2), "\5", 1);
  at = put_command(at, 0, amf, end - amf);
  end = put(put_number(put_string(amf, "play"), 3), "\5", 1);
  end = put_string(end, "s");
  return put_command(at, 1, amf, end - amf) - out;
}

static size_t opening(const char *how, uint8_t *out) {
  if (!strcmp(how, "http")) {
    const char *text = "GET /live.ts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    return put(out, text, strlen(text)) - out;
  }
  if (!strcmp(how, "packets")) {  // docs/protocol.md: header, then a consumer's greeting
    memset(out, 0, 24 + 39);
    out[3] = 1;
    out[23] = 39;
    put(out + 24, "PORTHOLE", 8);
    out[24 + 11] = 2;
    out[24 + 12] = 3;
    return 24 + 39;
  }
  if (!strcmp(how, "rtmp")) {
    memset(out, 0, 1 + RTMP_HANDSHAKE);
    out[0] = 3;
    return 1 + RTMP_HANDSHAKE;
  }
  return 0;
}

static void drain(int port, int count, double seconds, int pid, const char *how) {
  static uint8_t trash[1 << 16], said[4096];
  static size_t heard[MOST];
  int is_rtmp = !strcmp(how, "rtmp"), events = epoll_create1(0), started = 0;
  struct sockaddr_in address = loopback(port);
  for (int i = 0; i < count; i++) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || fd >= MOST) fail("socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    size_t length = opening(how, said);
    if (write(fd, said, length) != (ssize_t)length) fail("write");
    fcntl(fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(events, EPOLL_CTL_ADD, fd, &event);
  }
  double end = now() + 20, cpu = 0;
  uint64_t bytes = 0;
  // A second for the last joiners to settle, and then the window.
  for (int phase = 0; phase < 3;) {
    struct epoll_event ready[256];
    int found = epoll_wait(events, ready, 256, 50);
    for (int i = 0; i < found; i++) {
      int fd = ready[i].data.fd;
      // A reply that must be read is; media never is.
      int flags = is_rtmp && heard[fd] < 1 + 2 * RTMP_HANDSHAKE ? 0 : MSG_TRUNC;
      size_t room = flags ? 1 << 20 : 1 + 2 * RTMP_HANDSHAKE - heard[fd];
      ssize_t got = recv(fd, trash, room, flags);
      if (got == 0 || (got < 0 && errno != EAGAIN)) {
        fprintf(stderr, "fanout: a reader was cut after %zu bytes\n", heard[fd]);
        exit(1);
      }
      if (got < 0) continue;
      size_t before = heard[fd];
      heard[fd] += got;
      bytes += got;
      if (is_rtmp && before < 1 + 2 * RTMP_HANDSHAKE && heard[fd] == 1 + 2 * RTMP_HANDSHAKE) {
        memset(said, 0, RTMP_HANDSHAKE);
        size_t length = RTMP_HANDSHAKE + rtmp_commands(said + RTMP_HANDSHAKE);
        if (write(fd, said, length) != (ssize_t)length) fail("write");
      }
      // Beyond any head or handshake it is media.
      if (before < 16384 && heard[fd] >= 16384) started++;
    }
    double time = now();
    if (phase == 0 && started == count) {
      phase = 1;
      end = time + 1;
    } else if (phase == 1 && time >= end) {
      phase = 2;
      end = time + seconds;
      bytes = 0;
      cpu = cpu_seconds(pid);
    } else if (phase == 2 && time >= end) {
      phase = 3;
    } else if (phase == 0 && time >= end) {
      fprintf(stderr, "fanout: only %d of %d readers got anything\n", started, count);
      exit(1);
    }
  }
  printf("%llu %.2f %ld\n", (unsigned long long)bytes, cpu_seconds(pid) - cpu, resident_kb(pid));
}

static void serve(int port, size_t length, double rate) {
  static size_t left[MOST];
  uint8_t *packet = calloc(1, length);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1, most = 0;
  int events = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  struct sockaddr_in address = loopback(port);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024))
    fail("listen");
  long period = 1e9 / rate;
  struct itimerspec times = {{period / 1000000000, period % 1000000000},
                             {period / 1000000000, period % 1000000000}};
  timerfd_settime(timer, 0, &times, NULL);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
  epoll_ctl(events, EPOLL_CTL_ADD, listener, &event);
  event.data.fd = timer;
  epoll_ctl(events, EPOLL_CTL_ADD, timer, &event);
  static uint8_t is_reader[MOST];
  for (;;) {
    struct epoll_event ready[256];
    int found = epoll_wait(events, ready, 256, -1);
    for (int i = 0; i < found; i++) {
      int fd = ready[i].data.fd;
      if (fd == listener) {
        int peer;
        while ((peer = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0 && peer < MOST) {
          is_reader[peer] = 1;
          left[peer] = 0;
          if (peer >= most) most = peer + 1;
          event.events = EPOLLOUT | EPOLLET;
          event.data.fd = peer;
          epoll_ctl(events, EPOLL_CTL_ADD, peer, &event);
        }
        continue;
      }
      int from = fd, to = fd + 1;
      if (fd == timer) {
        uint64_t ticks;
        if (read(timer, &ticks, 8) != 8) continue;
        from = 0;
        to = most;
        for (int peer = 0; peer < most; peer++)
          if (is_reader[peer] && !left[peer]) left[peer] = length;
      }
      for (int peer = from; peer < to; peer++) {
        while (is_reader[peer] && left[peer]) {
          ssize_t sent = send(peer, packet + length - left[peer], left[peer], MSG_NOSIGNAL);
          if (sent < 0 && errno == EAGAIN) break;
          if (sent < 0) {
            close(peer);
            is_reader[peer] = 0;
            break;
          }
          left[peer] -= sent;
        }
      }
    }
  }
}

int main(int count, char **words) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max < MOST ? limit.rlim_max : MOST;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (count == 7 && !strcmp(words[1], "drain")) {
    drain(atoi(words[2]), atoi(words[3]), atof(words[4]), atoi(words[5]), words[6]);
  } else if (count == 5 && !strcmp(words[1], "serve")) {
    serve(atoi(words[2]), atol(words[3]), atof(words[4]));
  } else {
    fprintf(stderr, "usage: fanout drain PORT COUNT SECONDS PID HOW | serve PORT BYTES RATE\n");
    return 64;
  }
}
