package main

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
)

// moved has, for each guide for moving, the files that a user of the tool has, and what the commands must print. Files
// below a name with .zip are in that archive.
var moved = map[string]struct {
	files map[string]string
	want  []string
}{
	"move-substack.md": {map[string]string{
		"export.zip/email_list.acme.csv": "email,active_subscription,expiry,plan,email_disabled,created_at\n" +
			"ada@example.org,false,,other,false,2023-01-02T03:04:05Z\n" +
			"joan@example.org,false,,other,true,2023-01-02T03:04:05Z\n",
		"export.zip/posts.csv": "post_id,post_date,is_published,type,audience,title,subtitle\n" +
			"1.may,2024-05-01T10:00:00Z,true,newsletter,everyone,News of May,\n",
		"export.zip/posts/1.may.html": "<p>Sow peas.</p>",
	}, []string{"ada@example.org", "joan@example.org", "News of May"}},
	"move-mailchimp.md": {map[string]string{
		"export.zip/lists/subscribed.csv": "Email Address,MEMBER_RATING,CONFIRM_TIME\n" +
			"ada@example.org,2,2023-05-03 10:12:00\n",
		"export.zip/lists/cleaned.csv": "Email Address,MEMBER_RATING,CONFIRM_TIME\n" +
			"joan@example.org,2,2023-05-03 10:12:00\n",
		"export.zip/campaigns_content/1_may.html":    "<title>News of May</title><p>Dear *|FNAME|*, sow peas.</p>",
		"export.zip/templates/2_newsletter.html":     "<html><title>Our template</title><p>Text</p>",
		"export.zip/granular_activity/opens/may.csv": "Email,Timestamp,campaign_id\nada@example.org,1,2\n",
	}, []string{"ada@example.org", "joan@example.org", "News of May"}},
	"move-ghost.md": {map[string]string{
		"members.csv": "id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at," +
			"deleted_at,labels,tiers\n1,ada@example.org,Ada,,true,false,,2024-01-02T03:04:05.000Z,,,\n" +
			"2,joan@example.org,Joan,,false,false,,2024-01-02T03:04:05.000Z,,,\n",
		"content.json": `{"db":[{"data":{"posts":[{"title":"News of May","slug":"may","html":"<p>Peas.</p>",` +
			`"status":"published","visibility":"public","published_at":"2024-05-01T10:00:00.000Z"}]}}]}`,
	}, []string{"ada@example.org", "joan@example.org", "News of May"}},
	"move-buttondown.md": {map[string]string{
		"export.zip/subscribers.csv": "email,notes,metadata,tags,type,creation_date\nada@example.org,,{},,regular," +
			"2024-01-02T03:04:05Z\njoan@example.org,,{},,unsubscribed,2024-01-02T03:04:05Z\n",
		"export.zip/emails.csv": "id,secondary_id,subject,publish_date,source,slug\n" +
			"u1,1,News of May,2024-05-01 10:00:00+00:00,app,may\n",
		"export.zip/emails/may.md": "<!-- buttondown-editor-mode: plaintext -->Sow *peas*.\n",
	}, []string{"ada@example.org", "joan@example.org", "News of May"}},
	"move-kit.md": {map[string]string{
		"subscribers.csv": "id,first_name,email_address,state,created_at,Tags\n1,Ada,ada@example.org,active," +
			"2024-01-02T03:04:05.000Z,\n2,Joan,joan@example.org,cancelled,2024-01-02T03:04:05.000Z,\n",
	}, []string{"ada@example.org", "joan@example.org"}},
	"move-listmonk.md": {map[string]string{
		"export.zip/subscribers.csv": "uuid,email,name,attributes,status,created_at,updated_at\n" +
			"1,ada@example.org,Ada,{},enabled,2024-01-02 03:04:05,\n" +
			"2,joan@example.org,Joan,{},enabled,2024-01-02 03:04:05,\n",
		"export.zip/unsubscribed.csv": "uuid,email,name,attributes,status,created_at,updated_at\n" +
			"2,joan@example.org,Joan,{},enabled,2024-01-02 03:04:05,\n",
	}, []string{"ada@example.org", "joan@example.org"}},
}

// TestMovingGuides runs the commands of the guides for moving from another tool, with files as the tool writes them.
func TestMovingGuides(t *testing.T) {
	daemontest.Parallel(t)
	tools(t, "bash", "curl", "jq", "base64")
	found, err := filepath.Glob("../../docs/move-*.md")
	if err != nil || len(found) != len(moved) {
		t.Fatal(found, err)
	}
	for name, tool := range moved {
		t.Run(name, func(t *testing.T) {
			daemontest.Parallel(t)
			script := commandsIn(t, name)
			if strings.Count(script, "newsletterd admin subscriber import") != 2 {
				t.Fatalf("the guide has other commands:\n%s", script)
			}
			checks := "\n"
			for _, text := range tool.want {
				checks += fmt.Sprintf("grep -q %q said || { cat said; exit 1; }\n", text)
			}
			runGuide(t, placed(t, tool.files)+"{\n"+script+"} | tee said\n"+checks)
		})
	}
}

// placed returns commands that write files. Those below a name with .zip become an archive.
func placed(t *testing.T, files map[string]string) string {
	t.Helper()
	archives, plain := map[string]*bytes.Buffer{}, map[string][]byte{}
	writers := map[string]*zip.Writer{}
	for name, content := range files {
		archive, within, ok := strings.Cut(name, ".zip/")
		if !ok {
			plain[name] = []byte(content)
			continue
		}
		archive += ".zip"
		if writers[archive] == nil {
			archives[archive] = &bytes.Buffer{}
			writers[archive] = zip.NewWriter(archives[archive])
		}
		w, err := writers[archive].Create(within)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, w := range writers {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		plain[name] = archives[name].Bytes()
	}
	script := ""
	for name, content := range plain {
		script += fmt.Sprintf("echo %s | base64 -d > %s\n", base64.StdEncoding.EncodeToString(content), name)
	}
	return script
}
