package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	helpWidth  = 80 // columns of a help text
	helpIndent = "  "
	nameWidth  = 28 // columns for names; the description of a longer name starts below it
)

// The groups of commands in the help for the program and for admin. The help shows them in the order of their first
// commands.
const (
	GroupStart   = "Get started"
	GroupLetters = "Newsletters"
	GroupBackup  = "Backup and database"
	GroupServer  = "Server and tools"
	GroupPeople  = "Subscribers"
	GroupSending = "Sending"
	GroupSignIn  = "Accounts and sign-in"
	GroupEvents  = "Integrations"
	GroupDevices = "Devices and models"
)

// InGroup puts commands into a help group.
func InGroup(name string, commands ...*Command) []*Command {
	for _, c := range commands {
		c.Category = name
	}
	return commands
}

// PrintHelp prints the help for the program or a command, instead of the library's templates. It groups commands and
// wraps lines to helpWidth.
func PrintHelp(w io.Writer, _ string, data any) {
	var b strings.Builder
	switch c := data.(type) {
	case *App:
		fmt.Fprintf(&b, "%s - %s\n\nUsage: %s\n", c.Name, c.Usage, c.UsageText)
		writeCommands(&b, c.Commands)
		names := make([]string, 0, 3)
		for _, f := range commonFlags() {
			names = append(names, strings.TrimSpace(strings.SplitN(f.String(), "\t", 2)[0]))
		}
		fmt.Fprintf(&b, "\nGlobal flags: %s\nFor flags and examples: %s COMMAND --help\n", strings.Join(names, ", "),
			c.Name)
	case *Command:
		fmt.Fprintf(&b, "%s\n\nUsage: %s\n", strings.Join(wrapped(sentence(c.Usage), helpWidth), "\n"), c.UsageText)
		if c.Description != "" {
			b.WriteString("\n" + flowed(c.Description) + "\n")
		}
		writeCommands(&b, c.Subcommands)
		var own, global [][2]string
		for _, f := range c.VisibleFlags() {
			name, usage, _ := strings.Cut(f.String(), "\t")
			row := [2]string{name, strings.TrimSpace(usage)}
			if hasFlag(commonFlags(), f.Names()[0]) || f.Names()[0] == "help" {
				global = append(global, row)
			} else {
				own = append(own, row)
			}
		}
		writeRows(&b, "Flags", own)
		writeRows(&b, "Global flags", global)
	}
	_, _ = io.WriteString(w, b.String()) // the library ignores this error, too
}

// writeCommands lists the visible commands by group.
func writeCommands(b *strings.Builder, commands []*Command) {
	var groups []string
	rows := map[string][][2]string{}
	for _, c := range commands {
		if c.Hidden {
			continue
		}
		group := c.Category
		if group == "" {
			group = "Commands"
		}
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		rows[group] = append(rows[group], [2]string{c.Name, c.Usage})
	}
	for _, group := range groups {
		writeRows(b, group, rows[group])
	}
}

// writeRows writes a title, and rows of names next to their descriptions. If there are no rows, it writes nothing.
func writeRows(b *strings.Builder, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	width := 0
	for _, row := range rows {
		if n := utf8.RuneCountInString(row[0]); n <= nameWidth {
			width = max(width, n)
		}
	}
	if width == 0 {
		width = nameWidth / 2
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	margin := len(helpIndent) + width + 2
	for _, row := range rows {
		lines := wrapped(row[1], helpWidth-margin)
		b.WriteString(helpIndent + row[0])
		if n := utf8.RuneCountInString(row[0]); n > width {
			b.WriteString("\n" + strings.Repeat(" ", margin))
		} else {
			b.WriteString(strings.Repeat(" ", width-n+2))
		}
		b.WriteString(strings.Join(lines, "\n"+strings.Repeat(" ", margin)) + "\n")
	}
}

// flowed wraps the lines of a description. Indented lines stay unchanged.
func flowed(text string) string {
	var out []string
	var open []string // lines of the current paragraph
	end := func() {
		if len(open) > 0 {
			out = append(out, wrapped(strings.Join(open, " "), helpWidth)...)
		}
		open = nil
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if line != "" && !strings.HasPrefix(line, " ") {
			open = append(open, line)
			continue
		}
		end()
		out = append(out, line)
	}
	end()
	return strings.Join(out, "\n")
}

// wrapped breaks text at spaces into lines of at most width columns. A longer word gets its own line.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

func hasFlag(flags []Flag, name string) bool {
	for _, f := range flags {
		if f.Names()[0] == name {
			return true
		}
	}
	return false
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
