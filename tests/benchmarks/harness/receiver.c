/* A receiver that takes very little processor time: on one epoll loop, it answers 204 to every
 * HTTP/1.1 request with a Content-Length on kept connections.
 * `receiver PORT_FILE [DELAY_MS [HOSTS [KEY]]]` listens on a free loopback port, writes it to
 * PORT_FILE, and ends when its standard input is closed. Each answer waits for DELAY_MS, as from a
 * far receiver. The program listens on HOSTS addresses, 127.0.0.1 and the following ones, all on
 * that port. Unless KEY is "-", requests with this webhook-ordering-key get 503 at once. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 65536
#define HEAD 8192
static const char ANSWER[] = "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n";
static const char FAILURE[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
static char failing[256];

struct connection {
    size_t head_size;
    long body_left;
    int fails;
    char head[HEAD];
};
static struct connection *connections[CONNECTIONS];

/* Answers wait in the order in which they are due: the delay is the same for all. */
struct answer { int fd; long long due; };
static struct answer *waiting;
static size_t first, last, capacity = 1 << 17;
static int delay_ms;

static long long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void answer(int fd, int fails) {
    if (fails) {
        if (write(fd, FAILURE, sizeof FAILURE - 1) < 0) return;
        return;
    }
    if (!delay_ms) {
        if (write(fd, ANSWER, sizeof ANSWER - 1) < 0) return;
        return;
    }
    waiting[last % capacity] = (struct answer){fd, now_ms() + delay_ms};
    last++;
}

static void send_due(void) {
    long long now = delay_ms ? now_ms() : 0;
    while (first != last && waiting[first % capacity].due <= now) {
        if (write(waiting[first % capacity].fd, ANSWER, sizeof ANSWER - 1) < 0) { /* it left */ }
        first++;
    }
}

static long content_length(const char *head) {
    const char *found = strcasestr(head, "\r\ncontent-length:");
    return found ? atol(found + 17) : 0;
}

/* Takes `size` bytes that arrived; answers each request that they complete. */
static int take(int fd, struct connection *c, char *data, size_t size) {
    while (size > 0) {
        if (c->body_left > 0) {
            size_t part = (long)size < c->body_left ? size : (size_t)c->body_left;
            c->body_left -= part;
            data += part;
            size -= part;
            if (c->body_left == 0) answer(fd, c->fails);
            continue;
        }
        size_t room = HEAD - 1 - c->head_size, part = size < room ? size : room;
        memcpy(c->head + c->head_size, data, part);
        c->head[c->head_size + part] = 0;
        char *end = strstr(c->head, "\r\n\r\n");
        if (!end) {
            c->head_size += part;
            if (c->head_size >= HEAD - 1) return -1;
            return 0;
        }
        size_t used = end + 4 - c->head - c->head_size;
        end[2] = 0;
        c->body_left = content_length(c->head);
        c->fails = *failing && strstr(c->head, failing);
        c->head_size = 0;
        data += used;
        size -= used;
        if (c->body_left == 0) answer(fd, c->fails);
    }
    return 0;
}

/* A socket that listens at the address, which gets its port if it has none yet. */
static int listening(struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(made, (void *)address, length) || listen(made, 4096)) exit(1);
    getsockname(made, (void *)address, &length);
    return made;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    delay_ms = argc > 2 ? atoi(argv[2]) : 0;
    int hosts = argc > 3 ? atoi(argv[3]) : 1, on = 1, first_listener = 0, last_listener = 0;
    if (argc > 4 && strcmp(argv[4], "-"))
        snprintf(failing, sizeof failing, "\r\nwebhook-ordering-key: %s\r\n", argv[4]);
    waiting = calloc(capacity, sizeof *waiting);
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN}, events[512];
    struct sockaddr_in address = {.sin_family = AF_INET};
    for (int host = 0; host < hosts; host++) {
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host);
        event.data.fd = last_listener = listening(&address);
        if (!host) first_listener = last_listener;
        epoll_ctl(poll, EPOLL_CTL_ADD, last_listener, &event);
    }
    FILE *file = fopen(argv[1], "w");
    if (!file) return 1;
    fprintf(file, "%d\n", ntohs(address.sin_port));
    fclose(file);
    event.data.fd = 0;
    epoll_ctl(poll, EPOLL_CTL_ADD, 0, &event);
    static char buffer[1 << 18];
    for (;;) {
        int many = epoll_wait(poll, events, 512, first != last ? 1 : -1);
        for (int i = 0; i < many; i++) {
            int fd = events[i].data.fd;
            if (fd == 0) {
                if (read(0, buffer, sizeof buffer) <= 0) return 0;
                continue;
            }
            if (fd >= first_listener && fd <= last_listener) {
                int made;
                while ((made = accept4(fd, 0, 0, SOCK_NONBLOCK)) >= 0) {
                    if (made >= CONNECTIONS) { close(made); continue; }
                    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                    connections[made] = calloc(1, sizeof **connections);
                    event.events = EPOLLIN;
                    event.data.fd = made;
                    epoll_ctl(poll, EPOLL_CTL_ADD, made, &event);
                }
                continue;
            }
            ssize_t size = read(fd, buffer, sizeof buffer);
            if (size < 0 && errno == EAGAIN) continue;
            if (size <= 0 || take(fd, connections[fd], buffer, size)) {
                free(connections[fd]);
                connections[fd] = NULL;
                close(fd);
            }
        }
        send_due();
    }
}
