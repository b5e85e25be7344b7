package admin

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/frontmatter"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/mail"
	"newsletterd/mail/markup"
	"newsletterd/store"
)

// sourceFlags returns the flags that name an email's source and theme.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		cli.String("markdown", "Markdown `FILE` to generate both parts from"),
		cli.String("blocks", "JSON `FILE` with blocks to generate both parts from"), themeFlag(),
		cli.Bool("allow-html", "allow HTML in the source, instead of showing it as text"),
	}
}

func themeFlag() cli.Flag {
	return cli.String("theme", "theme `NAME`: "+
		strings.Join(core.BuiltInThemes, ", ")+" or one of the tenant's themes")
}

// writtenContent sets a job's content from Markdown or blocks, with the names and postal address of the job's tenant.
func (p commands) writtenContent(c *cli.Context, s *store.Store, n *core.NewJob) error {
	if !c.IsSet("markdown") && !c.IsSet("blocks") {
		if c.IsSet("theme") || c.IsSet("allow-html") {
			return cli.UsageError(c, "--theme and --allow-html need --markdown or --blocks")
		}
		return nil
	}
	if c.IsSet("html") || c.IsSet("text") {
		return cli.UsageError(c, "--markdown and --blocks generate both parts. Leave out --html and "+
			"--text")
	}
	l, err := s.List(c.Context, n.ListID)
	if err != nil {
		return cli.Missing(err, "list", n.ListID)
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

// looks returns the compiler options for a tenant's emails with the theme in --theme.
func looks(c *cli.Context, s *store.Store, t *core.Tenant) (o markup.Options, err error) {
	own, err := s.ThemeNamed(c.Context, t.ID, c.String("theme"))
	if err != nil {
		return o, err
	}
	return markup.LooksOf(c.String("theme"), own, t)
}

// compile compiles the file in --markdown or --blocks and prints warnings about probable mistakes.
func (p commands) compile(c *cli.Context, o markup.Options) (*markup.Result, error) {
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
		fmt.Fprintf(p.Err, "warning: %s: %s\n", place, w.Text)
	}
	return r, nil
}

// sourceOf reads the file in --markdown or --blocks without its front matter, and returns its kind.
func sourceOf(c *cli.Context) (kind, source string, err error) {
	kind = markup.KindMarkdown
	if c.IsSet("blocks") {
		kind = markup.KindBlocks
	}
	if c.IsSet("markdown") == c.IsSet("blocks") {
		return "", "", cli.UsageError(c, "--markdown or --blocks is missing")
	}
	if err = readBody(c.String(kind), &source); err != nil || kind != markup.KindMarkdown {
		return kind, source, err
	}
	m, err := frontmatter.Read(c.String(kind), source)
	return kind, strings.Repeat("\n", m.Before) + m.Body, err // lines keep their numbers
}

// Render returns the command that compiles an email and prints it.
func Render(program *cli.Program) *cli.Command {
	p := commands{program}
	return &cli.Command{
		Name: "render", Usage: "generate an email from Markdown or blocks and print it",
		Description: `   newsletterd render --markdown issue.md --open
   newsletterd render --markdown issue.md --theme journal --html > issue.html

Prints the HTML or the plain text with its placeholders, ready for body_html
or body_text of a send job. With --open, it shows the email as a subscriber
with no details sees it. The command needs a database only for a tenant's own
theme.`,
		Flags: previewFlags(append(sourceFlags(),
			cli.String("name", "sender `NAME` in the header"), cli.String("subject", "subject `TEXT`"),
			cli.String("color", "`COLOR` of links and buttons, for example #7a1f3d; only for built-in themes"),
			cli.Tenant("tenant of the theme (`ID` or name)"),
			cli.OneOf("language", "language `CODE` of the footer: "+strings.Join(core.Languages, ", "),
				cli.Optional(core.Languages)...),
		)...),
		Action: p.render,
	}
}

func (p commands) render(c *cli.Context) error {
	if err := cli.CheckChoices(c); err != nil {
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
		fmt.Fprintln(p.Err, "warning:", w)
	}
	switch {
	case c.Bool("open"):
		to := drafts.SampleRecipient("https://localhost", now())
		return p.openPage(c, bulk, &to)
	case cli.JSONWanted(c):
		return p.Printer(c).Value(r)
	case c.Bool("html"):
		_, err = fmt.Fprint(p.Out, r.HTML)
	default:
		_, err = fmt.Fprint(p.Out, r.Text)
	}
	return err
}

// renderLooks is like looks, for the command render. It opens the database only for a tenant's theme.
func (p commands) renderLooks(c *cli.Context) (o markup.Options, err error) {
	theme := c.String("theme")
	if core.IsBuiltInTheme(theme) {
		return markup.LooksOf(theme, nil, &core.Tenant{BrandColor: c.String("color")})
	}
	err = p.WithStore(c, func(_ *config.Config, s *store.Store) error {
		if err := cli.Resolve(c, s, []string{"tenant"}); err != nil {
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
		err = fmt.Errorf("%s is not a built-in theme (%s), and no database was found for tenants' themes: %w", theme,
			strings.Join(core.BuiltInThemes, ", "), err)
	}
	return o, err
}
