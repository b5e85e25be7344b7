package handlers

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
)

// The URL that a preview prints for {{view_url}} shows the same email before the job is sent.
func TestThePreviewsAddressShowsIt(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	e.step("user ann tenant_admin=acme")
	ask := func(path, body string, out any) {
		t.Helper()
		res, answer := e.ask("POST", path, "ann", strings.NewReader(body), "Content-Type", "application/json")
		if e.must(json.Unmarshal(answer, out)); res.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", res.StatusCode, answer)
		}
	}
	var made struct {
		SendJobID string `json:"send_job_id"`
	}
	ask("/api/send-jobs", `{"list_id": "`+e.value("weekly")+
		`", "subject": "Hi", "body_html": "<p>For {{email}}</p><a href=\"{{view_url}}\">in a browser</a>",
		"scheduled_at": "2199-01-01T00:00:00Z"}`, &made)
	var p drafts.Preview
	ask("/api/send-jobs/"+made.SendJobID+"/preview", `{}`, &p)
	link := regexp.MustCompile(`<a href="http://news.test(/v/[^"]+)">`).FindStringSubmatch(p.HTML)
	if link == nil {
		t.Fatalf("no link in %s", p.HTML)
	}
	show := func(path string) (int, string) {
		res, body := e.ask("GET", path, "", nil)
		return res.StatusCode, string(body)
	}
	if status, body := show(link[1]); status != http.StatusOK || !strings.Contains(body, "For reader@example.org") ||
		!strings.Contains(body, link[1]) {
		t.Errorf("%d %s", status, body)
	}
	j, err := e.store.SendJob(t.Context(), made.SendJobID)
	e.must(err)
	token := func(no int64, at core.Instant) string {
		return "/v/" + e.handler.sealer.SealPreview(auth.PreviewToken{JobNo: no, Email: "me@example.org", IssuedAt: at})
	}
	now := j.CreatedAt
	if status, body := show(token(j.No, now)); status != http.StatusOK || !strings.Contains(body, "For me@example.org") ||
		!strings.Contains(body, "/unsubscribe?token=") {
		t.Errorf("of a test mail: %d %s", status, body)
	}
	for path, want := range map[string]int{
		token(j.No+9, now):                  http.StatusNotFound,
		token(j.No, now.Add(-auth.ViewTTL)): http.StatusBadRequest,
	} {
		if status, body := show(path); status != want {
			t.Errorf("%d %s", status, body)
		}
	}
}
