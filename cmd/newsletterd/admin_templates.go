package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store"
	"newsletterd/store/people"
)

func templateFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("name", "`NAME` of the template"),
		stringFlag("layout", "layout: `NAME` of a template that wraps this one where it has {{content}}"),
		stringFlag("html", "`FILE` with the HTML; with {{content}} in it, the template is a layout"),
		stringFlag("text", "`FILE` with the text part"),
	}
}

// templateInput reads the flags, and the files that they name.
func templateInput(c *cli.Context) (in core.TemplateInput, err error) {
	in = core.TemplateInput{Name: given(c, "name"), Layout: given(c, "layout")}
	for flag, body := range map[string]**string{"html": &in.BodyHTML, "text": &in.BodyText} {
		if !c.IsSet(flag) {
			continue
		}
		b := []byte{}
		if file := c.String(flag); file != "" {
			if b, err = os.ReadFile(file); err != nil {
				return in, err
			}
		}
		*body = new(string(b))
	}
	return in, nil
}

func (p *program) templateCommands() *cli.Command {
	create := p.command("create", "add a template", append(templateFlags(), tenantFlag("tenant (`ID` or name)")),
		[]string{"tenant", "name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := templateInput(c)
			if err != nil {
				return err
			}
			t, err := core.NewTemplate(c.String("tenant"), in, now())
			if err == nil {
				err = drafts.TryTemplate(&t)
			}
			if err == nil {
				err = missing(s.AddTemplate(c.Context, t, actor()), "tenant", c.String("tenant"))
			}
			if err != nil {
				return err
			}
			return p.printer(c).record(t)
		})
	all := p.command("list", "list a tenant's templates", []cli.Flag{tenantFlag("tenant (`ID` or name)")},
		[]string{"tenant"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if _, _, err := tenantOf(c, s); err != nil {
				return err
			}
			rows, err := pages(func(t core.Template) string { return t.Name }, func(page core.Page) ([]core.Template, error) {
				return s.Templates(c.Context, c.String("tenant"), page)
			})
			if err != nil {
				return err
			}
			return list(p.printer(c), rows, "id", "name", "layout", "updated_at")
		})
	show := p.command("show", "show a template", []cli.Flag{idFlag(people.NounTemplate)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := s.TemplateByID(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "template", c.String("id"))
			}
			return p.printer(c).record(t)
		})
	update := p.command("update", "update a template", append(templateFlags(), idFlag(people.NounTemplate)),
		[]string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := templateInput(c)
			if err != nil {
				return err
			}
			at := now()
			t, err := s.UpdateTemplate(c.Context, c.String("id"), actor(), func(t *core.Template) error {
				if err := t.Change(in, at); err != nil {
					return err
				}
				return drafts.TryTemplate(t)
			})
			if err != nil {
				return missing(err, "template", c.String("id"))
			}
			return p.printer(c).record(t)
		})
	del := p.command("delete", "delete a template", []cli.Flag{
		idFlag(people.NounTemplate), boolFlag("force",
			"delete it even if a template, draft or send job uses it"),
	}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteTemplate(c.Context, c.String("id"), c.Bool("force"), actor(), now()); err != nil {
				return missing(err, "template", c.String("id"))
			}
			return p.done(c, "Template %s deleted.", c.String("id"))
		})
	return &cli.Command{
		Name: "template", Usage: "manage templates and layouts of emails",
		Subcommands: []*cli.Command{create, all, show, p.previewTemplateCommand(), update, del},
	}
}
