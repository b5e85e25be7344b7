package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

func (p *program) manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the man page",
		Description: `   newsletterd man | man -l -
   newsletterd man | sudo tee /usr/local/share/man/man1/newsletterd.1`,
		Action: func(*cli.Context) error {
			_, err := fmt.Fprint(p.out, p.manual())
			return err
		},
	}
}

// manual is the manual page, made of the same tree of commands that runs (man(7)).
func (p *program) manual() string {
	a := p.app()
	var b strings.Builder
	b.WriteString(".TH NEWSLETTERD 1\n.SH NAME\nnewsletterd \\- " + roff(a.Usage) +
		"\n.SH SYNOPSIS\n.B newsletterd\n.I COMMAND\n[flags]\n.SH DESCRIPTION\n")
	paragraphs(&b, a.Description)
	b.WriteString(".SH FLAGS OF EVERY COMMAND\n")
	manFlags(&b, a.Flags, nil)
	b.WriteString(".SH COMMANDS\n")
	for _, c := range a.Commands {
		manCommand(&b, a.Name, c)
	}
	b.WriteString(`.SH FILES
.TP
.I ./newsletterd.toml
The default configuration file. newsletterd.example.toml documents every key.
.TP
.I ./newsletterd.db
The default database. While the daemon runs, files ending in \-wal, \-shm and .lock are next to it.
.TP
.I ./backup/newsletterd.db
The automatic backup. You can copy it at any time.
.SH ENVIRONMENT
.TP
.I NEWSLETTERD_<SECTION>_<KEY>
Sets a configuration key, for example NEWSLETTERD_MAIL_SMTP_PASSWORD. Flags override environment variables;
these override the file.
.SH SIGNALS
.TP
.B SIGTERM, SIGINT
Finishes work in progress and stops the daemon within 45 seconds.
A second signal at least half a second later stops it immediately.
.TP
.B SIGHUP
Reloads the certificate files.
.SH EXIT STATUS
0: success. 1: failure. 2: wrong usage.
`)
	return b.String()
}

func manCommand(b *strings.Builder, parent string, c *cli.Command) {
	full := parent + " " + c.Name
	if len(c.Subcommands) > 0 {
		for _, sub := range c.Subcommands {
			manCommand(b, full, sub)
		}
		return
	}
	fmt.Fprintf(b, ".SS %s\n", roff(full))
	b.WriteString(roff(sentence(c.Usage)) + "\n")
	if c.Description != "" {
		b.WriteString(".PP\n")
		paragraphs(b, c.Description)
	}
	manFlags(b, c.Flags, commonFlags())
}

// manFlags lists flags, but for those that every command has.
func manFlags(b *strings.Builder, flags, without []cli.Flag) {
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok || hasFlag(without, f.Names()[0]) {
			continue
		}
		placeholder, usage := unquoted(d.GetUsage())
		if d.TakesValue() && placeholder == "" {
			placeholder = "VALUE"
		}
		line := ".BR \\-\\-" + roff(f.Names()[0])
		if d.TakesValue() {
			line = ".BI \\-\\-" + roff(f.Names()[0]) + " \" " + roff(placeholder) + "\""
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", line, roff(sentence(usage)))
	}
}

func hasFlag(flags []cli.Flag, name string) bool {
	for _, f := range flags {
		if f.Names()[0] == name {
			return true
		}
	}
	return false
}

// paragraphs writes a help text: lines that are indented stay as they are, others flow.
func paragraphs(b *strings.Builder, text string) {
	literal, open := false, true // open: a paragraph has begun and is empty
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		example := strings.HasPrefix(line, "   ")
		switch {
		case example && !literal:
			if !open {
				b.WriteString(".PP\n")
			}
			b.WriteString(".nf\n.RS 3\n")
		case !example && literal:
			b.WriteString(".RE\n.fi\n")
		}
		literal = example
		if open = line == ""; open {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(strings.TrimSpace(line)) + "\n")
	}
	if literal {
		b.WriteString(".RE\n.fi\n")
	}
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// roff escapes what the formatter would take for a request or an escape.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "→", `\(->`, "…", "...").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

const (
	helpWidth  = 80 // columns of a help text
	helpIndent = "  "
	nameWidth  = 28 // columns of names next to their descriptions; the description of a longer name starts below it
)

// Groups of the top commands and of admin's, in the help. They appear in the order of their first command.
const (
	groupStart   = "Get started"
	groupLetters = "Newsletters"
	groupBackup  = "Backup and database"
	groupServer  = "Server and tools"
	groupPeople  = "Subscribers"
	groupSending = "Sending"
	groupSignIn  = "Accounts and sign-in"
	groupEvents  = "Integrations"
	groupDevices = "Devices and models"
)

func init() { cli.HelpPrinter = printHelp }

// inGroup puts commands into a group of the help.
func inGroup(name string, commands ...*cli.Command) []*cli.Command {
	for _, c := range commands {
		c.Category = name
	}
	return commands
}

// printHelp prints the help of the program or of a command, in place of the library's templates: grouped, and wrapped
// to helpWidth.
func printHelp(w io.Writer, _ string, data any) {
	var b strings.Builder
	switch c := data.(type) {
	case *cli.App:
		fmt.Fprintf(&b, "%s - %s\n\nUsage: %s\n", c.Name, c.Usage, c.UsageText)
		writeCommands(&b, c.Commands)
		names := make([]string, 0, 3)
		for _, f := range commonFlags() {
			names = append(names, strings.TrimSpace(strings.SplitN(f.String(), "\t", 2)[0]))
		}
		fmt.Fprintf(&b, "\nGlobal flags: %s\nFor flags and examples: %s COMMAND --help\n", strings.Join(names, ", "),
			c.Name)
	case *cli.Command:
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
	_, _ = io.WriteString(w, b.String()) // as the library: who reads no help misses none
}

// writeCommands lists the visible commands by their groups.
func writeCommands(b *strings.Builder, commands []*cli.Command) {
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

// writeRows writes names next to their descriptions, below a title; nothing without rows.
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

// flowed wraps a description: lines that are indented stay as they are, others flow.
func flowed(text string) string {
	var out []string
	var open []string // lines of a paragraph
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

// wrapped breaks a text at its spaces into lines of at most width columns; a longer word stands alone.
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
