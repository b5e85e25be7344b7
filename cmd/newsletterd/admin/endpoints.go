package admin

import (
	"errors"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
	"newsletterd/worker"
)

// endpointRow is a webhook endpoint as commands print it. Secret is set only for a new secret, which is shown only
// once.
type endpointRow struct {
	core.Endpoint
	Secret string `json:"secret,omitempty"`
}

func endpointFlags() []cli.Flag {
	return []cli.Flag{
		cli.String("url", "endpoint `URL` that receives events"),
		cli.String("name", "`NAME` of the endpoint"),
		cli.Reference("list", people.NounList, "only send events of the list `ID` (default: all lists)"),
		cli.SomeOf("event",
			"only send events of this `TYPE`, for example subscription.unsubscribed (repeatable; default: all)",
			core.EventActivated, core.EventUnsubscribed, core.EventPreferences),
	}
}

func (p commands) endpointCommands() *cli.Command {
	id := cli.ID(people.NounEndpoint)
	create := p.Command("create", "add a webhook endpoint to a tenant",
		append([]cli.Flag{cli.Tenant("tenant (`ID` or name)")}, endpointFlags()...), []string{
			"tenant",
			"url",
		}, p.addEndpoint)
	create.Description = `Requests carry the ID in the X-Client-Id header and are signed with the
secret. To send to a private address or over plain http, add its host:port to
[webhooks] allow.

   newsletterd admin webhook-endpoint create --tenant ID --url https://crm.example.org/hooks/newsletter`
	all := p.Command("list", "list webhook endpoints", []cli.Flag{cli.Tenant("filter by tenant (`ID` or name)")},
		nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			rows, err := cli.PagesOfTenant(c, s, func(e core.Endpoint) string { return e.ID }, s.Endpoints)
			if err != nil {
				return err
			}
			for i := range rows {
				rows[i].URL = core.MaskURL(rows[i].URL)
			}
			return cli.List(p.Printer(c), rows, "id", "tenant_id", "name", "url", "waiting", "failing_since",
				"created_by_name", "disabled_at")
		})
	show := p.Command("show", "show a webhook endpoint", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			e, err := s.Endpoint(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "endpoint", c.String("id"))
			}
			return p.Printer(c).Record(endpointRow{e, ""})
		})
	update := p.Command("update", "update or disable a webhook endpoint, or rotate its secret", append([]cli.Flag{
		id, cli.Bool("disabled", "stop sending events (=false: resume, including queued events)"),
		cli.Bool("new-secret", "create a new secret; for a while, events are signed with both"),
		&cli.StringFlag{
			Name: "overlap", Usage: "with --new-secret: sign with both secrets for `DURATION`, for example 2h or 7d",
			Value: config.Duration(core.EndpointOverlap).String(),
		},
		cli.Bool("end-old-secret", "revoke the previous secret now"),
	}, endpointFlags()...), []string{"id"}, p.updateEndpoint)
	del := p.deleteCommand("delete a webhook endpoint and its queued events", people.NounEndpoint, "Webhook endpoint",
		(*store.Store).DeleteEndpoint)
	test := p.Command("test", "send a webhook.test event and show the response", []cli.Flag{id},
		[]string{"id"}, p.testEndpoint)
	log := p.Command("log", "show delivery attempts from the last 14 days, newest first", []cli.Flag{
		id, cli.Bool("failed", "only failed attempts"), cli.Limit("show at most `N`", 50),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if _, err := s.Endpoint(c.Context, c.String("id")); err != nil {
			return cli.Missing(err, "endpoint", c.String("id"))
		}
		limit, err := cli.LimitOf(c)
		if err != nil {
			return err
		}
		rows, err := s.EndpointAttempts(c.Context, c.String("id"), c.Bool("failed"), core.Page{Limit: limit})
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), rows, "at", "event_id", "event_type", "outcome", "status", "took_ms", "reason")
	})
	log.Description = "To see queued and failed events: newsletterd admin outbox list --endpoint ID"
	return &cli.Command{
		Name: "webhook-endpoint", Usage: "manage webhook endpoints (systems that receive events)",
		Subcommands: []*cli.Command{create, all, show, update, del, test, log},
	}
}

func endpointInput(c *cli.Context) core.EndpointInput {
	return core.EndpointInput{
		Name: cli.Given(c, "name"), URL: cli.Given(c, "url"), ListID: cli.Given(c, "list"),
		Events: cli.GivenList(c, "event"),
	}
}

func (p commands) addEndpoint(c *cli.Context, cfg *config.Config, s *store.Store) error {
	at := now()
	e := core.Endpoint{ID: core.NewID(), TenantID: c.String("tenant"), CreatedAt: at}
	if err := e.Change(endpointInput(c), at); err != nil {
		return err
	}
	if err := parts.MayPost(cfg, e.URL); err != nil {
		return err
	}
	secret, key, err := freshSecret()
	if err == nil {
		err = s.AddEndpoint(c.Context, e, key, cli.Actor())
	}
	if err != nil {
		return cli.Missing(err, "tenant", e.TenantID)
	}
	p.Once(c, "secret")
	return p.Printer(c).Record(endpointRow{e, secret})
}

func freshSecret() (secret string, key []byte, err error) {
	secret = auth.NewSecret()
	key, err = auth.ParseSecret(secret)
	return secret, key, err
}

func (p commands) updateEndpoint(c *cli.Context, cfg *config.Config, s *store.Store) (err error) {
	change, secret := tenants.EndpointChange{
		EndpointInput: endpointInput(c), Disabled: cli.GivenBool(c, "disabled"),
		EndOld: c.Bool("end-old-secret"),
	}, ""
	if change.URL != nil {
		if err := parts.MayPost(cfg, *change.URL); err != nil {
			return err
		}
	}
	if c.Bool("new-secret") {
		var overlap config.Duration
		if err := overlap.UnmarshalText([]byte(c.String("overlap"))); err != nil {
			return cli.UsageError(c, "--overlap: "+err.Error())
		}
		change.Overlap = overlap.Std()
		if secret, change.NewKey, err = freshSecret(); err != nil {
			return err
		}
	}
	e, err := s.UpdateEndpoint(c.Context, c.String("id"), change, cli.Actor(), now())
	if err != nil {
		return cli.Missing(err, "endpoint", c.String("id"))
	}
	if secret != "" {
		p.Once(c, "secret")
	}
	return p.Printer(c).Record(endpointRow{e, secret})
}

func (p commands) testEndpoint(c *cli.Context, cfg *config.Config, s *store.Store) error {
	result, err := worker.NewEndpointPoster(s, parts.EndpointClient(cfg)).Test(c.Context, c.String("id"))
	if err != nil {
		return cli.Missing(err, "endpoint", c.String("id"))
	}
	if err := p.Printer(c).Record(result); err != nil {
		return err
	}
	if result.Reason != "" {
		return errors.New("the endpoint didn't accept the event. Check the reason above")
	}
	return nil
}
