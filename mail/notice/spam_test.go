package notice

import (
	"bytes"
	"encoding/base64"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/internal/words"
)

// TestSpamAssassin checks that SpamAssassin, with its local rules, doesn't classify the newsletter of `newsletterd
// demo` or any notice as spam. It tests each notice in every language, with and without a logo. One process checks all
// emails, because starting it takes most of the time. .ci/run installs SpamAssassin.
func TestSpamAssassin(t *testing.T) {
	if testing.Short() {
		t.Skip("SpamAssassin takes seconds")
	}
	t.Parallel()
	program, err := exec.LookPath("spamassassin")
	if err != nil {
		t.Skip("SKIPPED: no SpamAssassin here")
	}
	mails := map[string][]byte{"newsletter": demoNewsletter(t)}
	for _, lang := range core.Languages {
		for n := range words.Of(lang).Notices {
			for logo, url := range map[string]string{
				"without logo": "",
				"with logo":    "https://news.example.org/images/logo.png",
			} {
				mails[n+" "+lang+" "+logo] = spamNotice(t, Kind(n), lang, url)
			}
		}
	}
	names := slices.Sorted(maps.Keys(mails))
	var box bytes.Buffer
	for _, name := range names {
		box.WriteString("From news@example.org Sun Nov 22 12:00:00 2026\nX-Mail: " + name + "\n") // order varies
		box.Write(bytes.ReplaceAll(mails[name], []byte("\r\n"), []byte("\n")))
		box.WriteString("\n")
	}
	file := filepath.Join(t.TempDir(), "mails.mbox")
	if err := os.WriteFile(file, box.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "--local", "--test-mode", "--mbox", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	status := regexp.MustCompile(`(?s)\nX-Spam-Status: \w+, score=(-?[0-9.]+).*?tests=(.*?)\sautolearn.*?\nX-Mail: (.*?)\n`)
	found := status.FindAllSubmatch(out, -1)
	if len(found) != len(names) {
		t.Fatalf("%d mails were judged, not %d", len(found), len(names))
	}
	worst, judged := 0.0, map[string]bool{}
	for _, m := range found {
		name, tests := string(m[3]), bytes.Join(bytes.Fields(m[2]), []byte(" "))
		score, err := strconv.ParseFloat(string(m[1]), 64)
		judged[name] = true
		worst = max(worst, score)
		if err != nil || score >= 1 {
			t.Errorf("%s: score %v, want below 1.0: %s", name, score, tests)
		}
	}
	if len(judged) != len(names) {
		t.Errorf("%d different mails were judged, not %d", len(judged), len(names))
	}
	t.Logf("%d mails, the highest score is %v", len(names), worst)
}

func demoNewsletter(t *testing.T) []byte {
	t.Helper()
	job, campaign := (&core.NewJob{
		Subject:  `First issue for {{preferences.first_name | default: "you"}}`,
		BodyText: "Hello {{preferences.first_name}},\n\nthis is our first issue.\n",
		BodyHTML: "<p>Hello <b>{{preferences.first_name}}</b>,</p><p>this is our first issue.</p>",
	}).Job(1)
	content := core.Content{
		Copy: campaign, List: core.List{ID: core.NewID(), Name: "Demo Weekly"},
		Tenant: core.Tenant{ID: core.NewID(), Name: "Demo", PostalAddress: "Demo, Street 1, Town"},
	}
	bulk, err := mail.CompileBulk(mail.JobSpec(job.ID, &content, mail.Address{Name: "Demo", Email: "news@example.org"}))
	if err != nil {
		t.Fatal(err)
	}
	newsletter, err := bulk.Append(nil, &mail.Recipient{
		Email: "reader@example.net", MessageID: mail.NewIdent(make([]byte, 32)).Message(1, 1),
		Preferences: `{"first_name":"Ada"}`, Date: time.Now(),
		OneClickURL: "https://news.example.org/api/newsletter/unsubscribe?token=abc", UnsubscribeToken: "abc",
		UnsubscribeURL: "https://news.example.org/unsubscribe?token=abc",
	})
	if err != nil {
		t.Fatal(err)
	}
	return newsletter
}

// spamNotice returns a notice with a link of realistic length.
func spamNotice(t *testing.T, k Kind, lang, logo string) []byte {
	t.Helper()
	m := mail.Message{
		From: mail.Address{Name: "Demo", Email: "news@example.org"}, To: mail.Address{Email: "reader@example.net"},
		Date:      time.Now(),
		MessageID: mail.NewIdent(make([]byte, 32)).Message(0, 1),
	}
	token := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("sealed token ", 12)))
	var err error
	m.Subject, m.Text, m.HTML, err = k.Render(Data{
		To: "reader@example.net", List: "Demo Weekly", URL: "https://news.example.org/confirm?token=" + token,
		Valid: 48 * time.Hour, Language: lang,
		Brand: Brand{Name: "Demo", Color: "#0a7d4f", LogoURL: logo, PostalAddress: "Demo\nStreet 1\nTown"},
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := mail.Compose(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
