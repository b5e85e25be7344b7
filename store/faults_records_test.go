package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/db"
	"newsletterd/store/identity"
	"newsletterd/store/tenants"
)

func (s *story) records() {
	ctx := s.Context()
	t := core.Tenant{
		ID: core.NewID(), Name: "T", Domains: core.Strings{"example.org"}, Status: "active", CreatedAt: now0,
		UpdatedAt: now0,
		Relays: core.Relays{{
			ID: "r", Host: "relay.example", TLS: "none", Username: "u",
			Password: "secret",
		}}, SendLimits: core.SendLimits{PerDay: 10},
	}
	s.tenant = t.ID
	s.op("AddTenant", func() error {
		t := t
		t.Relays = core.Relays{t.Relays[0]}
		return s.AddTenant(ctx, t, "test")
	})
	s.op("UpdateTenant", func() error {
		return onlyErr(s.Store.UpdateTenant(ctx, t.ID, "test", func(t *core.Tenant) error {
			t.Status, t.SendLimits.PerDay = "suspended", 20
			return nil
		}))
	})
	s.op("UpdateTenant", func() error {
		return onlyErr(s.Store.UpdateTenant(ctx, t.ID, "test", func(t *core.Tenant) error {
			t.Status,
				t.Relays = "active", nil
			return nil
		}))
	})
	l := core.List{
		ID: core.NewID(), TenantID: t.ID, Name: "L", Status: "active", ConsentText: "I agree.",
		SyncRemovesAbsent: true, CreatedAt: now0, UpdatedAt: now0,
	}
	s.list = l.ID
	s.op("AddList", func() error { return s.AddList(ctx, l, "test") })
	s.op("UpdateList", func() error {
		return onlyErr(s.UpdateList(ctx, l.ID, "test",
			func(l *core.List) error { l.ConsentText = "I agree to more."; return nil }))
	})
	tm := core.Template{ID: core.NewID(), TenantID: t.ID, Name: "news", BodyText: "x", CreatedAt: now0, UpdatedAt: now0}
	s.op("AddTemplate", func() error { return s.AddTemplate(ctx, tm, "test") })
	s.op("UpdateTemplate", func() error {
		return onlyErr(s.UpdateTemplate(ctx, tm.ID, "test",
			func(t *core.Template) error { t.BodyText = "y"; return nil }))
	})
	s.op("DeleteTemplate", func() error { return s.DeleteTemplate(ctx, tm.ID, false, "test", now0) })
	s.themes(t.ID)
	s.media(t.ID)
	k := core.DKIMKey{
		ID: core.NewID(), TenantID: t.ID, Domain: "example.org", Selector: "s", Algorithm: "rsa",
		Status: "active", Public: "p", CreatedAt: now0, UpdatedAt: now0,
	}
	s.op("AdmitDKIMKey", func() error { return s.AdmitDKIMKey(ctx, k, true) })
	s.op("AddDKIMKey", func() error { return s.AddDKIMKey(ctx, k, []byte("private"), "test") })
	e := k
	e.ID, e.Algorithm, e.Selector = core.NewID(), core.DKIMEd25519, "e"
	s.op("AddDKIMKey", func() error { return s.AddDKIMKey(ctx, e, []byte("private"), "test") })
	s.op("SetDKIMStatus", func() error { return onlyErr(s.SetDKIMStatus(ctx, k.ID, "inactive", "test", now0)) })
	s.op("DeleteDKIMKey", func() error { return s.DeleteDKIMKey(ctx, e.ID, "test", now0) })
	s.senderDomains(t.ID)
	s.senders()
}

func (s *story) themes(tenant string) {
	ctx := s.Context()
	t := core.Theme{ID: core.NewID(), TenantID: tenant, Name: "Ours", Base: "letter", CreatedAt: now0, UpdatedAt: now0}
	s.op("AddTheme", func() error { return s.AddTheme(ctx, t, "test") })
	s.op("UpdateTheme", func() error {
		return onlyErr(s.UpdateTheme(ctx, t.ID, "test", now0, func(t *core.Theme) error {
			t.Name = "Theirs"
			return nil
		}))
	})
	s.op("DeleteTheme", func() error { return s.DeleteTheme(ctx, t.ID, "test", now0) })
}

func (s *story) media(tenant string) {
	ctx := s.Context()
	limits := core.MediaLimits{BytesPerTenant: 1 << 30}
	var m core.Media
	s.op("AddMedia", func() (err error) {
		m, err = core.NewMedia(tenant, "test", core.MediaInput{}, now0)
		must(s.T, err)
		m.Mail = core.MediaFile{SHA256: "a0", Type: "image/png", Width: 1, Height: 1, Bytes: 2, Data: []byte("xy")}
		m.Full = m.Mail
		m.Full.SHA256 = "b0"
		m, err = s.AddMedia(ctx, m, limits, "test")
		return err
	})
	s.op("UpdateMedia", func() error {
		return onlyErr(s.UpdateMedia(ctx, m.ID, "test", now0,
			func(m *core.Media) error { return m.Change(core.MediaInput{Alt: new("A picture")}, now0) }))
	})
	s.op("DeleteMedia", func() error { return s.DeleteMedia(ctx, m.ID, false, "test", now0) })
}

func (s *story) senderDomains(tenant string) {
	ctx := s.Context()
	var ds []core.SenderDomain
	for _, name := range []string{"a.example", "b.example"} {
		d, err := core.ProposeDomain(tenant, name, now0)
		must(s.T, err)
		ds = append(ds, d)
		s.op("ProposeSenderDomain", func() error { return s.ProposeSenderDomain(ctx, d, "test") })
	}
	s.op("BeginDomainCheck", func() error { return onlyErr(s.BeginDomainCheck(ctx, ds[0].ID, now0)) })
	for _, result := range []string{core.DomainMissing, core.DomainFound} {
		s.op("EndDomainCheck", func() error { return onlyErr(s.EndDomainCheck(ctx, ds[0].ID, result, "", "test", now0)) })
	}
	s.op("VerifySenderDomain", func() error { return onlyErr(s.VerifySenderDomain(ctx, ds[1].ID, "test", now0)) })
	s.op("DeleteSenderDomain", func() error { return s.DeleteSenderDomain(ctx, ds[1].ID, "test", now0) })
}

func (s *story) senders() {
	ctx := s.Context()
	var w core.WebhookClient
	s.op("AddWebhookClient", func() (err error) {
		w, err = s.AddWebhookClient(ctx, s.tenant, "w", make([]byte, 32), "test", now0)
		return err
	})
	s.op("RotateWebhookSecret", func() error {
		return s.RotateWebhookSecret(ctx, w.ID, make([]byte, 32), "test",
			now0)
	})
	s.op("WebhookSender", func() error { return onlyErr(s.WebhookSender(ctx, w.ID)) })
	s.op("EndWebhookRotation", func() error { return s.EndWebhookRotation(ctx, w.ID, "test", now0) })
	s.op("UpdateWebhookClient", func() error {
		return s.UpdateWebhookClient(ctx, w.ID, tenants.WebhookClientChange{Disabled: new(true)}, "test", now0)
	})
	s.op("DeleteWebhookClient", func() error { return s.DeleteWebhookClient(ctx, w.ID, "test", now0) })
	s.op("EnsureLoopClient", func() error { return s.EnsureLoopClient(ctx, make([]byte, 32), now0) })
	s.op("EnsureDefaultProvider", func() error { return s.EnsureDefaultProvider(ctx, "generic", "secret", now0) })
	p := core.Provider{
		Name: "p", Kind: "ses", TenantID: s.tenant, Topics: core.Strings{}, CreatedAt: now0,
		UpdatedAt: now0,
	}
	s.op("AddProvider", func() error { return s.AddProvider(ctx, p, "secret", "test", now0) })
	s.op("UpdateProvider", func() error {
		return onlyErr(s.UpdateProvider(ctx, "p", tenants.ProviderChange{NewSecret: new("next")}, "test", now0))
	})
	s.op("ProviderSecrets", func() error { return onlyErr(s.ProviderSecrets(ctx, "p")) })
	s.op("DeleteProvider", func() error { return s.DeleteProvider(ctx, "p", "test", now0) })
	e := core.Endpoint{
		ID: core.NewID(), TenantID: s.tenant, ListID: s.list, URL: "https://crm.example/hook",
		Events: core.Strings{}, CreatedAt: now0, UpdatedAt: now0,
	}
	s.op("AddEndpoint", func() error { return s.AddEndpoint(ctx, e, make([]byte, 32), "test") })
	s.op("UpdateEndpoint", func() error {
		return onlyErr(s.UpdateEndpoint(ctx, e.ID, tenants.EndpointChange{NewKey: make([]byte, 32), Overlap: time.Hour},
			"test",
			now0))
	})
	s.op("CountEndpointTest", func() error { return s.CountEndpointTest(ctx, s.tenant, now0) })
	gone := e
	gone.ID = core.NewID()
	s.op("AddEndpoint", func() error { return s.AddEndpoint(ctx, gone, make([]byte, 32), "test") })
	s.op("DeleteEndpoint", func() error { return s.DeleteEndpoint(ctx, gone.ID, "test", now0) })
	s.endpoint = e.ID
	s.op("PutACMEData", func() error { return s.PutACMEData(ctx, "cert", []byte("x"), now0) })
	s.op("ACMEData", func() error { return onlyErr(s.ACMEData(ctx, "cert")) })
	s.op("DeleteACMEData", func() error { return s.DeleteACMEData(ctx, "cert") })
	s.op("LeaseQuota", func() error { return onlyErr(s.LeaseQuota(ctx, "relay", 1, 10, 3)) })
	for range 2 {
		s.op("SetMailServer", func() error {
			m := core.MailServer{Relay: core.Relay{Host: "smtp.example.org", Password: "p"}, From: "a@example.org"}
			return s.SetMailServer(ctx, &m, "", "test", now0)
		})
	}
	s.op("MailServer", func() error { return onlyErr(s.MailServer(ctx)) })
	s.op("MailServerBefore", func() error { return onlyErr(s.MailServerBefore(ctx)) })
	s.op("RemoveMailServer", func() error { return s.RemoveMailServer(ctx, "", "test", now0) })
	s.op("ReturnQuota", func() error { return s.ReturnQuota(ctx, "relay", 1, 2) })
	s.op("KeepPacePeriod", func() error { return s.KeepPacePeriod(ctx, "relay", core.PacePeriod{Width: time.Hour}) })
	s.op("Throttle", func() error { return onlyErr(s.Throttle(ctx, "key", 1, time.Hour, now0)) })
	s.op("ForgiveTry", func() error { return s.ForgiveTry(ctx, "key") })
	s.op("PurposeKey", func() error { return onlyErr(s.PurposeKey(ctx, "story")) })
	k := core.SigningKey{KID: "1", Alg: "ES256", Private: []byte("x"), CreatedAt: now0, ActiveAt: now0}
	s.op("AddFirstSigningKey", func() error { return s.AddFirstSigningKey(ctx, k) })
	k.KID, k.ActiveAt = "2", now0+10
	s.op("AddNextSigningKey", func() error { return onlyErr(s.AddNextSigningKey(ctx, k, now0)) })
	s.op("ExpireSigningKeys", func() error { return s.ExpireSigningKeys(ctx, time.Hour, now0+20) })
	s.op("SigningKeys", func() error { return onlyErr(s.SigningKeys(ctx, now0)) })
}

func (s *story) accounts() {
	ctx := s.Context()
	hash := func(text string) []byte { return core.HashToken(text) }
	u := core.NewUser("ann@example.org", now0)
	verify := identity.UserToken{ID: core.NewID(), Hashes: map[string][]byte{
		identity.TokenVerify: hash("v"),
		identity.TokenClaim:  hash("c"),
	}}
	s.user = u.ID
	s.op("Register", func() error {
		return onlyErr(s.Register(ctx, identity.Registration{User: u, PasswordHash: "h", Token: verify}, now0))
	})
	again := identity.UserToken{ID: core.NewID(), Hashes: map[string][]byte{
		identity.TokenVerify: hash("v2"),
		identity.TokenClaim:  hash("c2"),
	}}
	s.op("Register", func() error {
		return onlyErr(s.Register(ctx,
			identity.Registration{User: core.NewUser("ann@example.org", now0), PasswordHash: "h", Token: again}, now0))
	})
	third := identity.UserToken{ID: core.NewID(), Hashes: map[string][]byte{identity.TokenVerify: hash("v3")}}
	s.op("VerifyAgain", func() error { return s.VerifyAgain(ctx, u.ID, third, now0) })
	s.op("CheckUserToken", func() error { return s.CheckUserToken(ctx, identity.TokenVerify, hash("v"), u.Email, now0) })
	s.op("VerifyEmail", func() error { return onlyErr(s.VerifyEmail(ctx, hash("v"), u.Email, now0)) })
	s.op("Register", func() error {
		return onlyErr(s.Register(ctx, identity.Registration{
			User: core.NewUser("ann@example.org", now0), PasswordHash: "h",
			Token: again,
		}, now0.Add(2*day)))
	})
	reset := identity.UserToken{ID: core.NewID(), Hashes: map[string][]byte{identity.TokenReset: hash("r")}}
	s.op("ForgotPassword", func() error { return s.ForgotPassword(ctx, u.Email, reset, now0) })
	s.op("ForgotPassword", func() error { return s.ForgotPassword(ctx, "nobody@example.org", reset, now0) })
	s.op("RedeemUserToken", func() error { return s.RedeemUserToken(ctx, identity.TokenReset, hash("r"), u.Email, "h2", now0) })
	s.op("UpdateUser", func() error {
		return onlyErr(s.UpdateUser(ctx, u.ID, identity.UserInput{Name: new("Ann"), Disabled: new(true)}, now0))
	})
	s.op("UpdateUser", func() error { return onlyErr(s.UpdateUser(ctx, u.ID, identity.UserInput{Disabled: new(false)}, now0)) })
	s.op("GrantRole", func() error { return s.GrantRole(ctx, u.ID, core.Role{Role: core.RoleOperator}, false, now0) })
	s.op("RevokeRole", func() error {
		return s.RevokeRole(db.By(ctx, "command", now0), u.ID,
			core.Role{Role: core.RoleOperator})
	})
	s.op("GrantRole", func() error {
		return s.GrantRole(ctx, u.ID, core.Role{Role: core.RoleTenantAdmin, TenantID: s.tenant}, false, now0)
	})
	s.op("SetTeamRole", func() error {
		return onlyErr(s.SetTeamRole(ctx, s.tenant, u.ID, core.RoleEditor, "test", now0))
	})
	s.op("LeaveTeam", func() error { return s.LeaveTeam(ctx, s.tenant, u.ID, "test", now0) })
	s.op("SetPassword", func() error { return s.SetPassword(ctx, u.ID, "h3", now0) })
	s.op("LogoutEverywhere", func() error { return s.LogoutEverywhere(ctx, u.ID, now0) })
	change := func() (core.User, identity.UserToken) {
		u, err := s.User(ctx, u.ID)
		must(s.T, err)
		return u, identity.UserToken{ID: core.NewID(), Hashes: map[string][]byte{identity.TokenChange: hash("x")}}
	}
	now, token := change()
	s.op("AskEmailChange", func() error {
		return s.AskEmailChange(ctx, u.ID, now.Epoch, "ann2@example.org", token,
			now0)
	})
	s.op("DropEmailChange", func() error { return s.DropEmailChange(ctx, u.ID) })
	s.op("AskEmailChange", func() error {
		return s.AskEmailChange(ctx, u.ID, now.Epoch, "ann2@example.org", token,
			now0)
	})
	s.op("CheckEmailChange", func() error {
		return onlyErr(s.CheckEmailChange(ctx, hash("x"), "ann2@example.org",
			now0))
	})
	s.op("ChangeEmail", func() error {
		return s.ChangeEmail(ctx, u.ID, hash("x"), "ann2@example.org",
			core.MailStyle{TenantID: s.tenant, Language: "de"}, now0)
	})
	invite := func(token string, to core.Email) func() error {
		return func() error {
			_, err := s.AddInvitation(ctx, core.InvitationInput{Email: to, Role: core.RoleEditor, TenantID: s.tenant},
				identity.UserToken{ID: core.NewID(), Hashes: map[string][]byte{identity.TokenInvitation: hash(token)}}, "test",
				now0)
			return err
		}
	}
	s.op("AddInvitation", invite("i1", "eve@example.org"))
	s.op("Invitations", func() error { return onlyErr(s.Invitations(ctx, nil, true, core.Page{Limit: 9})) })
	s.op("Invited", func() error { return onlyErr(s.Invited(ctx, hash("i1"), now0)) })
	s.op("JoinByInvitation", func() error { return s.JoinByInvitation(ctx, hash("i1"), "Eve", "h", "de", now0) })
	s.op("AddInvitation", invite("i2", "eve@example.org"))
	s.op("AcceptInvitation", func() error {
		eve, err := s.UserByEmail(ctx, "eve@example.org")
		if err != nil {
			return err
		}
		return s.AcceptInvitation(ctx, hash("i2"), eve.ID, now0)
	})
	s.op("AddInvitation", invite("i3", "eve@example.org"))
	s.op("DeleteInvitation", func() error {
		open, err := s.Invitations(ctx, nil, true, core.Page{Limit: 9})
		if err != nil || len(open) == 0 {
			return err
		}
		if _, err := s.Invitation(ctx, open[0].ID); err != nil {
			return err
		}
		return s.DeleteInvitation(ctx, open[0].ID, "test", now0)
	})
	s.op("TryLogin", func() error {
		return onlyErr(s.TryLogin(ctx, "ann2@example.org", "", []string{"198.51.100.7"},
			now0))
	})
	s.op("TryLogin", func() error { return onlyErr(s.TryLogin(ctx, "nobody@example.org", "", nil, now0)) })
	other := core.NewUser("bob@example.org", now0)
	other.Roles = []core.Role{{Role: core.RoleOperator}}
	s.op("AddUser", func() error { return s.AddUser(ctx, other, "h", now0) })
	s.op("DeleteUser", func() error { return s.DeleteUser(ctx, other.ID) })
	s.op("AddFirstOperator", func() error { return s.AddFirstOperator(ctx, other, "h", now0) })
	s.op("DeleteUser", func() error { return s.DeleteUser(ctx, other.ID) })
	s.factors(now)
	s.signIns(now)
}

func (s *story) factors(u core.User) {
	ctx, hash, user := s.Context(), core.HashToken, u.ID
	s.op("SetTOTP", func() error { return s.SetTOTP(ctx, user, []byte("secret"), now0) })
	s.op("ConfirmTOTP", func() error {
		return s.ConfirmTOTP(ctx, identity.NewTOTP{
			UserID: user, Epoch: u.Epoch, Step: 1,
			Codes: [][]byte{hash("a"), hash("b")},
		}, now0)
	})
	s.op("TryFactor", func() error { return onlyErr(s.TryFactor(ctx, user, now0)) })
	s.op("UseTOTP", func() error { return s.UseTOTP(ctx, user, 2) })
	s.op("UseRecoveryCode", func() error { return s.UseRecoveryCode(ctx, user, hash("a")) })
	s.op("SetRecoveryCodes", func() error { return s.SetRecoveryCodes(ctx, user, [][]byte{hash("c")}, core.MailStyle{}, now0) })
	s.op("RemoveSecondFactor", func() error { return s.RemoveSecondFactor(ctx, user, core.MailStyle{}, now0) })
	s.op("RenewHash", func() error { return s.RenewHash(ctx, user, "h3", "h3") })
}

func (s *story) passkeys(u core.User, in identity.SignIn) {
	ctx, look := s.Context(), core.MailStyle{}
	p := core.Passkey{
		ID: "p1", UserID: u.ID, RPID: "news.example.org", Name: "Phone", Credential: []byte("c"),
		PublicKey: []byte("k"),
		CreatedAt: now0,
	}
	answer := func(text string) identity.Answer {
		return identity.Answer{Hash: core.HashToken(text), ExpiresAt: now0.Add(time.Minute)}
	}
	use := func(text string, n int64) identity.PasskeyUse {
		return identity.PasskeyUse{ID: "p1", UserID: u.ID, Count: n, Answer: answer(text)}
	}
	s.op("AddPasskey", func() error { return s.AddPasskey(ctx, p, u.Epoch, answer("0"), look, now0) })
	s.op("RenamePasskey", func() error { return s.RenamePasskey(ctx, u.ID, "p1", "Key", now0) })
	s.op("TryPasskey", func() error { return onlyErr(s.TryPasskey(ctx, []byte("c"), "198.51.100.7", now0)) })
	b := core.Browser{ID: "b9", UserID: u.ID, Epoch: u.Epoch, AuthAt: now0, UsedAt: now0, ExpiresAt: now0.Add(day)}
	s.op("AddBrowserByPasskey", func() error {
		return s.AddBrowserByPasskey(ctx, use("1", 5), identity.SignIn{Key: in.Key, Devices: in.Devices}, b, "", now0)
	})
	s.op("ProveBrowser", func() error {
		again := use("2", 6)
		return s.ProveBrowser(ctx, "b9", u.Epoch, "hwk", &again, "", now0)
	})
	s.op("ProveBrowser", func() error {
		copied := use("3", 6)
		if err := s.ProveBrowser(ctx, "b9", u.Epoch, "hwk", &copied, "", now0); !errors.Is(err, identity.ErrPasskeyCopied) {
			return err
		}
		return nil
	})
	s.op("RemovePasskey", func() error { return s.RemovePasskey(ctx, u.ID, "p1", look, now0) })
	s.op("SignOutBrowser", func() error { return s.SignOutBrowser(ctx, "b9", u.ID, now0) })
}

func (s *story) signIns(u core.User) {
	ctx, hash := s.Context(), core.HashToken
	family := func(id string) core.Family {
		return core.Family{
			ID: id, Kind: "password", UserID: u.ID, ClientID: "newsletterd", Scope: "openid", Epoch: u.Epoch,
			AuthAt: now0, CreatedAt: now0, ExpiresAt: now0.Add(day),
		}
	}
	in := identity.SignIn{
		Family: family("f1"), RefreshHash: hash("1"), RefreshExpires: now0.Add(day),
		Key: "login ann2@example.org", Devices: []string{"", "198.51.100.7"}, OldHash: "h3", NewHash: "h4",
	}
	s.op("AddSignIn", func() error { return s.AddSignIn(ctx, in, now0) })
	r := identity.Rotation{
		Hash: hash("1"), SuccessorHash: hash("2"), Sealed: []byte("s"), Grace: time.Minute,
		Idle: time.Hour, Admit: func(core.TokenState) error { return nil }, Client: core.TokenClient{ID: "newsletterd"},
	}
	rotate := func() error { _, _, err := s.RotateRefresh(ctx, r, now0); return err }
	s.op("RotateRefresh", rotate)
	s.op("RotateRefresh", rotate) // within the grace period
	r.Client = core.TokenClient{}
	s.op("RotateRefresh", rotate) // the client is read
	s.op("RefreshState", func() error { return onlyErr(s.RefreshState(ctx, hash("2"), now0, s.TokenClient)) })
	s.op("RefreshLife", func() error { return onlyErr(s.RefreshLife(ctx, hash("2"), now0)) })
	s.op("RevokeRefresh", func() error { return s.RevokeRefresh(ctx, hash("2"), u.ID, now0) })
	s.op("AddFamily", func() error { return s.AddFamily(ctx, family("f2")) })
	s.op("TokenState", func() error { return onlyErr(s.TokenState(ctx, "f2", now0)) })
	s.op("RevokeFamily", func() error { return s.RevokeFamily(ctx, "f2", now0) })
	sid := ""
	s.op("ClientTokenID", func() (err error) { sid, err = s.ClientTokenID(ctx); return err })
	s.op("RevokeFamily", func() error { return s.RevokeFamily(ctx, sid, now0) })
	s.op("ClientTokenRevoked", func() error { return onlyErr(s.ClientTokenRevoked(ctx, sid)) })
	s.op("AddFamily", func() error { return s.AddFamily(ctx, family("f3")) })
	s.op("EndFamily", func() error { return s.EndFamily(ctx, "f3", u.ID, now0) })
	b := core.Browser{ID: "b1", UserID: u.ID, Epoch: u.Epoch, AuthAt: now0, UsedAt: now0, ExpiresAt: now0.Add(day)}
	s.op("AddBrowser", func() error { return s.AddBrowser(ctx, identity.SignIn{Key: in.Key, Devices: in.Devices}, b, "", now0) })
	s.passkeys(u, in)
	s.op("Visitor", func() error { return onlyErr(s.Visitor(ctx, "b1", "c1", now0)) })
	s.op("TouchBrowser", func() error { return s.TouchBrowser(ctx, "b1", now0+1) })
	c := core.Client{
		ID: "c1", TenantID: s.tenant, Name: "C", ClientType: "public",
		RedirectURIs: core.Strings{"https://a.example/"}, Scopes: core.Strings{"openid"},
		GrantTypes: core.Strings{"authorization_code"}, PostLogoutRedirectURIs: core.Strings{}, IDTokenAlg: "RS256",
		CreatedAt: now0, UpdatedAt: now0,
	}
	s.op("AddClient", func() error { return s.AddClient(ctx, c, "user:maker") })
	s.op("UpdateClient", func() error {
		return onlyErr(s.UpdateClient(ctx, "c1", "test", func(c *core.Client) error { c.Name = "D"; return nil }))
	})
	s.op("TokenClient", func() error { return onlyErr(s.TokenClient(ctx, "c1")) })
	code := core.AuthCode{
		Hash: hash("code"), FamilyID: "f4", UserID: u.ID, ClientID: "c1", BrowserID: "b1",
		RedirectURI: "https://a.example/", Scope: "openid", Epoch: u.Epoch, AuthAt: now0, CreatedAt: now0,
		ExpiresAt: now0.Add(time.Minute),
	}
	s.op("AddCode", func() error { return s.AddCode(ctx, code, []string{"openid"}) })
	rule := func(core.AuthCode) (identity.Redemption, error) {
		f := family("f4")
		f.Kind, f.ClientID = "code", "c1"
		return identity.Redemption{Family: f, RefreshHash: hash("4"), RefreshExpires: now0.Add(day)}, nil
	}
	s.op("CodeClient", func() error { return onlyErr(s.CodeClient(ctx, code.Hash)) })
	s.op("RedeemCode", func() error { return onlyErr(s.RedeemCode(ctx, code.Hash, "c1", now0, rule)) })
	s.op("RedeemCode", func() error { // a replay, which revokes what the first one started
		_, err := s.RedeemCode(ctx, code.Hash, "c1", now0, rule)
		if errors.Is(err, identity.ErrCode) && !errors.Is(err, core.ErrUnavailable) {
			err = nil
		}
		return err
	})
	s.op("Disallow", func() error { return s.Disallow(ctx, u.ID, "c1", now0) })
	s.op("ChangePassword", func() error { return s.ChangePassword(ctx, u.ID, u.Epoch, "h5", "b1", now0) })
	s.op("SignOutBrowser", func() error { return s.SignOutBrowser(ctx, "b1", u.ID, now0) })
	s.op("DisableKeptBy", func() error {
		_, _, err := s.DisableKeptBy(ctx, "maker", "user:maker", now0, func(*core.Client) bool { return true },
			func(*core.Endpoint) bool { return true })
		return err
	})
	s.op("DeleteClient", func() error { return s.DeleteClient(ctx, "c1", "test", now0) })
	sessions := s.Sessions()
	s.op("Sessions", func() error { return sessions.Commit("token", []byte("x"), time.Now().Add(time.Hour)) })
	s.op("Sessions", func() error { _, _, err := sessions.Find("token"); return err })
	s.op("Sessions", func() error { return sessions.Delete("token") })
}

func (s *story) devices() {
	ctx := s.Context()
	d := core.Device{ID: core.NewID(), OwnerID: s.user, Name: "Phone", CreatedAt: now0}
	a := core.Agent{ID: core.NewID(), OwnerID: s.user, Name: "Agent", CreatedAt: now0}
	s.op("AddAgent", func() error { return s.AddAgent(ctx, a) })
	s.op("UpdateAgent", func() error {
		return onlyErr(s.UpdateAgent(ctx, a.ID, s.user, func(a *core.Agent) error { a.Version = "2"; return nil }))
	})
	s.op("AddDevice", func() error { return s.AddDevice(ctx, d) })
	s.op("UpdateDevice", func() error {
		return onlyErr(s.UpdateDevice(ctx, d.ID, s.user, func(d *core.Device) error {
			d.Name, d.AgentID = "Tablet",
				a.ID
			return nil
		}))
	})
	s.op("RegisterDevice", func() error { return onlyErr(s.RegisterDevice(ctx, d.ID, s.user, now0)) })
	s.op("UnregisterDevice", func() error { return onlyErr(s.UnregisterDevice(ctx, d.ID, s.user)) })
	s.op("DeleteAgent", func() error { return s.DeleteAgent(ctx, a.ID, s.user) })
	s.op("UnpairDevice", func() error { return s.UnpairDevice(ctx, d.ID, s.user, now0) })
	var m core.Model
	s.op("NewUpload", func() (err error) {
		if m, err = core.NewModel(s.user, core.ModelInput{Name: "m"}, now0); err != nil {
			return err
		}
		u := s.NewUpload(s.user, core.ModelLimits{Bytes: 1 << 30, BytesPerOwner: 1 << 40})
		defer u.Close(context.Background())
		if err := u.ReadFrom(ctx, strings.NewReader("the file"), nil, func() core.Instant { return 10 }); err != nil {
			return err
		}
		m, err = u.Commit(ctx, m, "command")
		return err
	})
	s.op("OpenFile", func() error {
		f := s.OpenFile(ctx, &m)
		b := make([]byte, 8)
		n, err := f.Read(b)
		if err == nil && string(b[:n]) != "the file" {
			s.Errorf("read %q", b[:n])
		}
		return err
	})
	s.op("UpdateModel", func() error {
		return onlyErr(s.UpdateModel(ctx, m.ID, s.user, "test", func(m *core.Model) error {
			return m.Change(core.ModelChange{Description: new("what it is")}, now0)
		}))
	})
	s.op("SetVisibility", func() error {
		return onlyErr(s.SetVisibility(ctx, m.ID, s.user, core.PublicVisible, "test",
			now0))
	})
	sh := core.Share{ID: core.NewID(), ModelID: m.ID, Email: "friend@example.org", Permission: "read", CreatedAt: now0}
	s.op("AddShare", func() error { return s.AddShare(ctx, sh, "test") })
	s.op("UpdateShare", func() error {
		return onlyErr(s.UpdateShare(ctx, m.ID, sh.ID,
			func(*core.Share) error { return nil }))
	})
	s.op("DeleteShare", func() error { return s.DeleteShare(ctx, m.ID, sh.ID, "test", now0) })
	s.op("DeleteModel", func() error { return s.DeleteModel(ctx, m.ID, s.user, "test", now0) })
}

// whole runs all operations.
func (s *story) whole() {
	s.records()
	s.accounts()
	s.devices()
	s.subscriptions()
	s.subscribers()
	s.jobs()
	s.campaigns()
	s.segments()
	s.ends()
}

// TestAmongFaults runs all operations with a fault at every driver call.
func TestAmongFaults(t *testing.T) {
	tries := 0
	defer coretest.Held(t, 12, &tries, "operations with a fault at one call of the driver")
	for _, run := range []struct {
		name        string
		undo, crowd bool
	}{{"the statement fails", false, false}, {"the transaction goes", true, false}, {
		"in a crowd", false,
		true,
	}, {"in a crowd, the transaction goes", true, true}} {
		t.Run(run.name, func(t *testing.T) {
			if testing.Short() && !run.crowd {
				t.Skip("one after the other: nothing for the race detector")
			}
			s := newStory(t, run.undo, run.crowd)
			s.whole()
			tries += s.tries
		})
	}
}
