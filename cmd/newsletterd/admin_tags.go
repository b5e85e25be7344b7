package main

import (
	"slices"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

func tagCommands(p *program) *cli.Command {
	all := p.command("list", "list a tenant's tags", []cli.Flag{tenantFlag("tenant (`ID` or name)")}, []string{"tenant"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
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
	rename := p.command("rename", "rename a tag", []cli.Flag{idFlag(people.NounTag), stringFlag("name", "new `NAME`")},
		[]string{"id", "name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			t, err := s.RenameTag(c.Context, c.String("id"), c.String("name"), actor(), now())
			if err != nil {
				return missing(err, "tag", c.String("id"))
			}
			return p.printer(c).record(t)
		})
	del := p.command("delete", "delete a tag and remove it from everyone", []cli.Flag{idFlag(people.NounTag)},
		[]string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteTag(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "tag", c.String("id"))
			}
			return p.done(c, "Tag %s deleted.", c.String("id"))
		})
	return &cli.Command{
		Name: "tag", Usage: "manage tags and the people who have them",
		Subcommands: []*cli.Command{
			all, create, rename, del,
			personTagCommand(p, "add", "give a tag to a person on all lists of the tenant", true),
			personTagCommand(p, "remove", "remove a tag from a person", false),
		},
	}
}

// personTag is the output of add and remove.
type personTag struct {
	Email core.Email   `json:"email"`
	Tags  core.Strings `json:"tags"`
}

// personTagCommand adds or removes a tag of a person.
func personTagCommand(p *program, name, usage string, adds bool) *cli.Command {
	return p.command(name, usage, []cli.Flag{
		idFlag(people.NounTag), stringFlag("email", "email `ADDRESS` of the person"),
	}, []string{"id", "email"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		email, err := core.ParseEmail(c.String("email"))
		if err != nil {
			return err
		}
		t, err := s.Tag(c.Context, c.String("id"))
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
		out := personTag{Email: email, Tags: core.Strings{}}
		for i := range tags {
			out.Tags = append(out.Tags, tags[i].Name)
		}
		return p.printer(c).record(out)
	})
}
