package admin

import (
	"cmp"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/people"
)

func clientFlags() []cli.Flag {
	return []cli.Flag{
		cli.String("name", "`NAME` that users see when they give consent"),
		cli.OneOf("type", "`TYPE`: public (apps, browsers) or confidential (servers; gets a secret)",
			core.ClientPublic,
			core.ClientConfidential),
		cli.Strings("redirect-uri", "redirect `URI` after sign-in, matched exactly (repeatable)"),
		cli.Strings("post-logout-redirect-uri", "redirect `URI` after sign-out (repeatable)"),
		cli.String("scope", "`SCOPES` the client can request, separated by spaces"),
		cli.SomeOf("grant-type",
			"`GRANT`: authorization_code, refresh_token, password or client_credentials (repeatable)",
			"authorization_code", "refresh_token", "password", "client_credentials"),
		cli.OneOf("auth-method", "authentication `METHOD` at the token endpoint: none, client_secret_basic or "+
			"client_secret_post", "",
			"none", "client_secret_basic", "client_secret_post"),
		cli.OneOf("id-token-alg", "`ALG` that signs ID tokens: RS256 or ES256", "RS256", "ES256"),
		cli.Bool("id-token-claims", "include name and email in ID tokens (default for new clients; =false: only in "+
			"userinfo)"),
		cli.Bool("first-party", "first-party client: users aren't asked for consent"),
		cli.Bool("require-pkce", "require PKCE (default; =false is only allowed for confidential clients)"),
	}
}

func clientInput(c *cli.Context) core.ClientInput {
	return core.ClientInput{
		Name: cli.Given(c, "name"), ClientType: cli.Given(c, "type"), RedirectURIs: cli.GivenList(c, "redirect-uri"),
		PostLogoutRedirectURIs: cli.GivenList(c, "post-logout-redirect-uri"), Scopes: cli.GivenWords(c, "scope"),
		GrantTypes: cli.GivenList(c, "grant-type"), AuthMethod: cli.Given(c, "auth-method"),
		IDTokenAlg: cli.Given(c, "id-token-alg"), IDTokenClaims: cli.GivenBool(c, "id-token-claims"),
		FirstParty: cli.GivenBool(c, "first-party"), RequirePKCE: cli.GivenBool(c, "require-pkce"),
	}
}

// newClient is the output for a client with a new secret, which is shown only once.
type newClient struct {
	core.Client
	ClientSecret string   `json:"client_secret,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
}

func (p commands) printClient(c *cli.Context, client core.Client, secret string) error {
	if secret != "" {
		p.Once(c, "client_secret")
	}
	return p.Printer(c).Record(newClient{client, secret, client.Warnings()})
}

func (p commands) clientCommands() *cli.Command {
	create := p.Command("create", "add an OAuth client",
		append([]cli.Flag{cli.Tenant("limit the client to a tenant (`ID` or name; default: all tenants)")},
			clientFlags()...), []string{"name"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			in := clientInput(c)
			in.TenantID = cli.Given(c, "tenant")
			in.IDTokenClaims = cmp.Or(in.IDTokenClaims, new(true))
			client, secret, err := core.NewClient(in, true, now())
			if err != nil {
				return err
			}
			if err := s.AddClient(c.Context, client, cli.Actor()); err != nil {
				return cli.Missing(err, "tenant", client.TenantID)
			}
			return p.printClient(c, client, secret)
		})
	create.Description = `   newsletterd admin client create --name Shop --type confidential ` +
		`--redirect-uri https://shop.example/callback
   newsletterd admin client create --tenant ID --name "Shop server" --type confidential ` +
		`--scope "newsletter:send newsletter:list.read"`
	all := p.Command("list", "list OAuth clients", []cli.Flag{cli.Tenant("filter by tenant (`ID` or name)")},
		nil, p.listClients)
	show := p.Command("show", "show an OAuth client", []cli.Flag{cli.ID(people.NounClient)},
		[]string{"id"}, p.showClient)
	update := p.Command("update", "update an OAuth client",
		append([]cli.Flag{
			cli.ID(people.NounClient), cli.Bool("new-secret", "create a new secret; the previous one stops working"),
			cli.String("overlap", "with --new-secret: keep the previous secret for `DURATION`, for example 2h or 7d"),
			cli.Bool("end-old-secret", "revoke the previous secret now"),
			cli.Bool("disabled", "disable the client and revoke its tokens (=false: enable it; tokens stay revoked)"),
		}, clientFlags()...), []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
			at, secret := now(), ""
			var overlap config.Duration
			if err := overlap.UnmarshalText([]byte(c.String("overlap"))); c.IsSet("overlap") && err != nil {
				return cli.UsageError(c, "--overlap: "+err.Error())
			}
			client, err := s.UpdateClient(c.Context, c.String("id"), cli.Actor(), func(o *core.Client) (err error) {
				in := clientInput(c)
				in.Disabled = cli.GivenBool(c, "disabled")
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
				return cli.Missing(err, "client", c.String("id"))
			}
			return p.printClient(c, client, secret)
		})
	del := p.Command("delete", "delete an OAuth client and revoke its tokens (asks for confirmation)",
		[]cli.Flag{cli.ID(people.NounClient), cli.Yes()}, []string{"id"},
		func(c *cli.Context, _ *config.Config, s *store.Store) error {
			o, err := s.Client(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "client", c.String("id"))
			}
			err = confirmDelete(p, c, s, people.NounClient, o.ID, o.Name,
				"You can't undo this. To only disable it: newsletterd admin client update --id "+o.ID+" --disabled")
			if err != nil {
				return err
			}
			if err := s.DeleteClient(c.Context, c.String("id"), cli.Actor(), now()); err != nil {
				return cli.Missing(err, "client", c.String("id"))
			}
			return p.Done(c, "Client %s deleted.", c.String("id"))
		})
	return &cli.Command{
		Name: "client", Usage: "manage OAuth clients (apps that people sign in to, and API clients)",
		Subcommands: []*cli.Command{create, all, show, update, del},
	}
}

func (p commands) showClient(c *cli.Context, _ *config.Config, s *store.Store) error {
	client, err := s.Client(c.Context, c.String("id"))
	if err != nil {
		return cli.Missing(err, "client", c.String("id"))
	}
	return p.Printer(c).Record(client)
}

func (p commands) listClients(c *cli.Context, _ *config.Config, s *store.Store) error {
	rows, err := cli.PagesOfTenant(c, s, func(o core.Client) string { return o.ID }, s.Clients)
	if err != nil {
		return err
	}
	return cli.List(p.Printer(c), rows, "id", "tenant_id", "name", "client_type", "scopes", "created_by_name",
		"disabled_at")
}
