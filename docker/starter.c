/* bin/python of a launcher that was brought into an image: starts its own Python by its own loader and C library.
 *
 * The image's C library may be another one, or none; so the loader is named outright, and not by the interpreter's file.
 * As a program of its own and not as words of whoever starts Python: children are started by sys.executable, which is
 * this file, and so they come this way too. Static and without a C library: nothing of the image can break it.
 *
 * What the image or the manifest says to loaders and Pythons is meant for the training program, and may be the end of
 * ours: a library for a newer C library in LD_PRELOAD ends it before it can say a word. Such variables are taken aside by
 * their first letter, LD_PRELOAD becomes lD_PRELOAD: in place, so that an environment that fits goes on fitting, in its
 * order. launcher/pod/programs/die_with_parent.py gives them back to what the launcher starts.
 */

#include <asm/unistd.h>

#define CANNOT_START 71 /* as in launcher/contract.py */
#define LOADER "/lib/python-ld.so" /* the name that `ps` shows, and by which a Python is known */
#define PYTHON "/lib/python"
#define LIBRARIES "/lib"
#define PATH_BYTES 4096

static const char *const TAKEN[] = {"LD_", "GLIBC_TUNABLES=", "PYTHON"};

#if defined(__x86_64__)
__asm__(".global _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");

static long call(long number, long a, long b, long c, long d) {
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return number;
}
#elif defined(__aarch64__)
__asm__(".global _start\n_start: mov x0, sp\n bl begin\n");

static long call(long number, long a, long b, long c, long d) {
    register long which __asm__("x8") = number;
    register long first __asm__("x0") = a, second __asm__("x1") = b, third __asm__("x2") = c, fourth __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(first) : "r"(which), "r"(second), "r"(third), "r"(fourth) : "memory");
    return first;
}
#else
#error "expected amd64 or arm64: another processor needs its own _start and call"
#endif

static long length(const char *text) {
    long size = 0;
    while (text[size])
        size++;
    return size;
}

static int begins(const char *text, const char *with) {
    while (*with && *text == *with)
        text++, with++;
    return !*with;
}

static void say(const char *text) { call(__NR_write, 2, (long)text, length(text), 0); }

__attribute__((noreturn)) static void refuse(const char *what, const char *why) {
    say(what);
    say(why);
    for (;;)
        call(__NR_exit_group, CANNOT_START, 0, 0, 0);
}

static void take_aside(char **environment) {
    for (; *environment; environment++)
        for (unsigned each = 0; each < sizeof TAKEN / sizeof *TAKEN; each++)
            if (begins(*environment, TAKEN[each]))
                **environment += 'a' - 'A';
}

/* Writes the directory above bin, and what is in it; returns the text. */
static char *beside(char *text, const char *own, long above, const char *name) {
    for (long at = 0; at < above; at++)
        text[at] = own[at];
    for (long at = 0; at <= length(name); at++)
        text[above + at] = name[at];
    return text;
}

__attribute__((noreturn, used)) void begin(long *stack) {
    static char own[PATH_BYTES], loader[PATH_BYTES], libraries[PATH_BYTES], python[PATH_BYTES];
    long count = stack[0], above, slashes = 0;
    char **given = (char **)(stack + 1), **environment = given + count + 1;
    char *words[count + 8];

    above = call(__NR_readlinkat, -100, (long)"/proc/self/exe", (long)own, PATH_BYTES - 32);
    if (above <= 0 || above == PATH_BYTES - 32)
        refuse("python: cannot tell where it lies: ", "expected /proc, and a shorter path\n");
    while (above && slashes < 2)
        slashes += own[--above] == '/';
    take_aside(environment);

    char **word = words;
    *word++ = beside(loader, own, above, LOADER);
    *word++ = "--inhibit-cache"; /* of the image's libraries */
    *word++ = "--library-path";
    *word++ = beside(libraries, own, above, LIBRARIES);
    *word++ = "--argv0";
    *word++ = own;
    *word++ = beside(python, own, above, PYTHON);
    for (long each = 1; each < count; each++)
        *word++ = given[each];
    *word = 0;
    call(__NR_execve, (long)loader, (long)words, (long)environment, 0);
    refuse(loader, " cannot be started: expected the whole of what was copied with it, where programs may be executed\n");
}
