package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/notice"
	"newsletterd/mail/smtp"
	"newsletterd/store"
)

const (
	mailerRead   = 256 // mails read at once
	mailerLow    = 64  // fewer than these held: read more
	mailerRecord = 256 // results in one operation
	mailerIdle   = 10 * time.Second
	mailerAgain  = 250 * time.Millisecond // while at work, look for mails that have become due
)

// MailerOptions configures a Mailer and a TenantMailer.
type MailerOptions struct {
	Store       *store.Store
	Sender      smtp.Sender
	Sealer      *auth.Sealer // unsubscribe links
	Ident       *mail.Ident  // Message-IDs; transactional mail is job 0
	PublicURL   string       // origin of links where the tenant has none
	From        mail.Address // where the tenant has none
	Connections int          // 0: 2
	Signers     *Signers     // of DKIM; nil: mails go out unsigned
	DKIMSkip    []string     // header fields that the relay changes
	Tenants     bool         // a TenantMailer runs too: mails of tenants with relays are left to it
	Log         *slog.Logger
}

// mailer delivers transactional mail: it renders each mail when its turn comes, with the tokens made again, and sends
// it by connections of its own, so that a campaign holds none up. They stay open a while for the next mail.
type mailer struct {
	MailerOptions
	owner     string // the tenant, where it has relays of its own
	loop      *Loop
	wake      chan struct{}
	failures  int                // of the route, running
	tryAt     time.Time          // while it is down: the next try
	notBefore time.Time          // … and the earliest, for new mails bring it forward
	lost      map[int64]int      // connections lost on a mail, running
	unsure    map[int64]bool     // the reply to a mail was lost once
	unwritten []store.MailResult // that could not be written down
}

// Mailer returns the loop that delivers transactional mail.
func Mailer(o MailerOptions) *Loop {
	if o.Connections == 0 {
		o.Connections = 2
	}
	m := &mailer{MailerOptions: o, wake: make(chan struct{}, 1), lost: map[int64]int{}, unsure: map[int64]bool{}}
	m.loop = &Loop{Name: "mailer", Step: m.step}
	o.Store.OnKick(store.TopicMail, func() {
		select {
		case m.wake <- struct{}{}:
		default:
		}
		m.loop.Kick()
	})
	o.Store.OnKick(store.TopicMailSoon, func() { m.loop.KickIn(store.MailDelay) })
	return m.loop
}

// mailRun is one Step's work in hand.
type mailRun struct {
	*mailer
	queue       chan *core.Mail
	results     chan mailResult
	ended       chan error // of a connection
	quit        chan struct{}
	held        map[int64]bool
	connections int
	read        bool         // there may be something to claim
	all         bool         // read everything that is due, not only what is new
	last        int64        // the greatest id that was read
	allAt       core.Instant // when all that was due had been read: what became due since then is still to be found
	broken      bool
}

type mailResult struct {
	mail    *core.Mail
	outcome smtp.Outcome
	err     error // the mail cannot be made
}

func (m *mailer) step(ctx context.Context, _ time.Time) time.Time {
	if !m.finish(ctx, nil, core.At(time.Now())) {
		return time.Now().Add(time.Second)
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
			// the connections finish what they have in flight
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

// routeEnded looks at how a connection ended. What breaks several at once counts once.
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

// readMails reads what is due, all of it or what is new, of the mails that go by this mailer.
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
			r.held[m.ID] = true
			r.queue <- m
		}
	}
	return nil
}

// connection runs one connection until nothing has come for a while.
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
					return e, true
				}
				r.results <- mailResult{mail: m, err: err}
			}
		},
		Commit: func(*smtp.Envelope) bool { return true },
		Done: func(e *smtp.Envelope, o smtp.Outcome) {
			m := e.Tag.(*core.Mail)
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

// record takes a result and those that are ready too and writes them down in one operation.
func (r *mailRun) record(ctx context.Context, first mailResult) {
	now := core.At(time.Now())
	var records []store.MailResult
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

// finish writes results down, with those of before, and reports whether it could. What cannot be written is kept, and
// nothing is sent until it is: a full disk can be read, and a mail that has gone out would be found due again.
func (m *mailer) finish(ctx context.Context, more []store.MailResult, now core.Instant) bool {
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

// lostLimit is how many connections lost on one mail, running, count as a refusal of it.
const lostLimit = 3

// judge returns what the store keeps of a result. counts is false where no relay took or refused the mail.
func (r *mailRun) judge(res mailResult, now core.Instant) (rec store.MailResult, counts bool) {
	rec = store.MailResult{ID: res.mail.ID, Reason: res.outcome.Text}
	if core.KindOf(res.err) == core.Unavailable && res.err != nil { // of the database: the mail is not at fault
		r.stop()
		return rec, false
	}
	if res.err != nil {
		rec.Reason = res.err.Error()
		if rec.LeftOut = errors.Is(res.err, core.ErrListNotFound); rec.LeftOut { // deleted while the mail waited
			r.Log.Debug("mailer: the list of a mail is gone", slog.Int64("mail", rec.ID),
				slog.String("kind", res.mail.Kind))
			return rec, true
		}
		r.Log.Error("mailer: a mail cannot be made", slog.Int64("mail", rec.ID), slog.String("kind", res.mail.Kind),
			slog.Any("error", res.err))
		return rec, true
	}
	switch o := res.outcome; o.Result {
	case smtp.Sent:
		r.failures = 0
		rec.Sent, rec.Reason = true, ""
	case smtp.Never:
		r.failures = 0
	case smtp.Ambiguous: // once more, under the same Message-ID; the second time it is taken for sent
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
		rec.Reason = "the connection was lost each time"
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
		r.Log.Warn("mailer: a mail was not delivered", slog.Int64("mail", rec.ID), slog.String("kind", res.mail.Kind),
			slog.String("result", res.outcome.Result.String()), slog.Int("reply", res.outcome.Code),
			slog.Bool("again", rec.RetryAt != 0))
	}
	return rec, true
}

// notices says what a mail of a kind looks like: its text, the page that its link leads to, and how long that works.
var notices = map[string]struct {
	notice notice.Kind
	page   string
	valid  time.Duration
}{
	core.MailConfirm:           {notice.Confirm, "/confirm", store.ConfirmTTL},
	core.MailAlreadySubscribed: {notice.Subscribed, "/preferences", 0},
	core.MailUnsubscribed:      {notice.Unsubscribed, "/undo", auth.UndoTTL},
	core.MailPreferences:       {notice.Preferences, "/preferences", auth.ManageTTL},
	core.MailVerify:            {notice.Verify, "/verify", 48 * time.Hour},
	core.MailClaim:             {notice.Reverify, "/verify", 48 * time.Hour},
	core.MailAlreadyRegistered: {notice.Registered, "/login", 0},
	core.MailReset:             {notice.Reset, "/password/reset", time.Hour},
	core.MailChange:            {notice.Change, "/verify", store.ChangeTTL},
	core.MailChangeTaken:       {notice.Taken, "/login", 0},
	core.MailChangeAsked:       {notice.ChangeAsked, "/account", 0},
	core.MailChanged:           {notice.Changed, "/login", 0},
	core.MailPasskeyAdded:      {notice.PasskeyAdded, "/account", 0},
	core.MailPasskeyRemoved:    {notice.PasskeyRemoved, "/account", 0},
	core.MailTwoStepOn:         {notice.TwoStepOn, "/account", 0},
	core.MailTwoStepOff:        {notice.TwoStepOff, "/account", 0},
	core.MailRecoveryCodes:     {notice.RecoveryCodes, "/account", 0},
	core.MailInvitation:        {notice.Invitation, "/invitation", store.InvitationTTL},
	core.MailReview:            {notice.Review, "/review", 0},
	core.MailReviewApproved:    {notice.ReviewApproved, "/review", 0},
	core.MailReviewRejected:    {notice.ReviewRejected, "/review", 0},
	core.MailReviewMissed:      {notice.ReviewMissed, "/review", 0},
}

// envelopes are used again: a mail is some kilobytes.
var envelopes = sync.Pool{New: func() any { return new(smtp.Envelope) }}

// compose renders a mail.
func (m *mailer) compose(ctx context.Context, q *core.Mail, now time.Time) (*smtp.Envelope, error) {
	if q.Kind == core.MailTest {
		return m.composeTest(ctx, q, now)
	}
	n, ok := notices[q.Kind]
	if !ok {
		return nil, errors.New("unknown kind of mail")
	}
	tenantID := ""
	from, origin, d := m.From, m.PublicURL, notice.Data{
		To: string(q.Email), Valid: n.valid,
		Brand: notice.Brand{Name: m.From.Name},
	}
	msg := mail.Message{To: mail.Address{Email: string(q.Email)}, Date: now, MessageID: m.Ident.Message(0, q.ID)}
	if q.AboutAccount() {
		if err := m.accountLook(ctx, q, &d); err != nil {
			return nil, err
		}
	} else {
		list, err := m.Store.ListWithTenant(ctx, q.ListID)
		if err != nil {
			return nil, err
		}
		d.List, d.Language, tenantID = list.Name, list.PageLanguage(), list.TenantID
		d.Own = list.Wording(q.Kind)
		from, origin, d.Brand = brandOf(&list.Tenant, from, origin)
		msg.ReplyTo.Email = list.Tenant.ReplyTo
	}
	query, err := m.linkQuery(ctx, q)
	if err != nil {
		return nil, err
	}
	d.URL = origin + n.page + query
	if msg.Subject, msg.Text, msg.HTML, err = n.notice.Render(d); err != nil {
		return nil, err
	}
	msg.From = from
	e := envelopes.Get().(*smtp.Envelope)
	e.From, e.To, e.Tag = from.Email, string(q.Email), q
	if e.Data, err = mail.Compose(e.Data[:0], &msg); err != nil {
		return nil, err
	}
	return e, m.sign(ctx, e, tenantID)
}

// accountLook sets the looks of a mail about an account. One that was asked for on the way to a tenant's client has the
// tenant's language, name and color. Its sender, Reply-To, origin of links, relay and DKIM key are the daemon's, and it
// loads no image.
func (m *mailer) accountLook(ctx context.Context, q *core.Mail, d *notice.Data) error {
	var of core.AccountMail
	if err := json.Unmarshal([]byte(q.Params), &of); err != nil {
		return err
	}
	d.Language = of.Language
	if of.Review != nil {
		d.Review = *of.Review
	}
	if q.TenantID == "" {
		return nil
	}
	tenant, err := m.Store.Tenant(ctx, q.TenantID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	d.Language = cmp.Or(tenant.Language, d.Language)
	d.Brand.Name, d.Brand.Color = cmp.Or(tenant.AccountBrand(), d.Brand.Name), tenant.BrandColor
	return nil
}

// sign signs a mail where its sender has a key.
func (m *mailer) sign(ctx context.Context, e *smtp.Envelope, tenantID string) error {
	k, err := m.Signers.of(ctx, tenantID, core.Email(e.From).Domain())
	if err == nil && k.signer != nil {
		e.Data, err = k.signer.Sign(e.Data, m.DKIMSkip)
	}
	return err
}

// brandOf returns the sender, the origin of links and the brand of a tenant's mail. What the tenant lacks is the
// daemon's.
func brandOf(t *core.Tenant, from mail.Address, origin string) (mail.Address, string, notice.Brand) {
	b := notice.Brand{
		Name: cmp.Or(t.BrandName, t.Name), Color: t.BrandColor, LogoURL: t.BrandLogoURL,
		PostalAddress: t.PostalAddress,
	}
	from.Name = t.SenderName()
	if t.MailFrom != "" {
		from.Email = t.MailFrom
	}
	return from, t.Origin(origin), b
}

// linkKinds are the kinds of the tokens in notices to subscribers.
var linkKinds = map[string]auth.UnsubscribeKind{
	core.MailAlreadySubscribed: auth.UnsubscribeMailed, core.MailUnsubscribed: auth.UnsubscribeUndo,
	core.MailPreferences: auth.UnsubscribeManage,
}

// linkQuery makes the token of a mail's link, which no queue holds. The token alone: the page knows whom it was mailed
// to, and a link that names its reader costs a point in SpamAssassin (GB_CUSTOM_HTM_URI).
func (m *mailer) linkQuery(ctx context.Context, q *core.Mail) (string, error) {
	v := url.Values{}
	switch q.Kind {
	case core.MailConfirm:
		token, err := m.Store.ConfirmToken(ctx, q.TokenID, core.ProofMailed)
		if err != nil {
			return "", err
		}
		v.Set("token", token)
	case core.MailAlreadySubscribed, core.MailUnsubscribed, core.MailPreferences:
		token, err := m.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
			Kind: linkKinds[q.Kind], ListID: q.ListID, // an undo link is for the unsubscribing at CreatedAt
			SubscriptionID: m.Store.SubscriptionID(q.ListID, q.Email.Key()), Email: q.Email, IssuedAt: q.CreatedAt,
		})
		if err != nil {
			return "", err
		}
		v.Set("token", token)
	case core.MailVerify, core.MailClaim, core.MailReset, core.MailChange, core.MailInvitation:
		key, err := m.Store.PurposeKey(ctx, store.PurposeMailToken)
		if err != nil {
			return "", err
		}
		v.Set("token", auth.MailToken(key, q.Kind, q.TokenID))
	case core.MailReview, core.MailReviewApproved, core.MailReviewRejected, core.MailReviewMissed:
		v.Set("campaign", q.TokenID)
	default:
		return "", nil
	}
	return "?" + v.Encode(), nil
}
