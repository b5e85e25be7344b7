package mail

import (
	"bytes"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"newsletterd/core"
)

// The newsletter of `newsletterd demo`, and a mail that asks to confirm, are no spam to SpamAssassin with its local rules. It is
// installed by .ci/run.
func TestSpamAssassin(t *testing.T) {
	if testing.Short() {
		t.Skip("SpamAssassin takes seconds")
	}
	program, err := exec.LookPath("spamassassin")
	if err != nil {
		t.Skip("SKIPPED: no SpamAssassin here")
	}
	job, campaign := (&core.NewJob{
		Subject:  `First issue for {{preferences.first_name | default: "you"}}`,
		BodyText: "Hello {{preferences.first_name}},\n\nthis is our first issue.\n", BodyHTML: "<p>Hello <b>{{preferences.first_name}}</b>,</p><p>this is our first issue.</p>",
	}).Job(1)
	content := core.Content{
		Campaign: campaign, List: core.List{ID: core.NewID(), Name: "Demo Weekly"},
		Tenant: core.Tenant{ID: core.NewID(), Name: "Demo", PostalAddress: "Demo, Street 1, Town"},
	}
	bulk, err := CompileBulk(JobSpec(job.ID, &content, Address{Name: "Demo", Email: "news@example.org"}))
	if err != nil {
		t.Fatal(err)
	}
	key := NewIdent(make([]byte, 32))
	newsletter, err := bulk.Append(nil, &Recipient{
		Email: "reader@example.net", MessageID: key.Message(1, 1), Preferences: `{"first_name":"Ada"}`, Date: time.Now(),
		OneClickURL: "https://news.example.org/api/newsletter/unsubscribe?token=abc", UnsubscribeToken: "abc",
		UnsubscribeURL: "https://news.example.org/unsubscribe?token=abc",
	})
	if err != nil {
		t.Fatal(err)
	}
	notice := Message{From: Address{Name: "Demo", Email: "news@example.org"}, To: Address{Email: "reader@example.net"}, Date: time.Now(), MessageID: key.Message(0, 1)}
	notice.Subject, notice.Text, notice.HTML, err = NoticeConfirm.Render(NoticeData{To: "reader@example.net", List: "Demo Weekly", URL: "https://news.example.org/confirm?token=abc", Valid: 48 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	confirm, err := Compose(nil, &notice)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"newsletter": newsletter, "confirmation": confirm} {
		cmd := exec.Command(program, "--local", "--test-mode")
		cmd.Stdin = bytes.NewReader(raw)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`(?s)X-Spam-Status: \w+, score=(-?[0-9.]+).*?tests=(.*?)\n\S`).FindSubmatch(out)
		if m == nil {
			t.Fatalf("no status in\n%s", out)
		}
		score, err := strconv.ParseFloat(string(m[1]), 64)
		t.Logf("%s: score %v, %s", name, score, bytes.Join(bytes.Fields(m[2]), []byte(" ")))
		if err != nil || score >= 1 {
			t.Errorf("%s: score %v, want below 1.0: %s\n%s", name, score, m[2], raw)
		}
	}
}
