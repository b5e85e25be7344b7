package members

import (
	"net/http"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/members"
)

// agreeing returns the preferences with the tracking consent from a form. The checkbox's value is the version of the
// consent text. If the version is unknown, as in a tenant's own form, only the consent is stored.
func (p newsletterPages) agreeing(c *web.Call, list *core.ListWithTenant, said string,
	preferences core.Preferences,
) (core.Preferences, error) {
	if said == "" || !list.Tenant.AsksForTracking() {
		return preferences, nil
	}
	for _, lang := range core.Languages {
		s := *page.StyleOf(c)
		s.Lang = lang
		if box := page.TrackingBoxOf(&list.Tenant, &s); box.Version == said {
			version, err := p.Store.KeepConsentText(c, list.ID, box.Text, c.Now)
			return preferences.AgreeingToTracking(version), err
		}
	}
	if _, err := p.Store.ConsentText(c, list.ID, said); err == nil && core.IsTextVersion(said) {
		return preferences.AgreeingToTracking(said), nil
	}
	return preferences.AgreeingToTracking(""), nil
}

// setTracking stores the subscriber's choice on the preference page. The link in any email can withdraw consent. Giving
// consent requires the link that only the mailbox receives, because emails are forwarded.
func (p newsletterPages) setTracking(c *web.Call, h holder, action, ticked string) (web.HTML, error) {
	w := page.WordsOf(c)
	r := members.TrackingRequest{
		ListID: h.ListID, Email: h.Email, Proof: core.ProofMailed, Origin: requestOrigin(c, "preferences"),
		JobNo: h.JobNo,
	}
	said := w.TrackingWithdrawn
	if action == actTrack {
		box := page.TrackingBoxOf(&h.list.Tenant, page.StyleOf(c))
		switch {
		case box == nil || !h.manages:
			return web.HTML{}, page.LinkError(c, core.ErrInvalidToken)
		case ticked == "":
			return p.showPreferences(c, h, page.View{Fault: w.TrackingUnticked}, http.StatusBadRequest, nil, "")
		}
		var err error
		if r.TextVersion, err = p.Store.KeepConsentText(c, h.ListID, box.Text, c.Now); err != nil {
			return web.HTML{}, err
		}
		r.Agrees, said = true, w.TrackingAgreed
	}
	if _, err := p.Store.SetTracking(c, r, c.Now); err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	return p.showPreferences(c, h, page.View{Notice: said}, 0, nil, "")
}

// named reports whether the subscriber of an unsubscribe link has consented to individual tracking.
func (p newsletterPages) named(c *web.Call, list *core.ListWithTenant, t auth.UnsubscribeToken) bool {
	if list == nil || t.Kind != auth.UnsubscribeMailed {
		return false
	}
	sub, err := p.Store.Subscription(c, t.ListID, t.Email)
	return err == nil && namedBy(list, sub.Status, sub.Preferences)
}

// namedBy reports whether a subscriber has consented to individual tracking and the consent is in effect.
func namedBy(list *core.ListWithTenant, status string, preferences core.Preferences) bool {
	return list.Tenant.TrackingConsent && status == core.SubscriptionActive && preferences.AgreesToTracking()
}
