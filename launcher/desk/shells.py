"""What makes a shell complete a command line: it asks the program at each Tab.

No I/O here. Exit code 1 of the program means that a file's name may stand there, which shells know best.
"""

from __future__ import annotations

from collections.abc import Mapping

BASH = """\
# Completion for paddlectl in bash: source <(paddlectl completion bash)
_paddlectl() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)) || compopt -o default
}
complete -F _paddlectl paddlectl kubectl-paddle
"""
ZSH = """\
#compdef paddlectl kubectl-paddle
# Completion for paddlectl in zsh: source <(paddlectl completion zsh), after compinit
_paddlectl() {
    local -a found
    found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}") || { _files; return }
    compadd -- ${found:#}
}
compdef _paddlectl paddlectl kubectl-paddle
"""
FISH = """\
# Completion for paddlectl in fish: paddlectl completion fish | source
function __paddlectl
    set -l words (commandline -opc) (commandline -ct)
    $words[1] completion words -- $words[2..] 2>/dev/null
    or __fish_complete_path $words[-1]
end
complete --command paddlectl --no-files --arguments '(__paddlectl)'
complete --command kubectl-paddle --no-files --arguments '(__paddlectl)'
"""
SHELLS: Mapping[str, str] = {"bash": BASH, "zsh": ZSH, "fish": FISH}
