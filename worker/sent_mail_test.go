package worker_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/worker/workertest"
)

var (
	dateForm = regexp.MustCompile(`^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}$`)
	verpForm = regexp.MustCompile(`^b\+[a-z2-7]+\.[a-z2-7]{13,}@bounces\.acme\.example$`) // MAC of at least 64 bits
	linkForm = regexp.MustCompile(`http://news\.test/unsubscribe\?token=([A-Za-z0-9_-]+)`)
)

// sentMail is an email as received by a relay.
type sentMail struct {
	mailtest.Message
	header netmail.Header
	parts  map[string]string // by media type
}

func readSent(t *testing.T, m mailtest.Message) sentMail {
	t.Helper()
	msg, err := netmail.ReadMessage(bytes.NewReader(m.Data))
	if err != nil {
		t.Fatal(err)
	}
	out := sentMail{m, msg.Header, map[string]string{}}
	_, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	for r := multipart.NewReader(msg.Body, params["boundary"]); ; {
		part, err := r.NextRawPart()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var body io.Reader = part
		if part.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
			body = quotedprintable.NewReader(part)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
		out.parts[kind] = string(text)
	}
}

// TestMailsAsARelayGetsThem checks the emails of two jobs as a relay receives them. The first job is created three days
// before it is sent. Each email has the date of its sending, is named and addressed for its recipient alone, and
// contains the list and the ways to unsubscribe.
func TestMailsAsARelayGetsThem(t *testing.T) {
	var mu sync.Mutex
	var args []string
	server := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		mu.Lock()
		defer mu.Unlock()
		if e.Verb == "MAIL" || e.Verb == "RCPT" {
			args = append(args, e.Arg)
		}
		return mailtest.Action{}
	}}) // outside the bubble, so that waits in it don't stop the time
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtp.Client{Addr: server.Addr()})
		_, err := h.UpdateTenant(t.Context(), h.List.TenantID, "test", func(t *core.Tenant) error {
			return t.Change(core.TenantInput{Domains: &[]string{"acme.example"}, MailFrom: new("letters@acme.example")},
				true,
				2000)
		})
		h.Must(err)
		h.Opts.BounceDomain = "bounces.acme.example"
		h.Readers(h.List, 20)
		h.Start()
		at := core.At(time.Now().Add(72 * time.Hour))
		first := h.Wait(h.Job(func(n *core.NewJob) { n.ScheduledAt = at }))
		second := h.Wait(h.Job())
		froms, ids, tokens, lists := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
		for i, raw := range server.Messages() {
			j := first
			if i >= 20 {
				j = second
			}
			m := readSent(t, raw)
			froms[m.From], ids[m.header.Get("Message-Id")], lists[m.header.Get("List-Id")] = true, true, true
			tokens[checkSent(t, h, &m, &j)] = true
		}
		if len(froms) != 40 || len(ids) != 40 || len(tokens) != 40 || len(lists) != 1 {
			t.Errorf("%d return addresses, %d Message-IDs, %d tokens, %d lists of 40 mails", len(froms), len(ids),
				len(tokens),
				len(lists))
		}
	})
	for _, arg := range args {
		if strings.Contains(strings.ToUpper(arg), "SMTPUTF8") ||
			strings.ContainsFunc(arg, func(r rune) bool { return r >= 0x80 }) {
			t.Errorf("more than ASCII was asked for: %s", arg)
		}
	}
}

// checkSent checks an email against the rules for all emails, and returns the token with which its recipient
// unsubscribes.
func checkSent(t *testing.T, h *workertest.Harness, m *sentMail, j *core.SendJob) string {
	t.Helper()
	date, err := netmail.ParseDate(m.header.Get("Date"))
	text := m.header.Get("Date")
	switch {
	case err != nil || !dateForm.MatchString(text) || !strings.HasPrefix(text, date.Format("Mon, ")):
		t.Errorf("Date %q: %v", text, err)
	case date.Before(j.StartedAt.Time().Truncate(time.Second)) || date.After(j.FinishedAt.Time()):
		t.Errorf("dated %v, sent between %v and %v", date, j.StartedAt, j.FinishedAt)
	}
	local, _, _ := strings.Cut(m.From, "@")
	if !verpForm.MatchString(m.From) || len(local) > 64 {
		t.Errorf("MAIL FROM %q", m.From)
	}
	if id := m.header.Get("Message-Id"); !strings.HasSuffix(id, "@acme.example>") || len(id) < len("<@acme.example>")+26 {
		t.Errorf("Message-ID %q", id)
	}
	if to := m.header.Get("To"); to != "<"+m.To+">" {
		t.Errorf("To %q of a mail for %q", to, m.To)
	}
	for name, want := range map[string]string{
		"Precedence": "bulk", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click", "Auto-Submitted": "",
		"List-Id": "Weekly <" + h.List.ID + ".lists.acme.example>",
	} {
		if got := m.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	unsubscribe := m.header.Get("List-Unsubscribe")
	_, token, _ := strings.Cut(unsubscribe, "<http://news.test/api/newsletter/unsubscribe?token=")
	token, rest, _ := strings.Cut(token, ">")
	opened, err := h.Opts.Sealer.OpenUnsubscribe(token)
	if err != nil || string(opened.Email) != m.To || opened.ListID != h.List.ID ||
		!strings.HasPrefix(rest, ", <mailto:u+") {
		t.Errorf("%q: %v, %+v", unsubscribe, err, opened)
	}
	for kind, body := range m.parts {
		if link := linkForm.FindStringSubmatch(body); link == nil || link[1] != token {
			t.Errorf("%s has the link %v, the header the token %s", kind, link, token)
		}
	}
	if len(m.parts) != 2 {
		t.Errorf("%d parts", len(m.parts))
	}
	return token
}

// TestAMailIsFoundByTheNameOfItsProvider checks that an event which contains only the provider's own id of an email
// finds the email. Amazon SES sends that id in its reply.
func TestAMailIsFoundByTheNameOfItsProvider(t *testing.T) {
	const name = "0100018f12345678-0a1b2c3d-4e5f-6789-abcd-0123456789ab-000000"
	for _, provider := range []string{"ses", ""} {
		h := workertest.New(t, &smtptest.Sender{Answer: func(string, int) smtp.Outcome {
			return smtp.Outcome{Result: smtp.Sent, Code: 250, Text: "Ok " + name}
		}})
		h.Opts.Provider = provider
		h.Readers(h.List, 1)
		h.Start()
		j := h.Wait(h.Job())
		h.Must(h.ApplyReports(t.Context(), []core.ProviderReport{{
			Provider: "p", Key: core.ProviderKey("one"),
			Event: core.ProviderEvent{
				Type: core.ProviderDelivery, MessageID: name, TenantID: h.List.TenantID,
				OccurredAt: core.At(time.Now()),
			},
		}}, core.At(time.Now())))
		j, err := h.SendJob(t.Context(), j.ID)
		h.Must(err)
		if want := map[string]int64{"ses": 1}[provider]; j.Delivered != want {
			t.Errorf("provider %q: %d delivered, want %d", provider, j.Delivered, want)
		}
	}
}
