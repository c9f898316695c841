# Tells all that a program inherits: environment, words, directory, signals, limits, open files.
tr '\0' '\n' < /proc/$$/environ
echo "words: $(tr '\0' ' ' < /proc/$$/cmdline)"
echo "directory: $(readlink /proc/$$/cwd)"
grep -E '^(Umask|SigBlk|SigIgn|Uid|Gid|NoNewPrivs|Seccomp):' /proc/self/status
cat /proc/$$/limits /proc/$$/oom_score_adj
find /proc/self/fd -type l -printf 'file %f: %l\n'
echo end
