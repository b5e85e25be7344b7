package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// TestKillDuringCopyingOfPictures kills the daemon while it copies pictures of imported issues. It continues where it
// was, and no picture is stored twice or lost.
func TestKillDuringCopyingOfPictures(t *testing.T) {
	daemontest.Parallel(t)
	kills, n := 2, 24
	if daemontest.AtLength() {
		kills, n = 10, 200
	}
	site := httptest.NewServer(http.HandlerFunc(oldSite))
	t.Cleanup(site.Close)
	f := daemontest.New(t)
	f.Env = append(f.Env, picturesEnv+"="+strings.TrimPrefix(site.URL, "http://"))
	f.Serve()
	f.Records()
	f.TokenOf("op@acme.example", core.ScopeAdmin)
	var posts []string
	for i := range n / 4 {
		text := ""
		for k := range 4 {
			text += fmt.Sprintf(`<img src=\"%s/photo/%d.jpeg\">`, site.URL, 4*i+k)
		}
		posts = append(posts, fmt.Sprintf(`{"title":"Issue %d","html":"%s","status":"published"}`, i, text))
	}
	var j core.ImportJob
	f.Send("POST", "/api/admin/imports?list_id="+f.List, `{"db":[{"data":{"posts":[`+strings.Join(posts, ",")+`]}}]}`,
		"Content-Type", "application/json").OK().JSON(&j)
	f.Send("POST", "/api/admin/imports/"+j.ID+"/posts", nil).OK()
	stored := func() int { return f.Number("SELECT count(*) FROM import_picture WHERE state = 'stored'") }
	for kill := range kills {
		f.Every(2*time.Millisecond, func() bool { return stored() >= n*(kill+1)/(kills+2) })
		f.Kill()
		f.Serve()
	}
	f.Every(20*time.Millisecond, func() bool {
		return stored() == n && f.Number("SELECT count(*) FROM import_post WHERE fetching = 1") == 0
	})
	if images := f.Number("SELECT count(*) FROM media"); images != n {
		t.Errorf("%d images of %d pictures", images, n)
	}
	if old := f.Number("SELECT count(*) FROM imported_issue WHERE instr(body, '/photo/')"); old != 0 {
		t.Errorf("%d issues show pictures of the old site", old)
	}
	f.Run("check")
	f.Stop()
}
