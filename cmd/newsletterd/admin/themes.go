package admin

import (
	"fmt"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store"
	"newsletterd/store/people"
)

const themeHelp = `Values you leave out come from the base theme, or don't change on update. To
see all keys: newsletterd admin theme show --id ID --json

   newsletterd admin theme create --tenant Acme --name Ours --base journal --values '{"font": "georgia", "light": {"accent": "#7a1f3d"}}'
   newsletterd admin theme update --id Ours --values @ours.json`

func themeFlags() []cli.Flag {
	return []cli.Flag{cli.String("name", "`NAME` of the theme"), cli.JSON("values", "colors, fonts, sizes and footer")}
}

// themeInput returns the fields of a theme that the flags set.
func themeInput(c *cli.Context) (in core.ThemeInput, err error) {
	values, err := cli.GivenJSON[core.ThemeInput](c, "values")
	if values != nil {
		in = *values
	}
	if name := cli.Given(c, "name"); name != nil {
		in.Name = name
	}
	return in, err
}

func (p commands) themeCommands() *cli.Command {
	create := p.Command("create", "add a theme", append(themeFlags(), cli.Tenant("tenant (`ID` or name)"),
		cli.OneOf("base", "built-in theme to start from", core.BuiltInThemes...).ByDefault(core.BuiltInThemes[0])),
		[]string{"tenant", "name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := themeInput(c)
			if err != nil {
				return err
			}
			if c.IsSet("base") || in.Base == nil {
				in.Base = new(c.String("base"))
			}
			of, err := s.Tenant(c.Context, c.String("tenant"))
			if err != nil {
				return cli.Missing(err, "tenant", c.String("tenant"))
			}
			t, err := drafts.NewTheme(&of, in, now())
			if err == nil {
				err = s.AddTheme(c.Context, t, cli.Actor())
			}
			if err != nil {
				return err
			}
			return p.Printer(c).Record(t)
		})
	create.Description = themeHelp
	all := p.Command("list", "list themes", []cli.Flag{cli.Tenant("filter by tenant (`ID` or name)")}, nil,
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			rows, err := cli.PagesOfTenant(c, s, func(t core.Theme) string { return t.ID }, s.Themes)
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), rows, "id", "tenant_id", "name", "base", "updated_at")
		})
	show := p.Command("show", "show a theme", []cli.Flag{cli.ID(people.NounTheme)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := s.Theme(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "theme", c.String("id"))
			}
			return p.Printer(c).Record(t)
		})
	update := p.Command("update", "update a theme", append(themeFlags(), cli.ID(people.NounTheme)), []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in, err := themeInput(c)
			if err != nil {
				return err
			}
			at := now()
			t, err := s.UpdateTheme(c.Context, c.String("id"), cli.Actor(), at, func(t *core.Theme) error {
				return t.Change(in, at)
			})
			if err != nil {
				return cli.Missing(err, "theme", c.String("id"))
			}
			return p.Printer(c).Record(t)
		})
	update.Description = themeHelp
	del := p.deleteCommand("delete a theme", people.NounTheme, "Theme", (*store.Store).DeleteTheme)
	return &cli.Command{
		Name: "theme", Usage: "manage themes: colors, fonts and footer of emails",
		Subcommands: []*cli.Command{create, all, show, p.previewThemeCommand(), update, del},
	}
}

func (p commands) previewThemeCommand() *cli.Command {
	return p.Command("preview", "preview a sample newsletter in a theme", previewFlags(cli.ID(people.NounTheme)),
		[]string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			t, err := s.Theme(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "theme", c.String("id"))
			}
			of, err := s.Tenant(c.Context, t.TenantID)
			if err != nil {
				return err
			}
			bulk, moved, err := drafts.ThemeSample(&t, &of)
			if err != nil {
				return err
			}
			for _, w := range moved {
				fmt.Fprintln(p.Err, "warning:", w)
			}
			r := drafts.SampleRecipient(cfg.Origin(), now())
			return p.printPreview(c, bulk, &r)
		})
}
