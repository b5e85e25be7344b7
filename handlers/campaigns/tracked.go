package campaigns

import (
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/mail"
)

// tracked serves the URLs in a job's emails: the tracking pixel, tracked links, and the browser view.
type tracked struct{ *Room }

// pixelGIF is a GIF with one transparent pixel.
var pixelGIF = []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x21\xf9\x04\x01\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b")

type pixelFile struct {
	File string `path:"file,text"` // the token and .gif
}

// trackedRoutes adds the routes for the links and images in emails.
func (r *Room) trackedRoutes(t *web.Table) {
	seen := tracked{r}
	t.Add("GET", mail.PixelPath+":file", web.Public(), web.Page,
		web.Query(seen.pixel).Answers("image/gif").NeedsRoom(maxEngagement), "Count an open with a tracking image").
		Named("getTrackingPixel")
	t.Add("GET", mail.ClickPath+":token", web.Public(), web.Page,
		web.Query(seen.follow).Fails(core.Invalid, core.NotFound), "Count a click and redirect to the link's target").
		Named("followTrackedLink")
	t.Add("GET", "/v/:token", web.Public(), web.Page,
		web.Query(seen.show).Fails(core.Invalid, core.NotFound, core.PreconditionFailed),
		"View an email in the browser").Named("showMail")
}

// pixel returns the same response for every token and thus reveals nothing about the token.
func (a tracked) pixel(c *web.Call, in pixelFile) (web.Text, error) {
	if token, ok := strings.CutSuffix(in.File, mail.PixelName); ok {
		if job, seq, no, ok := a.Ident.ParseTrack(token); ok && no == 0 {
			a.count(c, job, seq, no)
		}
	}
	c.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	return web.Text{Type: "image/gif", Body: pixelGIF}, nil
}

// maxEngagement is the maximum number of bytes written to count one open or click. Those of many subscribers are
// written together.
const maxEngagement = 4 * web.KiB

// count records an open or a click. HEAD requests don't count.
func (a tracked) count(c *web.Call, job, seq, no int64) {
	if c.Request.Method != http.MethodGet || a.Engage == nil {
		return
	}
	e := core.Engagement{
		JobNo: job, Seq: seq, LinkNo: no, At: c.Now, Last: c.Now, Times: 1,
		Program: core.ProgramOf(c.Request.UserAgent()),
	}
	if no > 0 {
		e.Network = networkOf(c.Remote)
	}
	a.Engage(e)
}

// networkOf returns the network of an address: its /24, or its /48 for an IPv6 address.
func networkOf(a netip.Addr) string {
	bits := 24
	if a = a.Unmap().WithZone(""); a.Is6() {
		bits = 48
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return ""
	}
	return p.String()
}

type mailedToken struct {
	Token string `path:"token,text"`
}

// follow redirects the browser to a link's target. The URL comes from the database, never from the request.
func (a tracked) follow(c *web.Call, in mailedToken) (web.Redirect, error) {
	job, seq, no, ok := a.Ident.ParseTrack(in.Token)
	if !ok || no == 0 {
		return web.Redirect{}, page.LinkError(c, core.ErrInvalidToken)
	}
	shown := no
	if no == core.CanaryLink {
		shown = 1 // a bot gets the first link in the email
	}
	target, err := a.Store.LinkTarget(c, job, shown)
	if err != nil {
		return web.Redirect{}, page.LinkError(c, err)
	}
	if a.Store.Room(maxEngagement) == nil { // without room, the click isn't counted, but the redirect still works
		a.count(c, job, seq, no)
	}
	c.Header().Set("Referrer-Policy", "no-referrer")
	return web.Redirect{URL: target}, nil
}

// viewPolicy allows an email to show its images and styles and to open its links. The email can't run scripts and has
// no origin.
const viewPolicy = "sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; " +
	"default-src 'none'; " +
	"img-src https: http: data:; style-src 'unsafe-inline' https:; font-src https: data:; base-uri 'none'; form-action " +
	"'none'; frame-ancestors 'none'"

// show shows a job's email in the browser to a subscriber, or as a preview to an author. The page isn't tracked.
func (a tracked) show(c *web.Call, in mailedToken) (web.HTML, error) {
	body, err := a.bodyOf(c, in.Token)
	if outdated, ok := errors.AsType[*outdatedView](err); ok {
		return a.showOutdated(c, &outdated.of)
	}
	if kind := core.KindOf(err); errors.Is(err, core.ErrInvalidToken) || errors.Is(err, core.ErrTokenExpired) ||
		kind == core.NotFound {
		return web.HTML{}, page.LinkError(c, err)
	}
	if err != nil {
		return web.HTML{}, err
	}
	c.PageHeaders("", "")
	c.Header().Set("Content-Security-Policy", viewPolicy)
	c.Header().Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	return web.HTML{Body: body}, nil
}

// bodyOf renders the email that a token identifies.
func (a tracked) bodyOf(c *web.Call, token string) ([]byte, error) {
	if p, err := a.Sealer.OpenPreview(token); err == nil {
		if p.Expired(c.Now) {
			return nil, core.ErrTokenExpired
		}
		return a.previewOf(c, p, token)
	}
	if d, err := a.Sealer.OpenDraft(token); err == nil {
		if d.Expired(c.Now) {
			return nil, core.ErrTokenExpired
		}
		return a.draftOf(c, d)
	}
	t, err := a.Sealer.OpenView(token)
	if err == nil && t.Expired(c.Now) {
		err = core.ErrTokenExpired
	}
	if err != nil {
		return nil, err
	}
	return a.mailOf(c, t, token)
}

// previewOf renders a job's email for the address in the preview token. If the address belongs to a subscriber, the
// email contains the subscriber's data.
func (a tracked) previewOf(c *web.Call, t auth.PreviewToken, token string) ([]byte, error) {
	j, err := a.Store.SendJobByNo(c, t.JobNo)
	if err != nil {
		return nil, err
	}
	to := core.Subscriber{Email: "reader@example.org"}
	if t.Email != "" {
		to.Email, to.ID = t.Email, a.Store.SubscriptionID(j.ListID, t.Email.Key())
		switch sub, err := a.Store.ReachedByJob(c, &j, t.Email); {
		case err == nil:
			to = sub
		case !errors.Is(err, core.ErrNotFound):
			return nil, err
		}
	}
	return a.page(c, &j, &to, c.Now, token, auth.UnsubscribeToken{IssuedAt: t.IssuedAt})
}

// draftOf renders a version of a campaign.
func (a tracked) draftOf(c *web.Call, t auth.DraftToken) ([]byte, error) {
	of, err := a.Store.Campaign(c, t.CampaignID)
	if err != nil {
		return nil, err
	}
	d := drafts.Drafts{Store: a.Store, Sealer: a.Sealer, Origin: a.Origin}
	l, err := d.Compile(c, &of, t.Version, c.Now)
	if err == nil && t.Seen != "" && !t.Seen.Same(l.Draft.Digest) {
		return nil, &outdatedView{of}
	}
	if err == nil {
		err = l.Fault
	}
	if err != nil {
		return nil, err
	}
	r, err := d.Recipient(c, &l, t.Email, c.Now)
	if core.KindOf(err) == core.Invalid { // the person has unsubscribed since
		r, err = d.Recipient(c, &l, "", c.Now)
	}
	if err != nil {
		return nil, err
	}
	return l.Bulk.Page(&r)
}

// mailOf renders the HTML part of an email for the token's recipient, or the text part if there is no HTML.
func (a tracked) mailOf(c *web.Call, t auth.ViewToken, token string) ([]byte, error) {
	j, to, err := a.Store.MailedTo(c, t.JobNo, t.Seq)
	if err != nil {
		return nil, err
	}
	return a.page(c, &j, &to, j.StartedAt, token, auth.UnsubscribeToken{JobNo: t.JobNo, Seq: t.Seq, IssuedAt: t.IssuedAt})
}

// page renders a job's email for a subscriber, with the same links as in the inbox. leave identifies the email in the
// unsubscribe link.
func (a tracked) page(c *web.Call, j *core.SendJob, to *core.Subscriber, at core.Instant, token string,
	leave auth.UnsubscribeToken,
) ([]byte, error) {
	listID := cmp.Or(to.ListID, j.ListID) // list through which the email reached the subscriber
	mended := core.Mended{}               // a preview shows the content to be sent
	if leave.JobNo != 0 {
		found, err := a.Store.Mended(c, j.CampaignID)
		if err != nil {
			return nil, err
		}
		mended = found
	}
	spec, content, err := drafts.MendedSpec(c, a.Store, &mended, j, listID)
	if err != nil {
		return nil, err
	}
	bulk, err := a.mails.compile("view", spec)
	if err != nil {
		return nil, err
	}
	origin := content.Tenant.Origin(a.Origin)
	r := mail.Recipient{
		Email: string(to.Email), SubscriberID: to.ID, Preferences: string(to.Preferences), Date: at.Time(),
		ViewURL: origin + "/v/" + token, UnsubscribeToken: "preview",
	}
	if to.ID != "" {
		leave.Kind, leave.ListID, leave.SubscriptionID, leave.Email = auth.UnsubscribeMailed, listID, to.ID, to.Email
		if r.UnsubscribeToken, err = a.Sealer.SealUnsubscribe(leave); err != nil {
			return nil, err
		}
	}
	r.UnsubscribeURL = origin + "/unsubscribe?token=" + r.UnsubscribeToken
	r.PreferencesURL = origin + "/preferences?token=" + r.UnsubscribeToken
	r.PollURL = origin + mail.PollPath // without a Voter, because this page is shown to others, too
	return bulk.Page(&r)
}

// outdatedView is the error for a link whose campaign has changed since.
type outdatedView struct{ of core.Campaign }

func (*outdatedView) Error() string { return "the campaign has changed since the link was created" }

// showOutdated explains that the link is outdated and links to the approval page. It shows none of the campaign's
// content.
func (a tracked) showOutdated(c *web.Call, of *core.Campaign) (web.HTML, error) {
	t, err := a.Store.Tenant(c, of.TenantID)
	if err != nil {
		return web.HTML{}, err
	}
	w := page.WordsOf(c)
	said := w.OutdatedText
	if of.State == core.CampaignApproved || !of.Written() {
		said = w.StateOf(of.State)
	}
	return page.RenderMessage(c, web.StatusOf(web.Page, core.PreconditionFailed), w.OutdatedTitle, page.Note{
		Lines: []string{said}, Link: a.Origin + page.ReviewOf(of.ID), LinkText: w.OutdatedLink,
	}, page.TenantBrand(page.OwnBrand(), &t))
}
