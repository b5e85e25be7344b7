package main

import (
	"errors"
	"net/url"

	"github.com/urfave/cli/v2"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/netguard"
	"newsletterd/store"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
	"newsletterd/worker"
)

// endpointRow is an endpoint together with the secret that is shown once.
type endpointRow struct {
	core.Endpoint
	Secret string `json:"secret,omitempty"`
}

func endpointFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("url", "endpoint `URL` that receives events"),
		stringFlag("name", "`NAME` of the endpoint"),
		referenceFlag("list", people.NounList, "only send events of the list `ID` (default: all lists)"),
		choiceListFlag{
			&cli.StringSliceFlag{
				Name: "event",
				Usage: "only send events of this `TYPE`, for example subscription.unsubscribed (repeatable; default: " +
					"all)",
			},
			[]string{core.EventActivated, core.EventUnsubscribed, core.EventPreferences},
		},
	}
}

func (p *program) endpointCommands() *cli.Command {
	id := idFlag(people.NounEndpoint)
	create := p.command("create", "add a webhook endpoint to a tenant",
		append([]cli.Flag{tenantFlag("tenant (`ID` or name)")}, endpointFlags()...), []string{
			"tenant",
			"url",
		}, p.addEndpoint)
	create.Description = `Requests carry the ID in the X-Client-Id header and are signed with the
secret. Private addresses and plain http must be listed as host:port in
[webhooks] allow.

   newsletterd admin webhook-endpoint create --tenant ID --url https://crm.example.org/hooks/newsletter`
	all := p.command("list", "list webhook endpoints", []cli.Flag{tenantFlag("filter by tenant (`ID` or name)")},
		nil, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			ids, every, err := tenantOf(c, s)
			if err != nil {
				return err
			}
			rows, err := pages(func(e core.Endpoint) string { return e.ID }, func(page core.Page) ([]core.Endpoint, error) {
				return s.Endpoints(c.Context, ids, every, page)
			})
			if err != nil {
				return err
			}
			for i := range rows {
				rows[i].URL = core.MaskURL(rows[i].URL)
			}
			return list(p.printer(c), rows, "id", "tenant_id", "name", "url", "waiting", "failing_since", "created_by_name",
				"disabled_at")
		})
	show := p.command("show", "show a webhook endpoint", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			e, err := s.Endpoint(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "endpoint", c.String("id"))
			}
			return p.printer(c).record(endpointRow{e, ""})
		})
	update := p.command("update", "update or disable a webhook endpoint, or rotate its secret", append([]cli.Flag{
		id, boolFlag("disabled", "stop sending events (=false: resume, including queued events)"),
		boolFlag("new-secret", "create a new secret; both sign for a while"),
		&cli.StringFlag{
			Name: "overlap", Usage: "with --new-secret: sign with both secrets for `DURATION`, for example 2h or 7d",
			Value: config.Duration(core.EndpointOverlap).String(),
		},
		boolFlag("end-old-secret", "end the previous secret now"),
	}, endpointFlags()...), []string{"id"}, p.updateEndpoint)
	del := p.command("delete", "delete a webhook endpoint and its queued events", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteEndpoint(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "endpoint", c.String("id"))
			}
			return p.done(c, "Webhook endpoint %s deleted.", c.String("id"))
		})
	test := p.command("test", "send a webhook.test event and show the response", []cli.Flag{id},
		[]string{"id"}, p.testEndpoint)
	log := p.command("log", "show delivery attempts of the last two weeks, newest first", []cli.Flag{
		id, boolFlag("failed", "only failed attempts"), limitFlag("show at most `N`", 50),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if _, err := s.Endpoint(c.Context, c.String("id")); err != nil {
			return missing(err, "endpoint", c.String("id"))
		}
		limit, err := limitOf(c)
		if err != nil {
			return err
		}
		rows, err := s.EndpointAttempts(c.Context, c.String("id"), c.Bool("failed"), core.Page{Limit: limit})
		if err != nil {
			return err
		}
		return list(p.printer(c), rows, "at", "event_id", "event_type", "outcome", "status", "took_ms", "reason")
	})
	log.Description = "To see queued and failed events: newsletterd admin outbox list --endpoint ID"
	return &cli.Command{
		Name: "webhook-endpoint", Usage: "manage webhook endpoints (systems that receive events)",
		Subcommands: []*cli.Command{create, all, show, update, del, test, log},
	}
}

func endpointInput(c *cli.Context) core.EndpointInput {
	return core.EndpointInput{
		Name: given(c, "name"), URL: given(c, "url"), ListID: given(c, "list"),
		Events: givenList(c, "event"),
	}
}

// mayPost refuses, before the first attempt, what the guard would refuse at each.
func mayPost(cfg *config.Config, text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil // the record's own check says it better
	}
	guard := netguard.Guard{Allow: cfg.Webhooks.Allow}
	addr := netguard.HostPort(u)
	if err := guard.Check(addr); err != nil {
		return core.Invalidf("url", "%s is not public. To allow it, add it to [webhooks] allow.", addr)
	}
	if u.Scheme == "http" && !guard.Allows(addr) {
		return core.Invalidf("url", "The URL is not https, but events contain personal data. Use https, or add its "+
			"host:port to [webhooks] allow.")
	}
	return nil
}

func (p *program) addEndpoint(c *cli.Context, cfg *config.Config, s *store.Store) error {
	at := now()
	e := core.Endpoint{ID: core.NewID(), TenantID: c.String("tenant"), CreatedAt: at}
	if err := e.Change(endpointInput(c), at); err != nil {
		return err
	}
	if err := mayPost(cfg, e.URL); err != nil {
		return err
	}
	secret, key, err := freshSecret()
	if err == nil {
		err = s.AddEndpoint(c.Context, e, key, actor())
	}
	if err != nil {
		return missing(err, "tenant", e.TenantID)
	}
	p.once(c, "secret")
	return p.printer(c).record(endpointRow{e, secret})
}

func freshSecret() (secret string, key []byte, err error) {
	secret = auth.NewSecret()
	key, err = auth.ParseSecret(secret)
	return secret, key, err
}

func (p *program) updateEndpoint(c *cli.Context, cfg *config.Config, s *store.Store) (err error) {
	change, secret := tenants.EndpointChange{
		EndpointInput: endpointInput(c), Disabled: givenBool(c, "disabled"),
		EndOld: c.Bool("end-old-secret"),
	}, ""
	if change.URL != nil {
		if err := mayPost(cfg, *change.URL); err != nil {
			return err
		}
	}
	if c.Bool("new-secret") {
		var overlap config.Duration
		if err := overlap.UnmarshalText([]byte(c.String("overlap"))); err != nil {
			return usageError{c.Command.HelpName, "--overlap: " + err.Error()}
		}
		change.Overlap = overlap.Std()
		if secret, change.NewKey, err = freshSecret(); err != nil {
			return err
		}
	}
	e, err := s.UpdateEndpoint(c.Context, c.String("id"), change, actor(), now())
	if err != nil {
		return missing(err, "endpoint", c.String("id"))
	}
	if secret != "" {
		p.once(c, "secret")
	}
	return p.printer(c).record(endpointRow{e, secret})
}

func (p *program) testEndpoint(c *cli.Context, cfg *config.Config, s *store.Store) error {
	result, err := worker.NewEndpointPoster(s, endpointClient(cfg)).Test(c.Context, c.String("id"))
	if err != nil {
		return missing(err, "endpoint", c.String("id"))
	}
	if err := p.printer(c).record(result); err != nil {
		return err
	}
	if result.Reason != "" {
		return errors.New("the endpoint didn't accept the event")
	}
	return nil
}
