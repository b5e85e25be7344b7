package workertest

import (
	"errors"
	"fmt"
	"strconv"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"newsletterd/core"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
)

// Actions returns all possible actions by name. rapid picks one after another.
func (w *World) Actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"join": w.join, "join too": w.join, "refuse": w.refuse, "leave too": w.leave, "subscribe": w.subscribe,
		"confirm": w.confirm, "leave": w.leave, "undo": w.undo, "preferences": w.preferences,
		"leave all": w.leaveAll, "expire": w.expire, "erase": w.erase,
		"disable": w.disable, "lift": w.lift, "report": w.report, "import": w.importRows,
		"deliver": func(*rapid.T) { w.step(w.outbox) },
		"weather": func(rt *rapid.T) { w.link.weather = rapid.SampledFrom(weathers).Draw(rt, "weather") },
		"sync": func(rt *rapid.T) {
			_, err := w.Member.RequestSync(w.ctx(), w.Lists[rapid.IntRange(0, len(w.Lists)-1).Draw(rt, "list")].ID,
				w.now())
			w.must(err)
		},
		"deliver again": w.redeliver, "wait": w.wait, "crash": w.crash,
		"other loops": w.otherLoops, "retry dead letters": w.retryDead, "mailable": w.checkNow,
	}
	if w.split {
		all["restore the send service"] = w.restoreSend
		all["leave by a mail of the send service"] = w.leaveThere
	} else {
		all["suppress"] = w.suppress
	}
	for name, act := range all {
		all[name] = func(rt *rapid.T) {
			w.rt = rt
			act(rt)
			synctest.Wait()
		}
	}
	return all
}

func (w *World) subscribe(rt *rapid.T) {
	p := w.who()
	prefs := core.Preferences(fmt.Sprintf(`{"n":%d}`, rapid.IntRange(0, 2).Draw(rt, "preferences")))
	_, row, err := w.Member.Subscribe(w.ctx(), members.SubscribeRequest{
		ListID: w.Lists[p.list].ID, Email: w.spelling(p),
		Preferences: prefs,
	}, w.now())
	w.must(err)
	token := &confirmToken{row: row, of: p, madeAt: time.Now()}
	switch {
	case w.isDisabled(p):
		token.dead = true
	case p.status == none || p.status == gone:
		p.generation++
		p.status = pending
	}
	token.generation = p.generation
	w.tokens = append(w.tokens, token)
}

// join subscribes a person and confirms. People often do both, but random actions rarely would.
func (w *World) join(rt *rapid.T) {
	w.subscribe(rt)
	w.confirmWith(w.tokens[len(w.tokens)-1])
}

func (w *World) confirm(rt *rapid.T) {
	if len(w.tokens) == 0 {
		return
	}
	w.confirmWith(w.tokens[rapid.IntRange(0, len(w.tokens)-1).Draw(rt, "token")])
}

func (w *World) confirmWith(token *confirmToken) {
	text, err := w.Member.ConfirmToken(w.ctx(), token.row,
		rapid.SampledFrom([]string{core.ProofMailed, core.ProofResponse}).Draw(w.rt, "means"))
	w.must(err)
	p := token.of
	good := !token.dead && token.generation == p.generation && (p.status == pending || p.status == active) &&
		time.Since(token.madeAt) < members.ConfirmTTL-time.Hour
	_, err = w.Member.Confirm(w.ctx(), text, core.Origin{}, w.now())
	if good != (err == nil) {
		w.fail("confirm of %s: %v, should work: %v", p, err, good)
	}
	if err == nil && p.status == pending {
		p.status = active
		w.activated(p)
	}
}

func (w *World) leave(*rapid.T) {
	p := w.who()
	id := w.Member.SubscriptionID(w.Lists[p.list].ID, w.emails[p.email].Key())
	means := rapid.SampledFrom([]string{core.ProofMailed, core.ProofResponse}).Draw(w.rt, "means")
	sub, err := w.Member.Unsubscribe(w.ctx(), members.UnsubscribeRequest{
		ListID: w.Lists[p.list].ID, SubscriptionID: id,
		Email: w.emails[p.email], Proof: means,
	}, w.now())
	if (p.status == none) != errors.Is(err, core.ErrNotFound) {
		w.fail("leaving of %s: %v", p, err)
	}
	if p.status == pending || p.status == active {
		p.undoable = p.status == active
		p.status, p.leftAt = gone, sub.ChangedAt
	}
}

// leaveAll ends all of a person's subscriptions at a tenant.
func (w *World) leaveAll(*rapid.T) {
	p := w.who()
	_, err := w.Member.UnsubscribeAll(w.ctx(), w.tenantOf(p),
		members.UnsubscribeRequest{Email: w.emails[p.email], Proof: core.ProofMailed}, w.now())
	w.must(err)
	for _, q := range w.sameTenant(p) {
		w.left(q)
	}
}

// left updates the model after an unsubscribe.
func (w *World) left(p *person) {
	if p.status != pending && p.status != active {
		return
	}
	sub, err := w.Member.Subscription(w.ctx(), w.Lists[p.list].ID, w.emails[p.email])
	w.must(err)
	p.undoable = p.status == active
	p.status, p.leftAt = gone, sub.ChangedAt
}

// leaveThere unsubscribes through the link in an email from the send service, which has no record of the subscription.
// It sends no further emails, and reports the unsubscribe to the member service.
func (w *World) leaveThere(*rapid.T) {
	p := w.who()
	list, email := w.Lists[p.list].ID, w.emails[p.email]
	_, err := w.Send.Unsubscribe(w.ctx(), members.UnsubscribeRequest{
		ListID:         list,
		SubscriptionID: w.Send.SubscriptionID(list, email.Key()), Email: email, Proof: core.ProofMailed,
	}, core.At(time.Now()))
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		w.must(err)
	}
	if sub, err := w.Send.Subscriber(w.ctx(), list, email); err == nil && sub.Mailable() {
		w.fail("%s is mailable by the send service that it has left", p)
	}
}

// expire deletes subscriptions that were not confirmed within an hour. A previously unsubscribed person is unsubscribed
// again.
func (w *World) expire(*rapid.T) {
	now := core.At(time.Now())
	for _, p := range w.people {
		if p.status != pending {
			continue
		}
		sub, err := w.Member.Subscription(w.ctx(), w.Lists[p.list].ID, w.emails[p.email])
		w.must(err)
		switch {
		case sub.ChangedAt >= now.Add(-time.Hour):
		case p.generation == 1:
			p.status, p.generation = none, 0
		default:
			p.status, p.undoable = gone, false
		}
	}
	_, err := w.Member.Housekeeping(w.ctx(), people.Retention{Pending: time.Hour}, now)
	w.must(err)
}

// undo undoes the last unsubscribe. Other tests check whether that is permitted, but a disabled person must stay out.
func (w *World) undo(*rapid.T) {
	p := w.who()
	id := w.Member.SubscriptionID(w.Lists[p.list].ID, w.emails[p.email].Key())
	_, err := w.Member.Undo(w.ctx(), people.UndoRequest{ListID: w.Lists[p.list].ID, SubscriptionID: id, LeftAt: p.leftAt},
		w.now())
	if err != nil {
		return
	}
	if p.status == gone && (!p.undoable || w.isDisabled(p)) || p.status == none || p.status == pending {
		w.fail("an undo brought %s back", p)
	}
	if p.status == gone {
		p.status = active
		w.activated(p)
	}
}

func (w *World) preferences(rt *rapid.T) {
	p := w.who()
	prefs := core.Preferences(fmt.Sprintf(`{"n":%d}`, rapid.IntRange(0, 5).Draw(rt, "preferences")))
	_, err := w.Member.SetPreferences(w.ctx(), w.Lists[p.list].ID, w.emails[p.email], prefs, w.now())
	if (p.status == none) != errors.Is(err, core.ErrSubscriptionNotFound) {
		w.fail("preferences of %s: %v", p, err)
	}
}

func (w *World) disable(rt *rapid.T) {
	email := w.anEmail()
	tenant := rapid.SampledFrom([]string{"", w.tenants[0], w.tenants[1]}).Draw(rt, "tenant")
	_, err := w.Member.Disable(w.ctx(), members.DisableRequest{
		Email: w.emails[email], TenantID: tenant, Reason: "r",
		DisabledBy: "d", OccurredAt: w.now(),
	}, w.now())
	w.must(err)
	w.disabledNow(email, tenant)
}

// suppress is the suppression command, which takes effect on both sides immediately.
func (w *World) suppress(rt *rapid.T) {
	email := w.anEmail()
	tenant := rapid.SampledFrom([]string{"", w.tenants[0], w.tenants[1]}).Draw(rt, "tenant")
	_, err := w.Member.Suppress(w.ctx(), members.DisableRequest{
		Email: w.emails[email], TenantID: tenant, Reason: "r",
		DisabledBy: "d", OccurredAt: w.now(),
	}, "test", w.now())
	w.must(err)
	w.disabledNow(email, tenant)
	for _, p := range w.people {
		if p.email == email && (tenant == "" || w.tenantOf(p) == tenant) {
			p.blocked = p.blocked || tenant != "" || w.known(p)
		}
	}
}

// lift lifts a block as an administrator, a few seconds later. By then, it no longer matters whether the member
// service's clock went back.
func (w *World) lift(*rapid.T) {
	time.Sleep(5 * time.Second)
	email := w.anEmail()
	for _, s := range w.stores() {
		if _, err := s.Lift(w.ctx(), w.emails[email], "", "test", w.now()); err != nil && !errors.Is(err, core.ErrNotFound) {
			w.must(err)
		}
	}
	clear(w.disabled[email])
	clear(w.complained[email])
	for _, p := range w.people {
		if p.email == email {
			p.blocked, p.bounced, p.wasBounced, p.erased = false, false, false, false
		}
	}
}

// report sends a mail provider's report about an address to the send service.
func (w *World) report(rt *rapid.T) {
	p := w.who()
	kind := rapid.SampledFrom([]string{"hard_bounced", "soft_bounced", "complaint", "suppression", "delivery"}).Draw(rt,
		"kind")
	at := core.At(time.Now().Add(time.Duration(rapid.IntRange(-3600, 240).Draw(rt, "seconds")) * time.Second))
	w.reports++
	r := core.ProviderReport{Provider: "p", Key: []byte(strconv.Itoa(w.reports)), Event: core.ProviderEvent{
		Type: kind, MessageID: "m", TenantID: w.tenantOf(p), Email: w.spelling(p), OccurredAt: at,
	}}
	var hit []*person
	for _, q := range w.sameTenant(p) {
		if w.known(q) {
			hit = append(hit, q)
		}
	}
	w.must(w.Send.ApplyReports(w.ctx(), []core.ProviderReport{r}, core.At(time.Now())))
	if len(hit) == 0 {
		return
	}
	switch kind {
	case "hard_bounced", "soft_bounced":
		for _, q := range hit {
			q.bounced, q.wasBounced = q.bounced || kind == "hard_bounced" && w.heard(q), true
		}
	case "complaint", "suppression": // for all of the tenant's lists
		if kind == "complaint" {
			w.complained[p.email][w.tenantOf(p)] = true
		}
		for _, q := range w.sameTenant(p) {
			q.blocked = true
		}
	}
}

func (w *World) importRows(rt *rapid.T) {
	list := rapid.IntRange(0, len(w.Lists)-1).Draw(rt, "list")
	status := rapid.SampledFrom([]string{"active", "active", "pending"}).Draw(rt, "status")
	im, err := w.Member.NewImport(w.ctx(), w.Lists[list].ID, status, "test")
	w.must(err)
	defer im.Close()
	var rows []imports.ImportRow
	if rapid.IntRange(0, 25).Draw(rt, "large") == 0 { // so many that a full sync announces them
		for i := range 1100 {
			rows = append(rows, imports.ImportRow{Email: core.Email(fmt.Sprintf("many%d@example.org", i))})
		}
	}
	for email := range w.emails {
		if rapid.Bool().Draw(rt, "in the file") {
			w.imported(w.person(list, email), status)
			rows = append(rows, imports.ImportRow{Email: w.emails[email], Preferences: `{"n":7}`})
		}
	}
	for len(rows) > 0 {
		n := min(500, len(rows))
		w.must(im.Add(w.ctx(), rows[:n], w.now()))
		rows = rows[n:]
	}
	if rapid.IntRange(0, 9).Draw(rt, "killed") > 0 {
		w.must(im.End(w.ctx(), w.now()))
	}
}

// imported applies the rule that no import restores a person who unsubscribed, was disabled or was erased.
func (w *World) imported(p *person, status string) {
	switch {
	case w.isDisabled(p), p.erased, p.status == gone, p.status == active:
	case status == "active":
		if p.status == none {
			p.generation = 1
		}
		p.status = active
		w.activated(p)
	case p.status == none:
		p.generation, p.status = 1, pending
	}
}

// erase erases a person at one tenant, at the person's request.
func (w *World) erase(*rapid.T) {
	p := w.who()
	known := map[*person]bool{}
	for _, q := range w.sameTenant(p) {
		known[q] = !w.split && w.known(q)
	}
	_, err := w.Member.ErasePerson(w.ctx(), core.Person{Email: w.emails[p.email], TenantID: w.tenantOf(p)}, "test",
		w.now())
	w.must(err)
	if !w.split { // reports that have not yet reached the member service are kept as its own
		w.disabled[p.email][w.tenantOf(p)] = w.disabled[p.email][w.tenantOf(p)] || w.complained[p.email][w.tenantOf(p)]
	}
	erased := false
	for _, q := range w.sameTenant(p) {
		erased = erased || q.erased || q.status == gone || q.status == active || q.generation > 1 || known[q]
	}
	for _, q := range w.sameTenant(p) {
		q.erased = erased
		q.status, q.generation = none, 0
		for _, token := range w.tokens {
			token.dead = token.dead || token.of == q
		}
	}
}
