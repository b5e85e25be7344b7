package main

import (
	"cmp"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

func clientFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("name", "`NAME` that users see when they give consent"),
		oneOfFlag("type", "`TYPE`: public (apps, browsers) or confidential (servers; gets a secret)",
			core.ClientPublic,
			core.ClientConfidential),
		listFlag("redirect-uri", "redirect `URI` after sign-in, matched exactly (repeatable)"),
		listFlag("post-logout-redirect-uri", "redirect `URI` after sign-out (repeatable)"),
		stringFlag("scope", "`SCOPES` the client can request, separated by spaces"),
		choiceListFlag{
			&cli.StringSliceFlag{
				Name:  "grant-type",
				Usage: "`GRANT`: authorization_code, refresh_token, password or client_credentials (repeatable)",
			},
			[]string{"authorization_code", "refresh_token", "password", "client_credentials"},
		},
		oneOfFlag("auth-method", "authentication `METHOD` at the token endpoint: none, client_secret_basic or "+
			"client_secret_post", "",
			"none", "client_secret_basic", "client_secret_post"),
		oneOfFlag("id-token-alg", "`ALG` that signs ID tokens: RS256 or ES256", "RS256", "ES256"),
		boolFlag("id-token-claims", "include name and email in ID tokens (default for new clients; =false: only in "+
			"userinfo)"),
		boolFlag("first-party", "first-party client: users aren't asked for consent"),
		boolFlag("require-pkce", "require PKCE (default; =false is only allowed for confidential clients)"),
	}
}

func clientInput(c *cli.Context) core.ClientInput {
	return core.ClientInput{
		Name: given(c, "name"), ClientType: given(c, "type"), RedirectURIs: givenList(c, "redirect-uri"),
		PostLogoutRedirectURIs: givenList(c, "post-logout-redirect-uri"), Scopes: givenWords(c, "scope"),
		GrantTypes: givenList(c, "grant-type"), AuthMethod: given(c, "auth-method"),
		IDTokenAlg: given(c, "id-token-alg"), IDTokenClaims: givenBool(c, "id-token-claims"),
		FirstParty: givenBool(c, "first-party"), RequirePKCE: givenBool(c, "require-pkce"),
	}
}

// newClient is a client together with the secret that is shown once.
type newClient struct {
	core.Client
	ClientSecret string   `json:"client_secret,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
}

func (p *program) printClient(c *cli.Context, client core.Client, secret string) error {
	if secret != "" {
		p.once(c, "client_secret")
	}
	return p.printer(c).record(newClient{client, secret, client.Warnings()})
}

func (p *program) clientCommands() *cli.Command {
	create := p.command("create", "add an OAuth client",
		append([]cli.Flag{tenantFlag("limit the client to a tenant (`ID` or name; default: all tenants)")},
			clientFlags()...), []string{"name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in := clientInput(c)
			in.TenantID = given(c, "tenant")
			in.IDTokenClaims = cmp.Or(in.IDTokenClaims, new(true))
			client, secret, err := core.NewClient(in, true, now())
			if err != nil {
				return err
			}
			if err := s.AddClient(c.Context, client, actor()); err != nil {
				return missing(err, "tenant", client.TenantID)
			}
			return p.printClient(c, client, secret)
		})
	create.Description = `   newsletterd admin client create --name Shop --type confidential --redirect-uri https://shop.example/callback
   newsletterd admin client create --tenant ID --name "Shop server" --type confidential --scope "newsletter:send newsletter:list.read"`
	all := p.command("list", "list OAuth clients", []cli.Flag{tenantFlag("filter by tenant (`ID` or name)")},
		nil, p.listClients)
	show := p.command("show", "show an OAuth client", []cli.Flag{idFlag(people.NounClient)}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			client, err := s.Client(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "client", c.String("id"))
			}
			return p.printer(c).record(client)
		})
	update := p.command("update", "update an OAuth client",
		append([]cli.Flag{
			idFlag(people.NounClient), boolFlag("new-secret", "create a new secret; the previous one ends"),
			stringFlag("overlap", "with --new-secret: keep the previous secret for `DURATION`, for example 2h or 7d"),
			boolFlag("end-old-secret", "end the previous secret now"),
			boolFlag("disabled", "disable the client and end its tokens (=false: enable it; tokens stay ended)"),
		}, clientFlags()...), []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			at, secret := now(), ""
			var overlap config.Duration
			if err := overlap.UnmarshalText([]byte(c.String("overlap"))); c.IsSet("overlap") && err != nil {
				return usageError{c.Command.HelpName, "--overlap: " + err.Error()}
			}
			client, err := s.UpdateClient(c.Context, c.String("id"), actor(), func(o *core.Client) (err error) {
				in := clientInput(c)
				in.Disabled = givenBool(c, "disabled")
				secret, err = o.Change(in, true, at)
				if err == nil && c.Bool("end-old-secret") {
					err = o.EndOldSecret(true, at)
				}
				if err != nil || !c.Bool("new-secret") || secret != "" {
					return err
				}
				secret, err = o.RotateSecret(overlap.Std(), true, at)
				return err
			})
			if err != nil {
				return missing(err, "client", c.String("id"))
			}
			return p.printClient(c, client, secret)
		})
	del := p.command("delete", "delete an OAuth client and end its tokens; asks first",
		[]cli.Flag{idFlag(people.NounClient), yesFlag()}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			o, err := s.Client(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "client", c.String("id"))
			}
			err = confirmDelete(p, c, s, people.NounClient, o.ID, o.Name,
				"You can't undo this. To only disable it: newsletterd admin client update --id "+o.ID+" --disabled")
			if err != nil {
				return err
			}
			if err := s.DeleteClient(c.Context, c.String("id"), actor(), now()); err != nil {
				return missing(err, "client", c.String("id"))
			}
			return p.done(c, "Client %s deleted.", c.String("id"))
		})
	return &cli.Command{
		Name: "client", Usage: "manage OAuth clients (apps that people sign in to, and API clients)",
		Subcommands: []*cli.Command{create, all, show, update, del},
	}
}

func (p *program) listClients(c *cli.Context, _ *config.Config, s *store.Store) error {
	ids, every, err := tenantOf(c, s)
	if err != nil {
		return err
	}
	rows, err := pages(func(o core.Client) string { return o.ID }, func(page core.Page) ([]core.Client, error) {
		return s.Clients(c.Context, ids, every, page)
	})
	if err != nil {
		return err
	}
	return list(p.printer(c), rows, "id", "tenant_id", "name", "client_type", "scopes", "created_by_name", "disabled_at")
}
