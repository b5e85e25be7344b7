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
		stringFlag("url", "`URL` that events are posted to"),
		stringFlag("name", "`NAME` of the receiver"),
		referenceFlag("list", people.NounList, "only events of the list `ID` (empty: of every list)"),
		choiceListFlag{
			&cli.StringSliceFlag{
				Name:  "event",
				Usage: "only events of the `TYPE`, as subscription.unsubscribed (repeatable; empty: all)",
			},
			[]string{core.EventActivated, core.EventUnsubscribed, core.EventPreferences},
		},
	}
}

func (p *program) endpointCommands() *cli.Command {
	id := idFlag(people.NounEndpoint)
	create := p.command("create", "post a tenant's events to another receiver, too",
		append([]cli.Flag{tenantFlag("the `ID` or name of its tenant")}, endpointFlags()...), []string{
			"tenant",
			"url",
		}, p.addEndpoint)
	create.Description = `The id is in X-Client-Id of its requests; the secret signs them. docs/webhooks.md tells how a receiver checks both kinds of
signature. Addresses that are not public, and http, need the receiver's host:port in [webhooks] allow.

   newsletterd admin webhook-endpoint create --tenant ID --url https://crm.example.org/hooks/newsletter`
	all := p.command("list", "list the other receivers", []cli.Flag{tenantFlag("only those of the tenant `ID` or name")},
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
	show := p.command("show", "show one receiver", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			e, err := s.Endpoint(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "endpoint", c.String("id"))
			}
			return p.printer(c).record(endpointRow{e, ""})
		})
	update := p.command("update", "change a receiver, switch it off or on, or replace its secret", append([]cli.Flag{
		id, boolFlag("disabled", "post nothing to it (=false: go on, with what waits)"),
		boolFlag("new-secret", "give it another secret; the one before signs beside it for a while"),
		&cli.StringFlag{
			Name: "overlap", Usage: "with --new-secret: for how `LONG`, as 2h or 7d",
			Value: config.Duration(core.EndpointOverlap).String(),
		},
		boolFlag("end-old-secret", "end the secret before the newest now"),
	}, endpointFlags()...), []string{"id"}, p.updateEndpoint)
	del := p.command("delete", "delete a receiver, with what waits for it", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.DeleteEndpoint(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "endpoint", c.String("id"))
			}
			return p.done(c, "Endpoint %s is deleted.", c.String("id"))
		})
	test := p.command("test", "post an event of type webhook.test now, and show the answer", []cli.Flag{id},
		[]string{"id"}, p.testEndpoint)
	log := p.command("log", "show the attempts of the last two weeks, the newest first", []cli.Flag{
		id, boolFlag("failed", "only those that failed"), limitFlag("at most `N`", 50),
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
	log.Description = "What still waits, and what could not be delivered: newsletterd admin outbox list --endpoint ID"
	return &cli.Command{
		Name: "webhook-endpoint", Usage: "other receivers of a tenant's events",
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
		return core.Invalidf("url", "%s is not public: only [webhooks] allow lets events go there.", addr)
	}
	if u.Scheme == "http" && !guard.Allows(addr) {
		return core.Invalidf("url", "Events hold addresses of people: the URL must be https, or its host:port stand in "+
			"[webhooks] allow.")
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
		return errors.New("the endpoint did not take the event")
	}
	return nil
}
