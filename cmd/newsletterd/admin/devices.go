package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

// belongings creates the commands for the devices, agents and models that users own.
type belongings struct{ commands }

func ownerFlag() cli.Flag {
	return cli.Reference("owner", people.NounUser, "owner: `USER` by email address, ID or name")
}

// ofOwner returns a command about the records that a user owns.
func (p belongings) ofOwner(name, usage string, flags []cli.Flag, needed []string,
	do func(*cli.Context, *config.Config, *store.Store, core.User) error,
) *cli.Command {
	return p.Command(name, usage, append([]cli.Flag{ownerFlag()}, flags...), append([]string{"owner"}, needed...),
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			u, err := userOf(c, s, "owner")
			if err != nil {
				return err
			}
			return do(c, cfg, s, u)
		})
}

// owned returns a command about one device or model of any owner.
func (p belongings) owned(name, usage, noun string, ownerOf func(*store.Store, context.Context, string) (string, error),
	flags []cli.Flag, needed []string, do func(c *cli.Context, s *store.Store, id, owner string) error,
) *cli.Command {
	return p.Command(name, usage, append([]cli.Flag{cli.ID(people.Noun(noun))}, flags...),
		append([]string{"id"}, needed...), func(c *cli.Context, _ *config.Config, s *store.Store) error {
			id, ok := core.ParseID(c.String("id"))
			if !ok {
				return cli.Missing(core.ErrNotFound, noun, c.String("id"))
			}
			owner, err := ownerOf(s, c.Context, id)
			if err != nil {
				return cli.Missing(err, noun, id)
			}
			return do(c, s, id, owner)
		})
}

func deviceInput(c *cli.Context) core.DeviceInput {
	return core.DeviceInput{
		Name: cli.Given(c, "name"), AgentID: cli.Given(c, "agent"),
		Representative: cli.GivenBool(c, "representative"),
	}
}

func (p belongings) deviceCommands() *cli.Command {
	flags := []cli.Flag{
		cli.String("name", "`NAME` of the device"),
		cli.Reference("agent", people.NounAgent, "`ID` of the owner's agent that manages the device (empty: none)"),
		cli.Bool("representative", "make it the owner's primary device, which can't be registered; one per owner"),
	}
	one := func(name, usage string, flags []cli.Flag,
		do func(*cli.Context, *store.Store, string, string) (core.Device, error),
	) *cli.Command {
		return p.owned(name, usage, "device", (*store.Store).OwnerOfDevice, flags, nil,
			func(c *cli.Context, s *store.Store, id, owner string) error {
				d, err := do(c, s, id, owner)
				if err != nil {
					return err
				}
				return p.Printer(c).Record(d)
			})
	}
	return &cli.Command{Name: "device", Usage: "manage devices of users", Subcommands: []*cli.Command{
		p.ofOwner("create", "pair a device", flags, []string{"name"},
			func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
				d, err := core.NewDevice(u.ID, deviceInput(c), now())
				if err == nil {
					err = s.AddDevice(c.Context, d)
				}
				if err != nil {
					return err
				}
				return p.Printer(c).Record(d)
			}),
		p.ofOwner("list", "list a user's paired devices", nil, nil,
			func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
				rows, err := cli.Pages(func(d core.Device) string { return d.ID },
					func(page core.Page) ([]core.Device, error) { return s.Devices(c.Context, u.ID, page) })
				if err != nil {
					return err
				}
				return cli.List(p.Printer(c), rows, "id", "name", "representative", "registered", "registered_at",
					"agent_id")
			}),
		one("show", "show a device", nil, func(c *cli.Context, s *store.Store, id, owner string) (core.Device,
			error,
		) {
			return s.Device(c.Context, id, owner)
		}),
		one("update", "update a device; flags you leave out change nothing", flags,
			func(c *cli.Context, s *store.Store, id, owner string) (core.Device, error) {
				return s.UpdateDevice(c.Context, id, owner, func(d *core.Device) error { return d.Change(deviceInput(c)) })
			}),
		one("register", "register a device", nil,
			func(c *cli.Context, s *store.Store, id, owner string) (core.Device, error) {
				return s.RegisterDevice(c.Context, id, owner, now())
			}),
		one("unregister", "unregister a device", nil,
			func(c *cli.Context, s *store.Store, id, owner string) (core.Device, error) {
				return s.UnregisterDevice(c.Context, id, owner)
			}),
		p.owned("delete", "unpair a device", "device", (*store.Store).OwnerOfDevice, nil, nil,
			func(c *cli.Context, s *store.Store, id, owner string) error {
				if err := s.UnpairDevice(c.Context, id, owner, now()); err != nil {
					return cli.Missing(err, "paired device", id)
				}
				return p.Done(c, "Device %s unpaired.", id)
			}),
	}}
}

func agentInput(c *cli.Context) core.AgentInput {
	return core.AgentInput{Name: cli.Given(c, "name"), Version: cli.Given(c, "agent-version")}
}

func (p belongings) agentCommands() *cli.Command {
	flags := []cli.Flag{
		cli.String("name", "`NAME` of the agent"),
		cli.String("agent-version", "`VERSION` of the agent"),
	}
	return &cli.Command{Name: "agent", Usage: "manage agents (programs that manage " +
		"devices)", Subcommands: []*cli.Command{
		p.ofOwner("create", "add an agent", flags, []string{"name"},
			func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
				a, err := core.NewAgent(u.ID, agentInput(c), now())
				if err == nil {
					err = s.AddAgent(c.Context, a)
				}
				if err != nil {
					return err
				}
				return p.Printer(c).Record(a)
			}),
		p.ofOwner("list", "list a user's agents", nil, nil,
			func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
				rows, err := cli.Pages(func(a core.Agent) string { return a.ID },
					func(page core.Page) ([]core.Agent, error) { return s.Agents(c.Context, u.ID, page) })
				if err != nil {
					return err
				}
				return cli.List(p.Printer(c), rows, "id", "name", "version", "created_at")
			}),
		p.owned("show", "show an agent", "agent", (*store.Store).OwnerOfAgent, nil, nil,
			func(c *cli.Context, s *store.Store, id, owner string) error {
				a, err := s.Agent(c.Context, id, owner)
				if err != nil {
					return err
				}
				return p.Printer(c).Record(a)
			}),
		p.owned("update", "update an agent; flags you leave out change "+
			"nothing", "agent", (*store.Store).OwnerOfAgent, flags, nil,
			func(c *cli.Context, s *store.Store, id, owner string) error {
				a, err := s.UpdateAgent(c.Context, id, owner, func(a *core.Agent) error { return a.Change(agentInput(c)) })
				if err != nil {
					return err
				}
				return p.Printer(c).Record(a)
			}),
		p.owned("delete", "delete an agent; its devices stay paired", "agent", (*store.Store).OwnerOfAgent, nil, nil,
			func(c *cli.Context, s *store.Store, id, owner string) error {
				if err := s.DeleteAgent(c.Context, id, owner); err != nil {
					return err
				}
				return p.Done(c, "Agent %s deleted.", id)
			}),
	}}
}

// modelRow is a model as commands print it, with its owner's name.
type modelRow struct {
	core.Model
	Owner string `json:"owner"`
}

// asOwner reads a model with the permissions of its owner, because commands may read every model.
func asOwner(c *cli.Context, s *store.Store, id, owner string) (modelRow, error) {
	m, err := s.Model(c.Context, core.Caller{UserID: owner}, id)
	return modelRow{m.Model, m.OwnerName}, err
}

// visibilities lists the values of --visibility.
var visibilities = []string{string(core.Private), string(core.TenantVisible), string(core.PublicVisible)}

// oneModel returns a command about one model.
func (p belongings) oneModel(name, usage string, flags []cli.Flag, needed []string,
	do func(c *cli.Context, s *store.Store, id, owner string) error,
) *cli.Command {
	return p.owned(name, usage, "model", (*store.Store).OwnerOfModel, flags, needed, do)
}

func (p belongings) modelCommands() *cli.Command {
	create := p.ofOwner("create", "upload a file as a model", []cli.Flag{
		cli.String("file", "`FILE` to read, or - for standard input"),
		cli.String("name", "`NAME` of the model (default: the file's name)"),
		cli.String("description", "description as `TEXT`"),
		cli.OneOf("visibility", "`VISIBILITY`: private, tenant or public (default: private)", visibilities...),
		cli.String("content-type", "media `TYPE` of the file, for example model/stl"),
	}, []string{"file"}, p.createModel)
	create.Description = `   newsletterd admin model create --owner ann@example.org --file cube.stl --visibility public`
	return &cli.Command{
		Name: "model", Usage: "manage models (users' files) and their shares",
		Subcommands: append([]*cli.Command{
			create,
			p.ofOwner("list", "list a user's models", nil, nil,
				func(c *cli.Context, _ *config.Config, s *store.Store, u core.User) error {
					rows, err := cli.Pages(func(m core.Model) string { return strconv.FormatInt(m.No, 10) },
						func(page core.Page) ([]core.Model, error) {
							after, _ := strconv.ParseInt(page.After, 10, 64)
							return s.Models(c.Context, u.ID, after, page.Limit)
						})
					if err != nil {
						return err
					}
					return cli.List(p.Printer(c), rows, "id", "name", "visibility", "size", "content_type",
						"created_at")
				}),
			p.oneModel("show", "show a model", nil, nil, func(c *cli.Context, s *store.Store, id,
				owner string,
			) error {
				m, err := asOwner(c, s, id, owner)
				if err != nil {
					return err
				}
				return p.Printer(c).Record(m)
			}),
			p.oneModel("update", "update a model's name, description or visibility", []cli.Flag{
				cli.OneOf("visibility", "`VISIBILITY`: private, tenant or public", visibilities...),
				cli.String("name", "`NAME`"), cli.String("description", "description as `TEXT` (empty: none)"),
			}, nil, p.updateModel),
			p.oneModel("download", "download the file of a model",
				[]cli.Flag{&cli.StringFlag{
					Name: "file", Usage: "new `FILE` to write, or - for standard output",
					Value: "-",
				}}, nil, p.downloadModel),
			p.oneModel("delete", "delete a model; the next cleanup removes its file", nil, nil,
				func(c *cli.Context, s *store.Store, id, owner string) error {
					if err := s.DeleteModel(c.Context, id, owner, cli.Actor(), now()); err != nil {
						return err
					}
					return p.Done(c, "Model %s deleted.", id)
				}),
		}, p.shareCommands()...),
	}
}

func (p belongings) shareCommands() []*cli.Command {
	return []*cli.Command{
		p.oneModel("share", "share a model", []cli.Flag{
			cli.Reference("user", people.NounUser, "share with `USER`: email address, ID or name"),
			cli.String("email", "share with whoever verifies this email `ADDRESS`, now or later"),
		}, nil, func(c *cli.Context, s *store.Store, id, owner string) error {
			in := core.ShareInput{}
			if c.IsSet("user") {
				u, err := userOf(c, s, "user")
				if err != nil {
					return err
				}
				in.UserID = &u.ID
			}
			if word := cli.Given(c, "email"); word != nil {
				email, err := core.ParseEmail(*word)
				if err != nil {
					return err
				}
				in.Email = &email
			}
			u, err := s.User(c.Context, owner)
			if err != nil {
				return err
			}
			sh, err := core.NewShare(&core.Model{ID: id, OwnerID: owner}, in, core.Caller{UserID: owner, Email: u.Email}, now())
			if err == nil {
				err = s.AddShare(c.Context, sh, cli.Actor())
			}
			if err != nil {
				return err
			}
			return p.Printer(c).Record(sh)
		}),
		p.oneModel("shares", "list the shares of a model", nil, nil,
			func(c *cli.Context, s *store.Store, id, _ string) error {
				rows, err := cli.Pages(func(sh core.Share) string { return sh.ID },
					func(page core.Page) ([]core.Share, error) { return s.Shares(c.Context, id, page) })
				if err != nil {
					return err
				}
				return cli.List(p.Printer(c), rows, "id", "user_id", "email", "permission", "created_at")
			}),
		p.oneModel("unshare", "stop sharing a model",
			[]cli.Flag{cli.Reference("share", people.NounShare, "`ID` of the share")}, []string{"share"},
			func(c *cli.Context,
				s *store.Store, id, _ string,
			) error {
				if err := s.DeleteShare(c.Context, id, c.String("share"), cli.Actor(), now()); err != nil {
					return cli.Missing(err, "share", c.String("share"))
				}
				return p.Done(c, "Share removed.")
			}),
	}
}

func (p belongings) updateModel(c *cli.Context, s *store.Store, id, owner string) error {
	in := core.ModelChange{Name: cli.Given(c, "name"), Description: cli.Given(c, "description")}
	at := now()
	m, err := s.UpdateModel(c.Context, id, owner, cli.Actor(), func(m *core.Model) error { return m.Change(in, at) })
	if err == nil && c.IsSet("visibility") {
		var v core.Visibility
		if v, err = core.ParseVisibility(c.String("visibility")); err == nil {
			m, err = s.SetVisibility(c.Context, id, owner, v, cli.Actor(), at)
		}
	}
	if err != nil {
		return err
	}
	return p.Printer(c).Record(m)
}

func (p belongings) createModel(c *cli.Context, cfg *config.Config, s *store.Store, u core.User) error {
	in := core.ModelInput{
		Name: c.String("name"), Description: c.String("description"), Visibility: c.String("visibility"),
		ContentType: c.String("content-type"),
	}
	if in.Name == "" && c.String("file") != "-" {
		in.Name = filepath.Base(c.String("file"))
	}
	m, err := core.NewModel(u.ID, in, now())
	if err != nil {
		return err
	}
	file, err := p.openInput(c.String("file"))
	if err != nil {
		return err
	}
	defer file.Close()
	up := s.NewUpload(u.ID, parts.ModelLimits(cfg))
	defer up.Close(context.WithoutCancel(c.Context))
	if err := up.ReadFrom(c.Context, file, nil, now); err != nil {
		return err
	}
	if m, err = up.Commit(c.Context, m, cli.Actor()); err != nil {
		return err
	}
	return p.Printer(c).Record(modelRow{m, u.Name})
}

func (p belongings) downloadModel(c *cli.Context, s *store.Store, id, owner string) (err error) {
	m, err := asOwner(c, s, id, owner)
	if err != nil {
		return err
	}
	f := s.OpenFile(c.Context, &m.Model)
	if c.String("file") == "-" {
		_, err = io.Copy(p.Out, f)
		return err
	}
	out, err := os.OpenFile(c.String("file"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, f); err != nil {
		return errors.Join(err, out.Close(), os.Remove(c.String("file")))
	}
	if err := out.Close(); err != nil {
		return err
	}
	if cli.JSONWanted(c) {
		return p.Printer(c).Record(m)
	}
	_, err = fmt.Fprintf(p.Out, "%d bytes in %s, sha256 %s\n", m.Size, c.String("file"), m.SHA256)
	return err
}
