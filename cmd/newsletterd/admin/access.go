package admin

import (
	"fmt"
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// newWebhookClient is the output for a new webhook client, with its secret, which is shown only once.
type newWebhookClient struct {
	core.WebhookClient
	Secret string `json:"secret,omitempty"`
}

func (p commands) webhookClientCommands() *cli.Command {
	create := p.Command("create", "add a webhook source", []cli.Flag{
		cli.Tenant("limit the source to a tenant (`ID` or name; default: all tenants)"),
		cli.String("name", "`NAME` of the source"),
	}, []string{"name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		secret := auth.NewSecret()
		key, err := auth.ParseSecret(secret)
		if err != nil {
			return err
		}
		w, err := s.AddWebhookClient(c.Context, c.String("tenant"), c.String("name"), key, cli.Actor(), now())
		if err != nil {
			return cli.Missing(err, "tenant", c.String("tenant"))
		}
		p.Once(c, "secret")
		return p.Printer(c).Record(newWebhookClient{w, secret})
	})
	create.Description = `The source sends the ID in the X-Client-Id header and signs with the secret.

   newsletterd admin webhook-client create --tenant ID --name "member service"`
	all := p.Command("list", "list webhook sources", nil, nil, func(c *cli.Context, _ *config.Config,
		s *store.Store,
	) error {
		rows, err := cli.Pages(func(w core.WebhookClient) string { return w.ID },
			func(page core.Page) ([]core.WebhookClient, error) {
				return s.WebhookClients(c.Context, page)
			})
		if err != nil {
			return err
		}
		return cli.List(p.Printer(c), rows, "id", "tenant_id", "name", "disabled_at", "created_at")
	})
	show := p.Command("show", "show a webhook source", []cli.Flag{cli.ID(people.NounWebhookClient)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			return p.printWebhookClient(c, s, "")
		})
	update := p.Command("update", "rename or disable a webhook source, or rotate its secret", []cli.Flag{
		cli.ID(people.NounWebhookClient), cli.String("name", "new `NAME`"),
		cli.Bool("disabled", "reject its requests with 403 (=false: accept them again)"),
		cli.Bool("new-secret", "create a new secret; the previous one stays valid until you revoke it"),
		cli.Bool("end-old-secret", "revoke the previous secret"),
	}, []string{"id"}, p.updateWebhookClient)
	del := p.deleteCommand("delete a webhook source", people.NounWebhookClient, "Webhook source",
		(*store.Store).DeleteWebhookClient)
	return &cli.Command{
		Name: "webhook-client", Usage: "manage webhook sources (systems that send signed events)",
		Subcommands: []*cli.Command{create, all, show, update, del},
	}
}

func (p commands) updateWebhookClient(c *cli.Context, _ *config.Config, s *store.Store) (err error) {
	id, secret := c.String("id"), ""
	if c.Bool("new-secret") {
		if c.Bool("end-old-secret") { // end an earlier old secret, because it would block the rotation
			if err := s.EndWebhookRotation(c.Context, id, cli.Actor(), now()); err != nil {
				return cli.Missing(err, "webhook client", id)
			}
		}
		secret = auth.NewSecret()
		key, err := auth.ParseSecret(secret)
		if err != nil {
			return err
		}
		err = s.RotateWebhookSecret(c.Context, id, key, cli.Actor(), now())
		if err != nil {
			return cli.Missing(err, "webhook client", id)
		}
		p.Once(c, "secret")
	}
	if c.Bool("end-old-secret") {
		if err := s.EndWebhookRotation(c.Context, id, cli.Actor(), now()); err != nil {
			return cli.Missing(err, "webhook client", id)
		}
	}
	change := tenants.WebhookClientChange{Disabled: cli.GivenBool(c, "disabled"), Name: cli.Given(c, "name")}
	if change.Disabled != nil || change.Name != nil {
		if err := s.UpdateWebhookClient(c.Context, id, change, cli.Actor(), now()); err != nil {
			return cli.Missing(err, "webhook client", id)
		}
	}
	return p.printWebhookClient(c, s, secret)
}

func (p commands) printWebhookClient(c *cli.Context, s *store.Store, secret string) error {
	w, err := s.WebhookClient(c.Context, c.String("id"))
	if err != nil {
		return cli.Missing(err, "webhook client", c.String("id"))
	}
	return p.Printer(c).Record(newWebhookClient{w, secret})
}

// newToken is the output for a new access token for scripts. Its id is needed to revoke it.
type newToken struct {
	ID          string       `json:"id"`
	AccessToken string       `json:"access_token"`
	TokenType   string       `json:"token_type"`
	Scope       string       `json:"scope"`
	ExpiresAt   core.Instant `json:"expires_at"`
}

const (
	tokenTTL    = time.Hour
	maxTokenTTL = 366 * 24 * time.Hour
)

func (p commands) tokenCommands() *cli.Command {
	create := p.Command("create", "create an access token for scripts", []cli.Flag{
		cli.Reference("user", people.NounUser, "owner of the token: `USER` by email address or ID"),
		cli.String("scope", "`SCOPES`, separated by spaces (default: all that the user's roles allow)"),
		&cli.StringFlag{
			Name: "ttl", Usage: "lifetime as `DURATION`, for example 30m, 12h or 90d",
			Value: config.Duration(tokenTTL).String(),
		},
	}, []string{"user"}, p.createToken)
	write := create.Action
	create.Action = func(c *cli.Context) error { // report a wrong flag before the database is opened
		if _, err := ttlOf(c); err != nil {
			return err
		}
		return write(c)
	}
	create.Description = `Whenever the token is used, it has the user's current permissions. To revoke
it early: newsletterd admin token revoke --id ID

   TOKEN=$(newsletterd admin token create --user you@example.org --scope admin --ttl 12h)
   curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/api/admin/tenants`
	revoke := p.Command("revoke", "revoke an access token", []cli.Flag{cli.ID(people.NounToken)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			if err := s.RevokeFamily(db.By(c.Context, cli.Actor(), now()), c.String("id"), now()); err != nil {
				return cli.Missing(err, "token", c.String("id"))
			}
			return p.Done(c, "Token %s revoked.", c.String("id"))
		})
	return &cli.Command{Name: "token", Usage: "manage access tokens for " +
		"scripts", Subcommands: []*cli.Command{create, revoke}}
}

func (p commands) createToken(c *cli.Context, cfg *config.Config, s *store.Store) error {
	ttl, err := ttlOf(c)
	if err != nil {
		return err
	}
	u, err := userOf(c, s, "user")
	if err != nil {
		return err
	}
	conf := parts.AuthConfig(cfg)
	if conf.Issuer, err = p.daemonIssuer(c, s, conf.Issuer); err != nil {
		return err
	}
	provider, err := auth.New(c.Context, s, conf, now())
	if err != nil {
		return err
	}
	at := now()
	t, id, err := provider.AdminToken(c.Context, u, c.String("scope"), ttl, at)
	if err != nil {
		return err
	}
	if out := p.Printer(c); out.JSON {
		until := at.Add(time.Duration(t.ExpiresIn) * time.Second)
		return out.Value(newToken{id, t.AccessToken, t.TokenType, t.Scope, until})
	}
	// Only the token goes to standard output, for use in a shell; the rest goes to standard error.
	if _, err := p.Out.Write([]byte(t.AccessToken + "\n")); err != nil {
		return err
	}
	_, err = p.Err.Write([]byte("id " + id + ", scope " + t.Scope + "\n"))
	return err
}

// daemonIssuer returns the issuer that the daemon used when it last started, because the daemon accepts only tokens
// from that issuer. Before the first start, it returns own, the issuer in this command's configuration. If the two
// differ, it prints a note on standard error.
func (p commands) daemonIssuer(c *cli.Context, s *store.Store, own string) (string, error) {
	issuer, err := s.Issuer(c.Context)
	if err != nil || issuer == "" || issuer == own {
		return own, err
	}
	_, err = fmt.Fprintf(p.Err,
		"note: The token is for %s, the URL the daemon last started with, but this configuration sets %s. After you "+
			"restart the daemon with it, create a new token.\n", issuer, own)
	return issuer, err
}

func ttlOf(c *cli.Context) (time.Duration, error) {
	var ttl config.Duration
	if err := ttl.UnmarshalText([]byte(c.String("ttl"))); err != nil {
		return 0, cli.UsageError(c, "--ttl: "+err.Error())
	}
	if ttl.Std() > maxTokenTTL {
		return 0, cli.UsageError(c, "--ttl must be at most "+config.Duration(maxTokenTTL).String())
	}
	return ttl.Std(), nil
}
