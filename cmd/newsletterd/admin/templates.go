package admin

import (
	"os"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store"
	"newsletterd/store/people"
)

func templateFlags() []cli.Flag {
	return []cli.Flag{
		cli.String("name", "`NAME` of the template"),
		cli.String("layout", "`NAME` of the layout, a template that shows this one in place of its {{content}}"),
		cli.String("html", "`FILE` with the HTML; with {{content}} in it, the template is a layout"),
		cli.String("text", "`FILE` with the text part"),
	}
}

// templateInput returns the fields of a template, from the flags and the files that they name.
func templateInput(c *cli.Context) (in core.TemplateInput, err error) {
	in = core.TemplateInput{Name: cli.Given(c, "name"), Layout: cli.Given(c, "layout")}
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

func (p commands) templateCommands() *cli.Command {
	create := p.Command("create", "add a template", append(templateFlags(), cli.Tenant("tenant (`ID` or name)")),
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
				err = cli.Missing(s.AddTemplate(c.Context, t, cli.Actor()), "tenant", c.String("tenant"))
			}
			if err != nil {
				return err
			}
			return p.Printer(c).Record(t)
		})
	all := p.Command("list", "list a tenant's templates", []cli.Flag{cli.Tenant("tenant (`ID` or name)")},
		[]string{"tenant"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if _, _, err := cli.TenantOf(c, s); err != nil {
				return err
			}
			rows, err := cli.Pages(func(t core.Template) string { return t.Name },
				func(page core.Page) ([]core.Template, error) {
					return s.Templates(c.Context, c.String("tenant"), page)
				})
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), rows, "id", "name", "layout", "updated_at")
		})
	show := p.Command("show", "show a template", []cli.Flag{cli.ID(people.NounTemplate)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := s.TemplateByID(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "template", c.String("id"))
			}
			return p.Printer(c).Record(t)
		})
	update := p.Command("update", "update a template", append(templateFlags(), cli.ID(people.NounTemplate)),
		[]string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := templateInput(c)
			if err != nil {
				return err
			}
			at := now()
			t, err := s.UpdateTemplate(c.Context, c.String("id"), cli.Actor(), func(t *core.Template) error {
				if err := t.Change(in, at); err != nil {
					return err
				}
				return drafts.TryTemplate(t)
			})
			if err != nil {
				return cli.Missing(err, "template", c.String("id"))
			}
			return p.Printer(c).Record(t)
		})
	del := p.Command("delete", "delete a template", []cli.Flag{
		cli.ID(people.NounTemplate), cli.Bool("force",
			"delete it even if a template, draft or send job uses it"),
	}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteTemplate(c.Context, c.String("id"), c.Bool("force"), cli.Actor(), now()); err != nil {
				return cli.Missing(err, "template", c.String("id"))
			}
			return p.Done(c, "Template %s deleted.", c.String("id"))
		})
	return &cli.Command{
		Name: "template", Usage: "manage templates and layouts of emails",
		Subcommands: []*cli.Command{create, all, show, p.previewTemplateCommand(), update, del},
	}
}
