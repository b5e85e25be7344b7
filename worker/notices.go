package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"sync"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/notice"
	"newsletterd/mail/smtp"
	"newsletterd/store/db"
	"newsletterd/store/identity"
	"newsletterd/store/members"
)

// notices describes each kind of notice: its text, the page that it links to, and how long the link works.
var notices = map[string]struct {
	notice notice.Kind
	page   string
	valid  time.Duration
}{
	core.MailConfirm:           {notice.Confirm, "/confirm", members.ConfirmTTL},
	core.MailAskAgain:          {notice.AskAgain, "/confirm", members.ConfirmTTL},
	core.MailAlreadySubscribed: {notice.Subscribed, "/preferences", 0},
	core.MailUnsubscribed:      {notice.Unsubscribed, "/undo", auth.UndoTTL},
	core.MailPreferences:       {notice.Preferences, "/preferences", auth.ManageTTL},
	core.MailVerify:            {notice.Verify, "/verify", 48 * time.Hour},
	core.MailClaim:             {notice.Reverify, "/verify", 48 * time.Hour},
	core.MailAlreadyRegistered: {notice.Registered, "/login", 0},
	core.MailReset:             {notice.Reset, "/password/reset", time.Hour},
	core.MailChange:            {notice.Change, "/verify", identity.ChangeTTL},
	core.MailChangeTaken:       {notice.Taken, "/login", 0},
	core.MailChangeAsked:       {notice.ChangeAsked, "/account", 0},
	core.MailChanged:           {notice.Changed, "/login", 0},
	core.MailPasskeyAdded:      {notice.PasskeyAdded, "/account", 0},
	core.MailPasskeyRemoved:    {notice.PasskeyRemoved, "/account", 0},
	core.MailTwoStepOn:         {notice.TwoStepOn, "/account", 0},
	core.MailTwoStepOff:        {notice.TwoStepOff, "/account", 0},
	core.MailRecoveryCodes:     {notice.RecoveryCodes, "/account", 0},
	core.MailInvitation:        {notice.Invitation, "/invitation", identity.InvitationTTL},
	core.MailReview:            {notice.Review, "/review", 0},
	core.MailReviewApproved:    {notice.ReviewApproved, "/review", 0},
	core.MailReviewRejected:    {notice.ReviewRejected, "/review", 0},
	core.MailReviewMissed:      {notice.ReviewMissed, "/review", 0},
	core.MailMending:           {notice.Mending, "/review", 0},
	core.MailClientAdded:       {notice.ClientAdded, "", 0}, // the page depends on the tenant
	core.MailClientsAdded:      {notice.ClientsAdded, "", 0},
	core.MailServerChanged:     {notice.ServerChanged, "/operator/mail-server", 0},
}

// errMoot is returned for an email that is no longer needed.
var errMoot = errors.New("the subscriber unsubscribed, the invitation was revoked, or the client was deleted")

// envelopes holds envelopes for reuse. An email takes a few kilobytes.
var envelopes = sync.Pool{New: func() any { return new(smtp.Envelope) }}

// compose renders an email.
func (m *mailer) compose(ctx context.Context, q *core.Mail, now time.Time) (*smtp.Envelope, error) {
	if q.Kind == core.MailTest {
		return m.composeTest(ctx, q, now)
	}
	from, skips, err := m.server(ctx)
	if err != nil {
		return nil, err
	}
	return m.composeFrom(ctx, q, from, skips, now)
}

// server returns the current sender for tenants without one, and the header fields that the relay changes.
func (m *mailer) server(ctx context.Context) (from mail.Address, skips []string, err error) {
	server, err := m.Own.now(ctx)
	from, skips = m.From, m.DKIMSkip
	if server.From != "" {
		from.Email = string(server.From)
	}
	if server.Set() && m.owner == "" {
		skips = server.Relay.DKIMSkip
	}
	return from, skips, err
}

// composeFrom renders a notice. A notice about a list comes from the tenant's own sender if it has one, any other from
// the sender from. skips lists the header fields that the relay changes.
func (m *mailer) composeFrom(ctx context.Context, q *core.Mail, from mail.Address, skips []string, now time.Time) (
	*smtp.Envelope, error,
) {
	n, ok := notices[q.Kind]
	if !ok {
		return nil, errors.New("unknown kind of email")
	}
	tenantID := ""
	origin, d := m.PublicURL, notice.Data{To: string(q.Email), Valid: n.valid, Brand: notice.Brand{Name: from.Name}}
	msg := mail.Message{To: mail.Address{Email: string(q.Email)}, Date: now, MessageID: m.Ident.Message(0, q.ID)}
	if q.AboutAccount() {
		if err := m.accountLook(ctx, q, &d); err != nil {
			return nil, err
		}
		if q.OfTeam() {
			from.Name = d.Brand.Name
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
	query, err := m.linkQuery(ctx, q, cmp.Or(d.Language, core.Languages[0]))
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
	return e, m.sign(ctx, e, tenantID, skips)
}

// accountLook sets the language, brand and other details of an email about an account. If the email was requested while
// signing in to a tenant's client, it has the tenant's language, name and color. Sender address, Reply-To, link origin,
// relay and DKIM key are always the daemon's. The email loads no images. accountLook returns errMoot if the invitation
// was withdrawn or the client was deleted.
func (m *mailer) accountLook(ctx context.Context, q *core.Mail, d *notice.Data) error {
	var of core.AccountMail
	if err := json.Unmarshal([]byte(q.Params), &of); err != nil {
		return err
	}
	d.Language = of.Language
	if of.Review != nil {
		d.Review = *of.Review
	}
	if of.Server != nil {
		d.Server = *of.Server
	}
	if q.Kind == core.MailInvitation {
		if err := m.invitation(ctx, q.TokenID, d); err != nil {
			return err
		}
	}
	if q.Kind == core.MailClientAdded {
		var err error
		if d.Client, err = m.Store.ClientMail(ctx, q.TokenID); err != nil {
			return moot(err)
		}
	}
	if q.Kind == core.MailClientsAdded {
		var err error
		if d.Client, err = m.Store.ClientsMail(ctx, q.TenantID, of.Since); err != nil {
			return moot(err)
		}
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
	if q.Kind != core.MailInvitation || d.Language == "" { // an invitation keeps the language chosen for it
		d.Language = cmp.Or(tenant.Language, d.Language)
	}
	if d.Zone, err = tenant.ZoneOf(""); err != nil {
		d.Zone = nil // not in this machine's time zone database; times are in UTC
	}
	d.Brand.Name, d.Brand.Color = cmp.Or(tenant.AccountBrand(), d.Brand.Name), tenant.BrandColor
	return nil
}

// moot converts core.ErrNotFound to errMoot, and returns any other error unchanged.
func moot(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return errMoot
	}
	return err
}

// invitation sets the inviting user's name and the role in d.
func (m *mailer) invitation(ctx context.Context, id string, d *notice.Data) error {
	i, err := m.Store.Invitation(ctx, id)
	if err != nil {
		return moot(err)
	}
	d.Invitation.Role = i.Role
	d.Invitation.By, err = m.Store.Inviter(ctx, &i)
	return err
}

// sign adds DKIM signatures to an email if the sender has a key. skips lists the header fields that the relay changes.
func (m *mailer) sign(ctx context.Context, e *smtp.Envelope, tenantID string, skips []string) error {
	k, err := m.Signers.of(ctx, tenantID, core.Email(e.From).Domain())
	if err == nil && k.signer != nil {
		e.Data, err = k.signer.SignAll(e.Data, e.Tail, skips)
	}
	return err
}

// brandOf returns the sender, the link origin and the brand for a tenant's emails. Fields that the tenant has not set
// come from the daemon.
func brandOf(t *core.Tenant, from mail.Address, origin string) (mail.Address, string, notice.Brand) {
	from.Name = t.SenderName()
	if t.MailFrom != "" {
		from.Email = t.MailFrom
	}
	return from, t.Origin(origin), notice.BrandOf(t)
}

// linkKinds maps each notice for subscribers to the kind of its token.
var linkKinds = map[string]auth.UnsubscribeKind{
	core.MailAlreadySubscribed: auth.UnsubscribeMailed, core.MailUnsubscribed: auth.UnsubscribeUndo,
	core.MailPreferences: auth.UnsubscribeManage,
}

// clientsPage returns the path of a tenant's clients page, or of the server's page for core.TenantNone.
func clientsPage(tenantID string) string {
	if tenantID == core.TenantNone {
		return "/operator/clients"
	}
	return "/console/" + tenantID + "/settings/clients"
}

// linkQuery returns the query of the link in an email. It creates the token, which is never stored in the queue. The
// query doesn't contain the recipient's address: the page gets it from the token, and an address in a link costs a
// point in SpamAssassin (GB_CUSTOM_HTM_URI). language is the language of the email, which an invitation's page also
// uses.
func (m *mailer) linkQuery(ctx context.Context, q *core.Mail, language string) (string, error) {
	v := url.Values{}
	switch q.Kind {
	case core.MailConfirm, core.MailAskAgain:
		if q.Params == core.AskedOnceMore { // costs a read, so other confirmations skip it
			if gone, err := m.Store.LeftSinceAsked(ctx, q); err != nil || gone {
				return "", cmp.Or(err, errMoot)
			}
		}
		token, err := m.Store.ConfirmToken(ctx, q.TokenID, core.ProofMailed)
		if err != nil {
			return "", err
		}
		v.Set("token", token)
	case core.MailAlreadySubscribed, core.MailUnsubscribed, core.MailPreferences:
		token, err := m.Sealer.SealUnsubscribe(auth.UnsubscribeToken{
			Kind: linkKinds[q.Kind], ListID: q.ListID, // an undo link refers to the unsubscribe at CreatedAt
			SubscriptionID: m.Store.SubscriptionID(q.ListID, q.Email.Key()), Email: q.Email, IssuedAt: q.CreatedAt,
		})
		if err != nil {
			return "", err
		}
		v.Set("token", token)
	case core.MailVerify, core.MailClaim, core.MailReset, core.MailChange, core.MailInvitation:
		key, err := m.Store.PurposeKey(ctx, db.PurposeMailToken)
		if err != nil {
			return "", err
		}
		v.Set("token", auth.MailToken(key, q.Kind, q.TokenID))
		if q.Kind == core.MailInvitation {
			v.Set("ui_locales", language)
		}
	case core.MailReview, core.MailReviewMissed:
		v.Set("campaign", q.TokenID)
	case core.MailReviewApproved, core.MailReviewRejected:
		v.Set("campaign", q.TokenID)
		v.Set("open", "1")
	case core.MailMending:
		v.Set("campaign", q.TokenID)
		v.Set("mend", "1")
	case core.MailClientAdded:
		return clientsPage(q.TenantID) + "#client-" + q.TokenID, nil
	case core.MailClientsAdded:
		return clientsPage(q.TenantID), nil
	default:
		return "", nil
	}
	return "?" + v.Encode(), nil
}
