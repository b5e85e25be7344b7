package members

import (
	"net/http"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/store/members"
)

// agreeing returns the preferences with the agreement that a form of ours came with. The value of its box is the
// version of its text; of one that is not known, as a form of the tenant's own has it, the agreement alone is kept.
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
			version, err := p.store.KeepConsentText(c, list.ID, box.Text, c.Now)
			return preferences.AgreeingToTracking(version), err
		}
	}
	if _, err := p.store.ConsentText(c, list.ID, said); err == nil && core.IsTextVersion(said) {
		return preferences.AgreeingToTracking(said), nil
	}
	return preferences.AgreeingToTracking(""), nil
}

// setTracking takes what a reader says on the page of preferences. The link of any mail withdraws; to agree needs the
// one that the mailbox alone gets: a mail that was passed on lets no one agree for its reader.
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
		if r.TextVersion, err = p.store.KeepConsentText(c, h.ListID, box.Text, c.Now); err != nil {
			return web.HTML{}, err
		}
		r.Agrees, said = true, w.TrackingAgreed
	}
	if _, err := p.store.SetTracking(c, r, c.Now); err != nil {
		return web.HTML{}, page.LinkError(c, err)
	}
	return p.showPreferences(c, h, page.View{Notice: said}, 0, nil, "")
}

// named reports whether the reader of an unsubscribe link has agreed to be named in openings and clicks.
func (p newsletterPages) named(c *web.Call, list *core.ListWithTenant, t auth.UnsubscribeToken) bool {
	if list == nil || t.Kind != auth.UnsubscribeMailed {
		return false
	}
	sub, err := p.store.Subscription(c, t.ListID, t.Email)
	return err == nil && namedBy(list, sub.Status, sub.Preferences)
}

// namedBy reports whether a subscriber has agreed, and that counts.
func namedBy(list *core.ListWithTenant, status string, preferences core.Preferences) bool {
	return list.Tenant.TrackingConsent && status == core.SubscriptionActive && preferences.AgreesToTracking()
}
