/* A static program, which runs where nothing else does. Its words are what it does, one after the other. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t told;

static void note(int signum) { told = signum; }

static void environment(char **each) {
    for (; *each; each++)
        fwrite(*each, 1, strlen(*each) + 1, stdout);
}

/* Until TERM, which may have come already: it is blocked but in the wait itself. */
static void wait_for_term(void) {
    sigset_t all, none;
    struct sigaction action = {.sa_handler = note};
    sigemptyset(&none);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    sigaction(SIGTERM, &action, 0);
    puts("waits");
    fflush(stdout);
    while (!told)
        sigsuspend(&none);
}

int main(int count, char **words, char **given) {
    for (int at = 1; at < count; at++) {
        if (!strcmp(words[at], "environment"))
            environment(given);
        else if (!strcmp(words[at], "wait"))
            wait_for_term();
        else if (!strcmp(words[at], "die"))
            raise(SIGKILL);
        else
            exit(atoi(words[at]));
    }
    return 0;
}
