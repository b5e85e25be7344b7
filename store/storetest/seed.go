package storetest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/identity"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// A Seeder fills a store with the records that a test needs, through the store's own operations. Each method does one
// thing or ends the test. Inside a testing/synctest bubble, records get the bubble's time.
type Seeder struct {
	testing.TB
	*store.Store
	// Now is the time of all records; 0 means the current time.
	Now core.Instant
	// TenantID is the tenant of lists, templates and endpoints that are created without one. By default, it is the
	// first tenant created.
	TenantID string
	// ListID is the id of the first list created.
	ListID string
}

// Seed returns a Seeder for a store. If the store is nil, Seed opens a fresh one (see Open).
func Seed(t testing.TB, s *store.Store) *Seeder {
	t.Helper()
	if s == nil {
		s = Open(t)
	}
	return &Seeder{TB: t, Store: s}
}

// Must ends the test if the last of results, which an operation returned, is an error.
func (s *Seeder) Must(results ...any) {
	s.Helper()
	if err, failed := results[len(results)-1].(error); failed {
		s.Fatal(err)
	}
}

// Time returns s.Now or, if that is 0, the current time.
func (s *Seeder) Time() core.Instant {
	return cmp.Or(s.Now, core.At(time.Now()))
}

// NewTenant creates a tenant, named Acme by default.
func (s *Seeder) NewTenant(change ...func(*core.TenantInput)) core.Tenant {
	s.Helper()
	in := core.TenantInput{Name: new("Acme")}
	for _, f := range change {
		f(&in)
	}
	t, err := core.NewTenant(in, s.Time())
	s.Must(err)
	s.Must(s.AddTenant(s.Context(), t, "test"))
	s.TenantID = cmp.Or(s.TenantID, t.ID)
	return t
}

// tenant returns the default tenant. It creates the tenant if there is none.
func (s *Seeder) tenant() string {
	s.Helper()
	if s.TenantID == "" {
		s.NewTenant()
	}
	return s.TenantID
}

// NewList creates a list of s.TenantID, named Weekly by default.
func (s *Seeder) NewList(change ...func(*core.ListInput)) core.List {
	s.Helper()
	in := core.ListInput{Name: new("Weekly")}
	for _, f := range change {
		f(&in)
	}
	if in.TenantID == nil {
		in.TenantID = new(s.tenant())
	}
	l, err := core.NewList(in, s.Time())
	s.Must(err)
	s.Must(s.AddList(s.Context(), l, "test"))
	s.ListID = cmp.Or(s.ListID, l.ID)
	return l
}

// Nonce returns a nonce that was never used.
func (s *Seeder) Nonce() tenants.Nonce { return tenants.Nonce{ClientID: "c", Nonce: core.NewID()} }

// At returns a Seeder for the same store that creates records at another time.
func (s *Seeder) At(now core.Instant) *Seeder {
	at := *s
	at.Now = now
	return &at
}

// Event returns the event that the member side would send to report the status of an address to the send side.
func (s *Seeder) Event(l core.List, status core.Status, email core.Email) core.Event {
	kind := core.EventActivated
	if status == core.StatusUnsubscribed {
		kind = core.EventUnsubscribed
	}
	return core.Event{
		ID: core.NewID(), Type: kind, TenantID: l.TenantID, ListID: l.ID, OccurredAt: s.Time(),
		Subscriber: core.EventSubscriber{ID: core.NewID(), Email: email, Status: string(status)},
	}
}

// Tell applies, for each address, an event with the status to the send side.
func (s *Seeder) Tell(l core.List, status core.Status, emails ...core.Email) {
	s.Helper()
	for _, email := range emails {
		s.Must(s.ApplyEvent(s.Context(), s.Nonce(), s.Event(l, status, email), s.Time()))
	}
}

// Batch returns a batch of a full sync with active addresses. It does not apply the batch.
func (s *Seeder) Batch(l core.List, syncID string, no, total int, emails ...core.Email) core.FullSync {
	f := core.FullSync{
		SyncID: syncID, BatchNo: no, BatchTotal: total, TenantID: l.TenantID, ListID: l.ID, OccurredAt: s.Time(),
		Subscribers: []core.EventSubscriber{},
	}
	for _, email := range emails {
		f.Subscribers = append(f.Subscribers,
			core.EventSubscriber{ID: core.NewID(), Email: email, Status: string(core.StatusActive)})
	}
	return f
}

// Clean runs housekeeping until everything that has expired is deleted.
func (s *Seeder) Clean(r people.Retention) {
	s.Helper()
	for more := true; more; {
		var err error
		more, err = s.Housekeeping(s.Context(), r, s.Time())
		s.Must(err)
	}
}

// Reader returns the address of subscriber number k of Readers, counted from 0.
func Reader(k int) core.Email { return core.Email(fmt.Sprintf("r%06d@example.org", k)) }

// Readers gives a list n mailable subscribers on the send side: Reader(0) and so on or, if address is given, the
// addresses that it returns. The preferences of each subscriber have a first_name (R0, R1, …).
func (s *Seeder) Readers(l core.List, n int, address ...func(k int) core.Email) {
	s.Helper()
	address = append(address, Reader)
	for i := 0; i < n; i += 1000 {
		f := s.Batch(l, core.NewID(), 1, 2) // the last batch never comes, so no subscriber is removed
		f.OccurredAt--                      // before later events
		for k := i; k < min(n, i+1000); k++ {
			f.Subscribers = append(f.Subscribers, core.EventSubscriber{
				ID: core.NewID(), Email: address[0](k), Status: string(core.StatusActive),
				Preferences: core.Preferences(fmt.Sprintf(`{"first_name":"R%d"}`, k)),
			})
		}
		s.Must(s.ApplyBatch(s.Context(), s.Nonce(), f, s.Time()))
	}
}

// Status returns the status of an address on the send side, or absent.
func (s *Seeder) Status(listID string, email core.Email) core.Status {
	s.Helper()
	sub, err := s.Subscriber(s.Context(), listID, email)
	if errors.Is(err, core.ErrNotFound) {
		return "absent"
	}
	s.Must(err)
	return sub.Status()
}

// NewImportJob uploads a file of subscribers for import into a list.
func (s *Seeder) NewImportJob(listID, file string, change ...func(*core.ImportJob)) core.ImportJob {
	s.Helper()
	j := core.ImportJob{ID: core.NewID(), ListID: listID, Name: "people.csv", CreatedBy: "test", CreatedAt: s.Time()}
	for _, f := range change {
		f(&j)
	}
	u, err := s.NewImportUpload(s.Context(), j, 1<<40)
	s.Must(err)
	s.Must(u.ReadFrom(s.Context(), strings.NewReader(file), nil, s.Time))
	j, err = u.Commit(s.Context(), s.Time())
	s.Must(err)
	return j
}

// NewImportedIssue adds an issue from another tool to a list's archive, and returns its slug.
func (s *Seeder) NewImportedIssue(listID, title, body string) (slug string) {
	s.Helper()
	i := campaigns.ImportedIssue{Slug: title, Title: title, Source: "substack", Body: body, Words: title, At: s.Time()}
	var no int64
	s.Must(s.Update(s.Context(), func(tx *db.Tx) (err error) {
		no, err = campaigns.AddImportedIssue(tx, listID, &i, i.At)
		return err
	}))
	s.Must(s.Get(s.Context(), &slug, "SELECT slug FROM issue WHERE no = ?", no))
	return slug
}

// NewTemplate creates a template of s.TenantID.
func (s *Seeder) NewTemplate(in core.TemplateInput) core.Template {
	s.Helper()
	t, err := core.NewTemplate(s.tenant(), in, s.Time())
	s.Must(err)
	s.Must(s.AddTemplate(s.Context(), t, "test"))
	return t
}

// TryJob creates a send job to a list. By default, the job is due now and has a short body.
func (s *Seeder) TryJob(listID string, change ...func(*campaigns.JobRequest)) (core.SendJob, error) {
	r := campaigns.JobRequest{
		NewJob: core.NewJob{ListID: listID, Subject: "Hi", BodyText: "x"},
		Caller: core.CommandCaller("u"), CreatedBy: "u",
	}
	for _, f := range change {
		f(&r)
	}
	j, _, err := s.AddSendJob(s.Context(), r, s.Time())
	return j, err
}

// NewJob creates a send job like TryJob, and ends the test on an error.
func (s *Seeder) NewJob(listID string, change ...func(*campaigns.JobRequest)) core.SendJob {
	s.Helper()
	j, err := s.TryJob(listID, change...)
	s.Must(err)
	return j
}

// NewCampaign creates a draft for a list, with one line of Markdown by default.
func (s *Seeder) NewCampaign(l core.List, change ...func(*core.CampaignFields)) core.Campaign {
	s.Helper()
	f := core.CampaignFields{
		Name: "May", ListIDs: []string{l.ID}, Subject: "News of May", Tracking: core.TrackingOff,
		Content: core.CampaignContent{Kind: core.ContentMarkdown, Source: "# Hello\n"},
	}
	for _, fn := range change {
		fn(&f)
	}
	c, err := s.AddCampaign(s.Context(), core.NewCampaign(l.TenantID, &f, "test", s.Time()), &f)
	s.Must(err)
	return c
}

// SendDraft sends a draft of a campaign to the subscribers of its list. It returns the job, which has not started.
func (s *Seeder) SendDraft(d *campaigns.Draft) core.SendJob {
	s.Helper()
	j, err := s.SendCampaign(s.Context(), campaigns.CampaignSending{
		CampaignEdit: campaigns.CampaignEdit{ID: d.Campaign.ID, Actor: "test", Now: s.Time()}, Version: d.Version.Version,
		Fields: &d.Fields, Copy: &d.Content.Copy, Head: d.Head,
	}, campaigns.JobRequest{}, 0)
	s.Must(err)
	return j
}

// Reload reads a job again.
func (s *Seeder) Reload(j core.SendJob) core.SendJob {
	s.Helper()
	j, err := s.SendJob(s.Context(), j.ID)
	s.Must(err)
	return j
}

// Start starts the due jobs and creates the recipients of job j. It sends nothing.
func (s *Seeder) Start(j core.SendJob) core.SendJob {
	s.Helper()
	_, err := s.StartDueJobs(s.Context(), s.Time())
	s.Must(err)
	for more := true; more; {
		more, err = s.ExpandJob(s.Context(), j.No, s.Time())
		s.Must(err)
	}
	return s.Reload(j)
}

// Finish starts a job, records each recipient as sent, and returns the job.
func (s *Seeder) Finish(j core.SendJob) core.SendJob {
	s.Helper()
	j = s.Start(j)
	var sent []core.Outcome
	for seq := range j.Recipients {
		sent = append(sent, core.Outcome{
			JobNo: j.No, TenantID: j.TenantID, Seq: seq + 1, State: core.RecipientSent, Tried: true,
		})
	}
	s.Must(s.FinishRecipients(s.Context(), sent, s.Time()))
	return s.Reload(j)
}

// SetRelays replaces a tenant's relays.
func (s *Seeder) SetRelays(tenantID string, relays ...core.Relay) core.Tenant {
	s.Helper()
	return s.ChangeTenant(tenantID, core.TenantInput{Relays: &relays})
}

// ChangeTenant changes a tenant, as a server administrator would.
func (s *Seeder) ChangeTenant(id string, in core.TenantInput) core.Tenant {
	s.Helper()
	t, err := s.UpdateTenant(s.Context(), id, "test", func(t *core.Tenant) error {
		return t.Change(in, true,
			s.Time())
	})
	s.Must(err)
	return t
}

// NewEndpoint creates a webhook endpoint of s.TenantID. Its key is 32 zero bytes.
func (s *Seeder) NewEndpoint(in core.EndpointInput) core.Endpoint {
	s.Helper()
	e := core.Endpoint{ID: core.NewID(), TenantID: s.tenant(), CreatedAt: s.Time()}
	s.Must(e.Change(in, e.CreatedAt))
	s.Must(s.AddEndpoint(s.Context(), e, make([]byte, 32), "test"))
	return e
}

// NewWebhookClient creates a client that may post the events of a tenant. An empty tenantID means all tenants. Its
// key is 32 zero bytes.
func (s *Seeder) NewWebhookClient(tenantID string) core.WebhookClient {
	s.Helper()
	c, err := s.AddWebhookClient(s.Context(), tenantID, "feed", make([]byte, 32), "test", s.Time())
	s.Must(err)
	return c
}

// NewClient creates an OAuth client, as a server administrator would. It returns the client's secret, or an empty
// string if the client has none.
func (s *Seeder) NewClient(in core.ClientInput) (c core.Client, secret string) {
	s.Helper()
	if in.Name == nil {
		in.Name = new("client")
	}
	c, secret, err := core.NewClient(in, true, s.Time())
	s.Must(err)
	s.Must(s.AddClient(s.Context(), c, "test"))
	return c, secret
}

// NewUser creates a user with a verified address. An empty hash means no password.
func (s *Seeder) NewUser(email core.Email, hash string, change ...func(*core.User)) core.User {
	s.Helper()
	u := core.NewUser(email, s.Time())
	u.EmailVerified = true
	for _, f := range change {
		f(&u)
	}
	s.Must(s.AddUser(s.Context(), u, hash, s.Time()))
	return u
}

// Forgot requests a new password for an address and leaves the email in the queue. look contains the style of the
// email.
func (s *Seeder) Forgot(email core.Email, look core.MailStyle) {
	s.Helper()
	s.Must(s.ForgotPassword(s.Context(), email, identity.UserToken{
		ID: core.NewID(), Style: look,
		Hashes: map[string][]byte{identity.TokenReset: core.HashToken(core.NewToken())},
	}, s.Time()))
}

// NewCaller creates a user and returns a Caller for that user.
func (s *Seeder) NewCaller(email core.Email) core.Caller {
	s.Helper()
	u := s.NewUser(email, "")
	return core.Caller{UserID: u.ID, Email: u.Email, EmailVerified: true}
}

// NewDevice creates a device of a user, named Lamp by default.
func (s *Seeder) NewDevice(ownerID string, in core.DeviceInput) core.Device {
	s.Helper()
	if in.Name == nil {
		in.Name = new("Lamp")
	}
	d, err := core.NewDevice(ownerID, in, s.Time())
	s.Must(err)
	s.Must(s.AddDevice(s.Context(), d))
	return d
}

// TryModel uploads a file as a model of a user.
func (s *Seeder) TryModel(ownerID string, in core.ModelInput, file io.Reader, limits core.ModelLimits) (core.Model,
	error,
) {
	m, err := core.NewModel(ownerID, in, s.Time())
	if err != nil {
		return m, err
	}
	u := s.NewUpload(ownerID, limits)
	defer u.Close(s.Context())
	if err := u.ReadFrom(s.Context(), file, nil, s.Time); err != nil {
		return m, err
	}
	return u.Commit(s.Context(), m, "command")
}

// NewModel creates a model of a user, with a short file.
func (s *Seeder) NewModel(ownerID, name string, v core.Visibility, file string) core.Model {
	s.Helper()
	m, err := s.TryModel(ownerID, core.ModelInput{Name: name, Visibility: string(v)}, strings.NewReader(file),
		core.ModelLimits{Bytes: 1 << 20, BytesPerOwner: 1 << 40})
	s.Must(err)
	return m
}

// NewMedia adds an image of s.TenantID. Each file contains text instead of image data: the version for emails and, if
// there are two files, the original size.
func (s *Seeder) NewMedia(name string, files []string, change ...func(*core.Media)) core.Media {
	s.Helper()
	m, err := core.NewMedia(s.tenant(), "test", core.MediaInput{Name: &name}, s.Time())
	s.Must(err)
	for i, f := range files {
		sum := sha256.Sum256([]byte(f))
		m.Full = core.MediaFile{
			SHA256: hex.EncodeToString(sum[:]), Type: "image/png", Width: 1200 * (i + 1), Height: 800 * (i + 1),
			Bytes: int64(len(f)), Data: []byte(f),
		}
		if i == 0 {
			m.Mail = m.Full
		}
	}
	for _, f := range change {
		f(&m)
	}
	m, err = s.AddMedia(s.Context(), m, core.MediaLimits{Bytes: 1 << 40, BytesPerTenant: 1 << 40}, "test")
	s.Must(err)
	return m
}

// Pages stores the recipients of all ended jobs in pages, as the daemon does for jobs with many recipients.
func (s *Seeder) Pages() {
	s.Helper()
	var jobs []int64
	s.Must(s.All(s.Context(), &jobs, "SELECT no FROM send_job WHERE finished_at > 0 AND paged = 0 AND recipients > 0"))
	for _, no := range jobs {
		for more := true; more; {
			var err error
			more, err = campaigns.AddPage(s.Context(), s.DB, no)
			s.Must(err)
		}
		var first int64
		s.Must(s.Get(s.Context(), &first, "SELECT min(first_seq) FROM recipient_page WHERE job_no = ?", no))
	}
}
