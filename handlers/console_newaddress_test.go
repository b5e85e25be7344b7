package handlers

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// A new address of a person who has bounced gets an email that asks for confirmation. The details are copied, and the
// old address stays.
func TestConsoleNewAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		const old, right = "ida@reader.exmaple", "ida@reader.example"
		e.seed.Active(e.list.ID, old)
		_, err := e.store.SetPreferences(t.Context(), e.list.ID, old, `{"_tracking":true,"city":"Ulm"}`, e.seed.Time())
		e.must(err)
		at := "/people/" + e.found(old).ID
		e.shows(at, http.StatusOK, "-Switch to a new address")
		e.sends(at+"/address", http.StatusNotFound, url.Values{"email": {right}})
		e.seed.Tell(e.list, core.StatusBounced, old)
		e.shows(at, http.StatusOK, "Switch to a new address", "The person must first confirm the new address")
		e.sends(at+"/address", http.StatusBadRequest, url.Values{"email": {"ida@"}}, `value="ida@"`)
		to := e.sends(at+"/address", http.StatusSeeOther, url.Values{"email": {" " + right}})
		s := e.found(right)
		if to != "/people/"+s.ID+"?done=asked" || s.Status != core.SubscriptionPending || s.Preferences != `{"city":"Ulm"}` {
			t.Errorf("%+v, leads to %s", s, to)
		}
		if was := e.found(old); was.Status != core.SubscriptionActive || was.Email != old {
			t.Errorf("the old address: %+v", was)
		}
		for name, email := range map[string]core.Email{"VIP": old, "Press": right} {
			tag, err := core.NewTag(e.tenant.ID, name, e.seed.Time())
			e.must(err)
			e.must(e.store.AddTag(t.Context(), tag, "user:ann"))
			_, err = e.store.SetTags(t.Context(), e.tenant.ID, email, []string{name}, "user:ann", e.seed.Time())
			e.must(err)
		}
		if to := e.sends(at+"/address", http.StatusSeeOther, url.Values{"email": {right}}); to != "/people/"+s.ID+"?done=known" {
			t.Errorf("asked again: leads to %s", to)
		}
		tags, err := e.store.TagsAt(t.Context(), e.tenant.ID, right)
		if e.must(err); len(tags) != 2 || tags[0].Name != "Press" || tags[1].Name != "VIP" {
			t.Errorf("the tags are %+v", tags)
		}
	})
}
