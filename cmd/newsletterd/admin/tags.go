package admin

import (
	"slices"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

func tagCommands(p commands) *cli.Command {
	all := p.Command("list", "list a tenant's tags", []cli.Flag{cli.Tenant("tenant (`ID` or name)")},
		[]string{"tenant"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if _, _, err := cli.TenantOf(c, s); err != nil {
				return err
			}
			tags, err := s.AllTags(c.Context, c.String("tenant"))
			if err != nil {
				return err
			}
			return cli.List(p.Printer(c), tags, "id", "name", "created_at")
		})
	create := p.Command("create", "create a tag", []cli.Flag{
		cli.Tenant("tenant (`ID` or name)"), cli.String("name", "`NAME` of the tag"),
	}, []string{"tenant", "name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		t, err := core.NewTag(c.String("tenant"), c.String("name"), now())
		if err == nil {
			err = cli.Missing(s.AddTag(c.Context, t, cli.Actor()), "tenant", c.String("tenant"))
		}
		if err != nil {
			return err
		}
		return p.Printer(c).Record(t)
	})
	create.Description = `   newsletterd admin tag create --tenant Acme --name VIP`
	rename := p.Command("rename", "rename a tag", tagFlags(cli.String("name", "new `NAME`")), []string{"id", "name"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := tagOf(c, s)
			if err == nil {
				t, err = s.RenameTag(c.Context, t.ID, c.String("name"), cli.Actor(), now())
			}
			if err != nil {
				return cli.Missing(err, "tag", c.String("id"))
			}
			return p.Printer(c).Record(t)
		})
	del := p.Command("delete", "delete a tag and remove it from everyone", tagFlags(), []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := tagOf(c, s)
			if err == nil {
				err = s.DeleteTag(c.Context, t.ID, cli.Actor(), now())
			}
			if err != nil {
				return cli.Missing(err, "tag", c.String("id"))
			}
			return p.Done(c, "Tag %s deleted.", t.ID)
		})
	del.Description = "You can't undo this. A tag that a segment uses can't be deleted."
	return &cli.Command{
		Name: "tag", Usage: "manage tags, and tag people",
		Subcommands: []*cli.Command{
			all, create, rename, del,
			personTagCommand(p, "add", "tag a person on all lists of the tenant", true),
			personTagCommand(p, "remove", "remove a tag from a person", false),
		},
	}
}

// tagFlags returns the flags for a command about one tag: --id, --tenant, and those in more.
func tagFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		cli.ID(people.NounTag), cli.Tenant("tenant (`ID` or name), if several tenants have a tag with this name"),
	}, more...)
}

// tagOf reads the tag in --id. If --tenant names another tenant, it returns core.ErrTagNotFound.
func tagOf(c *cli.Context, s *store.Store) (core.Tag, error) {
	if _, _, err := cli.TenantOf(c, s); err != nil {
		return core.Tag{}, err
	}
	t, err := s.Tag(c.Context, c.String("id"))
	if tenant := c.String("tenant"); err == nil && tenant != "" && tenant != t.TenantID {
		err = core.ErrTagNotFound
	}
	return t, err
}

// personTag is the output of the commands add and remove.
type personTag struct {
	Email core.Email `json:"email"`
	Tags  tagNames   `json:"tags"`
}

// tagNames holds the names of a person's tags.
type tagNames []string

// Words returns the names joined to one line.
func (n tagNames) Words() string {
	if len(n) == 0 {
		return "none"
	}
	return cli.Printable(strings.Join(n, ","))
}

// personTagCommand returns a command that adds a tag to a person, or removes one if adds is false.
func personTagCommand(p commands, name, usage string, adds bool) *cli.Command {
	flags := tagFlags(cli.String("email", "email `ADDRESS` of the person"))
	return p.Command(name, usage, flags, []string{"id", "email"}, func(c *cli.Context, _ *config.Config,
		s *store.Store,
	) error {
		email, err := cli.GivenEmail(c)
		if err != nil {
			return err
		}
		t, err := tagOf(c, s)
		if err != nil {
			return cli.Missing(err, "tag", c.String("id"))
		}
		var add []string
		if adds {
			add = []string{t.ID}
		}
		tags, err := s.ChangeTags(c.Context, t.TenantID, email, func(had []string) []string {
			return slices.DeleteFunc(had, func(id string) bool { return id == t.ID })
		}, add, cli.Actor(), now())
		if err != nil {
			return cli.Missing(err, "subscriber", string(email))
		}
		out := personTag{Email: email, Tags: tagNames{}}
		for i := range tags {
			out.Tags = append(out.Tags, tags[i].Name)
		}
		return p.Printer(c).Record(out)
	})
}
