package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

func tagCommands(p *program) *cli.Command {
	all := p.command("list", "list a tenant's tags", []cli.Flag{tenantFlag("tenant (`ID` or name)")},
		[]string{"tenant"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if _, _, err := tenantOf(c, s); err != nil {
				return err
			}
			tags, err := s.AllTags(c.Context, c.String("tenant"))
			if err != nil {
				return err
			}
			return list(p.printer(c), tags, "id", "name", "created_at")
		})
	create := p.command("create", "create a tag", []cli.Flag{
		tenantFlag("tenant (`ID` or name)"), stringFlag("name", "`NAME` of the tag"),
	}, []string{"tenant", "name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		t, err := core.NewTag(c.String("tenant"), c.String("name"), now())
		if err == nil {
			err = missing(s.AddTag(c.Context, t, actor()), "tenant", c.String("tenant"))
		}
		if err != nil {
			return err
		}
		return p.printer(c).record(t)
	})
	create.Description = `   newsletterd admin tag create --tenant Acme --name VIP`
	rename := p.command("rename", "rename a tag", tagFlags(stringFlag("name", "new `NAME`")), []string{"id", "name"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := tagOf(c, s)
			if err == nil {
				t, err = s.RenameTag(c.Context, t.ID, c.String("name"), actor(), now())
			}
			if err != nil {
				return missing(err, "tag", c.String("id"))
			}
			return p.printer(c).record(t)
		})
	del := p.command("delete", "delete a tag and remove it from everyone", tagFlags(), []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := tagOf(c, s)
			if err == nil {
				err = s.DeleteTag(c.Context, t.ID, actor(), now())
			}
			if err != nil {
				return missing(err, "tag", c.String("id"))
			}
			return p.done(c, "Tag %s deleted.", t.ID)
		})
	del.Description = "You can't undo this. A tag that a segment uses can't be deleted."
	return &cli.Command{
		Name: "tag", Usage: "manage tags and the people who have them",
		Subcommands: []*cli.Command{
			all, create, rename, del,
			personTagCommand(p, "add", "give a tag to a person on all lists of the tenant", true),
			personTagCommand(p, "remove", "remove a tag from a person", false),
		},
	}
}

// tagFlags are --id and --tenant of a command about one tag, and more flags.
func tagFlags(more ...cli.Flag) []cli.Flag {
	return append([]cli.Flag{
		idFlag(people.NounTag), tenantFlag("tenant (`ID` or name), if several have a tag with this name"),
	}, more...)
}

// tagOf reads the tag of --id. If --tenant names another tenant, it returns core.ErrTagNotFound.
func tagOf(c *cli.Context, s *store.Store) (core.Tag, error) {
	if _, _, err := tenantOf(c, s); err != nil {
		return core.Tag{}, err
	}
	t, err := s.Tag(c.Context, c.String("id"))
	if tenant := c.String("tenant"); err == nil && tenant != "" && tenant != t.TenantID {
		err = core.ErrTagNotFound
	}
	return t, err
}

// personTag is the output of add and remove.
type personTag struct {
	Email core.Email `json:"email"`
	Tags  tagNames   `json:"tags"`
}

// tagNames are the names of someone's tags.
type tagNames []string

// Words returns the names as a line of text.
func (n tagNames) Words() string {
	if len(n) == 0 {
		return "none"
	}
	return printable(strings.Join(n, ","))
}

// personTagCommand adds or removes a tag of a person.
func personTagCommand(p *program, name, usage string, adds bool) *cli.Command {
	flags := tagFlags(stringFlag("email", "email `ADDRESS` of the person"))
	return p.command(name, usage, flags, []string{"id", "email"}, func(c *cli.Context, _ *config.Config,
		s *store.Store,
	) error {
		email, err := givenEmail(c)
		if err != nil {
			return err
		}
		t, err := tagOf(c, s)
		if err != nil {
			return missing(err, "tag", c.String("id"))
		}
		tags, err := s.ChangeTags(c.Context, t.TenantID, email, func(had []string) []string {
			had = slices.DeleteFunc(had, func(id string) bool { return id == t.ID })
			if adds {
				had = append(had, t.ID)
			}
			return had
		}, actor(), now())
		if err != nil {
			return missing(err, "subscriber", string(email))
		}
		out := personTag{Email: email, Tags: tagNames{}}
		for i := range tags {
			out.Tags = append(out.Tags, tags[i].Name)
		}
		return p.printer(c).record(out)
	})
}
