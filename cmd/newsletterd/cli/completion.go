package cli

import (
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// CommandPath is a command of the tree with its possible continuations.
type CommandPath struct {
	Path  string // such as "newsletterd admin tenant"
	Words []Word // subcommands
	Flags []Word // without the dashes
}

// Word is a possible completion.
type Word struct {
	Name, Usage string
	File, Value bool // the next word is a file; the next word is any other value
}

// CompletionCommand returns the command that prints a script for a shell. tree returns the tree of commands.
func (p *Program) CompletionCommand(tree func() *App) *Command {
	c := &Command{
		Name: "completion", Usage: "print a completion script for a shell",
		Description: `   bash: newsletterd completion bash | sudo tee /etc/bash_completion.d/newsletterd
   zsh:  newsletterd completion zsh > "${fpath[1]}/_newsletterd"
   fish: newsletterd completion fish > ~/.config/fish/completions/newsletterd.fish`,
	}
	for name, script := range map[string]func([]CommandPath) string{
		"bash": bashCompletion, "zsh": zshCompletion,
		"fish": fishCompletion,
	} {
		c.Subcommands = append(c.Subcommands, &Command{
			Name: name, Usage: "for " + name,
			Action: func(c *Context) error {
				_, err := fmt.Fprint(p.Out, script(Paths(tree())))
				return err
			},
		})
	}
	slices.SortFunc(c.Subcommands, func(a, b *Command) int { return strings.Compare(a.Name, b.Name) })
	return c
}

// Paths returns the tree of commands as a list, parents first.
func Paths(a *App) []CommandPath {
	top := CommandPath{Path: a.Name, Flags: flagWords(a.Flags)}
	var below []CommandPath
	for _, c := range a.Commands {
		top.Words = append(top.Words, Word{Name: c.Name, Usage: c.Usage})
		below = append(below, pathsOf(a.Name, c)...)
	}
	return append([]CommandPath{top}, below...)
}

func pathsOf(parent string, c *Command) []CommandPath {
	at := CommandPath{Path: parent + " " + c.Name, Flags: flagWords(c.Flags)}
	var below []CommandPath
	for _, sub := range c.Subcommands {
		at.Words = append(at.Words, Word{Name: sub.Name, Usage: sub.Usage})
		below = append(below, pathsOf(at.Path, sub)...)
	}
	return append([]CommandPath{at}, below...)
}

func flagWords(flags []Flag) []Word {
	var out []Word
	for _, f := range flags {
		d, ok := f.(urfave.DocGenerationFlag)
		if !ok {
			continue
		}
		placeholder, usage := unquoted(d.GetUsage())
		file := placeholder == "FILE" || placeholder == "RULE"
		for _, name := range f.Names() {
			out = append(out, Word{Name: name, Usage: usage, File: file, Value: d.TakesValue()})
		}
	}
	return append(out, Word{Name: "help", Usage: "show help"})
}

// unquoted removes the placeholder, the first word in backquotes, from a usage text.
func unquoted(usage string) (placeholder, text string) {
	before, rest, ok := strings.Cut(usage, "`")
	if !ok {
		return "", usage
	}
	placeholder, after, _ := strings.Cut(rest, "`")
	return placeholder, before + placeholder + after
}

func names(words []Word, prefix string, keep func(Word) bool) string {
	var out []string
	for _, w := range words {
		if keep == nil || keep(w) {
			out = append(out, prefix+w.Name)
		}
	}
	return strings.Join(out, " ")
}

// fileFlags returns the flags of all commands that take a file, and those that take any other value.
func fileFlags(paths []CommandPath) (files, values []string) {
	for _, p := range paths {
		for _, f := range p.Flags {
			switch flag := "--" + f.Name; {
			case f.File && !slices.Contains(files, flag):
				files = append(files, flag)
			case f.Value && !f.File && !slices.Contains(values, flag):
				values = append(values, flag)
			}
		}
	}
	values = slices.DeleteFunc(values, func(f string) bool { return slices.Contains(files, f) })
	return files, values
}

func bashCompletion(paths []CommandPath) string {
	var b strings.Builder
	files, values := fileFlags(paths)
	b.WriteString("# bash completion of newsletterd, made by `newsletterd completion bash`\n")
	b.WriteString("_newsletterd_words() {\n\tcase \"$1\" in\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "\t%q) commands=%q; flags=%q ;;\n", p.Path, names(p.Words, "", nil), names(p.Flags, "--", nil))
	}
	fmt.Fprintf(&b, `	*) return 1 ;;
	esac
}

_newsletterd() {
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path=newsletterd commands flags i
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} != -* ]] && _newsletterd_words "$path ${COMP_WORDS[i]}"; then
			path="$path ${COMP_WORDS[i]}"
		fi
	done
	_newsletterd_words "$path"
	case "$before" in
	%s) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	%s) return ;;
	esac
	case "$cur" in
	-*) COMPREPLY=($(compgen -W "$flags" -- "$cur")) ;;
	*) COMPREPLY=($(compgen -W "$commands" -- "$cur")) ;;
	esac
}
complete -o filenames -F _newsletterd newsletterd
`, strings.Join(files, "|"), strings.Join(values, "|"))
	return b.String()
}

func zshCompletion(paths []CommandPath) string {
	var b strings.Builder
	files, values := fileFlags(paths)
	b.WriteString("#compdef newsletterd\n# zsh completion of newsletterd, made by `newsletterd completion zsh`\n")
	b.WriteString("_newsletterd_words() {\n\tcase \"$1\" in\n")
	for _, p := range paths {
		fmt.Fprintf(&b, "\t(%s)\n\t\tcommands=(%s)\n\t\tflags=(%s) ;;\n", shellQuote(p.Path), described(p.Words, ""),
			described(p.Flags, "--"))
	}
	fmt.Fprintf(&b, `	(*) return 1 ;;
	esac
}

_newsletterd() {
	local at=newsletterd i
	local -a commands flags
	for ((i = 2; i < CURRENT; i++)); do
		if [[ $words[i] != -* ]] && _newsletterd_words "$at $words[i]"; then
			at="$at $words[i]"
		fi
	done
	_newsletterd_words "$at"
	case "$words[CURRENT-1]" in
	(%s) _files; return ;;
	(%s) return ;;
	esac
	if [[ $words[CURRENT] == -* ]]; then
		_describe flag flags
	else
		_describe command commands
	fi
}
_newsletterd "$@"
`, strings.Join(files, "|"), strings.Join(values, "|"))
	return b.String()
}

// described formats words with their descriptions for zsh's _describe.
func described(words []Word, prefix string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shellQuote(prefix + w.Name + ":" + strings.ReplaceAll(w.Usage, ":", `\:`))
	}
	return strings.Join(out, " ")
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func fishCompletion(paths []CommandPath) string {
	var b strings.Builder
	b.WriteString(`# fish completion of newsletterd, made by ` + "`newsletterd completion fish`" + `
function __newsletterd_at
    set -l at newsletterd
    for w in (commandline -opc)[2..]
        string match -q -- '-*' $w; or contains -- "$at $w" $__newsletterd_paths; and set at "$at $w"
    end
    test "$at" = "$argv"
end
`)
	b.WriteString("set -g __newsletterd_paths")
	for _, p := range paths {
		b.WriteString(" " + fishQuote(p.Path))
	}
	b.WriteString("\ncomplete -c newsletterd -f\n")
	for _, p := range paths {
		at := fishQuote("__newsletterd_at " + p.Path)
		for _, w := range p.Words {
			fmt.Fprintf(&b, "complete -c newsletterd -n %s -a %s -d %s\n", at, w.Name, fishQuote(w.Usage))
		}
		for _, f := range p.Flags {
			option := ""
			switch {
			case f.File:
				option = " -r -F"
			case f.Value:
				option = " -x"
			}
			fmt.Fprintf(&b, "complete -c newsletterd -n %s -l %s%s -d %s\n", at, f.Name, option, fishQuote(f.Usage))
		}
	}
	return b.String()
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
