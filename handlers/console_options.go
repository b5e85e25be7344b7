package handlers

import (
	"context"

	"newsletterd/core"
	"newsletterd/handlers/console"
	"newsletterd/handlers/web"
)

// console returns the pages of the console, which are in a package of their own and stand on the routes of this one.
func (h *Handler) console() *console.Console {
	p := h.options.Auth
	return console.New(console.Options{
		Proved: func(ctx context.Context, who core.Visitor, now core.Instant) (bool, error) {
			factors, err := p.Factors(ctx, who.User.ID)
			return err == nil && factors.Proved(who.Browser, now), err
		},
		Prove: func(c *web.Call, who core.Visitor, path, form string) (web.HTML, error) {
			return accountPages{auth: p}.showProof(c, who, purposeOf(path), form, nil)
		},
		Review:  reviewAddress,
		Login:   func(path string) string { return "/login" + purposeOf(path).asContinue() },
		Account: accountPath, Logout: "/logout",
		HiddenInDark: h.hiddenInDark,
		Folder: func(ctx context.Context, t *core.Tenant) (bool, error) {
			if t.ID != core.TenantNone { // a caller sees its relays only with the right to change settings
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
