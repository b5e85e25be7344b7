package campaigns

import (
	"log/slog"
	"time"

	"golang.org/x/sync/semaphore"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/page"
	"newsletterd/handlers/tenants"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/mail/report"
	"newsletterd/store"
)

// Room holds the dependencies of the endpoints and pages.
type Room struct {
	Store  *store.Store
	Log    *slog.Logger
	Sealer *auth.Sealer // seals links in previews and emails
	Ident  *mail.Ident  // for tracked links and Message-IDs

	Origin    string // public URL of tenants without their own
	MemberURL string // URL of signup forms and preference pages; empty: this server

	Checks         *drafts.Checks
	Relay          *tenants.RelayOptions // how emails are sent
	DuplicateGuard time.Duration         // period in which a send job with the same content is refused; 0: never
	Engage         func(core.Engagement) // counts opens and clicks without waiting; nil: none are counted

	Providers map[string]*core.ProviderSecrets // providers in the configuration; they override the store's
	SNS       *report.SNS                      // checks messages from Amazon SNS; nil: none is accepted

	Uploads     *web.Uploads
	MediaLimits core.MediaLimits
	Pictures    *semaphore.Weighted // memory for decoding images
	Videos      *drafts.Videos      // nil: no thumbnails are fetched

	// ShowReview renders the page for approving a campaign, in the console's design.
	ShowReview func(c *web.Call, who core.Visitor, of *page.Reviewed, status int, v *page.View) (web.HTML, error)
	// ShowDecision renders the page after a decision, with a page.Note.
	ShowDecision func(c *web.Call, who core.Visitor, t *core.Tenant, v *page.View) (web.HTML, error)

	// Taken is the set of first path segments in the table. An issue with such a slug is never at the root of a host.
	Taken map[string]bool

	mails mailCache // compiled emails that pages show
}

// Routes adds the endpoints, and the pages except the review page.
func (r *Room) Routes(t *web.Table) {
	r.archiveRoutes(t)
	r.campaignRoutes(t)
	r.campaignCheckRoutes(t)
	r.campaignSendRoutes(t)
	r.campaignLinkRoutes(t)
	r.correctionRoutes(t)
	r.versionRoutes(t)
	r.sendJobRoutes(t)
	r.webhookRoutes(t)
	r.trackedRoutes(t)
	r.pollRoutes(t)
	r.voteRoutes(t)
	r.providerEventRoutes(t)
	r.mediaRoutes(t)
}
