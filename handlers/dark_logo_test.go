package handlers

import (
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// Pages show the logo for dark backgrounds in dark mode, if there is one, and only next to a logo.
func TestLogoOnDarkPages(t *testing.T) {
	e := archived(t)
	change := func(logo, dark string) {
		storetest.Seed(t, e.store).ChangeTenant(e.names["acme"], core.TenantInput{
			BrandLogoURL: &logo, BrandDarkLogoURL: &dark,
		})
	}
	const light, dark = "https://a.example/light.png", "https://b.example/dark.png?a=1&b=2"
	const picture = `<picture><source media="(prefers-color-scheme: dark)" ` +
		`srcset="https://b.example/dark.png?a=1&amp;b=2"><img src="` + light + `" alt="acme"></picture>`
	for _, path := range []string{"/a/weekly/", "/l/" + e.names["weekly"], "/preferences?list=" + e.names["weekly"]} {
		change(light, dark)
		_, head, body := e.page(path)
		policy := head.Get("Content-Security-Policy")
		if !strings.Contains(strings.ReplaceAll(body, "\n", ""), picture) ||
			!strings.Contains(policy, "https://a.example") || !strings.Contains(policy, "https://b.example") {
			t.Errorf("%s: %s\n%s", path, policy, body)
		}
		for _, c := range [][2]string{{light, ""}, {"", dark}} {
			change(c[0], c[1])
			if _, _, body := e.page(path); strings.Contains(body, "<picture>") ||
				strings.Contains(body, light) != (c[0] != "") {
				t.Errorf("%s with %q:\n%s", path, c, body)
			}
		}
	}
}
