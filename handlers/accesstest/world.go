// Package accesstest sends requests to all routes that require tokens, as each kind of caller, with the records of
// three tenants. It reports everything that a caller could do or see without a permission in core.Permissions.
//
//	world.go    World: three tenants with a record of each noun; add a line there for each new noun
//	callers.go  Caller: the callers, and an independent interpretation of the permissions
//	walk.go     Walk: the requests, and the acceptable responses
package accesstest

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/bulk"
	"newsletterd/store/campaigns"
	"newsletterd/store/identity"
	"newsletterd/store/members"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

// World is three tenants with a record of each noun, and the secrets that no response may contain.
type World struct {
	Tenants []*Tenant
	Secrets []string

	hash string
}

// Tenant is a tenant of the world. Its marker is part of all names and addresses in it.
type Tenant struct {
	ID, Marker string
	Email      core.Email // address of the tenant's subscriber
	List       string
	Owner      string // user who owns the tenant's devices and models
	Records    map[string]Record
}

// Record is a record whose id is part of a path.
type Record struct {
	ID string
	// Masked is the record's id for callers who may not read addresses; empty means the same id.
	Masked string
	Seen   core.Action // action that callers need permission for to see the record; empty: only its owner may
	Make   func(s *storetest.Seeder) string
}

// NewWorld creates the tenants. No job is due and no email is sent. If hash is not empty, it is the password hash of
// the owners.
func NewWorld(s *storetest.Seeder, hash string) *World {
	w := &World{hash: hash}
	for i := range 3 {
		w.Tenants = append(w.Tenants, w.newTenant(s, fmt.Sprintf("marker-%c", 'a'+i)))
	}
	return w
}

// secret returns 32 bytes that no response may contain in any encoding.
func (w *World) secret(marker string) []byte {
	b := fmt.Appendf(nil, "%-32s", fmt.Sprintf("secret-%d-of-%s", len(w.Secrets), marker))
	w.Secrets = append(w.Secrets, strings.TrimSpace(string(b)), hex.EncodeToString(b),
		strings.TrimRight(base64.StdEncoding.EncodeToString(b), "="), base64.RawURLEncoding.EncodeToString(b))
	return b
}

func (w *World) newTenant(s *storetest.Seeder, marker string) *Tenant {
	t := &Tenant{Marker: marker, Email: core.Email("reader@" + marker + ".example")}
	tenant := func(s *storetest.Seeder) string {
		return s.NewTenant(func(in *core.TenantInput) { in.Name = new(marker) }).ID
	}
	t.ID = tenant(s)
	s.SetRelays(t.ID, core.Relay{
		Host: "relay." + marker + ".example", TLS: "starttls", Username: "us", Password: string(w.secret(marker)),
	})
	list := func(s *storetest.Seeder) string {
		return s.NewList(func(in *core.ListInput) { in.TenantID, in.Name = &t.ID, new(marker) }).ID
	}
	t.List = list(s)
	t.Records = map[string]Record{
		"/api/admin/tenants":          {ID: t.ID, Seen: core.ActionTenantRead, Make: tenant},
		"/api/admin/newsletter-lists": {ID: t.List, Seen: core.ActionListRead, Make: list},
	}
	add := func(path string, seen core.Action, another func(s *storetest.Seeder) string) {
		t.Records[path] = Record{ID: another(s), Seen: seen, Make: another}
	}
	w.addPeople(t, add)
	reader := t.Records["/api/admin/subscribers"]
	reader.Masked = s.MaskedSubscriptionID(reader.ID)
	t.Records["/api/admin/subscribers"] = reader
	t.addSegments(add)
	w.addAdmin(t, add)
	t.addOwned(s, w.hash, add)
	return t
}

type adds func(path string, seen core.Action, another func(s *storetest.Seeder) string)

// addPeople adds the subscriber and the emails sent to them.
func (w *World) addPeople(t *Tenant, add adds) {
	subscribers := 0
	add("/api/admin/subscribers", core.ActionPeopleMasked, func(s *storetest.Seeder) string {
		email := t.Email
		if subscribers++; subscribers > 1 {
			email = core.Email(core.NewID()) + "@" + core.Email(t.Marker) + ".example"
		}
		id := s.Active(t.List, email).ID
		if email == t.Email {
			s.Must(s.Suppress(s.Context(), members.DisableRequest{
				Email: email, TenantID: t.ID, Reason: "of " + t.Marker, OccurredAt: s.Time(),
			}, "test", s.Time()))
		}
		return id
	})
	add("/api/admin/outbox", core.ActionOutboxManage, func(s *storetest.Seeder) string {
		due, err := s.DueEvents(s.Context(), "", s.Time(), 1000)
		s.Must(err)
		for i := range due {
			if due[i].ListID == t.List { // so that a running daemon doesn't touch it
				s.Must(s.FinishEvents(s.Context(), []tenants.EventResult{{Event: &due[i], Dead: true}}, s.Time()))
				return due[i].EventID
			}
		}
		s.Fatal("no event")
		return ""
	})
	add("/api/admin/syncs", core.ActionListRead, func(s *storetest.Seeder) string {
		id, err := s.RequestSync(s.Context(), t.List, 1)
		s.Must(err)
		return id
	})
	add("/api/send-jobs", core.ActionFiguresRead, func(s *storetest.Seeder) string {
		l, err := s.List(s.Context(), t.List)
		s.Must(err)
		s.Readers(l, 1, func(int) core.Email { return "reader-of-job@" + core.Email(t.Marker) + ".example" })
		return s.Finish(s.NewJob(t.List, func(r *campaigns.JobRequest) { r.Subject = t.Marker })).ID
	})
	add("/api/campaigns", core.ActionFiguresRead, func(s *storetest.Seeder) string {
		l, err := s.List(s.Context(), t.List)
		s.Must(err)
		return s.NewCampaign(l, func(f *core.CampaignFields) { f.Subject = t.Marker }).ID
	})
	add("/api/campaigns/:id/versions", core.ActionFiguresRead, func(*storetest.Seeder) string { return "1" })
	add("/api/campaigns/:id/links", core.ActionFiguresRead, func(*storetest.Seeder) string { return "1" })
	add("/api/campaigns/:id/polls", core.ActionFiguresRead, func(*storetest.Seeder) string { return "1" })
	add("/api/admin/imports", core.ActionPeopleMasked, func(s *storetest.Seeder) string {
		return s.NewImportJob(t.List, "email\n"+string(t.Email)+"\n", func(j *core.ImportJob) { j.Name = t.Marker }).ID
	})
	issues := 0
	add("/api/admin/newsletter-lists/:id/imported-issues", core.ActionListRead, func(s *storetest.Seeder) string {
		issues++
		return s.NewImportedIssue(t.List, fmt.Sprint(t.Marker, " ", issues), "<p>A</p>")
	})
	add("/api/media", core.ActionMediaRead, func(s *storetest.Seeder) string {
		in := *s
		in.TenantID = t.ID
		return in.NewMedia(t.Marker, []string{t.Marker + core.NewID()}).ID
	})
	add("/api/admin/themes", core.ActionTemplateRead, func(s *storetest.Seeder) string {
		th := core.Theme{ID: core.NewID(), TenantID: t.ID, Name: t.Marker + core.NewID(), Base: core.BuiltInThemes[0]}
		th.CreatedAt, th.UpdatedAt = s.Time(), s.Time()
		th.Light = core.ThemeColors{
			Page: "#fdfdfc", Card: "#fdfdfc", Text: "#26272b", Title: "#141518", Muted: "#63656d", Link: "#1e40af",
			Accent: "#1e40af", On: "#fbfcff", Tint: "#f1f3f8", Line: "#dfe2e8",
		}
		th.Dark, th.Font, th.HeadingFont, th.Size, th.HeadingWeight = th.Light, "system", "system", 16, 700
		th.Width, th.Padding, th.Masthead, th.LogoWidth = 600, 24, core.MastheadLeft, 160
		s.Must(s.AddTheme(s.Context(), th, "test"))
		return th.ID
	})
	add("/api/admin/templates", core.ActionTemplateRead, func(s *storetest.Seeder) string {
		in := *s
		in.TenantID = t.ID
		return in.NewTemplate(core.TemplateInput{
			Name: new(t.Marker + core.NewID()), BodyText: &t.Marker,
		}).ID
	})
}

// addSegments adds a segment, and the subscriber for requests to its why route.
func (t *Tenant) addSegments(add adds) {
	add("/api/segments", core.ActionSegmentRead, func(s *storetest.Seeder) string {
		g, err := core.NewSegment(t.ID, core.SegmentInput{
			Name: new(t.Marker + core.NewID()), Rule: core.RuleText(`{"domain": "` + t.Marker + `.example"}`),
		}, "test", s.Time())
		s.Must(err)
		s.Must(s.AddSegment(s.Context(), g))
		return g.ID
	})
	newTag := func(s *storetest.Seeder) string {
		tag, err := core.NewTag(t.ID, core.NewID()[24:]+t.Marker, s.Time())
		s.Must(err)
		s.Must(s.AddTag(s.Context(), tag, "test"))
		return tag.ID
	}
	add("/api/tags", core.ActionSegmentRead, newTag)
	add("/api/bulk-actions", core.ActionPeopleMasked, func(s *storetest.Seeder) string {
		a, err := s.StartBulk(s.Context(), bulk.Request{
			ListID: t.List, Kind: core.BulkTag, Tag: newTag(s), IDs: []string{core.NewID()}, Actor: "test",
		}, s.Time())
		s.Must(err)
		for more := true; more; {
			more, err = s.BulkStep(s.Context(), a.ID, s.Time())
			s.Must(err)
		}
		return a.ID
	})
	add("/api/segments/:id/people", core.ActionSegmentRead, func(s *storetest.Seeder) string {
		reader, err := s.Subscriber(s.Context(), t.List, "reader-of-job@"+core.Email(t.Marker)+".example")
		s.Must(err)
		return reader.ID
	})
}

// addAdmin adds the records that administrators manage.
func (w *World) addAdmin(t *Tenant, add adds) {
	add("/api/admin/oauth-clients", core.ActionClientManage, func(s *storetest.Seeder) string {
		c, secret := s.NewClient(core.ClientInput{TenantID: &t.ID, Name: &t.Marker})
		w.Secrets = append(w.Secrets, secret)
		return c.ID
	})
	add("/api/admin/webhook-clients", core.ActionWebhookManage, func(s *storetest.Seeder) string {
		c, err := s.AddWebhookClient(s.Context(), t.ID, t.Marker, w.secret(t.Marker), "test", s.Time())
		s.Must(err)
		return c.ID
	})
	add("/api/admin/webhook-endpoints", core.ActionEndpointManage, func(s *storetest.Seeder) string {
		e := core.Endpoint{ID: core.NewID(), TenantID: t.ID, Name: t.Marker, URL: "https://127.0.0.1:9/" + t.Marker}
		e.CreatedAt, e.UpdatedAt = s.Time(), s.Time()
		s.Must(s.AddEndpoint(s.Context(), e, w.secret(t.Marker), "test"))
		return e.ID
	})
	add("/api/admin/sender-domains", core.ActionDomainPropose, func(s *storetest.Seeder) string {
		d, err := core.ProposeDomain(t.ID, core.NewID()+"."+t.Marker+".example", s.Time())
		s.Must(err)
		s.Must(s.ProposeSenderDomain(s.Context(), d, "test"))
		return d.ID
	})
	add("/api/admin/mail-providers", core.ActionProviderManage, func(s *storetest.Seeder) string {
		p := core.Provider{Name: t.Marker + "-" + core.NewID(), Kind: "generic", TenantID: t.ID}
		s.Must(s.AddProvider(s.Context(), p, string(w.secret(t.Marker)), "test", s.Time()))
		return p.Name
	})
	add("/api/admin/dkim-keys", core.ActionDKIMRead, func(s *storetest.Seeder) string {
		domain := t.Marker + ".example"
		s.ChangeTenant(t.ID, core.TenantInput{Domains: &[]string{domain}})
		k, err := core.NewDKIMKey(core.DKIMKey{TenantID: t.ID, Domain: domain, Selector: "k" + core.NewID()}, s.Time())
		s.Must(err)
		s.Must(s.AddDKIMKey(s.Context(), k, w.secret(t.Marker), "test"))
		return k.ID
	})
	member := func(s *storetest.Seeder) string {
		return s.NewUser(core.Email(core.NewID())+"@"+core.Email(t.Marker)+".example", "", func(u *core.User) {
			u.Roles = []core.Role{{Role: core.RoleEditor, TenantID: t.ID}}
		}).ID
	}
	add("/api/admin/team", core.ActionTeamRead, member)
	add("/api/admin/users", core.ActionUserManage, member)
	add("/api/admin/users/:id/passkeys", core.ActionUserManage, func(s *storetest.Seeder) string {
		u, err := s.User(s.Context(), t.Records["/api/admin/users"].ID)
		s.Must(err)
		k := core.Passkey{
			ID: core.NewID(), UserID: u.ID, RPID: "news.test", Name: t.Marker, Credential: []byte(core.NewID()),
			PublicKey: []byte("k"), CreatedAt: s.Time(),
		}
		answer := identity.Answer{Hash: core.HashToken(k.ID), ExpiresAt: s.Time().Add(time.Hour)}
		s.Must(s.AddPasskey(s.Context(), k, u.Epoch, answer, core.MailStyle{}, s.Time()))
		return k.ID
	})
	add("/api/admin/tokens", core.ActionUserManage, func(s *storetest.Seeder) string {
		f := core.Family{
			ID: core.NewID(), Kind: "password", UserID: t.Records["/api/admin/users"].ID, ClientID: "newsletterd",
			CreatedAt: s.Time(), ExpiresAt: s.Time().Add(time.Hour),
		}
		s.Must(s.AddFamily(s.Context(), f))
		return f.ID
	})
	invitations := 0
	add("/api/admin/invitations", core.ActionTeamRead, func(s *storetest.Seeder) string {
		invitations++ // the limit is 20 a day
		i, err := s.AddInvitation(s.Context(), core.InvitationInput{
			Email: core.Email(core.NewID()) + "@" + core.Email(t.Marker) + ".example", Role: core.RoleEditor,
			TenantID: t.ID,
		}, identity.UserToken{
			ID: core.NewID(), Hashes: map[string][]byte{identity.TokenInvitation: core.HashToken(core.NewToken())},
		}, "test", s.Time().Add(time.Duration(invitations)*2*time.Hour))
		s.Must(err)
		return i.ID
	})
}

// Own gives a user a device with its agent, a shared model, and a model that another user shares with them.
func Own(s *storetest.Seeder, u *core.User) {
	a, err := core.NewAgent(u.ID, core.AgentInput{Name: new("Gateway"), Version: new("1")}, s.Time())
	s.Must(err)
	s.Must(s.AddAgent(s.Context(), a))
	s.NewDevice(u.ID, core.DeviceInput{Name: new("Printer"), AgentID: &a.ID})
	friend := s.NewUser(core.Email(core.NewID())+"@friend.example", "", func(u *core.User) { u.Name = "Friend" })
	share := func(owner, with *core.User, name string) {
		m := s.NewModel(owner.ID, name, core.Private, name)
		given, err := core.NewShare(&m, core.ShareInput{Email: &with.Email}, core.Caller{UserID: owner.ID}, s.Time())
		s.Must(err)
		s.Must(s.AddShare(s.Context(), given, "test"))
	}
	share(u, &friend, "bracket")
	share(&friend, u, "hinge")
}

// addOwned adds a user's records.
func (t *Tenant) addOwned(s *storetest.Seeder, hash string, add adds) {
	u := s.NewUser("owner@"+core.Email(t.Marker)+".example", hash)
	owner := core.Caller{UserID: u.ID, Email: u.Email, EmailVerified: true}
	t.Owner = owner.UserID
	add("/api/devices", "", func(s *storetest.Seeder) string {
		return s.NewDevice(t.Owner, core.DeviceInput{Name: &t.Marker}).ID
	})
	add("/api/agents", "", func(s *storetest.Seeder) string {
		a, err := core.NewAgent(t.Owner, core.AgentInput{Name: new(t.Marker + core.NewID()), Version: new("1")}, s.Time())
		s.Must(err)
		s.Must(s.AddAgent(s.Context(), a))
		return a.ID
	})
	var m core.Model
	add("/api/models", "", func(s *storetest.Seeder) string {
		made := s.NewModel(t.Owner, t.Marker, core.Private, t.Marker)
		if m.ID == "" {
			m = made
		}
		return made.ID
	})
	add("/api/models/:id/shares", "", func(s *storetest.Seeder) string {
		share, err := core.NewShare(&m, core.ShareInput{
			Email: new(core.Email(core.NewID()) + "@" + core.Email(t.Marker) + ".example"),
		}, owner, s.Time())
		s.Must(err)
		s.Must(s.AddShare(s.Context(), share, "test"))
		return share.ID
	})
}
