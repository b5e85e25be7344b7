package worker

import (
	"context"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
)

// content is a job's content, compiled once, with what every link and address of its mails begins with.
type content struct {
	bulk       *mail.Bulk
	from       string
	oneClick   string // the token follows
	visible    string
	bounceHost string // "@" and the domain; empty: the plain sender
	listID     string
	jobNo      int64
	startedAt  core.Instant
	sealer     *auth.Sealer
	ident      *mail.Ident
}

// compile reads and compiles the content of a job. An Invalid or NotFound error is the job's fault.
func (s *Sender) compile(ctx context.Context, j *core.SendJob) (*content, error) {
	c, err := s.store.Content(ctx, j)
	if err != nil {
		return nil, err
	}
	spec := mail.JobSpec(j.ID, &c, s.opts.From)
	bulk, err := mail.CompileBulk(spec)
	if err != nil {
		return nil, err
	}
	origin := s.opts.PublicURL
	if c.Tenant.PublicURL != "" {
		origin = c.Tenant.PublicURL
	}
	out := &content{
		bulk: bulk, from: spec.From.Email, listID: j.ListID, jobNo: j.No, startedAt: j.StartedAt,
		oneClick: origin + "/api/newsletter/unsubscribe?token=", visible: origin + "/unsubscribe?token=",
		sealer: s.opts.Sealer, ident: s.opts.Ident,
	}
	if s.opts.BounceDomain != "" {
		out.bounceHost = "@" + s.opts.BounceDomain
	}
	return out, nil
}

// compose writes the mail of one recipient into e, into the room that its Data had. The same recipient of the same job
// always gets the same Message-ID and the same tokens, whichever try it is. scratch is the caller's, used again.
func (c *content) compose(e *mail.Envelope, cl *store.Claim, now time.Time, scratch *[]byte) error {
	link, err := c.sealer.AppendUnsubscribe(append((*scratch)[:0], c.visible...), auth.UnsubscribeToken{
		Kind: auth.UnsubscribeMailed, ListID: c.listID, SubscriptionID: cl.SubscriberID, Email: core.Email(cl.Email),
		JobNo: c.jobNo, Seq: cl.Seq, IssuedAt: c.startedAt,
	})
	*scratch = link
	if err != nil {
		return err
	}
	visible := string(link)
	token := visible[len(c.visible):]
	r := mail.Recipient{
		Email: cl.Email, SubscriberID: cl.SubscriberID, Preferences: []byte(cl.Preferences), Date: now,
		MessageID: c.ident.Message(c.jobNo, cl.Seq), UnsubscribeToken: token,
		OneClickURL: c.oneClick + token, UnsubscribeURL: visible,
	}
	e.From, e.To = c.from, cl.Email
	if c.bounceHost != "" {
		e.From = c.ident.Bounce(c.jobNo, cl.Seq) + c.bounceHost
		r.UnsubscribeMailto = c.ident.Unsubscribe(c.jobNo, cl.Seq) + c.bounceHost
	}
	e.Data, err = c.bulk.Append(e.Data[:0], &r)
	return err
}
