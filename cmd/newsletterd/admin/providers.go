package admin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/mail/report"
	"newsletterd/store"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// providerRow is a provider as commands print it. Its ID is its name.
type providerRow struct {
	ID string `json:"id"`
	core.Provider
	Source  string   `json:"source"` // database, or configuration
	URL     string   `json:"url"`    // of its webhook
	Secret  string   `json:"secret,omitempty"`
	Secrets []string `json:"secrets,omitempty"`
}

func (p commands) providerCommands() *cli.Command {
	return &cli.Command{
		Name: "provider", Usage: "manage mail providers, which report deliveries and bounces",
		Subcommands: []*cli.Command{
			p.providerCreateCommand(), p.providerListCommand(), p.providerShowCommand(), p.providerUpdateCommand(),
			p.providerDeleteCommand(),
		},
	}
}

func topicFlag() cli.Flag {
	return cli.Strings("topic", "`ARN` of an SNS topic, for kind ses (repeatable)")
}

func secretFlag() cli.Flag {
	return cli.Bool("secret-stdin", "read the provider's secret from standard input")
}

func (p commands) providerCreateCommand() *cli.Command {
	c := p.Command("create", "add a mail provider", []cli.Flag{
		cli.String("name", "`NAME`, used in the webhook path /webhooks/NAME"),
		cli.OneOf("kind", "`KIND`: "+strings.Join(report.Names(), ", "),
			report.Names()...).ByDefault(report.KindGeneric),
		cli.Tenant("limit the provider to a tenant (`ID` or name; default: all tenants)"), topicFlag(), secretFlag(),
	}, []string{"name"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		kind := report.KindOf(c.String("kind"))
		secret, err := p.providerSecret(c, kind, c.Bool("secret-stdin"))
		if err != nil {
			return err
		}
		record := core.Provider{
			Name: c.String("name"), Kind: kind.Name, TenantID: c.String("tenant"),
			Topics: c.StringSlice("topic"),
		}
		if err := kind.CheckTopics(record.Topics); err != nil {
			return err
		}
		if err := s.AddProvider(c.Context, record, secret, cli.Actor(), now()); err != nil {
			return cli.Missing(err, "tenant", c.String("tenant"))
		}
		if secret != "" && !c.Bool("secret-stdin") {
			p.Once(c, "secret")
			return p.printProvider(c, cfg, s, record.Name, secret)
		}
		return p.printProvider(c, cfg, s, record.Name, "")
	})
	c.Description = `For kind generic a secret is created and printed. For other kinds the
provider issues the secret: pass it on standard input.

   newsletterd admin provider create --name mymailer
   newsletterd admin provider create --name eu-mailgun --kind mailgun --tenant ID --secret-stdin < key
   newsletterd admin provider create --name ses --kind ses --topic arn:aws:sns:eu-west-1:123456789012:bounces`
	return c
}

// providerSecret reads the secret from standard input, or generates one if the kind allows that.
func (p commands) providerSecret(c *cli.Context, kind *report.Kind, given bool) (string, error) {
	switch {
	case given:
		secret, err := p.Password(c.Context, "Secret of the provider")
		if err != nil {
			return "", err
		}
		return secret, kind.CheckSecrets([]string{secret})
	case kind.Secret.Check == nil:
		return "", nil
	case kind.Secret.Fresh == nil:
		return "", cli.UsageError(c, "--secret-stdin is missing: "+kind.Secret.Help)
	}
	return kind.Secret.Fresh(), nil
}

func (p commands) providerListCommand() *cli.Command {
	return p.Command("list", "list mail providers", nil, nil,
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			kept, err := keptProviders(c, s)
			if err != nil {
				return err
			}
			byName := map[string]providerRow{}
			for _, record := range kept {
				byName[record.Name] = newProviderRow(cfg, record, "database")
			}
			for name, record := range parts.Providers(cfg) { // they override those in the database
				byName[name] = newProviderRow(cfg, record.Provider, "configuration")
			}
			rows := []providerRow{}
			for _, name := range slices.Sorted(maps.Keys(byName)) {
				rows = append(rows, byName[name])
			}
			return cli.List(p.Printer(c), rows, "name", "kind", "tenant_id", "source", "disabled_at", "url")
		})
}

func newProviderRow(cfg *config.Config, p core.Provider, source string) providerRow {
	return providerRow{ID: p.Name, Provider: p, Source: source, URL: cfg.Origin() + "/webhooks/" + p.Name}
}

// oneProvider returns a command about one provider. --name and --id mean the same, because the name is the ID.
func (p commands) oneProvider(
	name, usage string, flags []cli.Flag, run func(c *cli.Context, cfg *config.Config, s *store.Store, name string) error,
) *cli.Command {
	flags = append([]cli.Flag{&cli.StringFlag{
		Name: "name", Aliases: []string{"id"},
		Usage: "`NAME` of the provider, or its first letters",
	}}, flags...)
	return p.Command(name, usage, flags, []string{"name"}, func(c *cli.Context, cfg *config.Config,
		s *store.Store,
	) error {
		found, err := findProvider(c, cfg, s, c.String("name"))
		if err != nil {
			return err
		}
		return run(c, cfg, s, found)
	})
}

// keptProviders returns the providers that are stored in the database, not those from the configuration.
func keptProviders(c *cli.Context, s *store.Store) ([]core.Provider, error) {
	return cli.Pages(func(p core.Provider) string { return p.Name },
		func(page core.Page) ([]core.Provider, error) { return s.Providers(c.Context, page) })
}

// findProvider returns the name of the provider that word refers to by its name or a prefix, in upper or lower case. It
// searches the configuration and the database.
func findProvider(c *cli.Context, cfg *config.Config, s *store.Store, word string) (string, error) {
	kept, err := keptProviders(c, s)
	if err != nil {
		return "", err
	}
	names := slices.Collect(maps.Keys(cfg.Providers))
	for _, record := range kept {
		names = append(names, record.Name)
	}
	if slices.Contains(names, word) {
		return word, nil
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var found []people.Reference
	for _, whole := range [...]bool{true, false} {
		for _, name := range names {
			begins := len(word) >= people.MinReference && strings.HasPrefix(strings.ToLower(name), strings.ToLower(word))
			if strings.EqualFold(name, word) || !whole && begins {
				found = append(found, people.Reference{ID: name})
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch len(found) {
	case 0:
		return "", cli.Missing(core.ErrNotFound, "provider", word)
	case 1:
		return found[0].ID, nil
	}
	return "", fmt.Errorf("--name: use the full name; %q matches %s", word, cli.Candidates("provider", found))
}

func (p commands) providerShowCommand() *cli.Command {
	return p.oneProvider("show", "show a mail provider", []cli.Flag{cli.Bool("show-secret", "also print its "+
		"secrets")},
		func(c *cli.Context, cfg *config.Config, s *store.Store, name string) error {
			return p.printProvider(c, cfg, s, name, "")
		})
}

// printProvider prints the provider as it is in effect. secret is a new secret, which is shown only once.
func (p commands) printProvider(c *cli.Context, cfg *config.Config, s *store.Store, name, secret string) error {
	record, source := parts.Providers(cfg)[name], "configuration"
	if record == nil {
		var err error
		if record, err = s.ProviderSecrets(c.Context, name); err != nil {
			return cli.Missing(err, "provider", name)
		}
		source = "database"
	}
	row := newProviderRow(cfg, record.Provider, source)
	row.Secret = secret
	if c.Bool("show-secret") && len(record.Secrets) > 0 {
		row.Secret, row.Secrets = record.Secrets[0], record.Secrets
	}
	return p.Printer(c).Record(row)
}

func (p commands) providerUpdateCommand() *cli.Command {
	return p.oneProvider("update", "update a mail provider", []cli.Flag{
		cli.Bool("disabled", "reject its requests with 403 (=false: accept them again)"),
		cli.Tenant("limit the provider to a tenant (`ID` or name; empty: all tenants)"), topicFlag(),
		cli.Bool("new-secret", "create a new secret; the previous one stays valid until you revoke it"), secretFlag(),
		cli.Bool("end-old-secret", "revoke the previous secret"),
	}, func(c *cli.Context, cfg *config.Config, s *store.Store, name string) error {
		if cfg.Providers[name] != nil {
			return errors.New("the provider " + name + " is set in the configuration file. Change it there")
		}
		record, err := s.ProviderSecrets(c.Context, name)
		if err != nil {
			return cli.Missing(err, "provider", name)
		}
		kind := report.KindOf(record.Kind)
		if kind == nil {
			return errors.New("this version of newsletterd doesn't support the kind " + record.Kind)
		}
		change := tenants.ProviderChange{
			TenantID: cli.Given(c, "tenant"), Topics: cli.GivenList(c, "topic"), Disabled: cli.GivenBool(c, "disabled"),
			EndOldSecret: c.Bool("end-old-secret"),
		}
		if change.Topics != nil {
			if err := kind.CheckTopics(*change.Topics); err != nil {
				return err
			}
		}
		shown := ""
		if c.Bool("new-secret") || c.Bool("secret-stdin") {
			secret, err := p.providerSecret(c, kind, c.Bool("secret-stdin"))
			if err == nil {
				err = kind.CheckSecrets([]string{secret}) // some kinds have none
			}
			if err != nil {
				return err
			}
			change.NewSecret = &secret
			if !c.Bool("secret-stdin") {
				shown = secret
			}
		}
		if _, err := s.UpdateProvider(c.Context, name, change, cli.Actor(), now()); err != nil {
			return cli.Missing(err, "provider", name)
		}
		if shown != "" {
			p.Once(c, "secret")
		}
		return p.printProvider(c, cfg, s, name, shown)
	})
}

func (p commands) providerDeleteCommand() *cli.Command {
	return p.oneProvider("delete", "delete a mail provider", nil,
		func(c *cli.Context, _ *config.Config, s *store.Store, name string) error {
			if err := s.DeleteProvider(c.Context, name, cli.Actor(), now()); err != nil {
				return cli.Missing(err, "provider", name)
			}
			return p.Done(c, "Provider %s deleted.", name)
		})
}
