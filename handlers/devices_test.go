package handlers

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Steps for devices. A person is a user in the database, with a token {NAME} and an id {NAME.id}.
func init() {
	steps["person"] = func(e *env, name string, args map[string]string) {
		u := core.NewUser(core.Email(argOr(args, "email", name+"@owner.example")), 1)
		u.EmailVerified = args["verified"] != "false"
		u.Name = strings.ToUpper(name[:1]) + name[1:]
		e.must(e.store.AddUser(e.t.Context(), u, "", 1))
		e.name(name, "token-of-"+name)
		e.name(name+".id", u.ID)
		e.callers["token-of-"+name] = core.Caller{
			UserID: u.ID, Email: u.Email, EmailVerified: u.EmailVerified, ClientID: core.BuiltInClientID, FirstParty: true,
			Scopes: strings.Fields(argOr(args, "scopes", strings.Join(core.UserScopes, " "))),
		}
	}
	steps["program"] = func(e *env, name string, _ map[string]string) {
		e.name(name, "token-of-"+name)
		e.callers["token-of-"+name] = core.Caller{ClientID: core.NewID(), Scopes: []string{core.ScopeSend}}
	}
	steps["device"] = func(e *env, name string, args map[string]string) {
		owner, _ := core.ParseID(e.value(args["owner"] + ".id"))
		d, err := core.NewDevice(owner, core.DeviceInput{Name: &name}, 1)
		e.must(err)
		_, d.Representative = args["representative"]
		if _, d.Registered = args["registered"]; d.Registered {
			d.RegisteredAt = 2
		}
		e.must(e.store.AddDevice(e.t.Context(), d))
		if _, ok := args["unpaired"]; ok {
			e.must(e.store.UnpairDevice(e.t.Context(), d.ID, owner, 3))
		}
		e.name(name, d.ID)
	}
	steps["agent"] = func(e *env, name string, args map[string]string) {
		a, err := core.NewAgent(e.value(args["owner"]+".id"), core.AgentInput{Name: &name}, 1)
		e.must(err)
		e.must(e.store.AddAgent(e.t.Context(), a))
		e.name(name, a.ID)
	}
	steps["model"] = func(e *env, name string, args map[string]string) {
		m := e.model(name, args["owner"], args["visibility"], argOr(args, "file", "content of "+name))
		e.name(name, m.ID)
	}
	steps["share"] = func(e *env, name string, args map[string]string) {
		var in core.ShareInput
		if with := args["with"]; with != "" {
			in.UserID = new(e.value(with + ".id"))
		} else {
			in.Email = new(core.Email(args["email"]))
		}
		m := core.Model{ID: e.value(args["model"])}
		s, err := core.NewShare(&m, in, core.Caller{}, 1)
		e.must(err)
		e.must(e.store.AddShare(e.t.Context(), s, "command"))
		e.name(name, s.ID)
	}
	steps["busy-uploads"] = func(e *env, name string, _ map[string]string) {
		for range web.UploadsPerUser {
			_, err := e.handler.uploads.Begin(e.value(name+".id"), netip.Addr{})
			e.must(err)
		}
	}
	const modelsPerOwner = 40
	steps["user-models"] = func(e *env, name string, _ map[string]string) {
		for range modelsPerOwner {
			e.model("Cube", name, "", "")
		}
	}
	setups = append(setups, func(_ *env, o *Options) {
		o.ModelLimits = core.ModelLimits{Bytes: 2000, BytesPerOwner: 3000, PerOwner: modelsPerOwner}
	})
}

// model stores a model with a file of a few bytes.
func (e *env) model(name, owner, visibility, file string) core.Model {
	ctx := context.Background()
	m, err := core.NewModel(e.value(owner+".id"),
		core.ModelInput{Name: name, Visibility: visibility, ContentType: "text/plain"},
		core.At(time.Unix(1700000000, 0)))
	e.must(err)
	u := e.store.NewUpload(m.OwnerID, core.ModelLimits{Bytes: 1 << 40, BytesPerOwner: 1 << 40})
	defer u.Close(ctx)
	e.must(u.ReadFrom(ctx, strings.NewReader(file), nil, func() core.Instant { return 1 }))
	m, err = u.Commit(ctx, m, "command")
	e.must(err)
	return m
}

// user-agents gives a person a number of agents.
func init() {
	steps["user-agents"] = func(e *env, name string, _ map[string]string) {
		for range core.MaxAgents {
			a, err := core.NewAgent(e.value(name+".id"), core.AgentInput{Name: &name}, 1)
			e.must(err)
			e.must(e.store.AddAgent(e.t.Context(), a))
		}
	}
}
