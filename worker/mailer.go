package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const (
	mailerRead   = 256 // emails per read
	mailerLow    = 64  // minimum number held; below it, more are read
	mailerRecord = 256 // results per write
	mailerIdle   = 10 * time.Second
	mailerAgain  = 250 * time.Millisecond // interval of checks for newly due emails while sending
)

// MailerOptions configures a Mailer and a TenantMailer.
type MailerOptions struct {
	Store       *store.Store
	Sender      smtp.Sender
	Sealer      *auth.Sealer // for unsubscribe links
	Ident       *mail.Ident  // for Message-IDs; transactional emails use job 0
	PublicURL   string       // link origin for tenants without one
	From        mail.Address // sender for tenants without one
	Own         *OwnServer   // the daemon's own server in the database, used instead of Sender; nil: none
	Connections int          // number of connections; 0: 2
	Signers     *Signers     // DKIM signers; nil: emails are unsigned
	DKIMSkip    []string     // header fields that the relay changes
	Tenants     bool         // leave the emails of tenants with relays to a TenantMailer
	Log         *slog.Logger
}

// mailer delivers transactional emails. It renders each email with its tokens just before sending it. It has its own
// connections, so that campaigns cause no delay, and keeps them open for a while.
type mailer struct {
	MailerOptions
	owner     string // tenant with its own relays; empty: all others
	loop      *Loop
	wake      chan struct{}
	failures  int                  // consecutive failures of the route
	tryAt     time.Time            // time of the next try while the route is down
	serverAt  core.Instant         // when the failing server was set
	notBefore time.Time            // earliest next try, even if new emails arrive
	lost      map[int64]int        // consecutive connections lost per email
	unsure    map[int64]bool       // emails whose reply was lost once
	unwritten []tenants.MailResult // results that could not be recorded
}

// Mailer returns the loop that delivers transactional emails.
func Mailer(o MailerOptions) *Loop {
	if o.Connections == 0 {
		o.Connections = 2
	}
	var own *ownSender
	if o.Own != nil {
		own = &ownSender{OwnServer: o.Own, otherwise: o.Sender}
		o.Sender = own
	}
	m := &mailer{MailerOptions: o, wake: make(chan struct{}, 1), lost: map[int64]int{}, unsure: map[int64]bool{}}
	if own != nil {
		own.compose = m.composeFrom
	}
	m.loop = &Loop{Name: "mailer", Step: m.step}
	o.Store.OnKick(db.TopicMail, func() {
		select {
		case m.wake <- struct{}{}:
		default:
		}
		m.loop.Kick()
	})
	o.Store.OnKick(db.TopicMailSoon, func() { m.loop.KickIn(tenants.MailDelay) })
	if own != nil {
		o.Store.OnKick(db.TopicRecords, m.loop.Kick)
	}
	return m.loop
}

// mailRun is the state of one Step.
type mailRun struct {
	*mailer
	queue       chan *core.Mail
	results     chan mailResult
	ended       chan error // result of a connection that ended
	quit        chan struct{}
	held        map[int64]bool
	connections int
	read        bool         // there may be emails to claim
	all         bool         // read all due emails, not only new ones
	last        int64        // highest id read so far
	allAt       core.Instant // time of the last complete read; emails due later are still unread
	broken      bool
}

type mailResult struct {
	mail    *core.Mail
	outcome smtp.Outcome
	err     error // the email could not be rendered
}

func (m *mailer) step(ctx context.Context, _ time.Time) time.Time {
	if !m.finish(ctx, nil, core.At(time.Now())) {
		return time.Now().Add(time.Second)
	}
	if own, err := m.Own.now(ctx); err == nil && own.ChangedAt != m.serverAt { // the failed server is no longer in use
		m.serverAt, m.failures, m.tryAt = own.ChangedAt, 0, time.Time{}
	}
	if m.failures > 0 && time.Now().Before(m.notBefore) {
		return m.notBefore
	}
	r := &mailRun{
		mailer: m, queue: make(chan *core.Mail, mailerRead+mailerLow),
		results: make(chan mailResult, mailerRead+mailerLow), ended: make(chan error, m.Connections),
		quit: make(chan struct{}), held: map[int64]bool{}, read: true, all: true,
	}
	again := time.NewTicker(mailerAgain)
	defer again.Stop()
	for {
		if err := r.claim(ctx); err != nil {
			m.Log.Warn("mailer: read", slog.Any("error", err))
			r.stop()
		}
		for ; r.connections < min(m.Connections, len(r.queue)) && !r.broken; r.connections++ {
			go func() { r.ended <- r.connection(ctx) }()
		}
		if r.connections == 0 && len(r.results) == 0 {
			break
		}
		select {
		case res := <-r.results:
			r.record(ctx, res)
		case err := <-r.ended:
			r.connections--
			r.routeEnded(err)
		case <-m.wake:
			r.read = true
		case <-again.C:
			r.read, r.all = true, true
		case <-m.loop.Stopping():
			r.stop()
			for len(r.queue) > 0 {
				<-r.queue
			}
			// The connections finish the emails in flight.
			for ; r.connections > 0; r.connections-- {
				<-r.ended
			}
		}
	}
	return m.next(ctx, r)
}

func (r *mailRun) stop() {
	if !r.broken {
		r.broken = true
		close(r.quit)
	}
}

func (m *mailer) next(ctx context.Context, r *mailRun) time.Time {
	switch {
	case m.failures > 0 && m.tryAt.After(time.Now()):
		return m.tryAt
	case r.broken:
		return time.Now().Add(time.Second)
	}
	at, err := m.Store.NextMail(ctx, r.allAt)
	if err != nil {
		return time.Now().Add(time.Second)
	}
	return at.Time()
}

// routeEnded handles the end of a connection to the relay. A failure that ends several connections counts only once.
func (r *mailRun) routeEnded(err error) {
	if err == nil || r.broken {
		return
	}
	re, ok := errors.AsType[*smtp.RelayError](err)
	if !ok {
		re = &smtp.RelayError{Err: err}
	}
	if re.Delivered > 0 {
		r.failures = 0
	}
	r.failures++
	pause, now := re.Backoff(r.failures), time.Now()
	r.tryAt, r.notBefore = now.Add(jitter(pause)), now.Add(min(pause, lookEvery))
	r.Log.Warn("mailer: the mail route failed", slog.Any("error", err), slog.Int("running", r.failures))
	r.stop()
}

// readMails reads the due emails for this mailer: all of them, or only those it hasn't read before.
func (r *mailRun) readMails(ctx context.Context, now core.Instant) ([]core.Mail, error) {
	switch {
	case r.all && r.Tenants:
		return r.Store.DueMailsOf(ctx, r.owner, now, mailerRead)
	case r.all:
		return r.Store.DueMails(ctx, now, mailerRead)
	case r.Tenants:
		return r.Store.NewMailsOf(ctx, r.owner, now, r.last, mailerRead)
	}
	return r.Store.NewMails(ctx, now, r.last, mailerRead)
}

func (r *mailRun) claim(ctx context.Context) error {
	if r.broken || !r.read || len(r.held) >= mailerLow {
		return nil
	}
	now := core.At(time.Now())
	mails, err := r.readMails(ctx, now)
	if err != nil {
		return err
	}
	if len(mails) > 0 {
		if err := kept(ctx, r.Store); err != nil {
			return err
		}
	}
	if r.read = len(mails) == mailerRead; !r.read {
		if r.all {
			r.allAt = now
		}
		r.all = false
	}
	for i := range mails {
		m := &mails[i]
		r.last = max(r.last, m.ID)
		if !r.held[m.ID] {
			if m.Kind == core.MailServerChanged { // the change is stored, even if its kick hasn't arrived yet
				r.Own.reread()
			}
			r.held[m.ID] = true
			r.queue <- m
		}
	}
	return nil
}

// connection runs one connection until it has been idle for a while.
func (r *mailRun) connection(ctx context.Context) error {
	idle := time.NewTimer(mailerIdle)
	defer idle.Stop()
	return r.Sender.Deliver(ctx, &smtp.Source{
		Next: func(ctx context.Context, wait bool) (*smtp.Envelope, bool) {
			idle.Reset(mailerIdle)
			for {
				m, ok := r.pop(ctx, wait, idle.C)
				if !ok {
					return nil, false
				}
				e, err := r.compose(ctx, m, time.Now())
				if err == nil {
					e.Alone = m.Tries > 0 // after two lost replies it would count as sent
					return e, true
				}
				r.results <- mailResult{mail: m, err: err}
			}
		},
		Commit: func(*smtp.Envelope, bool) bool { return r.Store.MayAct() == nil },
		Done: func(e *smtp.Envelope, o smtp.Outcome) {
			m := e.Tag.(*core.Mail)
			e.Tail = nil
			envelopes.Put(e)
			r.results <- mailResult{mail: m, outcome: o}
		},
	})
}

func (r *mailRun) pop(ctx context.Context, wait bool, idle <-chan time.Time) (*core.Mail, bool) {
	select {
	case <-r.quit:
		return nil, false
	case <-ctx.Done():
		return nil, false
	default:
	}
	select {
	case m := <-r.queue:
		return m, true
	default:
	}
	if !wait {
		return nil, false
	}
	select {
	case m := <-r.queue:
		return m, true
	case <-idle:
	case <-r.quit:
	case <-ctx.Done():
	}
	return nil, false
}

// record takes a result and all others that are ready, and records them in one operation.
func (r *mailRun) record(ctx context.Context, first mailResult) {
	now := core.At(time.Now())
	var records []tenants.MailResult
	var gone []int64
	for _, res := range gather(first, r.results, mailerRecord) {
		gone = append(gone, res.mail.ID)
		if rec, counts := r.judge(res, now); counts {
			records = append(records, rec)
		} else {
			r.read, r.all = true, true
		}
	}
	if !r.finish(ctx, records, now) {
		r.stop()
	}
	for _, id := range gone {
		delete(r.held, id)
	}
}

// finish records results, including earlier unwritten ones, and reports whether it succeeded. It keeps results that
// can't be written, and nothing is sent until they are written. With a full disk, the database can still be read, so a
// sent email would otherwise seem due again.
func (m *mailer) finish(ctx context.Context, more []tenants.MailResult, now core.Instant) bool {
	m.unwritten = append(m.unwritten, more...)
	if len(m.unwritten) == 0 {
		return true
	}
	if err := m.Store.FinishMails(context.WithoutCancel(ctx), m.unwritten, now); err != nil {
		m.Log.Warn("mailer: record", slog.Any("error", err))
		return false
	}
	m.unwritten = nil
	return true
}

// lostLimit is the number of consecutive connections that must break, or end with 421, before that counts as refusing
// the email.
const lostLimit = 3

// judge returns the result to store for an email. counts is false if the relay has neither accepted nor refused the
// email.
func (r *mailRun) judge(res mailResult, now core.Instant) (rec tenants.MailResult, counts bool) {
	rec = tenants.MailResult{ID: res.mail.ID, Reason: replyText(res.outcome)}
	if core.KindOf(res.err) == core.Unavailable && res.err != nil { // the database failed, not the email
		r.stop()
		return rec, false
	}
	if res.err != nil {
		rec.Reason = res.err.Error()
		// The list was deleted, or the subscriber unsubscribed, while the email waited.
		if rec.LeftOut = errors.Is(res.err, core.ErrListNotFound) || errors.Is(res.err, errMoot); rec.LeftOut {
			r.Log.Debug("mailer: the list or subscription of an email no longer exists", slog.Int64("mail", rec.ID),
				slog.String("kind", res.mail.Kind))
			return rec, true
		}
		r.Log.Error("mailer: an email can't be created", slog.Int64("mail", rec.ID), slog.String("kind", res.mail.Kind),
			slog.Any("error", res.err))
		return rec, true
	}
	switch o := res.outcome; o.Result {
	case smtp.Sent:
		r.failures = 0
		rec.Sent, rec.Reason = true, ""
	case smtp.Never:
		r.failures = 0
	case smtp.Ambiguous: // retried once with the same Message-ID; the second time it counts as sent
		if rec.Sent = r.unsure[rec.ID]; !rec.Sent {
			r.unsure[rec.ID] = true
			rec.RetryAt = now.Add(backoff(mailDelays, 1))
		}
	case smtp.Untouched:
		if !o.Lost {
			return rec, false
		}
		if r.lost[rec.ID]++; r.lost[rec.ID] < lostLimit {
			return rec, false
		}
		if o.Code == 0 {
			rec.Reason = "the connection was lost each time"
		}
		fallthrough
	default:
		if now.Sub(res.mail.CreatedAt) < mailLife {
			rec.RetryAt = now.Add(jitter(backoff(mailDelays, res.mail.Tries+1)))
		}
	}
	delete(r.lost, rec.ID)
	if rec.RetryAt == 0 {
		delete(r.unsure, rec.ID)
	}
	if !rec.Sent {
		r.Log.Warn("mailer: an email could not be delivered",
			slog.Int64("mail", rec.ID), slog.String("kind", res.mail.Kind),
			slog.String("result", res.outcome.Result.String()), slog.Int("reply", res.outcome.Code),
			slog.String("enhanced", res.outcome.Enhanced), slog.String("text", res.outcome.Text),
			slog.Bool("again", rec.RetryAt != 0))
	}
	return rec, true
}
