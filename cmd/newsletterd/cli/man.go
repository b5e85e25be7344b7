package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// ManCommand returns the command that prints the man page. tree returns the command tree.
func (p *Program) ManCommand(tree func() *App) *Command {
	return &Command{
		Name: "man", Usage: "print the man page",
		Description: `   newsletterd man | man -l -
   newsletterd man | sudo tee /usr/local/share/man/man1/newsletterd.1`,
		Action: func(*Context) error {
			_, err := fmt.Fprint(p.Out, manual(tree()))
			return err
		},
	}
}

// manual generates the manual page (man(7)) from the command tree.
func manual(a *App) string {
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

func manCommand(b *strings.Builder, parent string, c *Command) {
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

// manFlags writes a list of flags, except those in without.
func manFlags(b *strings.Builder, flags, without []Flag) {
	for _, f := range flags {
		d, ok := f.(urfave.DocGenerationFlag)
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

// paragraphs writes a help text as roff. Indented lines stay unchanged; others may be wrapped.
func paragraphs(b *strings.Builder, text string) {
	literal, open := false, true // open: a paragraph has started and is empty
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

// roff escapes characters that the formatter would interpret as a request or an escape.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "→", `\(->`, "…", "...").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
