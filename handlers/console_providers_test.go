package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/mail/report"
)

// An operator creates a mail provider. The webhook URL contains the secret, which is shown once. The operator sees the
// last event, sets another secret, disables the provider and deletes it.
func TestConsoleProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newOperatorEnv(t)
		e.must(e.store.EnsureDefaultProvider(t.Context(), "generic", "secret", e.seed.Time()))
		e.operates("/providers", http.StatusOK, "Your mail provider can report spam complaints",
			"-created automatically")
		e.operates("/mail-server?provider=ses", http.StatusOK, `href="/operator/providers?kind=ses"`)
		e.operates("/mail-server?provider=brevo", http.StatusOK, "no webhook for Brevo", "-providers?kind")
		e.operates("/mail-server?provider=own", http.StatusOK, "bounce_domain", "-providers?kind")
		e.operates("/providers?kind=resend", http.StatusOK, `value="resend" selected`)
		page := e.operates("/providers", http.StatusOK, "Mail providers", "Amazon SES")
		for _, kind := range report.Names() {
			if !strings.Contains(page, `value="`+kind+`"`) {
				t.Errorf("the form doesn't offer %s", kind)
			}
		}
		e.lang = "de"
		for kind, want := range map[string]string{
			"mailgun":  "Geben Sie das Secret ein: der HTTP Webhook Signing Key.",
			"sendgrid": "Geben Sie das Secret ein: der Verification Key des Event Webhooks in Base64.",
			"resend":   "Geben Sie das Secret ein: das Signing Secret: whsec_ und Base64.",
		} {
			e.orders("/providers", http.StatusBadRequest, url.Values{"kind": {kind}, "name": {"mg"}}, want)
		}
		e.lang = ""
		e.orders("/providers", http.StatusBadRequest, url.Values{"kind": {"mailgun"}, "name": {"mg"}},
			`aria-invalid="true"`)
		e.orders("/providers", http.StatusCreated, url.Values{"kind": {"postmark"}, "name": {"pm"}},
			"https://newsletterd:", "@news.example.org/webhooks/pm", "Copy it now", "In Postmark, add a webhook")
		page = e.operates("/providers/pm", http.StatusOK,
			"https://news.example.org/webhooks/pm", "No recent events")
		e.operates("/mail-server?provider=postmark", http.StatusOK, `href="/operator/providers/pm"`, "-providers?kind")
		if strings.Contains(page, "Copy it now") {
			t.Error("the secret is shown again")
		}
		e.must(e.store.ApplyReports(t.Context(), []core.ProviderReport{{
			Provider: "pm", Key: core.ProviderKey("1"), Event: core.ProviderEvent{
				Type: core.ProviderDelivery, MessageID: "m", TenantID: e.tenant.ID, Email: "ann@example.org",
				OccurredAt: e.seed.Time(),
			},
		}}, e.seed.Time()))
		e.operates("/providers/pm", http.StatusOK, "<code>delivery</code>", "Active")
		e.operates("/providers", http.StatusOK, "Postmark", "last event today")
		e.orders("/providers/pm", http.StatusCreated, url.Values{"act": {"rotate"}}, "@news.example.org/webhooks/pm",
			"Copy it now")
		e.orders("/providers/pm", http.StatusConflict, url.Values{"act": {"rotate"}})
		e.orders("/providers/pm", http.StatusSeeOther, url.Values{"act": {"end"}})
		e.orders("/providers/pm", http.StatusSeeOther, url.Values{"act": {"off"}})
		e.operates("/providers/pm", http.StatusOK, "Disabled", "Enable")
		e.orders("/providers/pm", http.StatusOK, url.Values{"act": {"delete"}}, "Delete this mail provider?")
		e.orders("/providers/pm", http.StatusSeeOther, url.Values{"act": {"delete"}, "sure": {"yes"}})
		e.operates("/providers/pm", http.StatusNotFound)
	})
}
