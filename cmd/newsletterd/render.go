package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/core"
	"newsletterd/handlers"
	"newsletterd/mail"
	"newsletterd/mail/markup"
	"newsletterd/store"
)

// sourceFlags say what a mail is made of and how it looks.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("markdown", "`FILE` of Markdown that both parts are made of"),
		stringFlag("blocks", "`FILE` of blocks in JSON that both parts are made of"), themeFlag(),
		boolFlag("allow-html", "let HTML in the source through, instead of showing it as text"),
	}
}

func themeFlag() cli.Flag {
	return oneOfFlag("theme", "the looks of what is made of Markdown or blocks: `NAME`, one of "+
		strings.Join(markup.ThemeNames(), ", "), optional(markup.ThemeNames())...)
}

// writtenContent makes the parts of a job of Markdown or blocks, with the names and the postal address of its tenant.
func (p *program) writtenContent(c *cli.Context, s *store.Store, n *core.NewJob) error {
	if !c.IsSet("markdown") && !c.IsSet("blocks") {
		if c.IsSet("theme") || c.IsSet("allow-html") {
			return usageError{c.Command.HelpName, "--theme and --allow-html go with --markdown or --blocks"}
		}
		return nil
	}
	if c.IsSet("html") || c.IsSet("text") {
		return usageError{c.Command.HelpName, "--markdown and --blocks make both parts: leave --html and --text out"}
	}
	l, err := s.List(c.Context, n.ListID)
	if err != nil {
		return missing(err, "list", n.ListID)
	}
	t, err := s.Tenant(c.Context, l.TenantID)
	if err != nil {
		return err
	}
	r, err := p.compile(c, t.BrandColor, markup.Options{
		Language: cmp.Or(l.Language, t.Language), Title: n.Subject, Name: cmp.Or(t.BrandName, l.Name),
		Logo: t.BrandLogoURL, LogoWidth: markup.LogoWidth, Address: t.PostalAddress,
	})
	if err != nil {
		return err
	}
	n.BodyHTML, n.BodyText = r.HTML, r.Text
	return nil
}

// compile reads the file of --markdown or --blocks and tells what is probably not meant in it. brand is a colour, or
// empty.
func (p *program) compile(c *cli.Context, brand string, o markup.Options) (*markup.Result, error) {
	kind := markup.KindMarkdown
	if c.IsSet("blocks") {
		kind = markup.KindBlocks
	}
	if c.IsSet("markdown") == c.IsSet("blocks") {
		return nil, usageError{c.Command.HelpName, "give --markdown or --blocks"}
	}
	var source string
	if err := readBody(c.String(kind), &source); err != nil {
		return nil, err
	}
	var err error
	o.AllowHTML = c.Bool("allow-html")
	if o.Theme, err = markup.BuiltInTheme(c.String("theme")); err != nil {
		return nil, err
	}
	o.Theme = o.Theme.WithBrand(strings.ToLower(brand))
	r, err := markup.Compile(kind, source, o)
	if err != nil {
		var fault *core.Error
		if errors.As(err, &fault) {
			return nil, core.Invalidf(fault.Field, "%s: %s", c.String(kind), fault.Message)
		}
		return nil, err
	}
	for _, w := range r.Warnings {
		place := c.String(kind)
		switch {
		case w.Line > 0:
			place += fmt.Sprintf(":%d", w.Line)
		case w.Block > 0:
			place += fmt.Sprintf(": block %d", w.Block)
		}
		fmt.Fprintf(p.err, "warning: %s: %s\n", place, w.Text)
	}
	return r, nil
}

func (p *program) renderCommand() *cli.Command {
	return &cli.Command{
		Name: "render", Usage: "make a mail of Markdown or blocks, and show it",
		Description: `   newsletterd render --markdown issue.md --open
   newsletterd render --markdown issue.md --theme journal --html > issue.html

Prints the parts with their placeholders, as body_html and body_text of a send job take them; with --open, the page that a
reader sees of whom nothing is known. docs/writing.md says what may stand in the source. Needs no database.`,
		Flags: previewFlags(append(sourceFlags(),
			stringFlag("name", "`NAME` at the head of the mail"), stringFlag("subject", "`TEXT` of the subject"),
			stringFlag("color", "`COLOR` of links and buttons, as #7a1f3d"),
			oneOfFlag("language", "of the footer: `CODE`, one of "+strings.Join(core.Languages, ", "),
				optional(core.Languages)...),
		)...),
		Action: p.render,
	}
}

func (p *program) render(c *cli.Context) error {
	if err := checkChoices(c); err != nil {
		return err
	}
	r, err := p.compile(c, c.String("color"), markup.Options{
		Language: c.String("language"), Title: c.String("subject"), Name: c.String("name"),
	})
	if err != nil {
		return err
	}
	content := handlers.SampleContent(&core.Template{
		Name: cmp.Or(c.String("subject"), "Subject"), BodyHTML: r.HTML, BodyText: r.Text,
	})
	bulk, err := mail.CompileShown("preview", &content)
	if err != nil {
		return err
	}
	for _, w := range bulk.Warnings() {
		fmt.Fprintln(p.err, "warning:", w)
	}
	switch {
	case c.Bool("open"):
		to := handlers.SampleRecipient("https://localhost", now())
		return p.openPage(c, bulk, &to)
	case jsonWanted(c):
		return p.printer(c).value(r)
	case c.Bool("html"):
		_, err = fmt.Fprint(p.out, r.HTML)
	default:
		_, err = fmt.Fprint(p.out, r.Text)
	}
	return err
}
