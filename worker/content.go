package worker

import (
	"context"
	"strings"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
	"newsletterd/store"
)

// content holds a job's compiled content for one list, and the prefixes of the links and addresses in its emails.
type content struct {
	bulk       *mail.Bulk
	named      *mail.Bulk // for subscribers who agreed to tracking by name; nil: none
	from       string
	oneClick   string // URL without the token, which follows
	visible    string
	manage     string // prefix of the preference page's URL; empty if no body prints its link
	bounceHost string // "@" and the domain; empty: MAIL FROM is the plain sender
	listID     string
	jobNo      int64
	startedAt  core.Instant
	sealer     *auth.Sealer
	ident      *mail.Ident
	sign       signature
	view       string  // URL without the token, which follows; empty if no part prints it
	polls      string  // URL without the token, which follows; empty if no part links to a poll
	tracked    bool    // bulk tracks each subscriber by name
	links      []int64 // numbers of the tracked links
}

// compileContents reads and compiles a job's content for each of its lists. If the job itself is at fault, the error is
// Invalid or NotFound.
func compileContents(ctx context.Context, st *store.Store, o *SendOptions, j *core.SendJob) ([]*content, error) {
	lists, err := st.JobLists(ctx, j)
	if err != nil {
		return nil, err
	}
	files, err := st.Attachments(ctx, j.CopyID)
	if err != nil {
		return nil, err
	}
	attached := mail.NewAttachments(files)
	all := make([]*content, len(lists))
	for i, id := range lists {
		if all[i], err = compileContent(ctx, st, o, j, id, attached); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func compileContent(ctx context.Context, st *store.Store, o *SendOptions, j *core.SendJob, listID string,
	attached *mail.Attachments,
) (*content, error) {
	c, err := st.ContentOf(ctx, j, listID)
	if err != nil {
		return nil, err
	}
	origin := c.Tenant.Origin(o.PublicURL)
	from, err := o.Own.from(ctx, o.From)
	if err != nil {
		return nil, err
	}
	spec := mail.JobSpec(j.ID, &c, from)
	asks := !c.Copy.Totals && c.Tenant.AsksForTracking()
	if !c.Tenant.NoTracking {
		spec.Track = mail.Tracking{Open: c.Copy.TrackOpen, Click: c.Copy.TrackClick, Origin: origin, Named: asks}
	}
	spec.Attachments = attached
	provider, err := o.Own.provider(ctx, o.Provider)
	if err != nil {
		return nil, err
	}
	spec.Providers = providersOf(&c.Tenant, provider)
	bulk, err := mail.CompileBulk(spec)
	if err != nil {
		return nil, err
	}
	out := &content{
		bulk: bulk, from: spec.From.Email, listID: listID, jobNo: j.No, startedAt: j.StartedAt,
		oneClick: origin + "/api/newsletter/unsubscribe?token=", visible: origin + "/unsubscribe?token=",
		sealer: o.Sealer, ident: o.Ident,
	}
	out.sign = signature{signers: o.Signers, tenantID: j.TenantID, domain: core.Email(out.from).Domain()}
	if _, err := out.sign.signer(ctx); err != nil {
		return nil, err
	}
	if strings.Contains(spec.HTML+spec.Text+spec.HTMLLayout+spec.TextLayout, "preferences_url") {
		out.manage = origin + preferencesPath
	}
	if bulk.PrintsView() {
		out.view = origin + "/v/"
	}
	if bulk.PrintsPoll() {
		out.polls = origin + mail.PollPath
	}
	out.tracked = spec.Track.Open || spec.Track.Click
	if out.links, err = st.KeepLinks(ctx, j.No, bulk.Links()); err != nil {
		return nil, err
	}
	if out.tracked && (c.Copy.Totals || c.Tenant.TotalsOnly || c.Tenant.TrackingConsent) {
		if asks {
			out.named, out.manage = bulk, origin+preferencesPath
		}
		if err := out.countTotals(ctx, st, spec); err != nil {
			return nil, err
		}
	}
	if o.BounceDomain != "" {
		out.bounceHost = "@" + o.BounceDomain
	}
	out.bulk.ForSending()
	if out.named != nil {
		out.named.ForSending()
	}
	return out, nil
}

// preferencesPath is the path of the preference page. The token follows.
const preferencesPath = "/preferences?token="

// countTotals sets up anonymous tracking, for which the pixel and links are part of the content and identify no
// subscriber. It does not affect the emails in c.named.
func (c *content) countTotals(ctx context.Context, st *store.Store, spec *mail.BulkSpec) (err error) {
	if err := st.CountTotals(ctx, c.jobNo, c.named != nil); err != nil {
		return err
	}
	c.tracked = false
	spec.Track.Named = false
	spec.Track.Totals = &mail.Tracker{Ident: c.ident, Job: c.jobNo, Links: c.links}
	c.bulk, err = mail.CompileBulk(spec)
	return err
}

// providersOf returns the kinds of email providers that a tenant's relays belong to.
func providersOf(t *core.Tenant, own string) []string {
	if len(t.Relays) == 0 {
		return []string{own}
	}
	kinds := make([]string, len(t.Relays))
	for i := range t.Relays {
		kinds[i] = mail.ProviderOfHost(t.Relays[i].Host)
	}
	return kinds
}

// compose composes the email for one recipient in e. It reuses the capacity of e.Data. A recipient of a job gets the
// same Message-ID and the same tokens on every try. scratch is a buffer that the caller reuses.
func (c *content) compose(e *smtp.Envelope, cl *core.Claim, now time.Time, scratch *[]byte) error {
	links, err := c.sealer.AppendUnsubscribe(append((*scratch)[:0], c.visible...), auth.UnsubscribeToken{
		Kind: auth.UnsubscribeMailed, ListID: c.listID, SubscriptionID: cl.SubscriberID, Email: core.Email(cl.Email),
		JobNo: c.jobNo, Seq: cl.Seq, IssuedAt: c.startedAt,
	})
	*scratch = links
	if err != nil {
		return err
	}
	end := len(links)
	links = append(append(links, c.oneClick...), links[len(c.visible):end]...)
	begin := len(links)
	*scratch = c.ident.AppendMessage(links, c.jobNo, cl.Seq)
	all := string(*scratch) // one string that contains all tokens
	token := all[len(c.visible):end]
	r := mail.Recipient{
		Email: cl.Email, SubscriberID: cl.SubscriberID, Preferences: cl.Preferences, Date: now,
		MessageID: all[begin:], UnsubscribeToken: token, OneClickURL: all[end:begin], UnsubscribeURL: all[:end],
	}
	if c.manage != "" {
		r.PreferencesURL = c.manage + token
	}
	if c.view != "" {
		r.ViewURL = string(c.sealer.AppendView([]byte(c.view),
			auth.ViewToken{JobNo: c.jobNo, Seq: cl.Seq, IssuedAt: c.startedAt}))
	}
	if c.polls != "" {
		r.PollURL, r.Voter = c.polls, &mail.Voter{Ident: c.ident, Job: c.jobNo, Seq: cl.Seq}
	}
	bulk, tracked := c.bulk, c.tracked
	if c.named != nil && core.Preferences(cl.Preferences).AgreesToTracking() {
		bulk, tracked = c.named, true
	}
	if tracked {
		r.Track = &mail.Tracker{Ident: c.ident, Job: c.jobNo, Seq: cl.Seq, Links: c.links}
	}
	e.From, e.To = c.from, cl.Email
	if c.bounceHost != "" {
		e.From = c.ident.Bounce(c.jobNo, cl.Seq) + c.bounceHost
		r.UnsubscribeMailto = c.ident.Unsubscribe(c.jobNo, cl.Seq) + c.bounceHost
	}
	e.Dotless, e.Tail = true, bulk.Tail()
	e.Data, err = bulk.Append(e.Data[:0], &r)
	return err
}
