package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
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
	return stringFlag("theme", "the looks of what is made of Markdown or blocks: `NAME`, one of "+
		strings.Join(core.BuiltInThemes, ", ")+", or a theme of the tenant")
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
	o, err := looks(c, s, &t)
	if err != nil {
		return err
	}
	o.Language, o.Title, o.Name = cmp.Or(l.Language, t.Language), n.Subject, cmp.Or(t.BrandName, l.Name)
	r, err := p.compile(c, o)
	if err != nil {
		return err
	}
	n.BodyHTML, n.BodyText = r.HTML, r.Text
	return nil
}

// looks returns what --theme says of the mails of a tenant.
func looks(c *cli.Context, s *store.Store, t *core.Tenant) (o markup.Options, err error) {
	own, err := s.ThemeNamed(c.Context, t.ID, c.String("theme"))
	if err != nil {
		return o, err
	}
	return markup.LooksOf(c.String("theme"), own, t)
}

// compile reads the file of --markdown or --blocks and tells what is probably not meant in it.
func (p *program) compile(c *cli.Context, o markup.Options) (*markup.Result, error) {
	kind, source, err := sourceOf(c)
	if err != nil {
		return nil, err
	}
	o.AllowHTML = c.Bool("allow-html")
	r, err := markup.Compile(kind, source, o)
	if err == nil {
		sample := drafts.SampleContent(&core.Template{
			Name: cmp.Or(o.Title, "Subject"), BodyHTML: r.HTML, BodyText: r.Text,
		})
		_, err = mail.CompileShown("preview", &sample)
		err = markup.Placed(kind, source, err)
	}
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

// sourceOf reads the file of --markdown or --blocks, and says which of the two it is.
func sourceOf(c *cli.Context) (kind, source string, err error) {
	kind = markup.KindMarkdown
	if c.IsSet("blocks") {
		kind = markup.KindBlocks
	}
	if c.IsSet("markdown") == c.IsSet("blocks") {
		return "", "", usageError{c.Command.HelpName, "give --markdown or --blocks"}
	}
	err = readBody(c.String(kind), &source)
	return kind, source, err
}

func (p *program) renderCommand() *cli.Command {
	return &cli.Command{
		Name: "render", Usage: "make a mail of Markdown or blocks, and show it",
		Description: `   newsletterd render --markdown issue.md --open
   newsletterd render --markdown issue.md --theme journal --html > issue.html

Prints the parts with their placeholders, as body_html and body_text of a send job take them; with --open, the page that a
reader sees of whom nothing is known. docs/writing.md says what may stand in the source. Needs no database, but for a theme of a
tenant's own.`,
		Flags: previewFlags(append(sourceFlags(),
			stringFlag("name", "`NAME` at the head of the mail"), stringFlag("subject", "`TEXT` of the subject"),
			stringFlag("color", "`COLOR` of links and buttons, as #7a1f3d; not with a theme of the tenant"),
			tenantFlag("the `TENANT` of the theme"),
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
	o, err := p.renderLooks(c)
	if err != nil {
		return err
	}
	o.Language, o.Title, o.Name = c.String("language"), c.String("subject"), cmp.Or(c.String("name"), o.Name)
	r, err := p.compile(c, o)
	if err != nil {
		return err
	}
	content := drafts.SampleContent(&core.Template{
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
		to := drafts.SampleRecipient("https://localhost", now())
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

// renderLooks is looks for render, which opens the database for a theme of a tenant only.
func (p *program) renderLooks(c *cli.Context) (o markup.Options, err error) {
	theme := c.String("theme")
	if core.IsBuiltInTheme(theme) {
		return markup.LooksOf(theme, nil, &core.Tenant{BrandColor: c.String("color")})
	}
	err = p.withStore(c, func(_ *config.Config, s *store.Store) error {
		if err := resolve(c, s, []string{"tenant"}); err != nil {
			return err
		}
		t, err := s.Tenant(c.Context, c.String("tenant"))
		if err != nil {
			return err
		}
		o, err = looks(c, s, &t)
		o.Name = cmp.Or(t.BrandName, t.Name)
		return err
	})
	if err != nil && core.KindOf(err) != core.Invalid {
		err = fmt.Errorf("%s is no built-in theme (%s), and where tenants have theirs: %w", theme,
			strings.Join(core.BuiltInThemes, ", "), err)
	}
	return o, err
}
