package config

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/mail/report"
)

// Provider is an email provider from [providers.NAME]. It overrides a provider in the database that has the same name.
type Provider struct {
	Kind    string   // one of report.Kinds
	Secrets []Secret // newest first, at most two
	Tenant  string   // id; empty: may report for every tenant
	Topics  []string // only for kind ses
	Enabled bool
}

// providersSection is the name of the only section whose tables have user-defined names.
const providersSection = "providers"

const maxProviderSecrets = 2

var providerKeys = []string{"kind", "secret", "secrets", "tenant", "topics", "enabled"}

// providers reads the tables [providers.NAME].
func (r *loader) providers(value any, from string) {
	tables, ok := value.(map[string]any)
	if !ok {
		r.fault(providersSection, from, "contains sections. Write [providers.NAME]")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table, ok := tables[name].(map[string]any)
		if !ok {
			r.fault(providersSection+"."+name, from, "is a section. Write [providers.%s]", name)
			continue
		}
		r.provider(name) // also for an empty table
		for _, key := range slices.Sorted(maps.Keys(table)) {
			r.setProvider(name, key, table[key], "file", from)
		}
	}
}

func (r *loader) provider(name string) *Provider {
	if r.cfg.Providers == nil {
		r.cfg.Providers = map[string]*Provider{}
	}
	p := r.cfg.Providers[name]
	if p == nil {
		p = &Provider{Kind: report.KindGeneric, Topics: []string{}, Enabled: true}
		r.cfg.Providers[name] = p
	}
	return p
}

func (r *loader) setProvider(name, key string, value any, kind, from string) {
	p, path := r.provider(name), providersSection+"."+name+"."+key
	var err error
	switch key {
	case "kind":
		err = assign(reflect.ValueOf(&p.Kind).Elem(), value)
	case "tenant":
		err = assign(reflect.ValueOf(&p.Tenant).Elem(), value)
	case "topics":
		err = assign(reflect.ValueOf(&p.Topics).Elem(), value)
	case "enabled":
		err = assign(reflect.ValueOf(&p.Enabled).Elem(), value)
	case "secret":
		var one string
		if err = assign(reflect.ValueOf(&one).Elem(), value); err == nil {
			p.Secrets = []Secret{Secret(one)}
		}
	case "secrets":
		var many []string
		if err = assign(reflect.ValueOf(&many).Elem(), value); err == nil {
			p.Secrets = nil
			for _, s := range many {
				p.Secrets = append(p.Secrets, Secret(s))
			}
		}
	default:
		r.fault(path, from, "unknown key%s", terminal.DidYouMean(key, providerKeys))
		return
	}
	if err != nil {
		r.fault(path, from, "%s", err)
		return
	}
	other := map[string]string{"secret": "secrets", "secrets": "secret"}[key]
	if other != "" && r.cfg.From[providersSection+"."+name+"."+other] == kind {
		r.fault(path, from, "set secret or secrets, not both")
	}
	r.source[path], r.cfg.From[path] = from, kind
}

// providerEnv reads a variable and reports whether it is NEWSLETTERD_PROVIDERS_<NAME>_<KEY>, in which _ also represents
// a dash in the name.
func (r *loader) providerEnv(name, value string) bool {
	rest, ok := strings.CutPrefix(name, EnvPrefix+strings.ToUpper(providersSection)+"_")
	cut := strings.LastIndexByte(rest, '_')
	if !ok || cut < 1 {
		return false
	}
	provider, key := strings.ToLower(rest[:cut]), strings.ToLower(rest[cut+1:])
	for known := range r.cfg.Providers {
		if strings.ReplaceAll(known, "-", "_") == provider {
			provider = known
		}
	}
	var parsed any = value
	switch key {
	case "enabled":
		if b, err := strconv.ParseBool(value); err == nil {
			parsed = b
		}
	case "secrets", "topics":
		parsed = splitList(value)
	}
	r.setProvider(provider, key, parsed, "environment", "environment "+name)
	return true
}

// checkProviders checks each provider as a whole.
func (r *loader) checkProviders() {
	for _, name := range slices.Sorted(maps.Keys(r.cfg.Providers)) {
		p, path := r.cfg.Providers[name], providersSection+"."+name
		if err := core.CheckProviderName(name); err != nil {
			r.fault(path, r.cfg.File, "%s", terminal.Message(err))
			continue
		}
		kind := report.KindOf(p.Kind)
		if kind == nil {
			r.that(path+".kind", oneOf(p.Kind, report.Names()...))
			continue
		}
		if p.Tenant != "" {
			id, ok := core.ParseID(p.Tenant)
			if !ok {
				r.that(path+".tenant", fmt.Errorf("%q is not a tenant ID", p.Tenant))
			}
			p.Tenant = id
		}
		r.that(path+".topics", kind.CheckTopics(p.Topics))
		if len(p.Secrets) > maxProviderSecrets {
			r.that(path+".secrets", fmt.Errorf("can have at most %d", maxProviderSecrets))
		}
		if err := kind.CheckSecrets(p.RevealedSecrets()); err != nil {
			key := path + ".secret"
			if r.source[path+".secrets"] != "" {
				key = path + ".secrets"
			}
			r.fault(key, r.source[key], "%s", err)
		}
	}
}

// RevealedSecrets returns the secrets in plain text.
func (p *Provider) RevealedSecrets() []string {
	out := make([]string, len(p.Secrets))
	for i, s := range p.Secrets {
		out[i] = s.Reveal()
	}
	return out
}

// writeProviders writes the providers' tables for WriteTOML.
func (c *Config) writeProviders(w io.Writer) {
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p, path := c.Providers[name], providersSection+"."+name
		fmt.Fprintf(w, "\n[%s]\n", path)
		masked := make([]string, len(p.Secrets))
		for i, s := range p.Secrets {
			masked[i] = s.String()
		}
		for _, line := range []struct {
			key   string
			value any
		}{{"kind", p.Kind}, {"secrets", masked}, {"tenant", p.Tenant}, {"topics", p.Topics}, {"enabled", p.Enabled}} {
			fmt.Fprintf(w, "%s = %s%s\n", line.key, tomlValue(reflect.ValueOf(line.value)),
				remark(c, path+"."+line.key))
		}
	}
}

// providersTree returns the part of the result of Tree that describes the providers.
func (c *Config) providersTree() map[string]any {
	out := map[string]any{}
	for name, p := range c.Providers {
		out[name] = map[string]any{
			"kind": p.Kind, "secrets": p.Secrets, "tenant": p.Tenant, "topics": p.Topics,
			"enabled": p.Enabled,
		}
	}
	return out
}
