/* A static program, which runs where nothing else does. Its words are what it does, one after the other; or the first
 * is the name of a program beside it, listener.py for one, and it does what that does.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int told[2]; /* a pipe from the handler to the program */

static void note(int signum) {
    char number = (char)signum;
    if (write(told[1], &number, 1) != 1)
        _exit(99);
}

static int next_signal(void) {
    char number;
    while (read(told[0], &number, 1) != 1)
        ;
    return number;
}

static void take(int signum, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(signum, &action, 0); /* which the C library refuses for its own two */
}

static void take_all(void (*handler)(int)) {
    for (int signum = 1; signum <= 64; signum++)
        if (signum != SIGKILL && signum != SIGSTOP && (signum != SIGCHLD || handler == SIG_IGN))
            take(signum, handler);
}

static void listen_for(void) {
    if (pipe2(told, O_CLOEXEC))
        exit(99);
}

/* Tells each signal as a number on a line; with a code, ends with it at TERM or INT, or at given ones. */
static void listener(int count, char **words) {
    listen_for();
    take_all(note);
    puts("ready");
    for (;;) {
        int signum = next_signal(), ends = count == 1 && (signum == SIGTERM || signum == SIGINT);
        printf("%d\n", signum);
        for (int at = 1; at < count; at++)
            ends |= atoi(words[at]) == signum;
        if (count && ends)
            _exit(atoi(words[0]));
    }
}

static void deaf(void) {
    take_all(SIG_IGN);
    printf("%d\n", getpid());
    for (;;)
        pause();
}

/* A parent and its child in one group, deaf to TERM: each tells its pid, then each TERM that it gets. */
static void family(void) {
    const char *name = fork() ? "parent" : "child";
    listen_for();
    take(SIGTERM, note);
    printf("%s %d\n", name, getpid());
    for (;;)
        printf("%s told %d\n", name, next_signal());
}

/* Ends with a code while its child, deaf to TERM, goes on and holds the standard output; tells its pid. */
static void leaver(int code) {
    listen_for();
    int pid = fork();
    if (!pid) {
        take(SIGTERM, SIG_IGN);
        note(0);
        for (;;)
            pause();
    }
    next_signal();
    printf("%d\n", pid);
    _exit(code);
}

/* Ends with a code or by a signal, and leaves no core. */
static void ender(const char *what, int number) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (!strcmp(what, "exit"))
        _exit(number);
    kill(getpid(), number); /* raise() knows its own C library's signals alone */
}

static void go_on(void) {
    sigset_t one;
    int signum;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, 0);
    sigwait(&one, &signum);
}

/* Leaves so many orphans that end all at once; then, given a code, ends with it at that very moment. */
static void orphans(int count, int many, const char *code) {
    int go[2], there[2], middle;
    char byte = 0;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigprocmask(SIG_BLOCK, &one, 0);
    puts("here");
    go_on();
    if (pipe(go) || pipe(there))
        exit(99);
    if (!(middle = fork())) {
        close(go[1]);
        while (many--)
            if (!fork()) {
                setsid();
                _exit(write(there[1], &byte, 1) + read(go[0], &byte, 1) + 8);
            }
        _exit(0);
    }
    close(there[1]);
    for (int seen = 0; seen < count; seen++)
        if (read(there[0], &byte, 1) != 1)
            exit(99);
    waitpid(middle, 0, 0);
    puts("ready");
    go_on();
    close(go[1]);
    if (code)
        _exit(atoi(code));
    while (read(there[0], &byte, 1) > 0)
        ;
    puts("all ended");
    go_on();
}

static void show(const char *title, const char *path, char between, const char *const *only) {
    char line[1 << 16];
    FILE *file = fopen(path, "r");
    size_t size = 0;
    fputs(title, stdout);
    while (file && !only && (size = fread(line, 1, sizeof line, file)))
        for (size_t at = 0; at < size; at++)
            putchar(line[at] ? line[at] : between);
    while (file && only && fgets(line, sizeof line, file))
        for (const char *const *each = only; *each; each++)
            if (!strncmp(line, *each, strlen(*each)))
                fputs(line, stdout);
    if (file)
        fclose(file);
}

/* Tells all that a program inherits: environment, words, directory, signals, limits, open files. */
static void inherited(void) {
    static const char *const of_status[] = {
        "Umask:", "SigBlk:", "SigIgn:", "Uid:", "Gid:", "NoNewPrivs:", "Seccomp:", 0};
    char path[64], target[4096];
    show("", "/proc/self/environ", '\n', 0);
    show("words: ", "/proc/self/cmdline", ' ', 0);
    printf("\ndirectory: %s\n", getcwd(target, sizeof target));
    show("", "/proc/self/status", 0, of_status);
    show("", "/proc/self/limits", 0, 0);
    show("", "/proc/self/oom_score_adj", 0, 0);
    for (int fd = 0; fd < 64; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t size = readlink(path, target, sizeof target);
        if (size > 0)
            printf("file %d: %.*s\n", fd, (int)size, target);
    }
    puts("end");
}

static int is_a_program(int count, char **words) {
    const char *name = count ? words[0] : "";
    if (!strcmp(name, "listener"))
        listener(count - 1, words + 1);
    else if (!strcmp(name, "deaf"))
        deaf();
    else if (!strcmp(name, "family"))
        family();
    else if (!strcmp(name, "leaver"))
        leaver(atoi(words[1]));
    else if (!strcmp(name, "ender"))
        ender(words[1], atoi(words[2]));
    else if (!strcmp(name, "orphans"))
        orphans(atoi(words[1]), atoi(words[1]), count > 2 ? words[2] : 0);
    else if (!strcmp(name, "inherited"))
        inherited();
    else
        return 0;
    return 1;
}

static void environment(char **each) {
    for (; *each; each++)
        fwrite(*each, 1, strlen(*each) + 1, stdout);
}

static void wait_for_term(void) {
    listen_for();
    take(SIGTERM, note);
    puts("waits");
    next_signal();
}

/* For as long as a file is there. */
static void hold(const char *path) {
    while (!access(path, F_OK))
        usleep(20000);
}

int main(int count, char **words, char **given) {
    setvbuf(stdout, 0, _IOLBF, 0);
    if (is_a_program(count - 1, words + 1))
        return 0;
    for (int at = 1; at < count; at++) {
        if (!strcmp(words[at], "environment"))
            environment(given);
        else if (!strcmp(words[at], "wait"))
            wait_for_term();
        else if (!strcmp(words[at], "hold"))
            hold(words[++at]);
        else if (!strcmp(words[at], "say"))
            show("", words[++at], 0, 0);
        else if (!strcmp(words[at], "die"))
            raise(SIGKILL);
        else
            exit(atoi(words[at]));
    }
    return 0;
}
