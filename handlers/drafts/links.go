package drafts

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/mail/markup"
	"newsletterd/store"
	"newsletterd/store/campaigns"
)

// Checks is what campaigns are checked with in addition to what is written. It is safe for concurrent use.
type Checks struct {
	LookupTXT    auth.LookupTXT // nil: the DNS is not asked
	Client       *http.Client   // asks links; nil: none is asked. It must refuse addresses that are not public
	NotPublic    error          // of the client, for an address that it refuses
	Sender       string         // the daemon's own address, for tenants without one
	Kept         bool           // the database may have a mail server with another such address
	BounceDomain string         // where bounces go; empty: to the sender's domain
	PerHour      int            // checks of links of one tenant; 0: the default

	limiter *web.Limiter
	mu      sync.Mutex
	texts   map[string]keptTexts
}

// Limits of the look at links.
const (
	maxAsked      = 50 // addresses of one campaign
	askedAtOnce   = 8
	askTimeout    = 4 * time.Second // for one address
	allAsked      = 9 * time.Second
	checksPerHour = 60
)

// Init must be called before the first look. Its error is that of a limit that is no number of requests.
func (k *Checks) Init() (err error) {
	k.limiter, err = web.NewLimiter(cmp.Or(k.PerHour, checksPerHour), time.Hour)
	return err
}

// MayAsk counts a check of links. Too many are core.TooMany.
func (k *Checks) MayAsk(c *web.Call, tenantID string) error {
	err := c.CountBy(k.limiter, tenantID)
	if e, ok := errors.AsType[*core.Error](err); ok && e.Kind == core.TooMany {
		e.Message = "Too many link checks for this tenant. Try again later."
	}
	return err
}

// AskedLinks says how many addresses were asked, and how many not: those that carry a secret, those of the daemon's own
// pages, and what is over the limit.
type AskedLinks struct {
	Asked   int `json:"asked"`
	Skipped int `json:"skipped"`
}

// linkDead is the finding of a link that does not answer.
const linkDead = "link_dead"

// askLinks asks the addresses of a campaign whether they answer.
func (d Drafts) askLinks(ctx context.Context, l *Look) (out AskedLinks, all []core.CampaignFinding) {
	ctx, cancel := context.WithTimeout(ctx, allAsked)
	defer cancel()
	own := l.Draft.Content.Tenant.Origin(d.Origin)
	var ask []string
	for _, address := range l.addresses {
		if mayAskAddress(address, own) && len(ask) < maxAsked && d.Checks != nil && d.Checks.Client != nil {
			ask = append(ask, address)
		}
	}
	out = AskedLinks{len(ask), len(l.addresses) - len(ask)}
	problems := make([]string, len(ask))
	refused := make([]bool, len(ask))
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i := range ask {
		group.Go(func() error {
			problems[i], refused[i] = d.Checks.ask(ctx, ask[i])
			return nil
		})
	}
	_ = group.Wait() // none of them fails
	for i, address := range ask {
		code, hint := linkDead, "Open the link in a browser and fix it."
		if refused[i] {
			code, hint = "link_not_public", "Use a link that subscribers can open."
		}
		if problems[i] != "" {
			all = append(all, core.Warningf(code, placeIn(&l.Draft.Fields, address), hint, "%s %s.", shorter(address),
				problems[i]))
		}
	}
	return out, all
}

// DeadLink asks the links of what a job sends, and says which one does not answer, and how; empty: each answers, or the
// daemon asks none. Its errors are core.ErrStorage and those of the rendering.
func (d Drafts) DeadLink(ctx context.Context, j *core.SendJob) (string, error) {
	content, err := d.Store.Content(ctx, j)
	if err != nil {
		return "", err
	}
	bulk, err := mail.CompileShown(j.ID, &content)
	if err != nil {
		return "", err
	}
	r := SampleRecipient(content.Tenant.Origin(d.Origin), j.StartedAt)
	in := mail.Inspection{Recipient: &r, Written: true, Place: func(string) core.FindingPlace {
		return core.FindingPlace{}
	}}
	l := Look{Draft: campaigns.Draft{Content: content}}
	if _, l.addresses, err = bulk.Inspect(&in); err != nil {
		return "", err
	}
	_, found := d.askLinks(ctx, &l)
	for _, f := range found {
		if f.Code == linkDead {
			return strings.TrimSuffix(f.Message, "."), nil
		}
	}
	return "", nil
}

func shorter(address string) string {
	if len(address) > 100 {
		return strings.ToValidUTF8(address[:100], "") + "…"
	}
	return address
}

// secretWords are parts of the names of query parameters that carry what opens something.
var secretWords = []string{"token", "key", "sig", "auth", "code", "secret", "session", "pass"}

// mayAskAddress reports whether an address may be fetched without a reader's will: it carries no secret, and is no page
// of the daemon's but a picture or an archive.
func mayAskAddress(address, own string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return false
	}
	for name := range u.Query() {
		name = strings.ToLower(name)
		if slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(name, w) }) {
			return false
		}
	}
	if o, err := url.Parse(own); err == nil && strings.EqualFold(o.Host, u.Host) {
		return strings.HasPrefix(u.Path, "/m/") || strings.HasPrefix(u.Path, "/a/")
	}
	return true
}

// ask returns what is wrong with an address, empty where it answers; refused: it is not public.
func (k *Checks) ask(ctx context.Context, address string) (problem string, refused bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	status, err := k.request(ctx, http.MethodHead, address)
	if err == nil && status >= http.StatusBadRequest {
		status, err = k.request(ctx, http.MethodGet, address)
	}
	switch {
	case k.NotPublic != nil && errors.Is(err, k.NotPublic):
		return "leads to an address that is not public", true
	case err != nil:
		return unanswered(err), false
	case status == http.StatusNotFound || status == http.StatusGone || status >= http.StatusInternalServerError:
		return "answers " + strings.TrimSpace(http.StatusText(status)), false
	}
	return "", false // what is refused to programs may be there for readers
}

func (k *Checks) request(ctx context.Context, method, address string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, web.ASCII(address), http.NoBody)
	if err != nil {
		return 0, err
	}
	req.Header.Set("User-Agent", "Mozilla/5.0 (compatible; newsletterd link check)")
	res, err := k.Client.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// unanswered says why an address doesn't answer.
func unanswered(err error) string {
	fault, isDNS := errors.AsType[*net.DNSError](err)
	_, isTLS := errors.AsType[*tls.CertificateVerificationError](err)
	network, isNet := errors.AsType[net.Error](err)
	switch {
	case isDNS && fault.IsNotFound:
		return "has a host that does not exist"
	case isTLS:
		return "has a certificate that browsers don't trust"
	case errors.Is(err, context.DeadlineExceeded), isNet && network.Timeout():
		return "does not answer in time"
	}
	return "does not answer"
}

// MendedTarget returns where a link of a campaign leads that is mended: the address that was given, with the utm
// parameters that links of the campaign have. Invalid, on target: it is no such address.
func MendedTarget(ctx context.Context, s *store.Store, of *core.Campaign, target string) (string, error) {
	if target == "" {
		return "", nil
	}
	if err := core.CheckTarget(target); err != nil {
		return "", err
	}
	_, fields, err := s.CampaignVersion(ctx, of, of.ApprovedVersion)
	if err != nil {
		return "", err
	}
	t, err := s.Tenant(ctx, of.TenantID)
	if err != nil {
		return "", err
	}
	target = markup.WithUTM(target, &fields.UTM, t.PublicURL)
	return target, core.CheckTarget(target)
}

// Target returns what is probably not meant about the address of a link. Where it may, it is asked whether it answers.
func (k *Checks) Target(ctx context.Context, address, own string, ask bool) (all []string) {
	if w := mail.MixedScripts(address); w != "" {
		all = append(all, w)
	}
	if k == nil || k.Client == nil || !ask || !mayAskAddress(address, own) {
		return all
	}
	if problem, _ := k.ask(ctx, address); problem != "" {
		all = append(all, shorter(address)+" "+problem+".")
	}
	return all
}
