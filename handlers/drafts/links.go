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

// Checks configures the checks of a campaign that need network access. It is safe for concurrent use.
type Checks struct {
	LookupTXT    auth.LookupTXT // nil: no DNS lookups
	Client       *http.Client   // fetches links; must refuse nonpublic addresses; nil: links are not checked
	NotPublic    error          // error that Client returns for a nonpublic address
	Sender       string         // the server's own sender address, used for tenants without one
	Kept         bool           // whether the database may have a mail server with another sender address
	BounceDomain string         // domain that receives bounces; empty: the sender's domain
	PerHour      int            // number of link checks per hour and tenant; 0: the default

	// Pages contains the first segments of the paths of this server's pages. Set it before the first check. Other paths
	// on a tenant's host belong to archives, or are old paths of imported issues.
	Pages map[string]bool

	limiter *web.Limiter
	mu      sync.Mutex
	texts   map[string]keptTexts
}

// Limits for the link check.
const (
	maxAsked      = 50 // maximum number of URLs per campaign
	askedAtOnce   = 8
	askTimeout    = 4 * time.Second // maximum time per URL
	allAsked      = 9 * time.Second
	checksPerHour = 60
)

// Init prepares the rate limits. Call it before the first check. It returns an error if PerHour is invalid.
func (k *Checks) Init() (err error) {
	k.limiter, err = web.NewLimiter(cmp.Or(k.PerHour, checksPerHour), time.Hour)
	return err
}

// MayAsk counts a tenant's link check. If there were too many, it returns an error of kind core.TooMany.
func (k *Checks) MayAsk(c *web.Call, tenantID string) error {
	err := c.CountBy(k.limiter, tenantID)
	if e, ok := errors.AsType[*core.Error](err); ok && e.Kind == core.TooMany {
		e.Message = "Too many link checks for this tenant. Try again later."
	}
	return err
}

// AskedLinks holds the numbers of URLs that were checked and skipped. URLs are skipped if they contain a secret, lead
// to the server's own pages except archives, or exceed the limit.
type AskedLinks struct {
	Asked   int `json:"asked" about:"Number of URLs that were requested"`
	Skipped int `json:"skipped" about:"Number of URLs that weren't requested: with a secret, of this server, or beyond the limit"`
}

// linkDead is the finding code for a link that doesn't respond.
const linkDead = "link_dead"

// askLinks checks whether the URLs in a campaign respond.
func (d Drafts) askLinks(ctx context.Context, l *Look) (out AskedLinks, all []core.CampaignFinding) {
	ctx, cancel := context.WithTimeout(ctx, allAsked)
	defer cancel()
	own := l.Draft.Content.Tenant.Origin(d.Origin)
	var ask []string
	for _, address := range l.addresses {
		if d.Checks != nil && d.Checks.Client != nil && d.Checks.mayAsk(address, own) && len(ask) < maxAsked {
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
	_ = group.Wait() // the functions return no errors
	for i, address := range ask {
		code, hint := linkDead, "Open the link in a browser and fix it."
		if refused[i] {
			code, hint = "link_not_public", "Use a link that subscribers can open."
		}
		if problems[i] != "" {
			f := core.Warningf(code, placeIn(&l.Draft.Fields, address), hint, "%s %s.", shorter(address), problems[i])
			f.Name = shorter(address)
			all = append(all, f)
		}
	}
	return out, all
}

// DeadLink checks the links in a send job's email and describes the first one that doesn't respond. If all respond or
// link checks are disabled, it returns an empty string. The error is core.ErrStorage or comes from rendering.
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

// secretWords holds substrings of query parameter names whose values grant access.
var secretWords = []string{"token", "key", "sig", "auth", "code", "secret", "session", "pass"}

// mayAsk reports whether a URL may be fetched without a subscriber's action. It must contain no secret. On this server,
// it must lead to an image or an archive.
func (k *Checks) mayAsk(address, own string) bool {
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
		first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		return first == "m" || first == "a" || first == "" || k.Pages != nil && !k.Pages[first]
	}
	return true
}

// ask fetches a URL and returns its problem, or an empty string if it responds. refused means that the URL leads to a
// nonpublic address.
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
		return "responds with " + strings.TrimSpace(http.StatusText(status)), false
	}
	return "", false // pages that refuse automated requests may work for subscribers
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

// unanswered explains why a URL doesn't respond.
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
		return "does not respond in time"
	}
	return "does not respond"
}

// MendedTarget returns the target of a fixed link: the given URL with the campaign's utm parameters. If the URL is not
// a valid target, it returns an Invalid error for the field target.
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

// Target returns warnings about a URL as a link target. If ask is true and the URL may be fetched, it also checks
// whether the URL responds.
func (k *Checks) Target(ctx context.Context, address, own string, ask bool) (all []string) {
	if w := mail.MixedScripts(address); w != "" {
		all = append(all, w)
	}
	if k == nil || k.Client == nil || !ask || !k.mayAsk(address, own) {
		return all
	}
	if problem, _ := k.ask(ctx, address); problem != "" {
		all = append(all, shorter(address)+" "+problem+".")
	}
	return all
}
