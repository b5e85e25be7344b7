package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/bulk"
	"newsletterd/store/db/dbtest"
	"newsletterd/store/identity"
)

// performs performs all open bulk actions, as the worker does, and returns the id of the last one.
func (e *peopleEnv) performs() (last string) {
	e.Helper()
	for {
		id, _, err := e.store.NextBulk(e.Context(), "")
		if core.KindOf(err) == core.NotFound {
			return last
		}
		e.must(err)
		_, err = e.store.BulkStep(e.Context(), id, e.seed.Time())
		e.must(err)
		last = id
	}
}

// After a question with their number, everyone in a segment is removed, and a button restores them. Only administrators
// can do that, and for more than 500 people a fresh sign-in is needed.
func TestConsoleChangesEveryoneInASegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.seed.Deliver()
		g := e.add("All", `{"not":{"domain":"none.example"}}`)
		e.shows("/segments/"+g.ID, http.StatusOK, "/new-bulk?segment="+g.ID)
		e.shows("/people?segment="+g.ID, http.StatusOK, "/new-bulk?segment="+g.ID)
		e.shows("/new-bulk", http.StatusNotFound)
		e.shows("/new-bulk?segment="+g.ID, http.StatusOK, `name="act" value="unsubscribe"`, "Weekly")
		form := url.Values{"segment": {g.ID}, "list": {e.list.ID}, "act": {"unsubscribe"}}
		e.sends("/new-bulk", http.StatusOK, form, "Unsubscribe 2 people?", "from this list", "-you selected them on")
		form.Set("act", "remove")
		e.sends("/new-bulk", http.StatusOK, form, "Remove 2 people?", `name="sure"`, "-primary danger",
			"<strong>Weekly</strong>", "<strong>All</strong>")
		if id := e.performs(); id != "" {
			t.Fatal("started without a question")
		}
		form.Set("sure", "1")
		e.sends("/new-bulk", http.StatusSeeOther, form)
		id, _, err := e.store.NextBulk(t.Context(), "")
		e.must(err)
		at := "/bulk/" + id
		e.shows(at, http.StatusOK, `data-poll`, "0 of 2 people", at+"/cancel")
		e.performs()
		e.shows(at, http.StatusOK, "-data-poll", "2</strong> removed from the list", at+"/undo")
		e.shows("/bulk?list="+e.list.ID, http.StatusOK, at, "Completed")
		e.shows("/people", http.StatusOK, "-grace@reader.example", `href="`+e.at("/bulk")+`"`)
		active := func(status string) {
			dbtest.SQL(e.store.DB, "UPDATE list SET status = ? WHERE id = ?", status, e.list.ID)
		}
		active(core.ListInactive)
		e.sends(at+"/undo", http.StatusConflict, url.Values{}, "The list is deleted or inactive.", at+"/undo")
		active(core.ListActive)
		e.sends(at+"/undo", http.StatusSeeOther, url.Values{})
		e.performs()
		e.shows(at, http.StatusOK, "2</strong> restored", "-"+at+"/undo")
		e.shows("/people", http.StatusOK, "grace@reader.example")

		rows := make([]core.Email, 600)
		for k := range rows {
			rows[k] = core.Email("r" + core.NewID() + "@reader.example")
		}
		e.seed.Tell(e.list, core.StatusActive, rows...)
		time.Sleep(16 * time.Minute)
		e.sends("/new-bulk", http.StatusOK, form, `action="/login/confirm"`) // the API asks for it
		if id := e.performs(); id != "" {
			t.Error("started without a fresh sign-in")
		}
		o := newPeopleEnv(t, core.RolePublisher)
		o.sends("/new-bulk", http.StatusForbidden, form)
		v := newPeopleEnv(t, core.RoleEditor)
		v.shows("/bulk", http.StatusForbidden)
	})
}

// A publisher tags everyone in a segment, and chosen people, and undoes that, but can't unsubscribe them.
func TestConsoleTagsManyPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		e.seed.Deliver()
		g := e.add("All", `{"not":{"domain":"none.example"}}`)
		e.shows("/segments/"+g.ID, http.StatusOK, "/new-bulk?segment="+g.ID)
		e.shows("/new-bulk?segment="+g.ID, http.StatusOK, `name="act" value="tag"`, `-value="unsubscribe"`)
		form := url.Values{"segment": {g.ID}, "list": {e.list.ID}, "act": {"tag"}}
		e.sends("/new-bulk", http.StatusOK, form, "Add a tag to 2 people?", `name="new_tag"`, `-name="tag"`)
		e.sends("/people", http.StatusOK, e.chosen("untag", "grace@reader.example"), "There are no tags yet.",
			"-new_tag")
		form.Set("sure", "1")
		form.Set("new_tag", "New\u0007")
		again := []string{
			"Add a tag to", `name="sure"`, `id="f-new_tag"`, `value="New` + "\u0007" + `"`, `aria-invalid="true"`,
		}
		e.sends("/new-bulk", http.StatusBadRequest, form, again...)
		one := e.chosen("tag", "grace@reader.example")
		one.Set("sure", "1")
		one.Set("new_tag", "New\u0007")
		e.sends("/people", http.StatusBadRequest, one, again...)
		form.Set("new_tag", " New ")
		for range core.MaxOpenBulk {
			_, err := e.store.StartBulk(t.Context(), bulk.Request{
				ListID: e.list.ID, Kind: core.BulkUnsubscribe, IDs: []string{e.found("grace@reader.example").ID},
				Actor: "user:ann",
			}, e.seed.Time())
			e.must(err)
		}
		e.sends("/new-bulk", http.StatusConflict, form)
		e.shows("/tags", http.StatusOK, "->New<") // the new tag doesn't stay
		gone := e.chosen("tag", "grace@reader.example")
		gone.Del("id." + e.found("grace@reader.example").ID)
		gone.Set("id."+core.NewID(), "grace@reader.example")
		gone.Set("sure", "1")
		gone.Set("new_tag", "New")
		e.sends("/people", http.StatusOK, gone, "This person is no longer on the list.")
		e.shows("/tags", http.StatusOK, "->New<")
		dbtest.SQL(e.store.DB, "DELETE FROM bulk_action")
		e.sends("/new-bulk", http.StatusSeeOther, form)
		e.shows("/bulk/"+e.performs(), http.StatusOK, "Add the tag “New” to people on “Weekly”", "2</strong> tagged")
		form.Set("new_tag", "new") // exists now
		e.sends("/new-bulk", http.StatusSeeOther, form)
		e.shows("/bulk/"+e.performs(), http.StatusOK, "Add the tag “New” to people on “Weekly”", "2</strong> skipped")
		form.Del("new_tag")
		vip, err := core.NewTag(e.tenant.ID, "VIP", e.seed.Time())
		e.must(err)
		e.must(e.store.AddTag(t.Context(), vip, "user:ann"))
		form.Set("sure", "1") // without a tag: asks again
		e.sends("/new-bulk", http.StatusBadRequest, form, `name="tag" value="`+vip.ID+`">`, ">VIP</span>",
			"Choose a tag.")
		form.Set("tag", vip.ID)
		e.sends("/new-bulk", http.StatusSeeOther, form)
		at := "/bulk/" + e.performs()
		e.shows(at, http.StatusOK, "Add the tag “VIP” to people on “Weekly”", "2</strong> tagged", at+"/undo")
		e.shows("/bulk?list="+e.list.ID, http.StatusOK, "Add tag: VIP",
			`href="`+e.at("/people")+`" aria-current="page"`)
		e.shows("/people/"+e.found("grace@reader.example").ID, http.StatusOK, "VIP")

		e.shows("/people", http.StatusOK, `name="act" value="untag"`, `-name="act" value="unsubscribe"`,
			`href="`+e.at("/bulk")+`"`)
		one = e.chosen("untag", "grace@reader.example")
		e.sends("/people", http.StatusOK, one, "Remove a tag from 1 person?", ">VIP</span>")
		one.Set("sure", "1")
		e.sends("/people", http.StatusBadRequest, one, "Remove a tag from 1 person?", "Choose a tag.")
		one.Set("tag", vip.ID)
		e.sends("/people", http.StatusSeeOther, one)
		e.shows("/bulk/"+e.performs(), http.StatusOK, "Remove the tag “VIP” from 1 selected person on “Weekly”",
			"1</strong> untagged")
		e.sends("/people", http.StatusForbidden, e.chosen("unsubscribe", "grace@reader.example"))

		e.sends(at+"/undo", http.StatusSeeOther, url.Values{})
		e.performs()
		e.shows(at, http.StatusOK, "1</strong> restored", "1</strong> left unchanged", "-"+at+"/undo")
		e.must(e.store.DeleteTag(t.Context(), vip.ID, "user:ann", e.seed.Time()))
		e.shows(at, http.StatusOK, "Add the tag “(deleted)”")
	})
}

// tagging returns a function that tags 200 subscribers, and expects texts in the answer if that needs a fresh sign-in.
func (e *peopleEnv) tagging() func(status int, texts ...string) {
	e.Helper()
	tag, err := core.NewTag(e.tenant.ID, "VIP", e.seed.Time())
	e.must(err)
	e.must(e.store.AddTag(e.Context(), tag, "user:ann"))
	n := 0
	return func(status int, texts ...string) {
		e.Helper()
		n++
		host := fmt.Sprintf("d%d.example", n)
		rows := make([]core.Email, 200)
		for k := range rows {
			rows[k] = core.Email(fmt.Sprintf("r%d@%s", k, host))
		}
		e.seed.Tell(e.list, core.StatusActive, rows...)
		g := e.add(host, core.RuleText(fmt.Sprintf(`{"domain":%q}`, host)))
		e.sends("/new-bulk", status, url.Values{
			"segment": {g.ID}, "list": {e.list.ID}, "act": {"tag"}, "tag": {tag.ID}, "sure": {"1"},
		}, texts...)
		e.performs()
	}
}

// If a field of the filter is deleted before the confirmation, the action changes no one.
func TestConsoleActionsWithoutTheirFieldAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.sends("/new-bulk", http.StatusNotFound, url.Values{
			"list": {e.list.ID}, "status": {core.SubscriptionActive}, "field": {"gone"}, "value": {"Berlin"},
			"act": {"unsubscribe"}, "sure": {"1"},
		})
		if all, err := e.store.BulkActions(t.Context(), e.list.ID, core.Page{Limit: 9}); err != nil || len(all) != 0 {
			t.Error(all, err)
		}
	})
}

// Bulk actions that change more than 500 people together need a fresh sign-in, as a single one does.
func TestConsoleCountsBulkActionsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		tags := e.tagging()
		tags(http.StatusSeeOther) // with a fresh sign-in
		time.Sleep(16 * time.Minute)
		tags(http.StatusSeeOther)
		tags(http.StatusSeeOther)
		tags(http.StatusOK, `action="/login/confirm"`)
	})
}

// Signing in with only a password is not a fresh sign-in for a user who has a passkey. All bulk actions of such users
// are counted.
func TestConsoleCountsBulkActionsWithoutTheSecondFactor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		e.must(e.store.AddPasskey(t.Context(), core.Passkey{
			ID: core.NewID(), UserID: ann.ID, RPID: "news.example.org", Name: "key", Credential: []byte("c"),
			PublicKey: []byte("k"),
		}, ann.Epoch, identity.Answer{Hash: core.HashToken("a"), ExpiresAt: e.seed.Time().Add(time.Hour)},
			core.MailStyle{}, e.seed.Time()))
		tags := e.tagging()
		tags(http.StatusSeeOther)
		time.Sleep(time.Minute)
		tags(http.StatusSeeOther)
		time.Sleep(time.Minute)
		tags(http.StatusOK, `action="/login/confirm"`)
	})
}
