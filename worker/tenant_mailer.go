package worker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// tenantMailer delivers the transactional emails of tenants with their own relays. Each such tenant has its own
// mailer, so that one tenant's relay does not delay another tenant's emails.
type tenantMailer struct {
	MailerOptions
	relay func(*core.Relay) smtp.Sender
	loop  *Loop
	wake  chan struct{}
	desks map[string]*desk
}

// desk is one tenant's mailer. Only the tenantMailer's goroutine uses its other fields.
type desk struct {
	*mailer
	made    string // relay settings that it was created from
	next    time.Time
	running bool
}

// TenantMailer returns the loop that delivers transactional emails of tenants with their own relays. A Mailer leaves
// these emails to it if MailerOptions.Tenants is set.
func TenantMailer(o MailerOptions, relay func(*core.Relay) smtp.Sender) *Loop {
	t := &tenantMailer{MailerOptions: o, relay: relay, wake: make(chan struct{}, 1), desks: map[string]*desk{}}
	t.loop = &Loop{Name: "tenant-mailer", Step: t.step}
	o.Store.OnKick(db.TopicMail, func() {
		select {
		case t.wake <- struct{}{}:
		default:
		}
		t.loop.Kick()
	})
	o.Store.OnKick(db.TopicMailSoon, func() { t.loop.KickIn(tenants.MailDelay) })
	o.Store.OnKick(db.TopicRecords, t.loop.Kick)
	return t.loop
}

// step runs the mailers of all tenants with due emails, and returns when the next is due.
func (t *tenantMailer) step(ctx context.Context, _ time.Time) time.Time {
	ended, running := make(chan *desk), 0
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for {
		next, err := t.begin(ctx, ended, &running)
		if err != nil {
			t.Log.Warn("mailer: read", slog.Any("error", err))
			next = time.Now().Add(time.Second)
		}
		if running == 0 {
			return next
		}
		select {
		case d := <-ended:
			d.running = false
			running--
		case <-t.wake:
			for _, d := range t.desks {
				select {
				case d.wake <- struct{}{}:
				default:
				}
			}
		case <-again.C:
		case <-t.loop.Stopping():
			for ; running > 0; running-- {
				<-ended
			}
			return Never
		}
	}
}

// begin starts the mailers of tenants with due emails, and returns when the next email is due.
func (t *tenantMailer) begin(ctx context.Context, ended chan *desk, running *int) (next time.Time, err error) {
	now := time.Now()
	owners, err := t.Store.MailOwners(ctx, core.At(now))
	if err != nil {
		return next, err
	}
	at, err := t.Store.NextMail(ctx, core.At(now))
	if err != nil {
		return next, err
	}
	// The time may belong to another tenant, because under load some email is always due soon.
	if next = at.Time(); !next.IsZero() && next.Before(now.Add(mailerAgain)) {
		next = now.Add(mailerAgain)
	}
	for _, tenantID := range owners {
		d, err := t.desk(ctx, tenantID)
		if err != nil {
			return next, err
		}
		switch {
		case d == nil || d.running:
		case d.next.After(now):
			if next.IsZero() || d.next.Before(next) {
				next = d.next
			}
		default:
			d.running = true
			*running++
			go func() {
				d.next = d.step(ctx, now)
				if d.failures == 0 && len(d.unwritten) == 0 {
					d.next = time.Now().Add(100 * time.Millisecond) // avoids a busy loop after an error
				}
				ended <- d
			}()
		}
	}
	return next, nil
}

// desk returns a tenant's mailer with its current relays, or nil if the tenant has no relays.
func (t *tenantMailer) desk(ctx context.Context, tenantID string) (*desk, error) {
	d := t.desks[tenantID]
	if d != nil && d.running {
		return d, nil
	}
	route, err := t.Store.TenantRelays(ctx, tenantID)
	if err != nil || len(route.Relays) == 0 {
		return nil, err
	}
	made, err := json.Marshal(route.Relays)
	if err != nil || d != nil && d.made == string(made) {
		return d, err
	}
	o, f := t.MailerOptions, &failover{}
	o.DKIMSkip = nil
	for i := range route.Relays {
		f.relays = append(f.relays, t.relay(&route.Relays[i]))
		o.DKIMSkip = append(o.DKIMSkip, route.Relays[i].DKIMSkip...)
	}
	f.down = make([]time.Time, len(f.relays))
	if o.Sender = f; o.Connections == 0 {
		o.Connections = 2
	}
	m := &mailer{
		MailerOptions: o, owner: tenantID, loop: t.loop, wake: make(chan struct{}, 1), lost: map[int64]int{},
		unsure: map[int64]bool{},
	}
	if d != nil {
		m.unwritten = d.unwritten
	}
	t.desks[tenantID] = &desk{mailer: m, made: string(made)}
	return t.desks[tenantID], nil
}

// failoverRest is how long a relay is skipped after a failure.
const failoverRest = time.Minute

// failover is an smtp.Sender that uses the first working one of several relays.
type failover struct {
	relays []smtp.Sender
	mu     sync.Mutex
	down   []time.Time // time of each relay's last failure
}

// Deliver implements smtp.Sender. After a failure, the remaining emails go to the next relay when they are reread.
func (f *failover) Deliver(ctx context.Context, src *smtp.Source) (err error) {
	f.mu.Lock()
	order := make([]int, 0, len(f.relays))
	for i := range f.relays {
		if time.Since(f.down[i]) >= failoverRest {
			order = append(order, i)
		}
	}
	for i := range f.relays {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	f.mu.Unlock()
	for _, i := range order {
		err = f.relays[i].Deliver(ctx, src)
		var re *smtp.RelayError
		if !errors.As(err, &re) {
			return err
		}
		f.mu.Lock()
		f.down[i] = time.Now()
		f.mu.Unlock()
	}
	return err
}
