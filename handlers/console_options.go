package handlers

import (
	"context"

	"newsletterd/core"
	"newsletterd/handlers/campaigns"
	"newsletterd/handlers/console"
	"newsletterd/handlers/identity"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
	"newsletterd/mail/notice"
	"newsletterd/store/members"
)

// console returns the console's pages, which are in a separate package and call this package's routes.
func (h *Handler) console(sends *campaigns.Room) *console.Console {
	p := h.options.Auth
	return console.New(console.Options{
		Proved: func(ctx context.Context, who core.Visitor, now core.Instant) (bool, error) {
			factors, err := p.Factors(ctx, who.User.ID)
			return err == nil && factors.Proved(who.Browser, now), err
		},
		Prove: func(c *web.Call, who core.Visitor, path, form, step, back string) (web.HTML, error) {
			return identity.ShowProof(c, p, who, path, form, step, back)
		},
		Review:       page.ReviewOf,
		HiddenInDark: sends.HiddenInDark,
		OnPlate:      sends.OnPlate,
		Findings: func(c *web.Call, dns bool) ([]core.Finding, error) {
			return h.system().examine(c, doctorQuery{dns})
		},
		MailDefault: func(kind, language string) core.MailText { return noticeKind(kind).Default(language) },
		MailPreview: func(t *core.Tenant, kind, language, list, to string, own core.MailText) (
			subject, html string, err error,
		) {
			subject, _, html, err = noticeKind(kind).Render(notice.Data{
				To: to, List: list, URL: t.Origin(h.options.PublicURL) + "/", Valid: members.ConfirmTTL,
				Language: language, Own: own,
				Brand: notice.BrandOf(t),
			})
			return subject, html, err
		},
		PictureBytes: h.options.MediaLimits.Bytes,
		Folder: func(ctx context.Context, t *core.Tenant) (bool, error) {
			if t.ID != core.TenantNone { // only callers who may change settings see the tenant's relays
				whole, err := h.options.Store.Tenant(ctx, t.ID)
				if err != nil {
					return false, err
				}
				t = &whole
			}
			return h.options.Relay.Folder(ctx, h.options.Store, t)
		},
	})
}

// noticeKind maps a kind of email to subscribers to its notice.
func noticeKind(kind string) notice.Kind {
	if kind == core.MailAlreadySubscribed {
		return notice.Subscribed
	}
	return notice.Kind(kind)
}
