package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// inOrder moves the files of a command after its flags, where the library of commands looks for them, wherever a person
// has written them. What follows "--" is no flag.
func inOrder(app *cli.App, args []string) []string {
	commands, flags := app.Commands, app.Flags
	for i := 1; i < len(args); i++ {
		word := args[i]
		switch n := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(word) }); {
		case isFlag(word):
			if takesValue(flags, word) {
				i++
			}
		case n < 0:
			return args // the library says that there is no such command
		case len(commands[n].Subcommands) > 0:
			commands, flags = commands[n].Subcommands, commands[n].Flags
		default:
			return append(slices.Clone(args[:i+1]), flagsFirst(commands[n].Flags, args[i+1:])...)
		}
	}
	return args
}

// flagsFirst returns the words behind a command, its flags before all others.
func flagsFirst(known []cli.Flag, words []string) []string {
	var flags, files []string
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "--":
			return slices.Concat(flags, []string{"--"}, files, words[i+1:])
		case !isFlag(word):
			files = append(files, word)
		case takesValue(known, word) && i+1 < len(words):
			flags = append(flags, word, words[i+1])
			i++
		default:
			flags = append(flags, word)
		}
	}
	return append(flags, files...)
}

// isFlag reports whether a word is one; a dash alone is a file, standard input.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' && word != "--" }

// takesValue reports whether the value of a flag is the word after it. Flags that are not known have none.
func takesValue(known []cli.Flag, word string) bool {
	name := strings.TrimLeft(word, "-")
	return slices.ContainsFunc(known, func(f cli.Flag) bool {
		d, ok := f.(cli.DocGenerationFlag)
		return ok && d.TakesValue() && slices.Contains(f.Names(), name)
	})
}
