# Tells all that a program inherits: environment, words, directory, signals, limits, open files.
tr '\0' '\n' < /proc/$$/environ
echo "words: $(tr '\0' ' ' < /proc/$$/cmdline)"
echo "directory: $(readlink /proc/$$/cwd)"
grep -E '^(Umask|SigBlk|SigIgn|Uid|Gid|NoNewPrivs|Seccomp):' /proc/self/status
cat /proc/$$/limits /proc/$$/oom_score_adj
for fd in 0 1 2 3 4 5 6 7 8 9 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    target=$(readlink /proc/$$/fd/$fd) && echo "file $fd: $target"
done
echo end
