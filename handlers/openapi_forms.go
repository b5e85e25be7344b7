package handlers

import (
	"maps"
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/report"
)

// Patterns that JavaScript, Python and RE2 read in the same way.
const (
	noControls = `[^\x00-\x1f\x7f-\x9f]*`
	visible    = `[^\s\x00-\x1f\x7f-\x9f]`
	dnsLabel   = `[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
)

// line is a text of one line, text one of several, and name a line that is not empty.
func line(most int) web.Object {
	return web.Object{"maxLength": most, "pattern": "^" + noControls + "$"}
}

func text(most int) web.Object {
	return web.Object{"maxLength": most, "pattern": `^([^\x00-\x1f\x7f-\x9f]|\r?\n)*$`}
}

func name(most int) web.Object {
	return web.Object{"minLength": 1, "maxLength": most, "pattern": "^" + noControls + visible + noControls + "$"}
}

// worded adds what a property is.
func worded(form web.Object, words string) web.Object {
	form["description"] = words
	return form
}

// positive is a number above 0.
var positive = web.Object{"minimum": 1}

// periodOrNone refuses a limit for a period without its length, and a length without a limit.
var periodOrNone = never(
	without(where(web.Object{"per_period": positive}), web.Object{"period_seconds": positive}),
	without(where(web.Object{"period_seconds": positive}), web.Object{"per_period": positive}),
)

// never is what is left of a schema without the objects that any of the others describe. Generators of clients pass
// over it, as they do not over alternatives.
func never(those ...web.Object) web.Object { return web.Object{"not": web.Object{"anyOf": those}} }

// where describes the objects that have all of these properties.
func where(props web.Object) web.Object {
	return web.Object{"required": slices.Sorted(maps.Keys(props)), "properties": props}
}

// without describes those of the objects that do not have all of these properties.
func without(those, props web.Object) web.Object {
	those["not"] = where(props)
	return those
}

// oneOf describes the objects that have the one property or the other, filled.
func oneOf(a, b string) web.Object {
	return web.Object{"anyOf": []web.Object{where(web.Object{a: filled}), where(web.Object{b: filled})}}
}

// ofTenants are the roles that are held in a tenant.
var ofTenants = slices.DeleteFunc(slices.Clone(core.Roles), func(role string) bool { return role == core.RoleOperator })

// roleInTenant refuses a role in a tenant without the tenant, and the role of an operator with one.
var roleInTenant = []web.Object{
	where(web.Object{"role": word(core.RoleOperator), "tenant_id": filled}),
	without(where(web.Object{"role": word(ofTenants...)}), web.Object{"tenant_id": filled}),
}

// word describes a string that is one of these.
func word(these ...string) web.Object { return web.Object{"enum": these} }

// refusedProviders describes the mail providers that lack what their kind needs, or have what it has no use for.
func refusedProviders() (refused []web.Object) {
	var listening, silent, given, secretless []string
	for _, name := range report.Names() {
		kind := report.KindOf(name)
		if kind.Topics {
			listening = append(listening, name)
		} else {
			silent = append(silent, name)
		}
		if form := kind.Secret.Pattern; form != "" {
			malformed := where(web.Object{
				"kind": word(name), "secret": web.Object{"minLength": 1, "not": web.Object{"pattern": form}},
			})
			if name == report.KindGeneric { // which it is without a kind
				malformed["required"] = []string{"secret"}
			}
			refused = append(refused, malformed)
		}
		switch {
		case kind.Secret.Check == nil:
			secretless = append(secretless, name)
		case kind.Secret.Fresh == nil:
			given = append(given, name)
		}
	}
	some := web.Object{"minItems": 1}
	return append(refused,
		web.Object{ // without a kind, too
			"required": []string{"topics"}, "properties": web.Object{"kind": word(silent...), "topics": some},
		},
		without(where(web.Object{"kind": word(listening...)}), web.Object{"topics": some}),
		without(where(web.Object{"kind": word(given...)}), web.Object{"secret": filled}),
		where(web.Object{"kind": word(secretless...), "secret": filled}),
	)
}

// themeLimits are those of a theme.
func themeLimits() map[string]web.Object {
	footer := func(most int) web.Object {
		return web.Object{"maxLength": most, "pattern": `^(([^{\x00-\x1f\x7f-\x9f]|\r?\n)|\{[^{%\x00-\x1f\x7f-\x9f])*\{?$`}
	}
	between := func(least, most int, words string) web.Object {
		return web.Object{"minimum": least, "maximum": most, "description": words}
	}
	address := `[^\s{\x00-\x1f\x7f-\x9f]`
	limits := map[string]web.Object{
		"name": nameLimits,
		"base": {"description": "What it is made of; it can't be changed"},
		"font": word(core.ThemeFonts...), "heading_font": word(core.ThemeFonts...),
		"size": between(14, 20, "Pixels of text"), "width": between(480, 680, "Pixels of the column"),
		"padding": between(0, 48, "Pixels at the column's sides"), "radius": between(0, 24, "Pixels of corners"),
		"logo_width":     between(24, 600, "Pixels"),
		"heading_weight": {"enum": []int{400, 500, 600, 700, 800}},
		"logo_url":       {"maxLength": 2000, "pattern": `^(https://[A-Za-z0-9][A-Za-z0-9.-]*(/` + address + `*)?)?$`, "description": "Empty: the tenant's"},
		"footer_text":    worded(footer(core.MaxFooterText), "Lines before the link to leave"),
		"postal_address": worded(footer(500), "Empty: the tenant's"),
		"social":         {"maxItems": core.MaxSocial},
		"social[].name":  {"minLength": 1, "maxLength": 60, "pattern": `^[^{\x00-\x1f\x7f-\x9f]*[^\s{\x00-\x1f\x7f-\x9f][^{\x00-\x1f\x7f-\x9f]*$`},
		"social[].url":   {"minLength": 1, "maxLength": 2000, "pattern": `^https?://[A-Za-z0-9][A-Za-z0-9.-]*(/` + address + `*)?$`},
	}
	for _, side := range []string{"light", "dark"} {
		for name, words := range map[string]string{
			"page": "Around the mail", "card": "Beneath the text", "text": "Of paragraphs", "title": "Of headings",
			"muted": "Of footer and captions", "link": "Of links", "accent": "Of buttons and bars", "on": "Of text on accent",
			"tint": "Beneath boxes and code", "line": "Of dividers and tables",
		} {
			limits[side+"."+name] = web.Object{"pattern": "^#[0-9A-Fa-f]{6}$", "description": words}
		}
	}
	return limits
}
